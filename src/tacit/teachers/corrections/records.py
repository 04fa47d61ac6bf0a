"""Private records of disjoint shards, as teachers and the student see them.

They are in memory, or in files that workers read: what is done with a shard is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.data.pool import n_rows
from tacit.teachers.corrections.coordinates import Coordinates, FloatArray, with_constant
from tacit.teachers.labels import ClassList
from tacit.teachers.represented import ShardTransform
from tacit.teachers.rows import IndexArray, RowForm, row_access, take
from tacit.teachers.train import check_shards
from tacit.teachers.workers.batches import (
    Batch,
    ConvertedShards,
    Shard,
    Shards,
    ShardSource,
    SourceShards,
    TableShards,
)

Weigh = Callable[[FloatArray, NDArray[np.int64]], FloatArray]
"""Returns weights of records, given their coordinates and the positions of their classes."""


class CorrectionRecords(Protocol):
    """Private records of disjoint shards.

    ``in_memory`` says that this process holds them, so that work on them can be kept.
    """

    in_memory: bool

    def __len__(self) -> int:
        """Number of shards. Public."""

    def in_coordinates(self, most: int | None = None) -> Shards:
        """Return shards of records in coordinates, with a constant, and of class positions.

        At most ``most`` records of each shard: of larger ones a random subset.
        """

    def weighted(self, weigh: Weigh) -> Shards:
        """Return shards of records as teachers see them, and of what ``weigh`` says of each."""


class RecordsInMemory:
    """Records of one table. Private.

    Parameters
    ----------
    X : table
        Records in the representation of the student.
    labels : array of int
        Position of every record's class; -1 for labels that are no class.
    shards : sequence of index arrays
        Disjoint. Their number is public.
    coordinates : Coordinates
    seen : table, optional
        Records as teachers see them, where that is not ``X``.
    form : RowForm, optional
        What ``seen`` is made to follow. Public.
    together : bool
        Whether all records are put in coordinates at once, which is faster. Only where the
        representation takes any values without an error, and where the number of records, and so
        the place of each, is public.
    """

    in_memory = True

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.int64],
        shards: Sequence[IndexArray],
        coordinates: Coordinates,
        *,
        seen: Any = None,
        form: RowForm | None = None,
        together: bool = False,
    ) -> None:
        check_shards(X, shards)
        self._X, self._labels, self._shards = row_access(X), labels, shards
        self._seen = self._X if seen is None else row_access(seen)
        self._form = RowForm(self._seen, public=False) if form is None else form
        self._coordinates, self._together = coordinates, together
        self._encoded: list[Shard] | None = None

    def __len__(self) -> int:
        return len(self._shards)

    def in_coordinates(self, most: int | None = None) -> Shards:
        """Return shards of records in coordinates, and of class positions."""
        shards = [drawn(shard, number, most) for number, shard in enumerate(self._shards)]
        rows = _Together if self._together else _Apart
        return _CoordinateShards(rows(self._X, shards, self._coordinates), self._labels, shards)

    def weighted(self, weigh: Weigh) -> Shards:
        """Return shards of records as teachers see them, and of what ``weigh`` says of each."""
        if self._encoded is None:  # put in coordinates once, not in every round
            self._encoded = list(self.in_coordinates().batch(range(len(self))))
        weights: FloatArray | None = None
        for number, rows, labels in self._encoded:
            given = weigh(rows, labels)
            if weights is None:
                weights = np.zeros((len(self._labels), given.shape[1]))
            weights[self._shards[number]] = given
        return TableShards(self._seen, weights, self._shards, self._form)

    def __repr__(self) -> str:
        return "RecordsInMemory(<private>)"


class RecordsOnShards:
    """Records in files, which workers read one shard at a time. Nothing is kept. Private.

    Parameters
    ----------
    source : ShardSource
    conform : callable
        Makes records as they are read into points of the public schema.
    classes : ClassList
    coordinates : Coordinates
    transform : ShardTransform
        To the representation of the student.
    transformed : bool
        Whether teachers see transformed records too.
    """

    in_memory = False

    def __init__(
        self,
        source: ShardSource,
        conform: Callable[[Any], Any],
        classes: ClassList,
        coordinates: Coordinates,
        transform: ShardTransform,
        *,
        transformed: bool,
    ) -> None:
        self._shards = SourceShards(source, conform)
        self._convert = _Conversion(classes, coordinates, transform)
        self._transformed = transformed

    def __len__(self) -> int:
        return len(self._shards)

    def in_coordinates(self, most: int | None = None) -> Shards:
        """Return shards of records in coordinates, and of class positions."""
        return ConvertedShards(self._shards, _Drawn(self._convert, most))

    def weighted(self, weigh: Weigh) -> Shards:
        """Return shards of records as teachers see them, and of what ``weigh`` says of each."""
        return ConvertedShards(self._shards, _Weighed(self._convert, weigh, self._transformed))

    def __repr__(self) -> str:
        return "RecordsOnShards(<private>)"


def drawn(shard: IndexArray, number: int, most: int | None) -> IndexArray:
    """Return at most ``most`` of a shard's positions, in order.

    A function of the shard's own length, its number and ``most``: no other shard plays a part.
    """
    if most is None or len(shard) <= most:
        return shard
    rng = np.random.default_rng([number, len(shard)])
    return shard[np.sort(rng.choice(len(shard), most, replace=False))]


def in_coordinates(X: Any, coordinates: Coordinates) -> FloatArray:
    """Return the records of one shard in coordinates, with a constant. Private.

    A shard that cannot be put in coordinates becomes zeros; nothing is raised.
    """
    try:
        rows = coordinates.transform(X)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a representation may keep texts, of which one is no number
        rows = np.zeros((n_rows(X), coordinates.n_features_in_))
    return with_constant(rows)


# ---- in memory -----------------------------------------------------------------------------------


class _Apart:
    """Puts the records of one shard in coordinates when they are asked for. Private."""

    def __init__(self, X: Any, shards: Sequence[IndexArray], coordinates: Coordinates) -> None:
        self._rows, self._coordinates = X, coordinates

    def __call__(self, shard: IndexArray) -> FloatArray:
        return in_coordinates(take(self._rows, shard), self._coordinates)


class _Together:
    """Puts all records in coordinates beforehand. Private."""

    def __init__(self, X: Any, shards: Sequence[IndexArray], coordinates: Coordinates) -> None:
        used = np.concatenate(shards)
        self._table = with_constant(coordinates.transform(take(X, used)))
        self._place = np.empty(used.max(initial=-1) + 1, dtype=np.intp)
        self._place[used] = np.arange(len(used))

    def __call__(self, shard: IndexArray) -> FloatArray:
        rows: FloatArray = self._table[self._place[shard]]
        return rows


class _CoordinateShards:
    """Shards of a table, put in coordinates when their turn comes. Private."""

    def __init__(
        self,
        rows: Callable[[IndexArray], FloatArray],
        labels: NDArray[np.int64],
        shards: Sequence[IndexArray],
    ) -> None:
        self._rows, self._labels, self._shards = rows, labels, shards

    def __len__(self) -> int:
        return len(self._shards)

    def batch(self, numbers: Sequence[int]) -> Batch:
        return _CoordinateBatch(self, numbers)

    def shard(self, number: int) -> Shard:
        positions = self._shards[number]
        return number, self._rows(positions), self._labels[positions]


class _CoordinateBatch:
    """A few of them. Private."""

    def __init__(self, shards: _CoordinateShards, numbers: Sequence[int]) -> None:
        self._shards, self._numbers = shards, numbers
        self.unread: list[int] = []

    def __iter__(self) -> Iterator[Shard]:
        return map(self._shards.shard, self._numbers)

    def __repr__(self) -> str:
        return "CoordinateBatch(<private>)"


# ---- where workers read them ---------------------------------------------------------------------


class _Conversion:
    """From records as they are read to the representation, coordinates and class positions."""

    def __init__(
        self, classes: ClassList, coordinates: Coordinates, transform: ShardTransform
    ) -> None:
        self.classes, self._coordinates, self.transform = classes, coordinates, transform

    def coordinates(self, transformed: Any) -> FloatArray:
        """Return transformed records in coordinates, with a constant."""
        return in_coordinates(transformed, self._coordinates)


class _Drawn:
    """Converts some records of a shard to coordinates and class positions."""

    def __init__(self, convert: _Conversion, most: int | None) -> None:
        self._convert, self._most = convert, most

    def __call__(self, number: int, X: Any, y: Any) -> tuple[FloatArray, NDArray[np.int64]]:
        positions = drawn(np.arange(n_rows(X)), number, self._most)
        if len(positions) < n_rows(X):
            X, y = take(row_access(X), positions), take(y, positions)
        rows = self._convert.coordinates(self._convert.transform(X))
        return rows, self._convert.classes.positions(y)


class _Weighed:
    """Converts the records of a shard to what teachers see, and weighs them."""

    def __init__(self, convert: _Conversion, weigh: Weigh, transformed: bool) -> None:
        self._convert, self._weigh, self._transformed = convert, weigh, transformed

    def __call__(self, number: int, X: Any, y: Any) -> tuple[Any, FloatArray]:
        there = self._convert.transform(X)
        weights = self._weigh(self._convert.coordinates(there), self._convert.classes.positions(y))
        return (there if self._transformed else X), weights
