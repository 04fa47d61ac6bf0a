"""The plans of a ledger, each read once and kept with their running totals."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType

from tacit.errors import InvalidArgument, LedgerCorrupt
from tacit.ledger.analysts import ShownCodec
from tacit.ledger.answers import AnswerCodec, Entry, Usage
from tacit.ledger.chain import Kind, Row, decode_plan
from tacit.ledger.composition import Totals
from tacit.ledger.protocol import PlanId
from tacit.ledger.store import Store, check_linked
from tacit.privacy.events import Event
from tacit.privacy.plan import Plan

REPLACED = (
    "The ledger was replaced, or put back to an earlier state, while it was in use. Nothing was "
    "released. Find out what happened, then open it again."
)


class OpenPlan:
    """A plan on the ledger and how its answers, and to whom they are shown, are written."""

    __slots__ = ("_room", "codec", "plan", "seq", "shown")

    def __init__(self, seq: int, plan: Plan) -> None:
        self.seq, self.plan = seq, plan
        self.codec, self.shown = AnswerCodec(plan), ShownCodec(plan)
        self._room: tuple[object, Mapping[Event, int]] = (None, {})

    def room(self, used: Mapping[Event, int]) -> Mapping[Event, int]:
        """Return how often each event may still happen; ``used`` must not change any more."""
        known_for, room = self._room
        if used is not known_for:  # as it is while answers are free
            room = MappingProxyType({event: most - used[event] for event, most in self.plan.events})
            self._room = used, room
        return room

    def usage(self, store: Store) -> Usage:
        """Return the state of the plan, from its last answer."""
        last = store.last(Kind.ANSWER, self.seq)
        if last is None:
            return Usage.none(self.plan)
        check_linked(store, [last])
        return self.decoded(last).usage

    def decoded(self, row: Row) -> Entry:
        """Return what a row of this plan says."""
        try:
            return self.codec.decode(row.body)
        except ValueError as error:
            raise LedgerCorrupt(f"Row {row.seq} has {error}.", row=row.seq) from None


class PlanBook:
    """The opened plans. ``read`` adds those opened since; what is committed never changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[int, OpenPlan] = {}
        self._used: set[int] = set()
        self._last: Row | None = None
        self._totals = self._used_totals = Totals()

    def read(self, store: Store) -> dict[int, OpenPlan]:
        """Return all plans by their number."""
        with self._lock:
            for row in self._new(store):
                plan = decode_plan(row.body)
                self._plans[row.seq] = OpenPlan(row.seq, plan)
                self._totals = self._totals.plus(plan)
                self._last = row
            return dict(self._plans)

    def totals(self, store: Store) -> Totals:
        """Return the sums over all plans."""
        self.read(store)
        return self._totals

    def used(self, store: Store) -> Totals:
        """Return the sums over the plans under which something was released."""
        plans = self.read(store)
        with self._lock:
            # A plan that was used stays used, so each is looked up until then.
            for seq in plans.keys() - self._used:
                if store.last(Kind.ANSWER, seq):
                    self._used.add(seq)
                    self._used_totals = self._used_totals.plus(plans[seq].plan)
            return self._used_totals

    def plan(self, store: Store, plan_id: PlanId) -> OpenPlan:
        """Return an opened plan."""
        known = self._plans.get(plan_id) or self.read(store).get(plan_id)
        if known is None:
            raise InvalidArgument(
                f"`plan_id` must come from open_plan of this ledger, got {plan_id}."
            )
        return known

    def _new(self, store: Store) -> list[Row]:
        if self._last is None:
            new = list(store.owned(Kind.PLAN, 0))
        else:
            # The last one known comes first, if this is still the ledger that it was read from.
            found = list(store.owned(Kind.PLAN, 0, after=self._last.seq - 1))
            if found[:1] != [self._last]:
                raise LedgerCorrupt(REPLACED, row=self._last.seq)
            new = found[1:]
        check_linked(store, new)
        return new
