"""``tacit audit``: a table, JSON, a log, and an exit status that means something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.planted_bugs import BUGS

from tacit.audit.subjects import EXAMPLES
from tacit.cli.main import BAD_INPUT, cli

QUICK = ["--samples", "300", "--jobs", "1", "--seed", "1"]


def run(*arguments: str):
    return CliRunner().invoke(cli, ["audit", *arguments])


def test_the_table_shows_claimed_and_measured() -> None:
    result = run("gaussian-label", *QUICK)
    assert result.exit_code == 0, result.output
    assert "claimed" in result.output
    assert result.output.count("below its price") == 2
    assert "2 audits, 0 above their price." in result.output


def test_json_and_log_say_the_same(tmp_path: Path) -> None:
    log = tmp_path / "audit.json"
    result = run("permute-and-flip", *QUICK, "--json", "--log", str(log))
    assert json.loads(result.output) == json.loads(log.read_text())
    report = json.loads(result.output)
    assert report["passed"] is True
    assert {row["mechanism"] for row in report["audits"]} == {"permute-and-flip"}
    assert all(row["measured_epsilon"] <= row["claimed_epsilon"] for row in report["audits"])


def test_seeded_runs_of_all_checks_are_counted() -> None:
    result = run("stable-release", *QUICK, "--runs", "2")
    assert "2 seeded runs of every mechanism, 0 failures." in result.output


def test_a_leak_gives_status_one() -> None:
    with BUGS["one_answer_too_many"].plant():
        result = run("exponential", *QUICK, "--runs", "1")
    assert result.exit_code == 1
    assert "allowance" in result.output


def test_a_measured_bound_above_the_price_gives_status_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.mechanisms import GaussianVote

    monkeypatch.setattr(GaussianVote, "epsilon", lambda self, delta: 0.01)
    result = run("gaussian-label", "--samples", "2000", "--jobs", "1", "--seed", "1")
    assert result.exit_code == 1
    assert "ABOVE ITS PRICE" in result.output


def test_an_unknown_mechanism_is_refused_before_any_work() -> None:
    result = run("no-such-thing", *QUICK)
    assert result.exit_code == BAD_INPUT
    assert result.stdout == ""
    assert "MECHANISM" in result.stderr
    assert all(name in result.stderr for name in EXAMPLES)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--jobs", "0"),
        ("--confidence", "2"),
        ("--confidence", "nan"),
        ("--delta", "2"),
        ("--delta", "0"),
        ("--seed", "-1"),
        ("--log", "no-such-folder/audit.json"),
    ],
)
def test_a_bad_option_is_named_before_any_work(option: str, value: str) -> None:
    result = run("gaussian-label", *QUICK, option, value)
    assert result.exit_code == BAD_INPUT
    assert result.stdout == ""
    assert option in result.stderr
    assert "Traceback" not in result.stderr


def test_a_delta_below_what_a_mechanism_can_reach_is_named_before_any_work() -> None:
    result = run("stable-vote", *QUICK, "--delta", "1e-12")
    assert result.exit_code == BAD_INPUT
    assert result.stdout == ""
    assert "--delta" in result.stderr
    assert "stable-vote" in result.stderr


def test_asking_whether_the_log_can_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    log = tmp_path / "audit.json"
    assert run("no-such-thing", "--log", str(log)).exit_code == BAD_INPUT
    assert not log.exists()
    log.write_text("kept")
    assert run("no-such-thing", "--log", str(log)).exit_code == BAD_INPUT
    assert log.read_text() == "kept"


def test_help_teaches_with_examples() -> None:
    result = run("--help")
    assert "tacit audit sparse" in result.output
    words = " ".join(result.output.split())
    assert "never that it does not" in words
    assert all(name in words.replace("- ", "-") for name in EXAMPLES)
