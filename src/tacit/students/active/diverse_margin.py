"""Points near the boundary that differ from each other: the default for active students."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tacit.data.pool import take
from tacit.students.active.base import FloatArray, IndexArray, smallest
from tacit.students.active.margin import Margin


@dataclass(frozen=True)
class DiverseMargin(Margin):
    """Ask about points near the boundary, spread over the pool.

    The ``factor * k`` points of smallest margin are put into ``k`` clusters, those nearest the
    boundary weighing most (1 - tanh(margin / 2)), and one point near each centre is asked.
    ``Margin`` alone asks for many near-copies of one point in a batch.

    Parameters
    ----------
    penalty : float, default 10
        Strength of the L2 penalty of the model that selects.
    n_initial : int, default 10
        Points are random until this many were asked and two classes were released.
    factor : int, default 5
        Candidates per question.

    Notes
    -----
    Any number of classes: the margin is the gap between the two top scores. Distances are between
    rows of the pool as given, so columns should be on one scale.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> queried = np.arange(100)
    >>> chosen = DiverseMargin().select(X, queried, y[queried], 4, rng)
    >>> bool(np.abs(X[chosen, 0]).mean() < np.abs(X[100:, 0]).mean() / 2)
    True
    """

    factor: int = 5

    def _nearest(
        self,
        points: Any,
        left: IndexArray,
        margins: FloatArray,
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        candidates = smallest(margins, self.factor * k, rng)
        near = left[candidates]
        if len(near) <= k:
            return near
        weights = np.maximum(1 - np.tanh(margins[candidates] / 2), 1e-9)
        return near[spread(take(points, near), weights, k, rng)]


def spread(points: Any, weights: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Return one row near each of the centres of ``k`` weighted clusters, all distinct."""
    model = KMeans(k, init="k-means++", n_init=1, random_state=int(rng.integers(2**31)))
    # Few rows: threads would wait for each other, and equal rows make fewer clusters than asked.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        distances = model.fit(points, sample_weight=weights).transform(points)
    chosen: list[int] = []
    for centre in range(k):
        distances[chosen, centre] = np.inf
        chosen.append(int(distances[:, centre].argmin()))
    return np.array(chosen, dtype=np.intp)
