"""The metric of the student's weights, from public facts: computed before a private record is read.

Teachers may move the student only as far as the public pool allows: a teacher is the learner's
answer to its shard and to the pool labelled by the student. In the metric of that prior all
directions count alike, so that clipping and noise fall evenly on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacit.teachers.corrections.coordinates import FloatArray, contrasts

PRIOR_WEIGHT = 150.0
"""How many records the pool, labelled by the student, counts for."""

_RIDGE = 1.0
_FLOOR = 0.02
"""Curvature below this is not trusted: a student that is sure of a point may be wrong."""


@dataclass(frozen=True)
class Metric:
    """The prior precision A of a student's weights, from public points alone.

    ``whiten`` is A^(-1/2) and ``weights`` the student, one column per contrast. ``probabilities``
    are the student's, of the pool's points. ``curvature`` is the mean second derivative of the loss
    of each point over the contrasts, as teachers see it. ``haste`` says how much longer steps may
    be since the loss is less curved around the student than teachers see.
    """

    pool: FloatArray
    weights: FloatArray
    probabilities: FloatArray
    curvature: FloatArray
    whiten: FloatArray
    haste: float

    @classmethod
    def of(
        cls, pool: FloatArray, weights: FloatArray, n_classes: int, *, curved: bool = True
    ) -> Metric:
        """Return the metric around a student.

        ``curved`` says that teachers start at the student, where it is sure of many points. Others
        start at a model of equal scores, where the loss is most curved. Their steps would be
        too short by the ratio of the two curvatures; its square root is made up for, which does
        not lose what the caution is worth under noise.
        """
        proba = probabilities(pool @ weights, n_classes)
        around = np.maximum(_spread(proba), _FLOOR)
        curvature = around if curved else _spread(np.full_like(proba, 1 / n_classes))
        precision = (PRIOR_WEIGHT / len(pool)) * (pool * curvature[:, None]).T @ pool
        values, vectors = np.linalg.eigh(precision)
        values = np.maximum(values, 0.0)
        whiten = (vectors * (values + _RIDGE) ** -0.5) @ vectors.T
        haste = float(np.sqrt(curvature.mean() / around.mean()))
        return cls(pool, weights, proba, curvature, whiten, haste)

    def typical_length(self, shard_size: int) -> float:
        """Return how long the correction of a shard is, to first order, if the student is right.

        Each record adds its residual, of known variance under the student's probabilities, times
        its whitened features.
        """
        squared = ((self.pool @ self.whiten) ** 2).sum(axis=1)
        each = float((_spread(self.probabilities) * squared).mean()) * self.weights.shape[1]
        return float(np.sqrt(shard_size * each))

    def of_scores(self, difference: FloatArray) -> FloatArray:
        """Return the whitened weights nearest to contrasts given on the pool's points.

        Nearest by the curvature of each point, with the prior's ridge: in directions that the pool
        hardly shows little is moved.
        """
        # The few contrasts are weighed, not the pool: this is done for every teacher.
        weighed = (self.curvature * (PRIOR_WEIGHT / len(self.pool)))[:, None] * difference
        whitened: FloatArray = self.whiten @ (self.pool.T @ weighed)
        return whitened

    def imagined_labels(
        self, rng: np.random.Generator, n_teachers: int, shard_size: int
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return shards of public points, labelled at random as the student believes.

        The contributions of teachers trained on them are public, and show how long contributions
        are when the student is right.
        """
        points = rng.integers(len(self.pool), size=(n_teachers, shard_size))
        upto = np.cumsum(self.probabilities, axis=1)[points]
        drawn = (rng.random((n_teachers, shard_size, 1)) > upto[..., :-1]).sum(axis=2)
        return points, drawn.astype(np.int64)


def _spread(proba: FloatArray) -> FloatArray:
    """Return the mean variance of a point's residual over the contrasts."""
    variance: FloatArray = (1 - (proba**2).sum(axis=1)) / (2 * (proba.shape[1] - 1))
    return variance


def probabilities(scores: FloatArray, n_classes: int) -> FloatArray:
    """Return class probabilities from contrasts, along the last axis."""
    proba: FloatArray = special.softmax(scores @ contrasts(n_classes).T, axis=-1)
    return proba
