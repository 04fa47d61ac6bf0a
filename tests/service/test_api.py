"""The API: answers, what they count for, and one shape for everything that goes wrong."""

from __future__ import annotations

import json
import logging
import sqlite3
from typing import Any

import pytest

from tacit.errors import LedgerUnavailable
from tacit.service import problems, state
from tacit.service.logs import JsonLines

CLEAR, OTHER, TIE = [3.0, 2.0], [-2.0, -3.0], [0.4, -0.4]


def is_problem(response: Any, kind: problems.ProblemType) -> bool:
    """Return whether a response is this problem, in the one shape."""
    body = response.json()
    assert response.headers["content-type"] == problems.MEDIA_TYPE
    assert set(body) <= {"type", "title", "status", "detail"}
    assert body["status"] == response.status_code
    return bool((response.status_code, body["type"]) == (kind.status, kind.uri))


# ---- answers ------------------------------------------------------------------------------------


def test_one_question_and_many(run: Any) -> None:
    running = run()
    assert running.ask(CLEAR, OTHER).json() == {
        "answers": [{"label": "yes", "refused": False}, {"label": "no", "refused": False}],
        "complete": True,
    }
    headers = {"Authorization": f"Bearer {running.key}"}
    one = running.client.post("/v1/answers", json={"point": CLEAR}, headers=headers)
    assert one.json()["answers"] == [{"label": "yes", "refused": False}]


def test_refusals_and_answers_take_the_same_bytes(run: Any) -> None:
    running = run()
    clear, tie = running.ask(CLEAR), running.ask(TIE)
    assert tie.json()["answers"] == [{"label": None, "refused": True}]
    assert len(clear.content) == len(tie.content)
    assert set(clear.headers) == set(tie.headers)
    assert clear.json().keys() == tie.json().keys()


def test_a_repeated_question_costs_nothing_and_a_second_analyst_is_charged_too(run: Any) -> None:
    running = run(mechanism="gaussian", n_questions=20)
    ann = running.access.create("ann", allowance=2).text
    running.ask(CLEAR, OTHER)
    assert running.used() == 2
    assert running.ask(CLEAR, OTHER, key=ann).status_code == 200
    assert running.used() == 2
    budget = running.client.get("/v1/budget", headers={"Authorization": f"Bearer {ann}"}).json()
    assert budget["analyst"] == {
        "name": "ann", "answered": 2, "refused": 0, "charged": 2, "allowance": 2, "renews_in": None,
    }  # fmt: skip
    assert is_problem(running.ask([4.0, 4.0], key=ann), problems.ALLOWANCE_SPENT)
    assert running.ask(CLEAR, key=ann).status_code == 200  # shown before: still free
    assert running.used() == 2


def test_allowances_renew_and_the_budget_does_not(run: Any) -> None:
    running = run(mechanism="gaussian", n_questions=3)
    ann = running.access.create("ann", allowance=1, period="day").text
    assert running.ask([1.0, 1.0], key=ann).status_code == 200
    used_up = running.ask([2.0, 2.0], key=ann)
    assert is_problem(used_up, problems.ALLOWANCE_USED)
    assert 0 < int(used_up.headers["retry-after"]) <= 86_400
    for _ in range(2):
        running.clock.now += 86_400
        assert running.ask([running.clock.now % 97, 9.0], key=ann).status_code == 200
    running.clock.now += 86_400
    assert is_problem(running.ask([5.0, 5.0], key=ann), problems.SPENT)
    assert running.used() == 3


def test_a_batch_that_ends_the_budget_comes_back_short(run: Any) -> None:
    running = run(cutoff=2, epsilon=8.0)
    ties = [[x, -x] for x in (0.4, 0.5, 0.6, 0.8)]
    found = running.ask(*ties)
    assert found.status_code == 200
    assert found.json()["complete"] is False and len(found.json()["answers"]) == 2
    assert is_problem(running.ask([0.7, -0.7]), problems.SPENT)
    assert running.ask(*ties[:2]).json()["complete"] is True


def test_an_idempotency_key_belongs_to_one_body(run: Any) -> None:
    running = run()
    name = {"Idempotency-Key": "request-1"}
    first = running.ask(CLEAR, **name)
    assert running.ask(CLEAR, **name).content == first.content
    assert is_problem(running.ask(OTHER, **name), problems.REPEATED)
    ann = running.access.create("ann").text
    assert running.ask(OTHER, key=ann, **name).status_code == 200  # names are each analyst's own
    assert is_problem(running.ask(CLEAR, **{"Idempotency-Key": "x" * 201}), problems.INVALID)


