"""The description of the API, and a fuzzer that believes every word of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tacit.service import problems


def test_every_problem_is_described(run: Any) -> None:
    running = run()
    made = running.client.get("/openapi.json").json()
    described = {
        (path, int(status))
        for path, methods in made["paths"].items()
        for operation in methods.values()
        for status in operation["responses"]
    }
    asked = {status for path, status in described if path == "/v1/answers"}
    assert asked == {200, 400, 401, 403, 409, 413, 415, 422, 429, 500, 503}
    assert set(made["components"]["schemas"]["Problem"]["properties"]) == {
        "type", "title", "status", "detail",
    }  # fmt: skip
    text = str(made)
    routed = {problems.NOT_FOUND, problems.WRONG_METHOD}  # these belong to no route
    assert [kind.name for kind in problems.PROBLEM_TYPES if kind.uri not in text] == [
        kind.name for kind in problems.PROBLEM_TYPES if kind in routed
    ]


@pytest.mark.filterwarnings("ignore")  # of what it brings along
def test_a_fuzzer_finds_no_failure(run: Any) -> None:
    """Schemathesis, in process: right and wrong requests made from the description."""
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    running = run({"rate": 1e6, "burst": 10**6}, mechanism="gaussian", n_questions=500)
    schema = schemathesis.openapi.from_dict(running.client.get("/openapi.json").json())
    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]
    seen: set[int] = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        modes = ("positive",) if operation.method.lower() == "get" else ("positive", "negative")
        for mode in modes:
            seen |= _fuzzed(running, operation, schemathesis.GenerationMode(mode), checks)
    assert 200 in seen and 422 in seen and max(seen) < 500


def _fuzzed(running: Any, operation: Any, mode: Any, checks: Any) -> set[int]:
    """Send many cases of one operation, check every response, return the statuses seen."""
    import schemathesis

    seen: set[int] = set()

    @hypothesis.settings(
        max_examples=40,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        given = case.as_transport_kwargs()
        headers = {**(given.get("headers") or {}), "Authorization": f"Bearer {running.key}"}
        safe = {k: v for k, v in headers.items() if _sendable(k) and _sendable(v)}
        body = {name: given[name] for name in ("json", "data") if name in given}
        if isinstance(body.get("data"), bytes | str):
            body = {"content": body["data"]}
        response = running.client.request(given["method"], operation.path, headers=safe, **body)
        seen.add(response.status_code)
        found = schemathesis.Response.from_httpx(response, verify=True)
        case.validate_response(found, checks=checks)

    check()
    return seen


def _sendable(text: Any) -> bool:
    try:
        return str(text).isprintable() and bool(str(text).encode("ascii"))
    except UnicodeEncodeError:
        return False


def test_the_guide_lists_every_problem() -> None:
    guide = Path(__file__, "../../../docs/guide/service.md").resolve().read_text(encoding="utf-8")
    table = guide[guide.index("| status | type") :]
    rows = re.findall(r"^\| ([\d, ]+) \| (.*) \|$", table[: table.index("\n\n")], re.MULTILINE)
    listed = set()
    for statuses, names in rows:
        codes, uris = statuses.split(","), re.findall(r"`([a-z-]+)`", names)
        listed |= set(zip(map(int, codes * (len(uris) // len(codes))), uris, strict=True))
    assert listed == {(kind.status, kind.name) for kind in problems.PROBLEM_TYPES}
