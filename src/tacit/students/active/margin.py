"""The control, and the points nearest to the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.pool import n_rows
from tacit.students.active.base import (
    FloatArray,
    IndexArray,
    as_numbers,
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
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return ``k`` points at random. See ``Strategy``."""
        return random_unasked(n_rows(X_pool), queried, k, rng)


@dataclass(frozen=True)
class Margin:
    """Ask about the points nearest to the boundary of a logistic regression.

    With more than two classes: where the two top scores are closest.

    Parameters
    ----------
    penalty : float, default 10
        Strength of the L2 penalty of the model that selects.
    n_initial : int, default 10
        Points are random until this many were asked and two classes were released.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> queried, labels = np.array([0, 1, 2, 18, 19, 20]), np.array([0, 0, 0, 1, 1, 1])
    >>> Margin(n_initial=6).select(X, queried, labels, 1, np.random.default_rng(0))
    array([10])
    """

    penalty: float = SELECTOR_PENALTY
    n_initial: int = 10

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return the ``k`` points of smallest margin. See ``Strategy``."""
        points = as_numbers(X_pool)
        margins = None
        if len(queried) >= self.n_initial:
            margins = selector_margins(points, queried, labels, self.penalty)
        if margins is None:
            return random_unasked(n_rows(points), queried, k, rng)
        left = unasked(n_rows(points), queried)
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
