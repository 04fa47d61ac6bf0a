"""The command line: lazy commands, one-line errors, exit statuses."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import tacit
from tacit.cli.main import BAD_INPUT, COMMANDS, NOT_RELEASED, LazyGroup, cli
from tacit.errors import (
    BudgetExceeded,
    DataUnavailable,
    InvalidArgument,
    LedgerUnavailable,
    MechanismStopped,
    TacitError,
)


def group_raising(error: Exception) -> LazyGroup:
    @click.command()
    def fail() -> None:
        """Fail."""
        raise error

    return LazyGroup(name="tacit", commands={"fail": fail})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TacitError("x"), BAD_INPUT),
        (InvalidArgument("x"), BAD_INPUT),
        (DataUnavailable("x"), BAD_INPUT),
        (BudgetExceeded("x"), NOT_RELEASED),
        (MechanismStopped("x"), NOT_RELEASED),
        (LedgerUnavailable("x"), NOT_RELEASED),
    ],
)
def test_an_error_of_ours_is_one_line_and_a_status(error: TacitError, status: int) -> None:
    result = CliRunner().invoke(group_raising(error), ["fail"])
    assert result.exit_code == status
    assert result.stderr == "Error: x\n"
    assert result.stdout == ""


def test_an_error_of_several_lines_becomes_one() -> None:
    result = CliRunner().invoke(group_raising(TacitError("first\n  second")), ["fail"])
    assert result.stderr == "Error: first second\n"


def test_an_error_without_a_message_shows_its_name() -> None:
    assert CliRunner().invoke(group_raising(BudgetExceeded()), ["fail"]).stderr == (
        "Error: BudgetExceeded\n"
    )


def test_other_errors_are_not_hidden() -> None:
    error = RuntimeError("a defect")
    assert CliRunner().invoke(group_raising(error), ["fail"]).exception is error


def test_help_imports_no_command_and_no_scientific_library() -> None:
    program = (
        "import sys\n"
        "from tacit.cli.main import cli\n"
        "cli.main(['--help'], prog_name='tacit', standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'opendp', 'dp_accounting'} & set(sys.modules)\n"
        "commands = {m for m in sys.modules if m.startswith('tacit.cli.')} - {'tacit.cli.main'}\n"
        "sys.exit(f'imported {sorted(heavy | commands)}' if heavy | commands else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for name, (_, summary) in COMMANDS.items():
        assert name in result.stdout
        assert summary.split()[0] in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_can_be_imported_and_explains_itself(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"], catch_exceptions=False)
    assert result.exit_code == 0
    assert f"Usage: cli {name}" in result.stdout


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"tacit, version {tacit.__version__}\n"


def test_an_unknown_command_is_bad_input() -> None:
    assert CliRunner().invoke(cli, ["nonsense"]).exit_code == BAD_INPUT


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tacit", "--version"], capture_output=True, text=True
    )
    assert result.stdout == f"tacit, version {tacit.__version__}\n"