def test_the_budget_and_the_statement_say_what_is_reserved(run: Any) -> None:
    running = run(mechanism="gaussian", n_questions=10)
    running.ask(CLEAR)
    headers = {"Authorization": f"Bearer {running.key}"}
    budget = running.client.get("/v1/budget", headers=headers).json()
    assert budget["left"] == 9 and budget["answered"] == 1 and budget["refused"] == 0
    assert budget["lifetime"] == {"epsilon": 40.0, "delta": 1e-9}
    statement = running.client.get("/v1/statement", headers=headers).json()
    assert statement["epsilon"] == budget["guarantee"]["epsilon"] and statement["secure"]
    analysts = running.client.get("/v1/analysts", headers=headers).json()
    assert [one["name"] for one in analysts] == ["admin"]


# ---- what goes wrong ----------------------------------------------------------------------------

BODIES: list[tuple[bytes, problems.ProblemType]] = [
    (b"", problems.MALFORMED),
    (b"{", problems.MALFORMED),
    (b"[1]", problems.MALFORMED),
    (b'{"points": [[NaN, 1]]}', problems.MALFORMED),
    (b'{"points": [[Infinity, 1]]}', problems.MALFORMED),
    (b'{"points": [[1, 2]], "more": 1}', problems.MALFORMED),
    (b'{"points": [[1, 2]], "point": [1, 2]}', problems.MALFORMED),
    (b"\xff\xfe", problems.MALFORMED),
    (b"[" * 100_000, problems.MALFORMED),
    (b'{"points": []}', problems.INVALID),
    (b'{"points": 3}', problems.INVALID),
    (b'{"points": [[1, 2, 3]]}', problems.INVALID),
    (b'{"points": [[1]]}', problems.INVALID),
    (b'{"points": [[1, 2], [1]]}', problems.INVALID),
    (b'{"points": [[1e999, 2]]}', problems.INVALID),
    (b'{"points": [["1", 2]]}', problems.INVALID),
    (b'{"points": [[true, 2]]}', problems.INVALID),
    (b'{"points": [[null, 2]]}', problems.INVALID),
    (b'{"points": [[[1], 2]]}', problems.INVALID),
    (b'{"point": {"a": 1}}', problems.INVALID),
    (b'{"points": [[1' + b"0" * 400 + b", 2]]}", problems.INVALID),
    (b'{"points": [' + b",".join([b"[1,2]"] * 11) + b"]}", problems.TOO_LARGE),
    (b'{"points": "' + b"x" * 200_000 + b'"}', problems.TOO_LARGE),
]


def test_a_bad_body_gets_its_problem_and_costs_nothing(run: Any) -> None:
    running = run({"largest_batch": 10, "largest_body": 200_000})
    before = running.service.ledger.head()
    headers = {"Authorization": f"Bearer {running.key}", "Content-Type": "application/json"}
    for body, kind in BODIES:
        response = running.client.post("/v1/answers", content=body, headers=headers)
        assert is_problem(response, kind), body[:60]
    assert running.service.ledger.head() == before


def test_a_body_that_grows_beyond_the_limit_is_cut_off(run: Any) -> None:
    running = run({"largest_body": 1000})

    def chunks() -> Any:
        for _ in range(100):
            yield b" " * 100

    headers = {"Authorization": f"Bearer {running.key}", "Content-Type": "application/json"}
    response = running.client.post("/v1/answers", content=chunks(), headers=headers)
    assert is_problem(response, problems.TOO_LARGE)


def test_the_media_type_must_be_json(run: Any) -> None:
    running = run()
    headers = {"Authorization": f"Bearer {running.key}", "Content-Type": "text/plain"}
    response = running.client.post("/v1/answers", content=b"{}", headers=headers)
    assert is_problem(response, problems.WRONG_TYPE)
    said = running.ask(CLEAR, **{"Content-Type": "Application/JSON; charset=utf-8"})
    assert said.status_code == 200  # names of media types know no capitals


def test_without_a_good_key_nobody_gets_in(run: Any) -> None:
    running = run()
    for value in ("", "Bearer", "Bearer ", "Basic abc", "Bearer nonsense",
                  "Bearer tacit_" + "0" * 16 + "_" + "A" * 43):  # fmt: skip
        for path in ("/v1/budget", "/v1/analysts", "/v1/statement"):
            response = running.client.get(path, headers={"Authorization": value})
            assert is_problem(response, problems.NO_KEY)
            assert response.headers["www-authenticate"] == "Bearer"
        asked = running.client.post("/v1/answers", headers={"Authorization": value})
        assert is_problem(asked, problems.NO_KEY)
    assert running.used() == 0


