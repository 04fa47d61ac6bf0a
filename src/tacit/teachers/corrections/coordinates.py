"""The public coordinates in which a student is linear: features of a point, scores of classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.data.representations.encoding import dense
from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]

LENGTH = 4.0
"""Mean length of a point of the pool: what the weight of the prior below is meant for."""

_CLIP = 2.0

_MOST_COORDINATES = 10_000
"""The metric is a square table of so many rows: more would fill the memory, or take days."""


class Coordinates(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Points brought to one scale, learnt from the public pool alone.

    Whatever representation a point comes in, it is centred, divided by the pool's mean length and
    multiplied by 4; rows longer than twice that are cut. So the weight of the student's prior means
    the same for every data set.

    Examples
    --------
    >>> pool = np.random.default_rng(0).normal(size=(50, 3))
    >>> lengths = np.linalg.norm(Coordinates().fit(pool).transform(pool), axis=1)
    >>> bool(3.5 < lengths.mean() <= 4 and lengths.max() <= 8.001)
    True
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn centre and length. ``X`` is the public pool, never a private record."""
        width = X.shape[1] if getattr(X, "ndim", 0) == 2 else 0
        if width > _MOST_COORDINATES:
            raise InvalidArgument(
                f"`representation` must make at most {_MOST_COORDINATES} coordinates with the "
                f"method Corrections, got {width}. Put a projection behind it, such as "
                'TruncatedSVD(150), or leave it at "auto".'
            )
        table = dense(X)
        if table.ndim != 2 or not np.isfinite(table).all():
            raise InvalidArgument(
                "`representation` must make a table of finite numbers of the public points."
            )
        self.center_: FloatArray = table.mean(axis=0)
        length = float(np.sqrt(((table - self.center_) ** 2).sum(axis=1)).mean())
        self.length_ = length if length > 0 else 1.0
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return points, private or public, in these coordinates; each row by itself."""
        # A private value that is not a number must not raise, nor warn.
        with np.errstate(all="ignore"):
            rows = _finite((dense(X) - self.center_) / self.length_)
            lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
            rows = rows * (LENGTH * np.minimum(1.0, _CLIP / np.maximum(lengths, 1e-12)))
            return _finite(rows)


def _finite(rows: FloatArray) -> FloatArray:
    finite: FloatArray = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    return finite


def with_constant(rows: FloatArray) -> FloatArray:
    """Return points with a one appended, whose weight is the intercept."""
    return np.column_stack([rows, np.ones(len(rows))])


def contrasts(n_classes: int) -> FloatArray:
    """Return how class scores are made of contrasts: scores = contrasts of a point @ this.T.

    Scores of classes mean the same when a constant is added to all, so there is one contrast less
    than classes. For two classes the contrast is the log-odds of the second.

    Examples
    --------
    >>> contrasts(2).ravel().round(6).tolist()
    [-0.5, 0.5]
    """
    basis = np.zeros((n_classes, n_classes - 1))
    for column in range(n_classes - 1):
        basis[: column + 1, column] = -1.0
        basis[column + 1, column] = column + 1.0
    lengths = np.sqrt((basis**2).sum(axis=0))
    # Columns of squared length one half: only so the one contrast of two classes is the log-odds.
    columns: FloatArray = basis / lengths / np.sqrt(2.0)
    return columns


def as_contrasts(scores: FloatArray) -> FloatArray:
    """Return the contrasts of class scores, the inverse of ``contrasts``.

    Examples
    --------
    >>> as_contrasts(np.array([[-1.0, 1.0]])).round(6).tolist()
    [[2.0]]
    """
    differences: FloatArray = 2 * (scores @ contrasts(scores.shape[1]))
    return differences
