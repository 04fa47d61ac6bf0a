"""The command: one line to start, one key shown once, clean ends, and files that must be closed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tacit.cli.main import BAD_INPUT, cli


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``tacit serve`` until it is ready; give the process and its address."""
    port = free_port()
    command = [sys.executable, "-m", "tacit", "serve", str(folder), "--port", str(port), *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, process.communicate()[1]
            try:
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield process, address
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_one_command_serves_and_the_first_key_is_shown_once(directory: Any) -> None:
    folder = directory()
    with served(folder) as (process, address):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    key = out.split("shown this once: ")[1].strip()
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [e["event"] for e in events if e["event"] != "request"] == ["started", "stopped"]
    assert key not in err and process.returncode in (0, -signal.SIGTERM)
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    with served(folder) as (process, address):
        headers = {"Authorization": f"Bearer {key}"}
        body = {"points": [[3.0, 2.0], [-3.0, -2.0]]}
        found = httpx.post(f"{address}/v1/answers", json=body, headers=headers)
        assert [one["label"] for one in found.json()["answers"]] == ["yes", "no"]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert "shown this once" not in out


def test_two_workers_share_one_account(directory: Any) -> None:
    folder = directory(mechanism="gaussian", n_questions=30)
    key = CliRunner().invoke(cli, ["keys", "create", str(folder), "ann"]).output.strip()
    with served(folder, "--workers", "2") as (process, address):
        headers = {"Authorization": f"Bearer {key}"}
        statuses = []
        for number in range(40):
            body = {"point": [float(number), 1.0]}
            # A new connection each time, so that both workers are met.
            found = httpx.post(f"{address}/v1/answers", json=body, headers=headers)
            statuses.append(found.status_code)
        assert statuses == [200] * 30 + [403] * 10
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert err.count('"started"') == 2


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
    assert "ann" in listed and "5 a day" in listed and "good until" in listed
    assert first.split("_", 2)[2] not in listed
    second = run("rotate", folder, name).strip()
    assert second != first and "revoked" in run("list", folder)
    assert "revoked" in run("revoke", folder, second.split("_")[1])


def test_the_help_teaches_with_an_example() -> None:
    text = CliRunner().invoke(cli, ["serve", "--help"]).output
    for words in ("save_oracle", "tacit keys create", "curl", "127.0.0.1"):
        assert words in text
