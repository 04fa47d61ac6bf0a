"""The command: one line to start, one key shown once, clean ends, and files that must be closed."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tacit import load_oracle
from tacit.cli.main import BAD_INPUT, cli
from tacit.service.serve import prepare
from tacit.service.settings import Settings


@contextmanager
def begun(port: int, key: str, body: bytes) -> Iterator[Callable[[], bytes]]:
    """Send the head of a request, and once the service asks for the rest, give a function that
    sends it and returns the response.
    """
    head = (
        f"POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(head.encode())
        assert line.recv(65536).startswith(b"HTTP/1.1 100 ")

        def finish() -> bytes:
            line.sendall(body)
            return b"".join(iter(lambda: line.recv(65536), b""))

        yield finish


def wait_until_closed(port: int) -> None:
    """Return once nobody is let in any more."""
    until = time.monotonic() + 180
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
        except ConnectionError:
            return
        time.sleep(0.02)
    raise AssertionError("the service still lets clients in")


def test_one_command_serves_shows_a_key_once_and_ends_cleanly(directory: Any, served: Any) -> None:
    folder = directory()
    with served(folder) as found:
        out = (found.said / "out").read_text()
        key = out.split("shown this once: ")[1].strip()
        headers = {"Authorization": f"Bearer {key}"}
        body = {"points": [[3.0, 2.0], [-3.0, -2.0]]}
        answered = httpx.post(f"{found.address}/v1/answers", json=body, headers=headers, timeout=60)
        assert [one["label"] for one in answered.json()["answers"]] == ["yes", "no"]
        # A request that has begun when the signal comes is finished.
        with begun(found.port, key, b'{"points": [[2.0, 4.0]]}') as finish:
            found.process.send_signal(signal.SIGTERM)
            wait_until_closed(found.port)
            assert b'"label": "yes"' in finish()
        found.process.wait(timeout=180)
        logged = (found.said / "err").read_text()
    events = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    assert [e["event"] for e in events if e["event"] != "request"] == ["started", "stopped"]
    assert key not in logged and found.process.returncode in (0, -signal.SIGTERM)
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert prepare(Settings(str(folder))) is None  # there will be no second first key


@pytest.mark.parametrize("name", [".", "ORACLE", "access.sqlite", "ledger.sqlite"])
def test_files_open_to_others_stop_it_from_starting(directory: Any, name: str) -> None:
    folder = directory()
    for made in ("access.sqlite", "ledger.sqlite"):
        if name == made:
            (folder / made).touch(mode=0o600)
    path = folder / name
    path.chmod(path.stat().st_mode | 0o004)
    found = CliRunner().invoke(cli, ["serve", str(folder)])
    assert found.exit_code == BAD_INPUT and "chmod" in found.output
    found = CliRunner().invoke(cli, ["keys", "list", str(folder)])
    assert found.exit_code == BAD_INPUT and "chmod" in found.output


def test_bad_arguments_end_in_one_line(directory: Any, tmp_path: Path) -> None:
    folder = str(directory())
    for arguments, words in (
        (["serve", str(tmp_path / "nothing")], "no directory"),
        (["serve", folder, "--workers", "2", "--port", "0"], "port"),
        (["serve", folder, "--rate", "-1"], "rate"),
        (["keys", "revoke", folder, "0" * 16], "no key"),
        (["keys", "create", folder, ""], "name"),
    ):
        found = CliRunner().invoke(cli, arguments)
        assert found.exit_code == BAD_INPUT, found.output
        assert words in found.output and "Traceback" not in found.output


def test_an_address_that_is_taken_is_told_in_words(directory: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = CliRunner().invoke(cli, ["serve", str(directory()), "--port", port])
    assert found.exit_code == BAD_INPUT and f"127.0.0.1:{port}" in found.output
    assert "Listening" not in found.output


def test_workers_log_as_they_are_told(directory: Any, served: Any) -> None:
    with served(directory(), "--workers", "2", "--log-level", "error") as found:
        _, logged = found.stop()
    assert '"request"' not in logged and '"started"' not in logged


def test_keys_are_not_made_where_the_service_does_not_look(directory: Any, tmp_path: Path) -> None:
    folder = directory()
    load_oracle(folder, ledger=tmp_path / "elsewhere.sqlite").close()
    found = CliRunner().invoke(cli, ["keys", "create", str(folder), "ann"])
    assert found.exit_code == BAD_INPUT and "--ledger" in found.output
    assert not (folder / "access.sqlite").exists()


def test_keys_from_the_command_line(directory: Any) -> None:
    folder = str(directory())

    def run(*arguments: str) -> str:
        found = CliRunner().invoke(cli, ["keys", *arguments])
        assert found.exit_code == 0, found.output
        return found.output

    first = run(
        "create", folder, "ann", "--allowance", "5", "--every", "day", "--days", "9"
    ).strip()
    name = first.split("_")[1]
    listed = run("list", folder)
    assert "ann" in listed and "5 a day" in listed and "valid until" in listed
    assert first.split("_", 2)[2] not in listed
    second = run("rotate", folder, name).strip()
    assert second != first and "revoked" in run("list", folder)
    assert "revoked" in run("revoke", folder, second.split("_")[1])


def test_the_help_teaches_with_an_example() -> None:
    text = CliRunner().invoke(cli, ["serve", "--help"]).output
    for words in ("save_oracle", "tacit keys create", "curl", "127.0.0.1"):
        assert words in text
