"""The privacy account of one data set: its interface, and its rules over any storage of rows.

``Ledger`` decides what fits, what is drawn, what is written and when an answer may leave. The rows
are kept by a ``Store``, which is accessed only inside a transaction. A backend implements a store
and the two kinds of transaction, and inherits the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Self
from uuid import uuid4

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
)
from tacit.ledger import failpoints as fp
from tacit.ledger import statement
from tacit.ledger.answering import INSECURE, AnswerRequest, Release
from tacit.ledger.chain import (
    Creation,
    Head,
    PlanId,
    Restoration,
    Row,
    RowKind,
    decode_analyst,
    decode_plan,
    encode_plan,
    key_hash,
    lifetime_amount,
    link,
)
from tacit.ledger.composition import Amount, Composition, Totals, compose, fits, remaining
from tacit.ledger.failpoints import failpoint
from tacit.ledger.plans import PlanRecord, check_same_plan
from tacit.ledger.store import CommitUnclear, Store
from tacit.ledger.tallies import Analyst, AnalystAccount, Tally
from tacit.noise import NoiseSource

NO_BEGINNING = "Row 0 is missing: the ledger has no beginning."
NESTED = "A release must not use the ledger that records it."


class Ledger(ABC):
    """The privacy account of one data set: reserved guarantees, released answers and their cost.

    A ledger has a lifetime budget. A plan reserves its whole guarantee when it is opened, or is
    refused. Answers are drawn, written and committed in one durable transaction, and leave only
    after it; a question that already has an answer gets that answer, at no cost.

    ``MemoryLedger``, ``SqliteLedger`` and ``PostgresLedger`` implement it;
    ``tests.support.ledger_contract.check_ledger`` tests any other implementation.
    """

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
        """Release files and connections; they are reopened when the ledger is used again."""

    # -- the account ---------------------------------------------------------------------------

    @property
    def budget(self) -> Budget:
        """The lifetime budget, fixed when the ledger was created."""
        return self._creation.budget

    @property
    def composition(self) -> Composition:
        """How the guarantees of plans add up, fixed when the ledger was created."""
        return self._creation.composition

    @property
    def ledger_id(self) -> str:
        """A public random name, drawn at creation."""
        return self._creation.ledger_id

    @property
    def allow_insecure(self) -> bool:
        """Whether answers drawn from a test source of noise may be recorded (and are marked)."""
        return self._allow_insecure

    def check_noise(self, noise: NoiseSource) -> None:
        """Raise ``LedgerError`` for test noise, unless the ledger was opened to allow it."""
        if not noise.secure and not self.allow_insecure:
            raise LedgerError(INSECURE)

    def reserved(self) -> Amount:
        """Return the composed guarantee of all opened plans."""
        with self._reading() as store:
            return self._composed(PlanRecord.read_all(store))

    def spent(self) -> Amount:
        """Return the composed guarantee of the plans under which something was released.

        A reading: the guarantee is ``reserved()``, and over the lifetime ``budget``.
        """
        with self._reading() as store:
            records = PlanRecord.read_all(store)
            return self._composed([r for r in records if store.last(RowKind.ANSWER, r.plan_id)])

    def remaining(self) -> Amount:
        """Return what a further plan may cost."""
        with self._reading() as store:
            return remaining(self.budget, self.composition, _totals(PlanRecord.read_all(store)))

    def lifetime(self) -> Amount:
        """Return the guarantee for everything ever released.

        The budget; once more for each restore from a backup that may have lost spend.
        """
        with self._reading() as store:
            return lifetime_amount(self.budget, _lossy_restores(store))

    def statement(self) -> str:
        """Return the state of the account in words."""
        with self._reading() as store:
            records = PlanRecord.read_all(store)
            return statement.text(
                budget=self.budget,
                composition=self.composition,
                reserved=self._composed(records),
                left=remaining(self.budget, self.composition, _totals(records)),
                plans=[(record.plan, record.tally(store)) for record in records],
                lost=_lossy_restores(store),
            )

    def _composed(self, records: Sequence[PlanRecord]) -> Amount:
        return compose(self.budget, self.composition, _totals(records))

    # -- plans ---------------------------------------------------------------------------------

    def open_plan(self, plan: Plan, key: bytes | str) -> PlanId:
        """Reserve the whole guarantee of a plan.

        The same key with the same plan returns the same id at no further cost: this is how a run
        resumes after a crash. Raises ``BudgetExceeded`` when the plan does not fit in what is left,
        ``InvalidArgument`` when the key belongs to a different plan.
        """
        validation.instance(Plan, plan=plan)
        address = _plan_address(key)
        try:
            with self._writing() as store:
                head, _ = self._newest(store)
                row = store.keyed([address]).get(address)
                if row is not None:
                    check_same_plan(decode_plan(row.body), plan)
                else:
                    self._refuse_unfit(store, plan)
                    row = link(head, RowKind.PLAN, encode_plan(plan, address[-1]))
                    store.append([row])
        except CommitUnclear as error:
            raise LedgerUnavailable(
                "It is not clear whether the plan was recorded. Open it again with the same key: "
                "it is charged once."
            ) from error
        return PlanId(row.seq)

    def check_plan(self, plan: Plan) -> None:
        """Raise ``BudgetExceeded`` when a plan would not fit in what is left; write nothing.

        For work that comes before a plan is opened: ``open_plan`` decides again.
        """
        validation.instance(Plan, plan=plan)
        with self._reading() as store:
            self._refuse_unfit(store, plan)

    def _refuse_unfit(self, store: Store, plan: Plan) -> None:
        total = _totals(PlanRecord.read_all(store))
        if not fits(self.budget, self.composition, total.plus(plan)):
            left = remaining(self.budget, self.composition, total)
            raise BudgetExceeded(
                statement.plan_refused(plan, self.budget, self.composition, left=left)
            )

    def find_plan(self, key: bytes | str) -> PlanId | None:
        """Return the plan that was opened with this key, None if there is none."""
        address = _plan_address(key)
        with self._reading() as store:
            row = store.keyed([address]).get(address)
        return None if row is None else PlanId(row.seq)

    def plan(self, plan_id: PlanId) -> Plan:
        """Return an opened plan."""
        with self._reading() as store:
            return PlanRecord.read(store, plan_id).plan

    def tally(self, plan_id: PlanId) -> Tally:
        """Return how much was answered and refused under the plan so far, and its events.

        A reading, not a guarantee: how far a run gets depends on what was released. The guarantee
        that holds beforehand is the plan's.
        """
        with self._reading() as store:
            return PlanRecord.read(store, plan_id).tally(store)

    def usage(self, plan_id: PlanId) -> dict[Event, int]:
        """Return the number of events of the plan so far: a reading, not a guarantee."""
        return dict(self.tally(plan_id).events)

    # -- answers -------------------------------------------------------------------------------

    def answer(
        self,
        plan_id: PlanId,
        questions: Sequence[bytes],
        release: Release,
        *,
        on_behalf: Analyst | None = None,
    ) -> list[Answer]:
        """Answer questions under a plan; nothing is returned before its record is durable.

        Parameters
        ----------
        plan_id : PlanId
        questions : sequence of bytes
            Public identifiers. One that has an answer under this plan gets the stored one, free;
            one that occurs twice is drawn once.
        release : Release
            Draws the answers of the questions that have none.
        on_behalf : Analyst, optional
            Who will be shown the answers; recorded in the same transaction. An answer drawn for
            somebody else counts too, with what it cost, the first time this analyst is shown it.

        Returns
        -------
        list of Answer
            In the order asked. Shorter than asked when the run stopped early. What an answer cost
            is on it the first time only.

        Raises
        ------
        BudgetExceeded
            When the most it can cost does not fit in what the plan has left; nothing was drawn.
        AllowanceExceeded
            When it does not fit in what the analyst may still be shown; nothing was drawn or shown.
        LedgerUnavailable
            When it could not be recorded: nothing was released.
        """
        keys = [_hashed(question) for question in questions]
        request = AnswerRequest(
            plan_id, keys, release, analyst=on_behalf, allow_insecure=self.allow_insecure
        )
        try:
            with self._writing() as store:
                head, plans = self._newest(store, also=[plan_id])
                answers, rows = request.run(store, head, PlanRecord.of(plans, plan_id))
                failpoint(fp.BEFORE_WRITE)
                if rows:
                    store.append(rows)
                failpoint(fp.AFTER_WRITE)
                failpoint(fp.BEFORE_COMMIT)
            self._last_seen = rows[-1] if rows else head
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
                self._newest(store)
                return request.recover(store)
        except LedgerUnavailable as unavailable:
            raise unavailable from error
        except CommitUnclear:
            raise LedgerUnavailable(
                "It is not clear whether the answers were recorded; none was released. Ask again: "
                "what was recorded is given as it was, free, and nothing is charged twice."
            ) from error

    def recorded(self, plan_id: PlanId, questions: Sequence[bytes]) -> dict[bytes, Answer]:
        """Return the stored answers, with what each cost, of those questions that have one."""
        addresses = {q: (RowKind.ANSWER, plan_id, _hashed(q)) for q in questions}
        with self._reading() as store:
            record, rows = PlanRecord.read(store, plan_id), store.keyed(set(addresses.values()))
            return {q: record.answer(rows[at]) for q, at in addresses.items() if at in rows}

    # -- analysts ------------------------------------------------------------------------------

    def recorded_for(self, plan_id: PlanId, name: str) -> AnalystAccount:
        """Return what one analyst was shown under a plan: a reading, not a guarantee."""
        address = (RowKind.ANALYST, plan_id, Analyst(name).key)
        with self._reading() as store:
            row = store.keyed([address]).get(address)
            return PlanRecord.read(store, plan_id).account(store, name, row)

    def accounts(self, plan_id: PlanId) -> list[AnalystAccount]:
        """Return what every analyst was shown under a plan, in the order they first asked."""
        with self._reading() as store:
            record, rows = PlanRecord.read(store, plan_id), store.owned(RowKind.ANALYST, plan_id)
            return [record.account(store, decode_analyst(row.body), row) for row in rows]

    # -- the chain -----------------------------------------------------------------------------

    def head(self) -> Head:
        """Return the newest row's number and hash."""
        with self._reading() as store:
            return Head.of(self._newest(store)[0])

    def contains(self, head: Head) -> bool:
        """Return whether a head exported earlier is still a row of this ledger."""
        with self._reading() as store:
            row = store.at([head.seq]).get(head.seq)
            return row is not None and Head.of(row) == head

    def verify(self, known: Head | None = None) -> Head:
        """Verify the whole chain and return its head.

        ``known`` is a head exported earlier, which the ledger must still contain. Raises
        ``LedgerCorrupt`` with the number of the first row that does not hold.
        """
        from tacit.ledger.verify import verify_rows

        with self._reading() as store:
            self._check_storage()
            return Head.of(verify_rows(store.rows(), self._creation, known))

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Creation, Head, Iterator[Row]]]:
        """Open one state of the ledger: its creation, its head, and all rows in order."""
        with self._reading() as store:
            yield self._creation, Head.of(self._newest(store)[0]), store.rows()

    def _check_storage(self) -> None:  # noqa: B027 - optional
        """Check what is particular to the backend, such as its indexes; in a transaction."""

    def _newest(self, store: Store, also: Collection[int] = ()) -> tuple[Row, dict[int, Row]]:
        """Return the newest row, and the rows ``also``; the last row seen must still be there."""
        seen = self._last_seen
        rows = store.newest(also if seen is None else {*also, seen.seq})
        if not rows:
            raise LedgerCorrupt(NO_BEGINNING, row=0)
        if seen is not None and rows.get(seen.seq) != seen:
            raise LedgerCorrupt(
                "The ledger was replaced, or put back to an earlier state, while it was in use. "
                "Nothing was released. Find out what happened, then open it again.",
                row=seen.seq,
            )
        self._last_seen = head = next(iter(rows.values()))
        return head, rows

    # -- creation ------------------------------------------------------------------------------

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
            self._created = Creation.decode(first.body)
            check_fixed("budget", budget, self._created.budget)
            check_fixed("composition", composition, self._created.composition)
            return
        if store.newest():
            raise LedgerCorrupt(NO_BEGINNING, row=0)
        if budget is None:
            raise InvalidArgument(
                "`budget` must be given to start a new ledger: the lifetime budget of the data "
                "set, such as Budget(1.0, 1e-5)."
            )
        validation.instance(Budget, budget=budget)
        self._created = Creation(uuid4().hex, budget, composition or Composition.BASIC)
        store.append([link(None, RowKind.CREATED, self._created.encode())])

    # -- copies share the account --------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        """Return the ledger itself: cloned estimators share one account."""
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class DetachedLedger:
    """Takes the place of a ledger in a pickled model; fitting such a model again is refused."""

    def __repr__(self) -> str:
        return "<ledger left behind>"


def check_fixed(name: str, value: object, fixed: object) -> None:
    """Refuse an argument that differs from what was fixed when the ledger was created."""
    if value is not None and value != fixed:
        raise InvalidArgument(
            f"`{name}` is fixed when a ledger is created: this one has {fixed!r}, got {value!r}. "
            "Leave it out, or start a new ledger for another data set."
        )


def _totals(records: Sequence[PlanRecord]) -> Totals:
    return Totals.of(record.plan for record in records)


def _lossy_restores(store: Store) -> int:
    rows = store.owned(RowKind.RESTORED, 0)
    return sum(Restoration.decode(row.body).lost != 0 for row in rows)


def _plan_address(key: object) -> tuple[int, int, bytes]:
    return RowKind.PLAN, 0, _hashed(key)


def _hashed(key: object) -> bytes:
    if not (isinstance(key, bytes | str) and key):
        raise InvalidArgument(f"A key must be non-empty bytes or text, got a {type(key).__name__}.")
    return key_hash(key)
