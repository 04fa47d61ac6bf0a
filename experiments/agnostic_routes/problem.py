"""Two problems on which the vote of good teachers is worse than each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.hypotheses import FiniteClass, HypothesisClass, Stumps


@dataclass(frozen=True)
class Problem:
    """Finitely many points with masses and labels, and a class of hypotheses."""

    points: np.ndarray
    masses: np.ndarray
    labels: np.ndarray
    hypotheses: HypothesisClass

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return ``n`` independent records."""
        rows = rng.choice(len(self.points), n, p=self.masses)
        return self.points[rows], self.labels[rows]

    def error(self, answers: np.ndarray) -> float:
        """Return the mass of the points answered wrongly; a refusal counts as wrong."""
        return float(self.masses[np.asarray(answers) != self.labels].sum())

    def best(self) -> float:
        """Return the smallest error of any hypothesis."""
        return min(
            self.error(row.astype(int))
            for block in self.hypotheses.dichotomies(self.points)
            for row in block.labels
        )


def stuck() -> Problem:
    """Three binary features: (0,0,0) is 0, (1,1,1) and the unit vectors are 1.

    Each feature alone errs on two unit vectors, 0.2. Teachers pick one of the three at random, so
    two thirds of them call each unit vector 0: their vote errs on all three, 0.3.
    """
    return Problem(
        points=np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
        masses=np.array([0.4, 0.3, 0.1, 0.1, 0.1]),
        labels=np.array([0, 1, 1, 1, 1]),
        hypotheses=Stumps(n_features=3),
    )


def figure_1() -> Problem:
    """[LZCW21] Example 1: four points, all labelled 1; each of three hypotheses is half right."""
    return Problem(
        points=np.arange(4.0)[:, None],
        masses=np.full(4, 0.25),
        labels=np.ones(4, dtype=int),
        hypotheses=FiniteClass.from_table([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]),
    )
