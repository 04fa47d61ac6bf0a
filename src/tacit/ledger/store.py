"""The interface between the rules of a ledger and the storage of its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from tacit.ledger.chain import Address, Row, RowKind


class Store(Protocol):
    """Rows as seen inside one transaction.

    No decision may rest on an edited row: every method but ``rows`` checks the rows that it returns
    against the hash of the row before. Only ``rows`` takes longer when there are more rows.
    """

    def newest(self, also: Collection[int] = ()) -> dict[int, Row]:
        """Return the last row and those with the numbers ``also``, newest first."""

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        """Return the rows with these numbers; missing ones are left out."""

    def rows(self) -> Iterator[Row]:
        """Return all rows in order, read in pages and not checked."""

    def owned(self, kind: RowKind, owner: int) -> list[Row]:
        """Return the rows of one kind and owner, in order."""

    def keyed(self, addresses: Collection[Address]) -> dict[Address, Row]:
        """Return the rows with these kinds, owners and keys; missing ones are left out."""

    def last(self, kind: RowKind, owner: int) -> Row | None:
        """Return the newest row of one kind and owner."""

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows."""


class CommitUnclear(Exception):
    """A COMMIT failed, and it is not known whether it took effect."""
