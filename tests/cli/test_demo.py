"""The demonstration runs, learns something, and says what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from tacit.cli.demo import _fitted, demo, run_demo
from tacit.datasets.synthetic import best_logistic_error
from tacit.privacy.budget import Budget

SMALL = ["--records", "2000", "--teachers", "50", "--questions", "40", "--epsilon", "5"]


def test_it_prints_accuracies_and_a_privacy_statement() -> None:
    done = CliRunner().invoke(demo, SMALL)
    assert done.exit_code == 0, done.output
    for words in (
        "Accuracy",
        "Privacy statement",
        "What is protected",
        "From whom",
        "epsilon = ",
        "delta = 1e-05",
        "one record replaced",
        "generated",
        "Lifetime budget",
        "40 answers",
        "Where to look next",
    ):
        assert words in done.output
    assert "INSECURE" not in done.output


def test_the_guarantee_stays_within_the_budget_and_the_student_learns() -> None:
    # 250 answers at epsilon 50 are nearly without noise: the margins below are about 1e-9 away.
    result = run_demo(4000, 100, 250, Budget(50.0, 1e-5), np.random.default_rng(3))
    assert result.plan.guarantee.epsilon <= 50.0
    assert result.released > 0.75
    assert result.student > 0.75
    assert max(result.student, result.not_private) <= result.best
    # 100,000 points: ten standard errors.
    assert abs(result.best - (1 - best_logistic_error(4.0))) < 0.005


def test_a_shard_with_one_class_still_has_a_teacher() -> None:
    features = np.zeros((3, 2))
    for label in (0, 1):
        fitted = _fitted(features, np.full(3, label))
        assert fitted.predict(features).tolist() == [label] * 3


@pytest.mark.parametrize("option", [["--epsilon", "-1"], ["--teachers", "1"], ["--delta", "2"]])
def test_bad_settings_are_refused(option: list[str]) -> None:
    assert CliRunner().invoke(demo, [*SMALL, *option]).exit_code != 0
