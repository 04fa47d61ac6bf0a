"""Numbers as steps, learnt from the public pool: a linear student can then bend.

A student that is linear in steps of every number is a sum of free functions, one per column: most
of what boosting finds in tables of numbers and categories, without a tree.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from tacit import validation
from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]


class StepFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One indicator "above this value" for some values of every number, and one per category.

    Steps lie at values that the pool shows, evenly over its distinct values: a column that is
    mostly zero, such as a capital gain, is resolved where it is not. Only which values occur
    matters, so no column needs scaling. A missing number is above nothing.

    Parameters
    ----------
    n_steps : int, default 30
        Most steps of a column. Public. More resolve more, and each is a direction that gets noise.

    Notes
    -----
    Fit it on the public pool alone; each row is then transformed by itself. With ``Corrections``,
    put ``PoolRepresentation`` behind it, with more coordinates than its default: rare values are
    weak directions of the pool, and those are where a bent student gains.

    Examples
    --------
    >>> pool = np.array([[0.0], [0.0], [0.0], [3.0], [9.0]])
    >>> StepFeatures().fit(pool).transform([[0.0], [2.0], [10.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, n_steps: int = 30) -> None:
        self.n_steps = n_steps

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the steps. ``X`` is the public pool, never a private record."""
        validation.positive_integer(n_steps=self.n_steps)
        self.categories_: list[Any] | None = None
        if hasattr(X, "iloc"):
            numeric = set(X.select_dtypes(include=["number", "bool"]).columns)
            self.numbers_: list[Any] | None = [name for name in X.columns if name in numeric]
            self.categories_ = [name for name in X.columns if name not in numeric]
        else:
            self.numbers_ = None
        table = self._numbers(X)
        if len(table) < 2:
            raise InvalidArgument("`X` must hold at least two public points.")
        self.steps_ = [spread_values(column, self.n_steps) for column in table.T]
        self.encoder_ = (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[self.categories_])
            if self.categories_
            else None
        )
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the indicators of points, private or public; each row by itself."""
        check_is_fitted(self)
        table = self._numbers(X)
        # Comparing a number that is missing is false, and raises nothing.
        parts: list[Any] = [
            column[:, None] > steps for column, steps in zip(table.T, self.steps_, strict=True)
        ]
        if self.encoder_ is not None:
            parts.append(self.encoder_.transform(X[self.categories_]))
        return np.hstack([np.asarray(part, dtype=np.float64) for part in parts])

    def _numbers(self, X: Any) -> FloatArray:
        """Return the columns that are numbers."""
        if sp.issparse(X):
            raise InvalidArgument(
                "`X` must be a dense table or a data frame, got a sparse matrix, whose columns are "
                "mostly words or indicators. Use PoolRepresentation for those."
            )
        if self.numbers_ is not None:
            return np.asarray(X[self.numbers_].to_numpy(dtype=np.float64, na_value=np.nan))
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2:
            raise InvalidArgument(f"`X` must have two dimensions, got {table.ndim}.")
        return table


def spread_values(column: FloatArray, n_steps: int) -> FloatArray:
    """Return at most so many of the column's values, evenly spread in their order.

    The largest is left out: no point of the pool is above it.
    """
    values = np.unique(column[np.isfinite(column)])[:-1]
    if len(values) > n_steps:
        values = values[np.unique(np.linspace(0, len(values) - 1, n_steps).round().astype(int))]
    chosen: FloatArray = values
    return chosen
