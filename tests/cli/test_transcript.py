"""The transcript in the guide to the command line is what happens."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tacit.cli.main import cli

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(text: str) -> list[tuple[str, str]]:
    """Return commands with what is shown below each."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


@pytest.mark.needs("pandas")
def test_the_transcript_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, GUIDE.name, "exec"), {})
    commands = steps(text)
    assert len(commands) == 10
    for command, shown in commands:
        program, *words = shlex.split(command)
        assert program == "tacit"
        result = CliRunner().invoke(cli, words)
        refused = shown.startswith("Error: ")
        assert result.exit_code == (3 if refused else 0), (command, result.output)
        got = result.stderr if refused else result.stdout
        assert doctest.OutputChecker().check_output(shown, got, FLAGS), (command, got)
    assert (tmp_path / "report.html").read_text().startswith("<!")
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 201


def test_everything_said_of_exit_statuses_and_learners_is_in_the_guide() -> None:
    from tacit.cli.exit_codes import DEFECT, INTERRUPTED
    from tacit.project import LEARNERS

    text = GUIDE.read_text()
    for status in (DEFECT, INTERRUPTED):
        assert f"| {status} |" in text
    for name in LEARNERS:
        assert f"`{name}`" in text


def test_commands_and_options_are_completed() -> None:
    from click.shell_completion import BashComplete

    completion = BashComplete(cli, {}, "tacit", "_TACIT_COMPLETE")
    assert "fit" in {one.value for one in completion.get_completions([], "f")}
    assert "--epsilon" in {one.value for one in completion.get_completions(["fit"], "--eps")}