def test_revoked_rotated_and_expired_keys(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.auth.REMEMBERED", -1.0)
    running = run()
    made = running.access.create("ann", days=2)
    assert running.ask(CLEAR, key=made.text).status_code == 200
    running.clock.now += 2 * 86_400
    assert is_problem(running.ask(OTHER, key=made.text), problems.KEY_EXPIRED)
    again = running.access.rotate(made.id)
    assert is_problem(running.ask(OTHER, key=made.text), problems.KEY_REVOKED)
    assert running.ask(OTHER, key=again.text).status_code == 200
    running.access.revoke(again.id)
    before = running.service.ledger.head()
    assert is_problem(running.ask([5.0, 5.0], key=again.text), problems.KEY_REVOKED)
    assert running.service.ledger.head() == before


def test_an_analyst_does_not_see_the_others(run: Any) -> None:
    running = run()
    ann = running.access.create("ann").text
    response = running.client.get("/v1/analysts", headers={"Authorization": f"Bearer {ann}"})
    assert is_problem(response, problems.FORBIDDEN)


def test_questions_that_come_too_fast_are_told_to_wait(run: Any) -> None:
    running = run({"rate": 0.001, "burst": 3, "largest_batch": 3})
    assert running.ask(CLEAR, OTHER).status_code == 200
    response = running.ask([1.0, 1.0], [2.0, 2.0])
    assert is_problem(response, problems.TOO_FAST)
    assert int(response.headers["retry-after"]) > 0
    assert running.ask([1.0, 1.0]).status_code == 200


def test_reading_and_signing_in_too_fast_is_told_to_wait(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "VISITS_RATE", 0.001)
    monkeypatch.setattr(state, "VISITS_BURST", 2)
    running = run()
    own = {"Authorization": f"Bearer {running.key}"}
    for path in ("/v1/budget", "/v1/statement"):
        assert running.client.get(path, headers=own).status_code == 200
    for path in ("/v1/budget", "/v1/statement", "/v1/analysts"):
        response = running.client.get(path, headers=own)
        assert is_problem(response, problems.TOO_FAST)
        assert int(response.headers["retry-after"]) > 0
    assert running.ask(CLEAR).status_code == 200  # questions have a limit of their own
    for _ in range(2):
        assert running.client.get("/metrics").status_code == 200
    assert is_problem(running.client.get("/metrics"), problems.TOO_FAST)
    assert is_problem(running.client.get("/"), problems.TOO_FAST)
    assert is_problem(running.client.post("/session", data={"key": "x"}), problems.TOO_FAST)
    assert running.client.get("/healthz").status_code == 200
    assert running.client.get("/readyz").status_code == 200


def test_unknown_addresses_and_methods(run: Any) -> None:
    running = run()
    assert is_problem(running.client.get("/v2/answers"), problems.NOT_FOUND)
    assert is_problem(running.client.get("/static/none"), problems.NOT_FOUND)
    wrong = running.client.get("/v1/answers")
    assert is_problem(wrong, problems.WRONG_METHOD) and wrong.headers["allow"] == "POST"


def test_a_ledger_that_cannot_be_used_is_503(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running = run()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise LedgerUnavailable("The disk at a secret place is full.")

    monkeypatch.setattr(running.service.ledger, "answer", fail)
    monkeypatch.setattr(running.service.ledger, "head", fail)
    response = running.ask(CLEAR)
    assert is_problem(response, problems.UNAVAILABLE)
    assert "secret" not in response.text and "retry-after" in response.headers
    assert is_problem(running.client.get("/readyz"), problems.UNAVAILABLE)
    assert running.client.get("/healthz").json() == {"status": "alive"}


def test_it_is_not_ready_while_nothing_can_be_recorded(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk can be read: only a question shows that it cannot be written."""
    running = run()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise LedgerUnavailable("The disk is full.")

    for broken, place in (
        (running.service.ledger, "answer"),
        (running.service.requests, "same_as_before"),
    ):
        with monkeypatch.context() as full:
            full.setattr(broken, place, fail)
            response = running.ask(CLEAR, **{"Idempotency-Key": place})
            assert is_problem(response, problems.UNAVAILABLE)
            response = running.client.get("/readyz")
            assert is_problem(response, problems.UNAVAILABLE) and "retry-after" in response.headers
        assert running.ask(CLEAR, **{"Idempotency-Key": place}).status_code == 200
        assert running.client.get("/readyz").status_code == 200


def test_while_keys_cannot_be_looked_up_it_is_503(run: Any) -> None:
    running = run()
    with sqlite3.connect(running.service.settings.access) as db:
        db.execute("ALTER TABLE tacit_api_key RENAME TO gone")
    db.close()
    given = {"Authorization": f"Bearer {running.key}"}
    for response in (running.ask(CLEAR), running.client.get("/v1/budget", headers=given)):
        assert is_problem(response, problems.UNAVAILABLE) and "retry-after" in response.headers
    assert running.used() == 0


def test_a_mistake_of_ours_is_500_without_a_trace(
    run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    running = run()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("counts were 3 and canary at [3.0, 2.0]")

    monkeypatch.setattr(running.service.queue, "ask", fail)
    with caplog.at_level(logging.INFO, logger="tacit.service"):
        response = running.ask(CLEAR)
    assert is_problem(response, problems.BROKEN)
    lines = [JsonLines().format(record) for record in caplog.records]
    assert "canary" not in response.text + "".join(lines) + caplog.text
    (failed,) = [json.loads(line) for line in lines if '"failed"' in line]
    assert failed["error"] == "RuntimeError" and failed["where"].startswith("test_api.py:")


def test_logs_hold_no_point_label_key_or_address(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    running = run()
    with caplog.at_level(logging.DEBUG, logger="tacit.service"):
        running.ask([3.257182, 2.125718])  # more digits than a time or a duration has
        running.client.get("/v1/nothing?secret=yes")
        running.ask([1.0])
    lines = [JsonLines().format(record) for record in caplog.records]
    told = [json.loads(line) for line in lines]
    assert {"time", "level", "event", "request", "route", "status", "ms"} <= set(told[0])
    for word in ("3.257182", "2.125718", "yes", running.key, "testclient", "127.0.0.1"):
        assert not any(word in line for line in lines)


def test_metrics_hold_public_totals_only(run: Any) -> None:
    running = run()
    running.ask(CLEAR, TIE)
    text = running.client.get("/metrics").text
    assert 'tacit_released{outcome="answered"} 1.0' in text
    assert 'tacit_released{outcome="refused"} 1.0' in text
    assert 'tacit_charges{event="sparse-instance",kind="used"} 1.0' in text
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[0] != "#"}
    assert all(name.startswith("tacit_") for name in names)


def test_metrics_do_not_time_a_single_answer(run: Any) -> None:
    """The sum of a histogram is exact: two looks at it would give the time in between."""
    running = run()

    def total() -> float:
        (line,) = (
            line
            for line in running.client.get("/metrics").text.splitlines()
            if line.startswith('tacit_request_seconds_sum{route="/v1/answers"}')
        )
        return float(line.split()[-1])

    running.ask(CLEAR)
    before = total()
    running.ask(TIE)
    assert round(total() - before, 9) in (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)


def test_every_response_has_the_headers_that_protect_it(run: Any) -> None:
    running = run()
    for response in (
        running.ask(CLEAR), running.client.get("/"), running.client.get("/nothing"),
        running.client.get("/static/style.css"),
    ):  # fmt: skip
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert "server" not in response.headers


def test_nothing_in_a_response_tells_how_clear_a_vote_was(run: Any) -> None:
    running = run(mechanism="gaussian", n_questions=100)
    close, far = running.ask([0.4, 0.3]), running.ask([9.0, 9.0])
    assert close.json().keys() == far.json().keys() == {"answers", "complete"}
    assert len(close.content) == len(far.content)
    assert all(set(one) == {"label", "refused"} for one in far.json()["answers"])


def test_concurrent_requests_share_transactions_and_agree(run: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    running = run(mechanism="gaussian", n_questions=40)
    points = [[float(n), 1.0] for n in range(1, 21)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda point: running.ask(point).json(), points * 3))
    assert all(one["complete"] for one in found)
    assert running.used() == 20
    assert [one["answers"] for one in found[:20]] == [one["answers"] for one in found[20:40]]


def test_requests_that_do_not_fit_together_are_served_one_by_one(run: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    running = run(mechanism="gaussian", n_questions=5)
    points = [[float(n), 1.0] for n in range(1, 13)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda point: running.ask(point), points))
    assert sorted(one.status_code for one in found) == [200] * 5 + [403] * 7
    assert running.used() == 5
