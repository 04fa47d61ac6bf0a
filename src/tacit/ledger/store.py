"""The interface between the rules of a ledger and the storage of its rows."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerFormatError
from tacit.ledger import messages
from tacit.ledger.analysts import ShownCodec
from tacit.ledger.answers import AnswerCodec, Entry, Usage
from tacit.ledger.chain import FORMAT_VERSION, NO_HASH, Kind, Row, decode_plan


class Store(Protocol):
    """Rows as seen inside one transaction. Only ``rows`` takes longer when there are more rows."""

    def newest(self, also: Collection[int] = ()) -> dict[int, Row]:
        """Return the last two rows and those with the numbers ``also``, newest first."""

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        """Return the rows with these numbers; missing ones are left out."""

    def rows(self) -> Iterator[Row]:
        """Return all rows in order, read in pages."""

    def owned(self, kind: Kind, owner: int) -> list[Row]:
        """Return the rows of one kind and owner, in order."""

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        """Return the rows of one kind and owner that have these keys."""

    def last(self, kind: Kind, owner: int) -> Row | None:
        """Return the newest row of one kind and owner."""

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows."""


class CommitUnclear(Exception):
    """A COMMIT failed, and it is not known whether it took effect."""


def append_all(store: Store, rows: Iterable[Row]) -> None:
    """Append any number of rows, a thousand at a time."""
    remaining = iter(rows)
    while page := list(itertools.islice(remaining, 1000)):
        store.append(page)


def check_linked(store: Store, rows: Iterable[Row]) -> None:
    """Check rows against the rows before them; a decision must not rest on an edited row."""
    rows = list(rows)
    previous = store.at({row.seq - 1 for row in rows if row.seq})
    for row in rows:
        check_follows(row, previous.get(row.seq - 1))


def check_follows(row: Row, previous: Row | None) -> None:
    """Check the format of a row and its hash against the row before it."""
    check_format(row)
    if row.seq and previous is None:
        raise LedgerCorrupt(f"Row {row.seq - 1} is missing.", row=row.seq - 1)
    if not row.follows(NO_HASH if previous is None else previous.hash):
        raise LedgerCorrupt(f"Row {row.seq} does not follow from row {row.seq - 1}.", row=row.seq)


def check_format(row: Row) -> None:
    """Refuse a row that is written in another format."""
    if row.format_version != FORMAT_VERSION:
        raise LedgerFormatError(messages.other_format(row.format_version, FORMAT_VERSION))


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A plan on the ledger, and the codecs of its answers and accounts."""

    seq: int
    plan: Plan
    answers: AnswerCodec
    accounts: ShownCodec

    @classmethod
    def read(cls, store: Store, plan_id: int) -> PlanRecord:
        """Return the plan with this number, checked against the row before it."""
        return cls.find(store.at({plan_id - 1, plan_id}), plan_id)

    @classmethod
    def find(cls, rows: Mapping[int, Row], plan_id: int) -> PlanRecord:
        """Return the plan with this number from rows that include it and the row before it."""
        row = rows.get(plan_id)
        if row is None or row.kind != Kind.PLAN:
            raise InvalidArgument(
                f"`plan_id` must come from open_plan of this ledger, got {plan_id}."
            )
        check_follows(row, rows.get(plan_id - 1))
        return cls(plan_id, *_decode(row.body))

    @classmethod
    def read_all(cls, store: Store) -> list[PlanRecord]:
        """Return all plans in the order they were opened."""
        rows = store.owned(Kind.PLAN, 0)
        check_linked(store, rows)
        return [cls(row.seq, *_decode(row.body)) for row in rows]

    def usage(self, store: Store, head: Row | None = None) -> Usage:
        """Return the state of the plan, from its last answer.

        ``head`` is the newest row, already checked; if it is an answer of this plan, it is it.
        """
        if head is not None and (head.kind, head.owner) == (Kind.ANSWER, self.seq):
            return self.entry(head).usage
        last = store.last(Kind.ANSWER, self.seq)
        if last is None:
            return Usage.none(self.plan)
        check_linked(store, [last])
        return self.entry(last).usage

    def entry(self, row: Row) -> Entry:
        """Return the recorded answer of a row of this plan."""
        try:
            return self.answers.decode(row.body)
        except ValueError as error:
            raise LedgerCorrupt(f"Row {row.seq} has {error}.", row=row.seq) from None


@lru_cache(maxsize=64)
def _decode(body: bytes) -> tuple[Plan, AnswerCodec, ShownCodec]:
    # Parsing only: the body was just read, so the result cannot be out of date.
    plan = decode_plan(body)
    return plan, AnswerCodec(plan), ShownCodec(plan)
