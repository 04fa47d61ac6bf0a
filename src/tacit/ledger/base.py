"""The rules of a ledger, over any storage of rows.

``BaseLedger`` decides what fits, what is drawn, what is written and when an answer may leave. The
rows are kept by a ``Store``, which is accessed only inside a transaction that ``BaseLedger`` opens.
Another backend implements a store and the two kinds of transaction, and inherits the contract.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Self
from uuid import uuid4

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger import failpoints as fp
from tacit.ledger import messages
from tacit.ledger.analysts import Account, Analyst, decode_analyst
from tacit.ledger.answering import AnswerRequest, read_account
from tacit.ledger.answers import Tally
from tacit.ledger.chain import (
    NO_HASH,
    Creation,
    Kind,
    Restoration,
    Row,
    decode_plan,
    encode_plan,
    key_hash,
    lifetime_amount,
    link,
)
from tacit.ledger.composition import Amount, Composition, Totals, compose, fits, remaining
from tacit.ledger.failpoints import failpoint
from tacit.ledger.protocol import Head, Ledger, PlanId, Release
from tacit.ledger.store import CommitUnclear, PlanRecord, Store, check_follows, check_format

Rows = Mapping[int, Row]
"""Rows by their numbers."""


class BaseLedger(Ledger, ABC):
    """A ledger kept as chained rows; ``Ledger`` documents its methods."""

    def __init__(self, allow_insecure: bool) -> None:
        self._allow_insecure = bool(allow_insecure)
        self._created: Creation | None = None
        self._last_seen: Row | None = None  # newest row so far: a rollback of the storage shows

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Store]:
        """Open a transaction that sees one state of the rows."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Store]:
        """Open a transaction, exclusive among writers, that is durable once the block is left.

        An error inside the block discards what was appended. Raises ``CommitUnclear`` when the
        COMMIT itself fails.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files and connections."""

    # -- the account ---------------------------------------------------------------------------

    @property
    def allow_insecure(self) -> bool:
        return self._allow_insecure

    @property
    def budget(self) -> Budget:
        return self._creation.budget

    @property
    def composition(self) -> Composition:
        return self._creation.composition

    @property
    def ledger_id(self) -> str:
        """A public random name, drawn at creation."""
        return self._creation.ledger_id

    def reserved(self) -> Amount:
        with self._reading() as store:
            return compose(self.budget, self.composition, _totals(PlanRecord.read_all(store)))

    def spent(self) -> Amount:
        with self._reading() as store:
            records = PlanRecord.read_all(store)
            used = [record for record in records if store.last(Kind.ANSWER, record.seq)]
            return compose(self.budget, self.composition, _totals(used))

    def remaining(self) -> Amount:
        with self._reading() as store:
            return remaining(self.budget, self.composition, _totals(PlanRecord.read_all(store)))

    def lifetime(self) -> Amount:
        with self._reading() as store:
            return lifetime_amount(self.budget, _lossy_restores(store))

    def statement(self) -> str:
        with self._reading() as store:
            records = PlanRecord.read_all(store)
            total = _totals(records)
            return messages.statement(
                budget=self.budget,
                composition=self.composition,
                reserved=compose(self.budget, self.composition, total),
                left=remaining(self.budget, self.composition, total),
                plans=[(record.plan, record.usage(store).tally) for record in records],
                lost=_lossy_restores(store),
            )

    # -- plans ---------------------------------------------------------------------------------

    def open_plan(self, plan: Plan, key: bytes | str) -> PlanId:
        validation.instance(Plan, plan=plan)
        hashed = key_hash(_checked_key(key))
        try:
            with self._writing() as store:
                head = self._checked_head(store)
                row = store.keyed(Kind.PLAN, 0, [hashed]).get(hashed)
                if row is not None:
                    _check_same_plan(decode_plan(row.body), plan)
                else:
                    self._refuse_unfit(store, plan)
                    row = link(head, Kind.PLAN, encode_plan(plan, hashed))
                    store.append([row])
        except CommitUnclear as error:
            raise LedgerUnavailable(
                "It is not clear whether the plan was recorded. Open it again with the same key: "
                "it is charged once."
            ) from error
        return PlanId(row.seq)

    def check_plan(self, plan: Plan) -> None:
        validation.instance(Plan, plan=plan)
        with self._reading() as store:
            self._refuse_unfit(store, plan)

    def _refuse_unfit(self, store: Store, plan: Plan) -> None:
        total = _totals(PlanRecord.read_all(store))
        if not fits(self.budget, self.composition, total.plus(plan)):
            left = remaining(self.budget, self.composition, total)
            raise BudgetExceeded(
                messages.plan_refused(plan, self.budget, self.composition, left=left)
            )

    def find_plan(self, key: bytes | str) -> PlanId | None:
        hashed = key_hash(_checked_key(key))
        with self._reading() as store:
            row = store.keyed(Kind.PLAN, 0, [hashed]).get(hashed)
            return None if row is None else PlanId(row.seq)

    def plan(self, plan_id: PlanId) -> Plan:
        with self._reading() as store:
            return PlanRecord.read(store, plan_id).plan

    def usage(self, plan_id: PlanId) -> dict[Event, int]:
        with self._reading() as store:
            return dict(PlanRecord.read(store, plan_id).usage(store).used)

    def tally(self, plan_id: PlanId) -> Tally:
        with self._reading() as store:
            return PlanRecord.read(store, plan_id).usage(store).tally

    # -- answers -------------------------------------------------------------------------------

    def recorded(self, plan_id: PlanId, questions: Sequence[bytes]) -> dict[bytes, Answer]:
        keys = {question: key_hash(_checked_key(question)) for question in questions}
        with self._reading() as store:
            rows = store.keyed(Kind.ANSWER, plan_id, set(keys.values()))
            if not rows:
                return {}
            record = PlanRecord.read(store, plan_id)
            return {q: record.entry(rows[k]).answer for q, k in keys.items() if k in rows}

    def answer(
        self,
        plan_id: PlanId,
        questions: Sequence[bytes],
        release: Release,
        *,
        on_behalf: Analyst | None = None,
    ) -> list[Answer]:
        keys = [key_hash(_checked_key(question)) for question in questions]
        request = AnswerRequest(
            plan_id, keys, release, analyst=on_behalf, allow_insecure=self.allow_insecure
        )
        try:
            with self._writing() as store:
                head, rows = self._checked_newest(store, also={plan_id - 1, plan_id})
                answers, head = request.run(store, head, PlanRecord.find(rows, plan_id))
                failpoint(fp.BEFORE_COMMIT)
            self._last_seen = head
        except CommitUnclear as error:
            request.abandon()
            answers = self._recover(request, error)
        except BaseException:
            request.abandon()
            raise
        failpoint(fp.AFTER_COMMIT)
        return answers

    def _recover(self, request: AnswerRequest, error: CommitUnclear) -> list[Answer]:
        """Read whether an unclear commit took effect; return the answers if it did."""
        try:
            # Exclusive among writers: the unclear transaction has ended, one way or the other.
            with self._writing() as store:
                self._checked_head(store)
                return request.recover(store)
        except LedgerUnavailable as unavailable:
            raise unavailable from error
        except CommitUnclear:
            raise LedgerUnavailable(messages.UNCLEAR) from error

    # -- analysts ------------------------------------------------------------------------------

    def recorded_for(self, plan_id: PlanId, name: str) -> Account:
        key = Analyst(name).key
        with self._reading() as store:
            record = PlanRecord.read(store, plan_id)
            row = store.keyed(Kind.ANALYST, plan_id, [key]).get(key)
            return read_account(store, record, name, row)

    def accounts(self, plan_id: PlanId) -> list[Account]:
        with self._reading() as store:
            record = PlanRecord.read(store, plan_id)
            rows = store.owned(Kind.ANALYST, plan_id)
            return [read_account(store, record, decode_analyst(row.body), row) for row in rows]

    # -- the chain -----------------------------------------------------------------------------

    def head(self) -> Head:
        with self._reading() as store:
            return Head.of(self._checked_head(store))

    def contains(self, head: Head) -> bool:
        """Return whether a head exported earlier is still a row of this ledger."""
        with self._reading() as store:
            row = store.at([head.seq]).get(head.seq)
            return row is not None and Head.of(row) == head

    def verify(self, known: Head | None = None) -> Head:
        from tacit.ledger.verify import verify_rows

        with self._reading() as store:
            self._check_storage(store)
            return Head.of(verify_rows(store.rows(), self._creation, known))

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Creation, Head, Iterator[Row]]]:
        """Open one state of the ledger: its creation, its head, and all rows in order."""
        with self._reading() as store:
            yield self._creation, Head.of(self._checked_head(store)), store.rows()

    def _check_storage(self, store: Store) -> None:
        """Check what is particular to the backend, such as its indexes."""

    # -- copies share the account --------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # -- shared steps --------------------------------------------------------------------------

    @property
    def _creation(self) -> Creation:
        if self._created is None:
            raise LedgerUnavailable("The ledger is not open.")
        return self._created

    def _create_or_check(
        self, store: Store, budget: Budget | None, composition: Composition | str | None
    ) -> None:
        """Write the first row, or check an existing one against the arguments."""
        if composition is not None:
            composition = validation.choice(Composition, composition=composition)
        first = store.at([0]).get(0)
        if first is not None:
            self._created = _decoded_creation(first)
            check_fixed("budget", budget, self._created.budget)
            check_fixed("composition", composition, self._created.composition)
            return
        if store.newest():
            raise LedgerCorrupt(messages.NO_BEGINNING, row=0)
        if budget is None:
            raise InvalidArgument(
                "`budget` must be given to start a new ledger: the lifetime budget of the data "
                "set, such as Budget(1.0, 1e-5)."
            )
        validation.instance(Budget, budget=budget)
        self._created = Creation(uuid4().hex, budget, composition or Composition.BASIC)
        store.append([link(None, Kind.CREATED, self._created.encode())])

    def _checked_head(self, store: Store) -> Row:
        """Return the newest row, checked."""
        return self._checked_newest(store)[0]

    def _checked_newest(self, store: Store, also: Collection[int] = ()) -> tuple[Row, Rows]:
        """Return the newest row, and the rows ``also``.

        The hash of the newest row is checked, and that the newest row seen before is still there.
        """
        seen = self._last_seen
        rows = store.newest(also if seen is None else {*also, seen.seq})
        if not rows:
            raise LedgerCorrupt(messages.NO_BEGINNING, row=0)
        head = next(iter(rows.values()))
        check_follows(head, rows.get(head.seq - 1))
        if seen is not None and rows.get(seen.seq) != seen:
            raise LedgerCorrupt(messages.REPLACED, row=seen.seq)
        self._last_seen = head
        return head, rows


def check_fixed(name: str, value: object, fixed: object) -> None:
    """Refuse an argument that differs from what was fixed when the ledger was created."""
    if value is not None and value != fixed:
        raise InvalidArgument(
            f"`{name}` is fixed when a ledger is created: this one has {fixed!r}, got {value!r}. "
            "Leave it out, or start a new ledger for another data set."
        )


def _totals(records: Sequence[PlanRecord]) -> Totals:
    return Totals.of(record.plan for record in records)


def _check_same_plan(recorded: Plan, plan: Plan) -> None:
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


def _decoded_creation(row: Row) -> Creation:
    check_format(row)
    if row.kind != Kind.CREATED or not row.follows(NO_HASH):
        raise LedgerCorrupt("Row 0 was changed: the ledger's beginning does not hold.", row=0)
    return Creation.decode(row.body)


def _lossy_restores(store: Store) -> int:
    rows = store.owned(Kind.RESTORED, 0)
    return sum(Restoration.decode(row.body).lost != 0 for row in rows)


def _checked_key(key: object) -> bytes | str:
    if not (isinstance(key, bytes | str) and key):
        raise InvalidArgument(f"A key must be non-empty bytes or text, got a {type(key).__name__}.")
    return key
