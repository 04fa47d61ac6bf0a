"""The command and its workers while the database is away, and when it is back.

The whole of it takes long, for a new worker loads everything: ``./dev faults`` runs it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.postgres import PostgresServer

from tacit import load_oracle
from tacit.service import serve
from tacit.service.access import Access
from tacit.service.settings import Settings


def workers_of(pid: int) -> list[int]:
    """Return the processes that answer for a parent."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    words = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [child for child, command in words.items() if b"spawn_main" in command]


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_worker_that_cannot_start_says_so_in_one_line(
    directory: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "_RESTART_DELAY", 0.0)
    nowhere = "postgresql://ann:secret@127.0.0.1:1/none"
    monkeypatch.setattr(serve, "handed_down", lambda: Settings(str(directory()), nowhere))
    with pytest.raises(SystemExit) as ended:
        serve.worker_app()
    # The server's own status for a worker that can never start would end the parent, too.
    assert ended.value.code == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "not started" and "secret" not in line


@pytest.mark.faults
@pytest.mark.skipif("TACIT_FAULTS" not in os.environ, reason="only ./dev faults: it takes long")
@pytest.mark.needs("postgres")
def test_workers_outlive_their_database_and_are_replaced_when_it_is_back(
    directory: Any, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresServer() as server:
        url = server.url()
        monkeypatch.setenv("TACIT_LEDGER_URL", url)
        folder = directory()
        access = Access(url)
        key = access.create("ann").text
        access.close()
        with served(folder, "--workers", "2", "--log-level", "error") as found:
            headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "one"}

            def ask() -> httpx.Response:
                body = {"points": [[3.0, 2.0], [-3.0, -2.0]]}
                return httpx.post(f"{found.address}/v1/answers", json=body, headers=headers)

            def ready() -> bool:
                return httpx.get(f"{found.address}/readyz").status_code == 200

            first = ask()
            assert first.status_code == 200
            server.stop()
            away = ask()
            assert away.status_code == 503 and away.headers["retry-after"] == "5"
            assert away.json()["type"] == "urn:tacit:problem:unavailable"
            assert not ready()
            lost, _ = workers_of(found.process.pid)
            os.kill(lost, signal.SIGKILL)
            wait_until(lambda: "not started" in (found.said / "err").read_text())
            server.start()
            wait_until(lambda: len(workers_of(found.process.pid)) == 2 and ready())
            assert ask().content == first.content
            _, logged = found.stop()
        assert "Traceback" not in logged and found.process.returncode in (0, -signal.SIGTERM)
        oracle = load_oracle(folder, ledger=url)
        assert oracle.tally().answered == 2
        oracle.close()
