"""The command: one line to start, one key shown once, clean ends, and files that must be closed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tacit.cli.main import BAD_INPUT, cli


def test_one_command_serves_and_the_first_key_is_shown_once(directory: Any, served: Any) -> None:
    folder = directory()
    with served(folder) as found:
        out, err = found.stop()
    key = out.split("shown this once: ")[1].strip()
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [e["event"] for e in events if e["event"] != "request"] == ["started", "stopped"]
    assert key not in err and found.process.returncode in (0, -signal.SIGTERM)
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    with served(folder) as again:
        headers = {"Authorization": f"Bearer {key}"}
        body = {"points": [[3.0, 2.0], [-3.0, -2.0]]}
        answered = httpx.post(f"{again.address}/v1/answers", json=body, headers=headers)
        assert [one["label"] for one in answered.json()["answers"]] == ["yes", "no"]
        out, _ = again.stop(signal.SIGINT)
    assert "shown this once" not in out


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
