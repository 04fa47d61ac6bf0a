"""Private records in the student's coordinates, one shard at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.teachers.corrections.coordinates import Coordinates, FloatArray, with_constant
from tacit.teachers.rows import IndexArray, row_access, take
from tacit.teachers.teacher import FAILURES

ShardRows = Callable[[IndexArray], FloatArray]
"""Returns the records of a shard in coordinates, with a constant. Private."""


def shard_rows(
    X: Any, shards: Sequence[IndexArray], coordinates: Coordinates, *, together: bool
) -> ShardRows:
    """Return what puts the records of a shard in coordinates.

    Parameters
    ----------
    X : table
        Records in the representation. Private.
    together : bool
        Whether all records are put in coordinates at once, which is faster. Only where the
        representation takes any values without an error, and where the number of records, and so
        the place of each, is public.
    """
    return _Together(X, shards, coordinates) if together else _Apart(X, coordinates)


class _Apart:
    """Puts the records of one shard in coordinates when they are asked for. Private."""

    def __init__(self, X: Any, coordinates: Coordinates) -> None:
        self._rows, self._coordinates = row_access(X), coordinates

    def __call__(self, shard: IndexArray) -> FloatArray:
        try:
            found = self._coordinates.transform(take(self._rows, shard))
        except FAILURES:  # a representation may keep texts, of which one is no number
            found = np.zeros((len(shard), self._coordinates.n_features_in_))
        return with_constant(found)


class _Together:
    """Puts all records in coordinates beforehand. Private."""

    def __init__(self, X: Any, shards: Sequence[IndexArray], coordinates: Coordinates) -> None:
        used = np.concatenate(shards)
        self._table = with_constant(coordinates.transform(take(row_access(X), used)))
        self._place = np.empty(used.max(initial=-1) + 1, dtype=np.intp)
        self._place[used] = np.arange(len(used))

    def __call__(self, shard: IndexArray) -> FloatArray:
        found: FloatArray = self._table[self._place[shard]]
        return found
