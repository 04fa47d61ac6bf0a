"""The demonstration runs, learns something, and says what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from tacit.accounting.budget import Budget
from tacit.cli.demo import demo, run_demo
from tacit.cli.main import BAD_INPUT, cli
from tacit.data.sets.synthetic import best_logistic_error

SMALL = ["--records", "2000", "--points", "40", "--epsilon", "5"]


def test_it_prints_accuracies_and_a_privacy_statement() -> None:
    done = CliRunner().invoke(demo, SMALL)
    assert done.exit_code == 0, done.output
    for words in (
        "Accuracy",
        "best possible",
        "Privacy statement",
        "What is protected",
        "From whom",
        "replace",
        "generated",
        "Where to look next",
    ):
        assert words in done.output
    assert "INSECURE" not in done.output


def test_the_guarantee_stays_within_the_budget_and_the_student_learns() -> None:
    # 250 answers at epsilon 50 are nearly without noise: the margins below are about 1e-9 away.
    result = run_demo(4000, 250, Budget(50.0, 1e-5), np.random.default_rng(3))
    assert result.classifier.privacy_.epsilon <= 50.0
    assert result.student > 0.8
    assert max(result.student, result.not_private) <= result.best
    # 100,000 points: ten standard errors.
    assert abs(result.best - (1 - best_logistic_error(4.0))) < 0.005


@pytest.mark.parametrize(
    "option", [["--epsilon", "-1"], ["--points", "1"], ["--delta", "2"], ["--seed", "-1"]]
)
def test_bad_settings_are_refused(option: list[str]) -> None:
    done = CliRunner().invoke(cli, ["demo", *SMALL, *option])
    assert done.exit_code == BAD_INPUT
    assert done.stdout == ""
