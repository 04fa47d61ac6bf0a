"""Rows behind a transaction: the seam between the rules of a ledger and what keeps its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tacit.errors import LedgerCorrupt, LedgerFormatError
from tacit.privacy.answer import Answer
from tacit.privacy.ledger import words
from tacit.privacy.ledger.chain import (
    FORMAT_VERSION,
    NO_HASH,
    AnswerCodec,
    Entry,
    Kind,
    Row,
    decode_plan,
)
from tacit.privacy.plan import Plan


class Store(Protocol):
    """Rows within one transaction."""

    def head(self) -> Row | None:
        """Return the newest row."""

    def row(self, seq: int) -> Row | None:
        """Return a row by its number."""

    def rows(self, kind: Kind | None = None) -> Iterator[Row]:
        """Return all rows, or all of one kind, in order."""

    def answer(self, plan: int, key: bytes) -> Row | None:
        """Return the answer to a question, by the hash of its key."""

    def last_answer(self, plan: int) -> Row | None:
        """Return the newest answer of a plan."""

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""


class CommitUnclear(Exception):
    """A commit failed in a way that leaves open whether it took effect."""


def check_linked(store: Store, row: Row) -> None:
    """Check one row against the row before it: what a decision rests on must hold by itself."""
    if row.format_version > FORMAT_VERSION:
        raise LedgerFormatError(words.newer_format(row.format_version, FORMAT_VERSION))
    before = None if row.seq == 0 else store.row(row.seq - 1)
    if row.seq and before is None:
        raise LedgerCorrupt(f"Row {row.seq - 1} is missing.")
    if not row.follows(before.hash if before else NO_HASH):
        raise LedgerCorrupt(f"Row {row.seq} does not follow from row {row.seq - 1}.")


def decoded(codec: AnswerCodec, row: Row) -> Entry:
    try:
        return codec.decode(row.body)
    except ValueError as error:
        raise LedgerCorrupt(f"Row {row.seq} has {error}.") from None


def look_up(
    store: Store,
    plan_id: int,
    keys: Sequence[bytes],
    codec: AnswerCodec,
    charged: Sequence[bytes] = (),
) -> tuple[dict[bytes, Answer], dict[bytes, int]]:
    """Return the answers that are recorded, and the first position of every key that has none.

    An answer given again cost nothing this time, so it carries its cost only if ``charged``.
    """
    stored: dict[bytes, Answer] = {}
    new: dict[bytes, int] = {}
    for position, key in enumerate(keys):
        if key in stored or key in new:
            continue
        row = store.answer(plan_id, key)
        if row is None:
            new[key] = position
        else:
            check_linked(store, row)
            found = decoded(codec, row).answer
            stored[key] = found if key in charged else free(found)
    return stored, new


def free(answer: Answer) -> Answer:
    return Answer(answer.output, answer.values, answer.unit, answer.sigma, (), answer.secure)


def opened_plans(store: Store) -> dict[int, Plan]:
    return {row.seq: decode_plan(row.body)[1] for row in store.rows(Kind.PLAN)}
