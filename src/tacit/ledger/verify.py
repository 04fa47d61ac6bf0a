"""Verification of the whole chain: every hash, count and limit is recomputed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import LedgerCorrupt, TacitError
from tacit.ledger.chain import (
    Creation,
    Head,
    Restoration,
    Row,
    RowKind,
    decode_analyst,
    decode_plan,
)
from tacit.ledger.codec import PlanCodec
from tacit.ledger.composition import Totals, fits
from tacit.ledger.tallies import AnalystAccount, Tally


def verify_rows(rows: Iterable[Row], creation: Creation, known: Head | None) -> Row:
    """Return the newest row once every row has been checked; see ``Ledger.verify``."""
    verifier = _Verifier(creation)
    last: Row | None = None
    for number, row in enumerate(rows):
        if row.seq != number:
            raise LedgerCorrupt(f"Row {number} is missing.", row=number)
        row.check(None if last is None else last.hash)
        verifier.check(row, last)
        if known is not None and row.seq == known.seq and row.hash.hex() != known.hash:
            raise LedgerCorrupt(
                f"Row {row.seq} is another one than in the head it is compared with: the ledger "
                "was replaced, or put back to an earlier state and used again.",
                row=row.seq,
            )
        last = row
    if last is None:
        raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.", row=0)
    if known is not None and known.seq > last.seq:
        raise LedgerCorrupt(
            f"The ledger ends with row {last.seq}, but the head it is compared with is row "
            f"{known.seq}: its end was cut off, or it was put back to an earlier state.",
            row=last.seq + 1,
        )
    return last


@dataclass(slots=True)
class _PlanState:
    """State of one plan after the rows so far."""

    plan: Plan
    codec: PlanCodec
    tally: Tally
    answers: dict[bytes, Answer] = field(default_factory=dict)
    analysts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _AnalystState:
    """State of one analyst under one plan after the rows so far."""

    plan: _PlanState
    account: AnalystAccount
    keys: set[bytes] = field(default_factory=set)


class _Verifier:
    """Checks rows in order, keeping the state that they add up to."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation
        self._totals = Totals()
        self._plan_keys: set[bytes] = set()
        self._plans: dict[int, _PlanState] = {}
        self._analysts: dict[int, _AnalystState] = {}
        self._examples: dict[tuple[bool, bool, tuple[Event, ...]], Answer] = {}

    def check(self, row: Row, before: Row | None) -> None:
        """Raise ``LedgerCorrupt`` if the row does not follow from those before it."""
        try:
            problem = self._problem(row, before)
        except (ValueError, KeyError, TypeError, TacitError):
            problem = "cannot be read"
        if problem:
            raise LedgerCorrupt(f"Row {row.seq} {problem}.", row=row.seq)

    def _problem(self, row: Row, before: Row | None) -> str | None:
        if (row.kind == RowKind.CREATED) != (before is None):
            return "is not where the beginning of a ledger must be"
        if before is None:
            same = Creation.decode(row.body) == self._creation
            return None if same else "promises something else than when the ledger was opened"
        if row.kind == RowKind.RESTORED:
            Restoration.decode(row.body)
            same = row.key == before.hash and row.owner == 0
            return None if same else "restores another ledger than the rows before it"
        check = {
            RowKind.PLAN: self._plan,
            RowKind.ANSWER: self._answer,
            RowKind.ANALYST: self._analyst,
            RowKind.SHOWN: self._shown,
        }
        return check[RowKind(row.kind)](row)

    def _plan(self, row: Row) -> str | None:
        plan = decode_plan(row.body)
        if row.key in self._plan_keys:
            return "opens a plan a second time"
        self._plan_keys.add(row.key)
        self._totals = self._totals.plus(plan)
        self._plans[row.seq] = _PlanState(plan, PlanCodec(plan), Tally.none(plan))
        if row.owner or not fits(self._creation.budget, self._creation.composition, self._totals):
            return "opens a plan that does not fit the budget"
        return None

    def _answer(self, row: Row) -> str | None:
        state = self._plans.get(row.owner)
        if state is None:
            return "answers under a plan that was not opened before it"
        answer, tally = state.codec.decode_answer(row.body)
        if row.key in state.answers:
            return "answers a question a second time"
        # Accounts depend on these alone: one object stands for all that agree in them.
        example = (answer.refused, answer.secure, answer.cost)
        state.answers[row.key] = self._examples.setdefault(example, answer)
        state.tally = state.tally.plus(answer)
        if state.tally != tally:
            return "counts something else than the rows before it"
        if any(tally.events[event] > most for event, most in state.plan.events):
            return "spends more than its plan"
        return None

    def _analyst(self, row: Row) -> str | None:
        plan, name = self._plans.get(row.owner), decode_analyst(row.body)
        if plan is None:
            return "names an analyst under a plan that was not opened before it"
        if name in plan.analysts:
            return "names an analyst a second time"
        plan.analysts.add(name)
        self._analysts[row.seq] = _AnalystState(plan, AnalystAccount.none(name, plan.plan))
        return None

    def _shown(self, row: Row) -> str | None:
        state = self._analysts.get(row.owner)
        if state is None:
            return "was shown to an analyst who is not named before it"
        if row.key not in state.plan.answers:
            return "shows an answer that is not recorded before it"
        if row.key in state.keys:
            return "shows an answer a second time"
        state.keys.add(row.key)
        recorded = state.plan.codec.decode_shown(state.account.name, row.body)
        expected = state.account.at_period(recorded.period).plus(state.plan.answers[row.key])
        state.account = expected
        return None if recorded == expected else "counts something else than the rows before it"
