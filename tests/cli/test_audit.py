"""``tacit audit``: a table, JSON, a log, and an exit status that means something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tacit.cli.main import BAD_INPUT, cli
from tacit.testing.planted_bugs import BUGS

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
    assert "gaussian-label" in result.output


def test_help_teaches_with_examples() -> None:
    result = run("--help")
    assert "tacit audit sparse" in result.output
    assert "never that it does not" in " ".join(result.output.split())
