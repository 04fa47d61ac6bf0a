"""Features in which a linear model can bend, learnt from the public pool alone.

A model that is linear in steps of every column is a sum of free functions of the columns, which is
most of what boosting finds in tables. One that is linear in kernels around public points is a
kernel machine: it finds what depends on several columns together. The columns themselves are kept:
where the truth is linear, nothing else is needed.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import pairwise_distances

from tacit import validation
from tacit.data.representations.encoding import dense
from tacit.data.representations.steps import spread_values

FloatArray = NDArray[np.float64]

_MOST_STEPS = 1500
_FEWEST_STEPS_OF_COLUMN = 5
_STEPS_OF_COLUMN = 30
_STEP_WEIGHT = 0.5
_RIDGE = 1e-6


class KernelFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Nystroem features of a Gaussian kernel, centred at public points.

    Parameters
    ----------
    n_centres : int, default 300
    width : float, default 1
        Of the kernel, in units of the median distance between points of the pool.

    Examples
    --------
    >>> pool = np.random.default_rng(0).normal(size=(50, 3))
    >>> KernelFeatures(10).fit(pool).transform(pool).shape
    (50, 10)
    """

    def __init__(self, n_centres: int = 300, width: float = 1.0) -> None:
        self.n_centres = n_centres
        self.width = width

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose centres and width. ``X`` is a table of public points."""
        validation.positive_integer(n_centres=self.n_centres)
        validation.positive(width=self.width)
        # Any choice of points will do; a fixed one makes the representation a function of the pool.
        order = np.random.default_rng(0).permutation(len(X))
        self.centres_: FloatArray = X[np.sort(order[: self.n_centres])]
        distances = pairwise_distances(self.centres_)
        apart = distances[distances > 0]
        width = self.width * float(np.median(apart)) if len(apart) else 1.0
        self.gamma_ = 1 / (2 * width**2)
        values, vectors = linalg.eigh(np.exp(-self.gamma_ * distances**2))
        self.normalise_: FloatArray = vectors * np.maximum(values, _RIDGE) ** -0.5
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of points, private or public; each row by itself."""
        squares = (X**2).sum(axis=1)[:, None] + (self.centres_**2).sum(axis=1)
        squared_distances = np.maximum(squares - 2 * (X @ self.centres_.T), 0.0)
        features: FloatArray = np.exp(-self.gamma_ * squared_distances) @ self.normalise_
        return features


class CurvedFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The columns of a table, steps of those that are not indicators, and kernels of all.

    Columns and kernels have the same mean length around their centre, steps half of it.

    Examples
    --------
    >>> pool = np.random.default_rng(0).normal(size=(50, 2))
    >>> CurvedFeatures().fit(pool).transform(pool).shape
    (50, 112)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn steps and kernels. ``X`` is a table of public points, all of them numbers."""
        table = _finite(X)
        distinct = [len(np.unique(column)) for column in table.T]
        columns = [place for place, number in enumerate(distinct) if number > 2]
        n_steps = min(_STEPS_OF_COLUMN, _MOST_STEPS // max(len(columns), 1))
        if n_steps < _FEWEST_STEPS_OF_COLUMN:  # pixels, words: a step of one of them says little
            columns = []
        self.columns_ = np.array(columns, dtype=np.intp)
        self.steps_ = [spread_values(table[:, column], n_steps) for column in columns]
        self.kernels_ = KernelFeatures().fit(table)
        weights = (1.0, 1.0, _STEP_WEIGHT)
        parts = self._parts(table)
        lengths = [_mean_length(part) for part in parts]
        self.scales_ = [weight / length for weight, length in zip(weights, lengths, strict=False)]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of points, private or public; each row by itself."""
        parts = self._parts(_finite(X))
        return np.hstack([part * scale for part, scale in zip(parts, self.scales_, strict=True)])

    def _parts(self, table: FloatArray) -> list[FloatArray]:
        parts = [table, self.kernels_.transform(table)]
        if len(self.columns_):
            above = [
                table[:, column, None] > steps
                for column, steps in zip(self.columns_, self.steps_, strict=True)
            ]
            parts.append(np.hstack(above).astype(np.float64))
        return parts


def _mean_length(part: FloatArray) -> float:
    centred = part - part.mean(axis=0)
    return max(float(np.sqrt((centred**2).sum(axis=1)).mean()), 1e-12)


def _finite(points: Any) -> FloatArray:
    """Return a table as an array of finite numbers: what is not finite must not reach a product."""
    finite: FloatArray = np.nan_to_num(dense(points), nan=0.0, posinf=0.0, neginf=0.0)
    return finite
