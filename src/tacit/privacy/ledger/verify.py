"""The walk along the whole chain: recompute everything, trust nothing that can be recomputed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tacit.errors import LedgerCorrupt, LedgerFormatError, TacitError
from tacit.privacy.events import Event
from tacit.privacy.ledger import words
from tacit.privacy.ledger.chain import (
    FORMAT_VERSION,
    NO_HASH,
    AnswerCodec,
    Creation,
    Kind,
    Row,
    decode_plan,
)
from tacit.privacy.ledger.composition import fits
from tacit.privacy.ledger.protocol import Head
from tacit.privacy.ledger.store import Store
from tacit.privacy.plan import Plan


def verify_rows(store: Store, creation: Creation, known: Head | None) -> Row:
    """Return the newest row once every row has been checked; see ``Ledger.verify``."""
    walk = _Walk(creation)
    last: Row | None = None
    found_known = known is None
    for number, row in enumerate(store.rows()):
        _check_place(row, number, last)
        walk.check(row)
        if known is not None and row.seq == known.seq:
            found_known = row.hash.hex() == known.hash
        last = row
    if last is None:
        raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.")
    if not found_known:
        raise LedgerCorrupt(
            "The ledger does not contain the head it is compared with: it was replaced, or put "
            "back to an earlier state."
        )
    return last


def _check_place(row: Row, number: int, before: Row | None) -> None:
    if row.seq != number:
        raise LedgerCorrupt(f"Row {number} is missing.")
    if row.format_version > FORMAT_VERSION:
        raise LedgerFormatError(words.newer_format(row.format_version, FORMAT_VERSION))
    if not row.follows(NO_HASH if before is None else before.hash):
        raise LedgerCorrupt(f"Row {number} was changed, inserted or moved, or one before it.")


@dataclass(slots=True)
class _Account:
    """What the rows so far say about one plan."""

    codec: AnswerCodec
    used: Counter[Event] = field(default_factory=Counter)
    keys: set[bytes] = field(default_factory=set)


class _Walk:
    """Follows what the rows say, from the first to the last."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation
        self._plans: list[Plan] = []
        self._names: set[bytes] = set()
        self._accounts: dict[int, _Account] = {}

    def check(self, row: Row) -> None:
        try:
            problem = self._problem(row)
        except (ValueError, KeyError, TypeError, TacitError):
            problem = "cannot be read"
        if problem:
            raise LedgerCorrupt(f"Row {row.seq} {problem}.")

    def _problem(self, row: Row) -> str | None:
        if (row.kind == Kind.CREATED) != (row.seq == 0):
            return "is not where the beginning of a ledger must be"
        if row.kind == Kind.CREATED:
            same = Creation.decode(row.body) == self._creation
            return None if same else "promises something else than when the ledger was opened"
        return self._plan(row) if Kind(row.kind) is Kind.PLAN else self._answer(row)

    def _plan(self, row: Row) -> str | None:
        name, plan = decode_plan(row.body)
        if name in self._names:
            return "opens a plan a second time"
        self._names.add(name)
        self._plans.append(plan)
        self._accounts[row.seq] = _Account(AnswerCodec(plan))
        if not fits(self._creation.budget, self._creation.composition, self._plans):
            return "opens a plan that does not fit the budget"
        return None

    def _answer(self, row: Row) -> str | None:
        account = self._accounts.get(row.plan)
        if account is None:
            return "answers under a plan that was not opened before it"
        entry = account.codec.decode(row.body)
        if entry.key in account.keys:
            return "answers a question a second time"
        account.keys.add(entry.key)
        account.used.update(entry.answer.cost)
        most = account.codec.plan.most
        if any(account.used[event] != entry.used[event] for event in most):
            return "counts something else than the rows before it"
        if any(account.used[event] > most[event] for event in most):
            return "spends more than its plan"
        return None
