"""Where voting fails and relabelling does not: fixed samples and seeded noise."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.audit import SeededNoise
from tacit.hypotheses import FiniteClass, Stumps, Thresholds
from tacit.hypothesis_learners import (
    AgnosticOracle,
    PrivatePredictor,
    StablePredictor,
    UniversalOracle,
)
from tacit.mechanisms.prediction import consistent_teachers, teacher_votes

STUCK = (
    np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
    np.array([0.4, 0.3, 0.1, 0.1, 0.1]),
    np.array([0, 1, 1, 1, 1]),
    Stumps(n_features=3),
)
FIGURE_1 = (  # [LZCW21] Example 1
    np.arange(4.0)[:, None],
    np.full(4, 0.25),
    np.ones(4, dtype=int),
    FiniteClass.from_table([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]),
)


class SeededOracle(AgnosticOracle):
    """An oracle whose noise is the same on every run."""

    def _noise(self):
        return SeededNoise(3)


class SeededUniversal(UniversalOracle):
    """The same for the universal one."""

    def _noise(self):
        return SeededNoise(4)


def sample(problem, n):
    """Return ``n`` records."""
    points, masses, labels, _ = problem
    rows = np.random.default_rng(1).choice(len(points), n, p=masses)
    return points[rows], labels[rows]


def error(problem, answers):
    """Return the mass of wrong answers; a refusal counts as wrong."""
    return float(problem[1][np.asarray(answers) != problem[2]].sum())


@pytest.mark.parametrize(
    ("problem", "best", "vote"), [(STUCK, 0.2, 0.3), (FIGURE_1, 0.5, 0.75)], ids=["stumps", "fig1"]
)
def test_a_vote_is_stuck_and_an_agnostic_oracle_is_not(problem, best, vote):
    points, _, _, hypotheses = problem
    X, y = sample(problem, 30_000)
    teachers = consistent_teachers(hypotheses, X, y == 1, 150)
    votes = teacher_votes(hypotheses, teachers, points)
    assert error(problem, votes[:, 1] >= votes[:, 0]) == pytest.approx(vote)
    oracle = SeededOracle(hypotheses, epsilon=1.0, delta=1e-6, n_questions=len(points))
    found = error(problem, oracle.fit(X, y).predict(points))
    assert found == pytest.approx(best)
    assert found <= best + 0.05


def test_a_universal_oracle_ends_with_a_good_hypothesis():
    points, *_, hypotheses = STUCK
    X, y = sample(STUCK, 60_000)
    oracle = SeededUniversal(hypotheses, epsilon=1.0, delta=1e-6, n_first=4, cutoff=1).fit(X, y)
    oracle.ask(points)
    assert error(STUCK, hypotheses.predict(oracle.hypothesis_, points)) == pytest.approx(0.2)


def test_stable_and_private_predictions_are_close_to_the_best_hypothesis():
    """The bound of [DF20] Theorem 1 with all constants 1; the flip for the private one."""

    class Seeded(StablePredictor):
        def _noise(self):
            return SeededNoise(5)

    rng = np.random.default_rng(2)
    x = rng.random(2000)
    y = (x >= 0.5) ^ (rng.random(2000) < 0.1)
    grid = np.linspace(0, 1, 501)
    for gamma in (0.3, 0.1):
        chance = Seeded(Thresholds(), stability=gamma).fit(x, y).probability(grid)
        excess = 0.8 * np.abs(chance - (grid >= 0.5)).mean()
        alpha = 1 / (2 * gamma * 2000) + np.sqrt((1 / (2 * gamma * 2000)) ** 2 + 1 / 2000)
        assert excess < alpha
    private = PrivatePredictor(Thresholds(), epsilon=1.0).fit(x, y)
    assert private.mechanism_.flip < 0.1
