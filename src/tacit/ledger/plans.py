"""A plan on the ledger, and what is recorded under it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument, LedgerCorrupt
from tacit.ledger.chain import PlanId, Row, RowKind, decode_analyst, decode_plan
from tacit.ledger.codec import PlanCodec
from tacit.ledger.store import Store
from tacit.ledger.tallies import AnalystAccount, Tally


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A plan on the ledger, and the codec of its rows."""

    plan_id: PlanId
    plan: Plan
    codec: PlanCodec

    @classmethod
    def of(cls, rows: Mapping[int, Row], plan_id: int) -> PlanRecord:
        """Return the plan that the row with this number opened."""
        row = rows.get(plan_id)
        if row is None or row.kind != RowKind.PLAN:
            raise InvalidArgument(
                f"`plan_id` must come from open_plan of this ledger, got {plan_id}."
            )
        plan = decode_plan(row.body)
        return cls(PlanId(plan_id), plan, PlanCodec(plan))

    @classmethod
    def read(cls, store: Store, plan_id: int) -> PlanRecord:
        """Read the plan with this number."""
        return cls.of(store.at([plan_id]), plan_id)

    @classmethod
    def read_all(cls, store: Store) -> list[PlanRecord]:
        """Read all plans in the order they were opened."""
        rows = {row.seq: row for row in store.owned(RowKind.PLAN, 0)}
        return [cls.of(rows, plan_id) for plan_id in rows]

    def answer(self, row: Row) -> Answer:
        """Return the answer that a row of this plan records, with what it cost."""
        return self._decoded(row)[0]

    def tally(self, store: Store) -> Tally:
        """Return the running totals of the plan, from its last answer."""
        last = store.last(RowKind.ANSWER, self.plan_id)
        return Tally.none(self.plan) if last is None else self._decoded(last)[1]

    def account(self, store: Store, name: str, row: Row | None) -> AnalystAccount:
        """Return the account of an analyst, from the last row that belongs to ``row``."""
        last = None if row is None else store.last(RowKind.SHOWN, row.seq)
        if row is None or last is None:
            return AnalystAccount.none(name, self.plan)
        try:
            return self.codec.decode_shown(decode_analyst(row.body), last.body)
        except ValueError as error:
            raise LedgerCorrupt(f"Row {last.seq} has {error}.", row=last.seq) from None

    def _decoded(self, row: Row) -> tuple[Answer, Tally]:
        try:
            return self.codec.decode_answer(row.body)
        except ValueError as error:
            raise LedgerCorrupt(f"Row {row.seq} has {error}.", row=row.seq) from None


def check_same_plan(recorded: Plan, plan: Plan) -> None:
    """Refuse a key that belongs to another plan than this one."""
    # The price is computed, and its last digits may differ between machines and versions. The
    # recorded one stands.
    close = math.isclose(recorded.guarantee.epsilon, plan.guarantee.epsilon, rel_tol=1e-6)
    comparable = replace(
        plan,
        guarantee=Budget(recorded.guarantee.epsilon, plan.guarantee.delta),
        accountant=recorded.accountant,
    )
    if not (close and comparable == recorded):
        raise InvalidArgument(
            f"`key` already belongs to another plan of this ledger (of {recorded.mechanism}). Use "
            "a new key for a new plan, or the same settings to resume the old one."
        )
