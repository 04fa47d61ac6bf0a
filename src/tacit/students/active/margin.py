"""The control, and the points nearest to the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.students.active.base import (
    FloatArray,
    IndexArray,
    as_numbers,
    pool_size,
    random_unasked,
    smallest,
    unasked,
)
from tacit.students.active.selector import SELECTOR_PENALTY, selector_margins


@dataclass(frozen=True)
class Random:
    """Ask about random points: the control for every other strategy.

    Asking fewer questions gives each less noise, whichever they are. Only what a strategy gains
    over this one, at the same number of answers, is the strategy's doing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> len(Random().select(np.zeros((9, 2)), np.array([1]), np.array([0]), 3, rng))
    3
    """

    def select(
        self,
        X_pool: Any,
        asked: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return ``k`` points at random. See ``Strategy``."""
        return random_unasked(pool_size(X_pool), asked, k, rng)


@dataclass(frozen=True)
class Margin:
    """Ask about the points nearest to the boundary of a logistic regression.

    With more than two classes: where the two top scores are closest.

    Parameters
    ----------
    penalty : float, default 10
        Strength of the L2 penalty of the model that selects.
    n_initial : int, default 10
        Until so many points were asked, and two classes released, points are random.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> asked, labels = np.array([0, 1, 2, 18, 19, 20]), np.array([0, 0, 0, 1, 1, 1])
    >>> Margin(n_initial=6).select(X, asked, labels, 1, np.random.default_rng(0))
    array([10])
    """

    penalty: float = SELECTOR_PENALTY
    n_initial: int = 10

    def select(
        self,
        X_pool: Any,
        asked: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return the ``k`` points of smallest margin. See ``Strategy``."""
        points = as_numbers(X_pool)
        margins = None
        if len(asked) >= self.n_initial:
            margins = selector_margins(points, asked, labels, self.penalty)
        if margins is None:
            return random_unasked(pool_size(points), asked, k, rng)
        left = unasked(pool_size(points), asked)
        return self._nearest(points, left, margins[left], k, rng)

    def _nearest(
        self,
        points: Any,
        left: IndexArray,
        margins: FloatArray,
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return ``k`` of the points that are left, given the margin of each."""
        return left[smallest(margins, k, rng)]
