"""The columns of public points, for students that give each of them a length scale of its own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.representations.encoding import dense, encoder_for

FloatArray = NDArray[np.float64]

MOST_COLUMNS = 64
"""Wider points are seen in principal coordinates: the answers do not show so many lengths."""

_FARTHEST = 5.0


class PoolColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Centred columns: numbers divided by their deviation in the pool, indicators as they are.

    Categories become indicators. Values are cut at five deviations: a kernel has no data out
    there.

    Examples
    --------
    >>> pool = np.array([[0.0, 10.0], [1.0, 30.0], [0.0, 20.0], [1.0, 20.0]])
    >>> PoolColumns().fit(pool).transform(pool)[:2].round(2).tolist()
    [[-0.5, -1.41], [0.5, 1.41]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn centres and deviations. ``X`` is the public pool, never a private record."""
        self.encoder_ = encoder_for(X)
        table = self._encoded(X) if self.encoder_ is None else dense(self.encoder_.fit_transform(X))
        self.n_features_in_ = table.shape[1]
        self.center_: FloatArray = table.mean(axis=0)
        ordered = np.sort(table, axis=0)
        is_number = (np.diff(ordered, axis=0) > 0).sum(axis=0) > 1
        deviation = table.std(axis=0)
        self.divisor_: FloatArray = np.where(is_number & (deviation > 0), deviation, 1.0)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the columns of points."""
        check_is_fitted(self)
        columns = (self._encoded(X) - self.center_) / self.divisor_
        return np.clip(np.nan_to_num(columns), -_FARTHEST, _FARTHEST)

    def _encoded(self, X: Any) -> FloatArray:
        return dense(X if self.encoder_ is None else self.encoder_.transform(X))


def kernel_coordinates(pool: Any, *, represented: bool = False) -> Any:
    """Return a transformer fitted on the pool: its columns, or principal coordinates of many.

    ``represented`` says that points are coordinates of the caller's choice, already on one scale.
    """
    encoder = None if represented else encoder_for(pool)
    encoded = pool if encoder is None else encoder.fit_transform(pool)
    if encoded.shape[1] > MOST_COLUMNS:
        return PoolRepresentation(scale=1.0, flatten=0.0).fit(pool)
    return FunctionTransformer().fit(pool) if represented else PoolColumns().fit(pool)
