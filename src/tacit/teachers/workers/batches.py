"""What a worker is handed: rows cut out of a table, or the numbers of shards it reads itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from tacit.teachers.rows import IndexArray, RowForm, take

Shard = tuple[int, Any, Any]
"""Number, records and labels of one shard. Private, but for the number."""


class ShardSource(Protocol):
    """Shards kept where workers can read them, such as ``tacit.data.shards.ShardFolder``.

    It is pickled and sent to workers, so it holds a place, never records.
    """

    @property
    def n_shards(self) -> int:
        """Number of shards. Public."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order. Public."""

    def check(self) -> None:
        """Raise when what this process finds at the place is not what was opened."""

    def read(self, number: int) -> tuple[Any, Any]:
        """Return records and labels of one shard. Private."""

    def state(self, number: int) -> tuple[int, ...]:
        """Return what changes when the shard is written again. Private."""


class Batch(Protocol):
    """A few shards on their way to a worker, or there. Private.

    Iterating yields those that can be read, one at a time; ``unread`` holds the numbers of the
    others afterwards.
    """

    @property
    def unread(self) -> list[int]:
        """Numbers of the shards that could not be read."""

    def __iter__(self) -> Iterator[Shard]:
        """Yield shards; what goes wrong with one is no error, for the others have to continue."""


class Shards(Protocol):
    """All shards of a run, of which workers are handed a few at a time."""

    def __len__(self) -> int:
        """Number of shards. Public."""

    def batch(self, numbers: Sequence[int]) -> Batch:
        """Return a few of them, made when their turn comes."""


Convert = Callable[[int, Any, Any], tuple[Any, Any]]
"""Converts records and labels of a shard, given its number. It travels to workers: public."""


class RowBatch:
    """Shards whose rows travel to the worker."""

    def __init__(self, rows: list[Shard]) -> None:
        self._rows = rows
        self.unread: list[int] = []

    def __iter__(self) -> Iterator[Shard]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return "RowBatch(<private>)"


class TableShards:
    """Shards of one table in memory. Private."""

    def __init__(self, X: Any, y: Any, shards: Sequence[IndexArray], form: RowForm) -> None:
        self._X, self._y, self._shards, self._form = X, y, shards, form

    def __len__(self) -> int:
        return len(self._shards)

    def batch(self, numbers: Sequence[int]) -> RowBatch:
        """Cut out the rows of some shards, and no others."""
        return RowBatch([self._shard(number) for number in numbers])

    def _shard(self, number: int) -> Shard:
        rows = self._shards[number]
        return number, self._form.conform(take(self._X, rows)), take(self._y, rows)


class SourceBatch:
    """Numbers of shards, which the worker reads one at a time: no record travels."""

    def __init__(
        self, source: ShardSource, numbers: Sequence[int], conform: Callable[[Any], Any]
    ) -> None:
        self._source, self._numbers, self._conform = source, list(numbers), conform
        self.unread: list[int] = []

    def __iter__(self) -> Iterator[Shard]:
        try:
            self._source.check()
        except Exception:
            self.unread += self._numbers
            return
        for number in self._numbers:
            try:
                X, y = self._source.read(number)
            except KeyboardInterrupt:
                raise
            except BaseException:  # by error number alone: the message may hold what was read
                self.unread.append(number)
                continue
            try:
                X = self._conform(X)
            except KeyboardInterrupt:
                raise
            except BaseException:  # depends on records, so there is no message: a shard without any
                X, y = [], []
            yield number, X, y

    def __repr__(self) -> str:
        return "SourceBatch(<private>)"


class SourceShards:
    """Shards that workers read where they are.

    Parameters
    ----------
    source : ShardSource
    conform : callable
        Makes records as they were read into points of the public form, where they are read. A
        shard with which it fails counts as one without records.
    """

    def __init__(self, source: ShardSource, conform: Callable[[Any], Any]) -> None:
        self._source, self._conform = source, conform

    def __len__(self) -> int:
        return self._source.n_shards

    def batch(self, numbers: Sequence[int]) -> SourceBatch:
        """Return the numbers, with the way to the records."""
        return SourceBatch(self._source, numbers, self._conform)


class ConvertedBatch:
    """Shards that are converted one at a time, where they are worked on."""

    def __init__(self, batch: Batch, convert: Convert) -> None:
        self._batch, self._convert = batch, convert

    @property
    def unread(self) -> list[int]:
        """Numbers of the shards that could not be read."""
        return self._batch.unread

    def __iter__(self) -> Iterator[Shard]:
        for number, X, y in self._batch:
            yield number, *self._convert(number, X, y)

    def __repr__(self) -> str:
        return "ConvertedBatch(<private>)"


class ConvertedShards:
    """Shards whose records are converted by whoever works on them.

    Parameters
    ----------
    shards : Shards
    convert : callable
        Must not raise over what records hold: the others of a batch have to continue.
    """

    def __init__(self, shards: Shards, convert: Convert) -> None:
        self._shards, self._convert = shards, convert

    def __len__(self) -> int:
        return len(self._shards)

    def batch(self, numbers: Sequence[int]) -> ConvertedBatch:
        """Return a few of them, not converted yet."""
        return ConvertedBatch(self._shards.batch(numbers), self._convert)
