"""Rows behind a transaction: the seam between the rules of a ledger and what keeps its rows."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from tacit.errors import LedgerCorrupt, LedgerFormatError
from tacit.ledger import words
from tacit.ledger.chain import FORMAT_VERSION, NO_HASH, Kind, Row


class Wanted(Protocol):
    """What a request asks about: the answers to some keys under a plan, for an analyst or nobody.

    ``analyst_key`` is the key of the analyst's row, empty if there is none.
    """

    @property
    def plan(self) -> int:
        """The plan's row."""

    @property
    def keys(self) -> frozenset[bytes]:
        """The keys."""

    @property
    def analyst_key(self) -> bytes:
        """The analyst's."""


class Store(Protocol):
    """Rows within one transaction. Nothing but ``rows`` takes longer when there are more rows."""

    def head(self) -> Row | None:
        """Return the newest row."""

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        """Return rows by their numbers: those that are there."""

    def rows(self) -> Iterator[Row]:
        """Return all rows in order, a few at a time."""

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        """Return the rows of one kind and owner with numbers beyond ``after``, in order."""

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        """Return the rows of one kind and owner that have these keys."""

    def last(self, kind: Kind, owner: int) -> Row | None:
        """Return the newest row of one kind and owner."""

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""

    def expect(self, wanted: Wanted, seen: int) -> None:
        """Hear that others have added rows, so that the accounts are going to be looked at, too.

        ``seen`` is the number of the row that was the newest one before. A store may fetch all of
        it in one go. Only before a transaction writes.
        """


class CommitUnclear(Exception):
    """A commit failed in a way that leaves open whether it took effect."""


def append_all(store: Store, rows: Iterable[Row]) -> None:
    """Add any number of rows at the end, a thousand at a time."""
    remaining = iter(rows)
    while some := list(itertools.islice(remaining, 1000)):
        store.append(some)


def alike(rows: Sequence[Row]) -> list[tuple[tuple[int, int, int, int], list[Row]]]:
    """Return rows in runs of one form: format version, kind, owner and size of the body."""
    runs: list[tuple[tuple[int, int, int, int], list[Row]]] = []
    for owner, found in itertools.groupby(rows, _OWNER):
        run = list(found)
        sizes = set(map(len, map(BODY, run)))
        if len(sizes) == 1:  # as always, but for plans
            runs.append(((*owner, sizes.pop()), run))
            continue
        by_size = itertools.groupby(run, lambda row: len(row.body))
        runs += [((*owner, size), list(some)) for size, some in by_size]
    return runs


_OWNER = operator.itemgetter(1, 2, 3)
"""Of a row: format version, kind and owner."""

BODY, HASH = operator.itemgetter(4), operator.itemgetter(5)
"""Of a row, too."""


def check_linked(store: Store, rows: Iterable[Row]) -> None:
    """Check rows against the rows before them: what a decision rests on must hold by itself."""
    found = list(rows)
    before = store.at({row.seq - 1 for row in found if row.seq})
    for row in found:
        check_format(row)
        if row.seq and row.seq - 1 not in before:
            raise LedgerCorrupt(f"Row {row.seq - 1} is missing.", row=row.seq - 1)
        if not row.follows(before[row.seq - 1].hash if row.seq else NO_HASH):
            raise LedgerCorrupt(
                f"Row {row.seq} does not follow from row {row.seq - 1}.", row=row.seq
            )


def check_format(row: Row) -> None:
    """Refuse a row of another format than this one."""
    if row.format_version != FORMAT_VERSION:
        raise LedgerFormatError(words.other_format(row.format_version, FORMAT_VERSION))
