"""Verification of the whole chain: every hash, count and limit is recomputed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import LedgerCorrupt, TacitError
from tacit.ledger.analysts import Account, ShownCodec, decode_analyst
from tacit.ledger.answers import AnswerCodec, Usage
from tacit.ledger.chain import NO_HASH, Creation, Kind, Restoration, Row, decode_plan
from tacit.ledger.composition import Totals, fits
from tacit.ledger.protocol import Head
from tacit.ledger.store import check_format


def verify_rows(rows: Iterable[Row], creation: Creation, known: Head | None) -> Row:
    """Return the newest row once every row has been checked; see ``Ledger.verify``."""
    verifier = _Verifier(creation)
    last: Row | None = None
    for number, row in enumerate(rows):
        _check_place(row, number, last)
        verifier.check(row)
        if known is not None and row.seq == known.seq and row.hash.hex() != known.hash:
            raise LedgerCorrupt(_OTHER.format(known.seq), row=known.seq)
        last = row
    if last is None:
        raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.", row=0)
    if known is not None and known.seq > last.seq:
        raise LedgerCorrupt(_CUT.format(last.seq, known.seq), row=last.seq + 1)
    return last


_OTHER = (
    "Row {} is another one than in the head it is compared with: the ledger was replaced, or put "
    "back to an earlier state and used again."
)
_CUT = (
    "The ledger ends with row {}, but the head it is compared with is row {}: its end was cut off, "
    "or it was put back to an earlier state."
)


def _check_place(row: Row, number: int, before: Row | None) -> None:
    if row.seq != number:
        raise LedgerCorrupt(f"Row {number} is missing.", row=number)
    check_format(row)
    if not row.follows(NO_HASH if before is None else before.hash):
        raise LedgerCorrupt(
            f"Row {number} was changed, inserted or moved, or one before it.", row=number
        )


@dataclass(slots=True)
class _PlanState:
    """State of one plan after the rows so far."""

    plan: Plan
    codec: AnswerCodec
    usage: Usage
    answers: dict[bytes, Answer] = field(default_factory=dict)
    analysts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _AnalystState:
    """State of one analyst under one plan after the rows so far."""

    plan: _PlanState
    codec: ShownCodec
    account: Account
    keys: set[bytes] = field(default_factory=set)


class _Verifier:
    """Checks rows in order, keeping the state that they add up to."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation
        self._before = NO_HASH
        self._totals = Totals()
        self._names: set[bytes] = set()
        self._plans: dict[int, _PlanState] = {}
        self._analysts: dict[int, _AnalystState] = {}
        self._examples: dict[tuple[bool, tuple[Event, ...]], Answer] = {}

    def check(self, row: Row) -> None:
        try:
            problem = self._problem(row)
        except (ValueError, KeyError, TypeError, TacitError):
            problem = "cannot be read"
        if problem:
            raise LedgerCorrupt(f"Row {row.seq} {problem}.", row=row.seq)
        self._before = row.hash

    def _problem(self, row: Row) -> str | None:
        if (row.kind == Kind.CREATED) != (row.seq == 0):
            return "is not where the beginning of a ledger must be"
        check = {
            Kind.CREATED: self._created,
            Kind.PLAN: self._plan,
            Kind.ANSWER: self._answer,
            Kind.ANALYST: self._analyst,
            Kind.SHOWN: self._shown,
            Kind.RESTORED: self._restored,
        }
        return check[Kind(row.kind)](row)

    def _created(self, row: Row) -> str | None:
        same = Creation.decode(row.body) == self._creation
        return None if same else "promises something else than when the ledger was opened"

    def _plan(self, row: Row) -> str | None:
        plan = decode_plan(row.body)
        if row.key in self._names:
            return "opens a plan a second time"
        self._names.add(row.key)
        self._totals = self._totals.plus(plan)
        self._plans[row.seq] = _PlanState(plan, AnswerCodec(plan), Usage.none(plan))
        if row.owner or not fits(self._creation.budget, self._creation.composition, self._totals):
            return "opens a plan that does not fit the budget"
        return None

    def _answer(self, row: Row) -> str | None:
        state = self._plans.get(row.owner)
        if state is None:
            return "answers under a plan that was not opened before it"
        entry = state.codec.decode(row.body)
        if entry.key in state.answers:
            return "answers a question a second time"
        state.answers[entry.key] = self._example(entry.answer)
        state.usage = state.usage.plus(entry.answer)
        if state.usage != entry.usage:
            return "counts something else than the rows before it"
        most = state.plan.most
        if any(times > most[event] for event, times in entry.usage.used.items()):
            return "spends more than its plan"
        return None

    def _example(self, answer: Answer) -> Answer:
        # Accounts depend on cost and refusal alone: one object stands for all that agree in these.
        return self._examples.setdefault((answer.refused, answer.cost), answer)

    def _analyst(self, row: Row) -> str | None:
        plan, name = self._plans.get(row.owner), decode_analyst(row.body)
        if plan is None:
            return "names an analyst under a plan that was not opened before it"
        if name in plan.analysts:
            return "names an analyst a second time"
        plan.analysts.add(name)
        account = Account.none(name, plan.plan)
        self._analysts[row.seq] = _AnalystState(plan, ShownCodec(plan.plan), account)
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
        recorded = state.codec.decode(state.account.name, row.body)
        expected = state.account.at_period(recorded.period).plus(state.plan.answers[row.key])
        state.account = expected
        return None if recorded == expected else "counts something else than the rows before it"

    def _restored(self, row: Row) -> str | None:
        Restoration.decode(row.body)
        same = row.key == self._before and row.owner == 0
        return None if same else "restores another ledger than the rows before it"
