"""A representation of points learnt from the public pool alone.

Whatever is fitted on all private records touches every teacher and voids the guarantee. Fitted on
public points only, a representation is a public function of a record and costs nothing.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit import validation
from tacit.data.representations.curved import CurvedFeatures
from tacit.data.representations.encoding import NARROW, encoder_for, is_table
from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]

_BLOCK = 8192
_CLIP = 2.0
"""Rows are clipped at this many times the pool's mean length: a record cannot be an outlier."""


class PoolRepresentation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal coordinates of the public pool, of one overall scale.

    Numbers, sparse matrices, data frames (categories are one-hot encoded, numbers standardised)
    and texts (tf-idf) all become dense vectors: the leading principal directions of the pool,
    divided by the pool's mean length and multiplied by ``scale``, rows clipped at twice that.
    Sparse matrices of more than 4,096 columns are taken for word counts: columns are weighed by
    how rare they are in the pool, rows brought to length one.

    Parameters
    ----------
    n_components : int, default 150
        Most directions kept. Public.
    scale : float, default 64
        Mean length of a row. A large scale leaves a regularised linear learner of default strength
        almost unregularised on shards of some tens of records, which its vote averages out.

    flatten : float, default 0.125
        Coordinates are divided by their variance to this power: a little whitening lets small
        shards see more than the strongest directions.
    curved : bool, default False
        Join steps and kernels of the columns to them (``CurvedFeatures``), so that a model that is
        linear in the coordinates can bend. Texts and wide sparse matrices stay as they are.

    Examples
    --------
    >>> pool = np.random.default_rng(0).normal(size=(50, 3))
    >>> PoolRepresentation(scale=1.0).fit_transform(pool).shape
    (50, 3)
    """

    def __init__(
        self,
        n_components: int = 150,
        scale: float = 64.0,
        flatten: float = 0.125,
        curved: bool = False,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.flatten = flatten
        self.curved = curved

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the representation. ``X`` is the public pool, never a private record."""
        validation.positive_integer(n_components=self.n_components)
        validation.positive(scale=self.scale)
        validation.fraction(flatten=self.flatten)
        self.encoder_ = encoder_for(X)
        encoded = self.encoder_.fit_transform(X) if self.encoder_ is not None else X
        if encoded.shape[0] < 2:
            raise InvalidArgument("`X` must hold at least two public points.")
        self.n_features_in_ = int(encoded.shape[1])
        self.curves_ = None
        if self.curved and is_table(X):
            self.curves_ = CurvedFeatures().fit(encoded)
            encoded = self.curves_.transform(encoded)
        self.center_, self.directions_ = _principal(encoded, self.n_components, self.flatten)
        coordinates = self._project(encoded)
        length = float(np.sqrt((coordinates**2).sum(axis=1)).mean())
        self.length_ = length if length > 0 else 1.0
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the coordinates of points, private or public."""
        check_is_fitted(self)
        encoded = self.encoder_.transform(X) if self.encoder_ is not None else X
        rows = self._bent_and_projected(encoded) / self.length_
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        result: FloatArray = (
            rows * np.minimum(1.0, _CLIP / np.maximum(lengths, 1e-12)) * float(self.scale)
        )
        return result

    def _bent_and_projected(self, encoded: Any) -> FloatArray:
        if self.curves_ is None:
            return self._project(encoded)
        # In blocks, since there are many curves: their length depends on the number of rows alone.
        starts = range(0, max(1, encoded.shape[0]), _BLOCK)
        blocks = [self.curves_.transform(encoded[start : start + _BLOCK]) for start in starts]
        return np.concatenate([self._project(block) for block in blocks])

    def _project(self, encoded: Any) -> FloatArray:
        projected = np.asarray(encoded @ self.directions_, dtype=np.float64)
        coordinates: FloatArray = projected - self.center_
        # A private value that is not a number must not raise: which error is raised would tell.
        return np.nan_to_num(coordinates, nan=0.0, posinf=0.0, neginf=0.0)


def _principal(encoded: Any, n_components: int, flatten: float) -> tuple[FloatArray, FloatArray]:
    """Return the projected centre and the leading directions of the pool, flattened."""
    if sp.issparse(encoded) and encoded.shape[1] <= NARROW:
        encoded = encoded.toarray()
    if sp.issparse(encoded):
        from sklearn.decomposition import TruncatedSVD

        keep = max(1, min(n_components, min(encoded.shape) - 1))
        model = TruncatedSVD(keep, random_state=0).fit(encoded)
        directions = np.asarray(model.components_.T, dtype=np.float64)
    else:
        table = np.asarray(encoded, dtype=np.float64)
        _, lengths, rows = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
        keep = max(1, min(n_components, int((lengths > 1e-3 * lengths[0]).sum())))
        directions = rows[:keep].T
    coordinates = np.asarray(encoded @ directions, dtype=np.float64)
    variances = np.maximum(coordinates.var(axis=0), 1e-12)
    directions = directions * variances ** (-flatten)
    center: FloatArray = np.asarray(encoded @ directions, dtype=np.float64).mean(axis=0)
    return center, directions
