"""The rules of a ledger over any store of rows.

``RowLedger`` decides what fits, what is drawn, what is written and when an answer may leave. What
keeps the rows is a ``Store``, seen only inside a transaction that ``RowLedger`` opens. A further
kind of ledger brings a store and two kinds of transaction, and inherits the contract.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Self
from uuid import uuid4

from tacit import _validate
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger import failpoint as fp
from tacit.ledger import words
from tacit.ledger.analysts import Account, Analyst, decode_analyst
from tacit.ledger.answers import Tally
from tacit.ledger.book import REPLACED, PlanBook
from tacit.ledger.chain import (
    NO_HASH,
    Creation,
    Kind,
    Row,
    decode_plan,
    encode_plan,
    key_hash,
    link,
)
from tacit.ledger.composition import (
    Amount,
    Composition,
    Totals,
    compose,
    fits,
    remaining,
)
from tacit.ledger.failpoint import failpoint
from tacit.ledger.known import Known
from tacit.ledger.protocol import Head, PlanId, Release
from tacit.ledger.request import Request, read_account
from tacit.ledger.restoration import Restoration, lifetime
from tacit.ledger.store import CommitUnclear, Store, Wanted, check_format, check_linked
from tacit.privacy.answer import Answer
from tacit.privacy.budget import Budget
from tacit.privacy.events import Event
from tacit.privacy.plan import Plan


class RowLedger(ABC):
    """A ledger kept as chained rows. See ``Ledger`` for what its methods promise."""

    allow_insecure: bool

    def __init__(self, allow_insecure: bool) -> None:
        self.allow_insecure = bool(allow_insecure)
        self._book = PlanBook()
        self._created: Creation | None = None
        self._known: Known | None = None

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Store]:
        """Open the rows for reading. Rows may be added meanwhile; none that is there changes."""

    def _walking(self) -> AbstractContextManager[Store]:
        """Open the rows for reading, in one state from beginning to end."""
        return self._reading()

    @abstractmethod
    def _writing(self, wanted: Wanted | None = None) -> AbstractContextManager[Store]:
        """Open a transaction, alone among writers, that is durable once the block is left.

        An error inside the block, or before the commit, takes back what was appended. Raises
        ``CommitUnclear`` when the commit itself fails. ``wanted`` is looked at first: a store that
        is far away may fetch it as it opens the transaction.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

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
        """A public name drawn at creation, which tells two ledgers apart."""
        return self._creation.ledger_id

    def reserved(self) -> Amount:
        """Return the composed guarantee of all opened plans."""
        with self._reading() as store:
            return compose(self.budget, self.composition, self._book.totals(store))

    def spent(self) -> Amount:
        """Return the composed guarantee of the plans under which something was released.

        An odometer reading: the guarantee is ``reserved()``, and over the lifetime ``budget``.
        """
        with self._reading() as store:
            return compose(self.budget, self.composition, self._book.used(store))

    def remaining(self) -> Amount:
        """Return what a further plan may cost."""
        with self._reading() as store:
            return remaining(self.budget, self.composition, self._book.totals(store))

    def lifetime(self) -> Amount:
        """Return what holds for everything ever released: the budget, unless spend was lost."""
        with self._reading() as store:
            return lifetime(self.budget, _lost_accounts(store))

    def statement(self) -> str:
        """Return the state of the account in words."""
        with self._walking() as store:
            total, plans = self._book.totals(store), self._book.read(store)
            return words.statement(
                budget=self.budget,
                composition=self.composition,
                reserved=compose(self.budget, self.composition, total),
                left=remaining(self.budget, self.composition, total),
                plans=[(opened.plan, opened.usage(store).tally) for opened in plans.values()],
                lost=_lost_accounts(store),
            )

    # -- plans ---------------------------------------------------------------------------------

    def open_plan(self, plan: Plan, key: bytes | str) -> PlanId:
        """Reserve the whole guarantee of a plan, or give back the one opened with this key."""
        _validate.instance(Plan, plan=plan)
        name = key_hash(_checked_key(key))
        try:
            with self._writing() as store:
                return self._open_plan(store, plan, name)
        except CommitUnclear as error:
            raise LedgerUnavailable(
                "It is not clear whether the plan was recorded. Open it again with the same key: "
                "it is charged once."
            ) from error

    def _open_plan(self, store: Store, plan: Plan, name: bytes) -> PlanId:
        head = self._checked_head(store)
        row = store.keyed(Kind.PLAN, 0, [name]).get(name)
        if row is not None:
            return _same_plan(decode_plan(row.body), plan, row.seq)
        self._refuse_unfit(self._book.totals(store), plan)
        row = link(head, Kind.PLAN, encode_plan(plan, name))
        store.append([row])
        return PlanId(row.seq)

    def check_plan(self, plan: Plan) -> None:
        """Check that a plan would fit in what is left; nothing is reserved or written."""
        _validate.instance(Plan, plan=plan)
        with self._reading() as store:
            self._refuse_unfit(self._book.totals(store), plan)

    def _refuse_unfit(self, opened: Totals, plan: Plan) -> None:
        if not fits(self.budget, self.composition, opened.plus(plan)):
            raise BudgetExceeded(
                words.plan_refused(
                    plan,
                    self.budget,
                    self.composition,
                    left=remaining(self.budget, self.composition, opened),
                )
            )

    def find_plan(self, key: bytes | str) -> PlanId | None:
        """Return the plan that was opened with this key, None if there is none."""
        name = key_hash(_checked_key(key))
        with self._reading() as store:
            row = store.keyed(Kind.PLAN, 0, [name]).get(name)
            return None if row is None else PlanId(row.seq)

    def plan(self, plan_id: PlanId) -> Plan:
        """Return an opened plan."""
        with self._reading() as store:
            return self._book.plan(store, plan_id).plan

    def usage(self, plan_id: PlanId) -> dict[Event, int]:
        """Return how often each event of the plan has happened so far.

        An odometer reading, not a guarantee: how far a run gets depends on what was released. The
        guarantee that holds beforehand is the plan's.
        """
        with self._reading() as store:
            return dict(self._book.plan(store, plan_id).usage(store).used)

    def tally(self, plan_id: PlanId) -> Tally:
        """Return how many questions were answered and refused under the plan so far."""
        with self._reading() as store:
            return self._book.plan(store, plan_id).usage(store).tally

    # -- answers -------------------------------------------------------------------------------

    def recorded(self, plan_id: PlanId, questions: Sequence[bytes]) -> dict[bytes, Answer]:
        """Return the stored answers, with what each cost, of those questions that have one."""
        keys = {question: key_hash(_checked_key(question)) for question in questions}
        with self._reading() as store:
            opened = self._book.plan(store, plan_id)
            rows = store.keyed(Kind.ANSWER, plan_id, set(keys.values()))
            return {q: opened.decoded(rows[k]).answer for q, k in keys.items() if k in rows}

    def answer(
        self,
        plan_id: PlanId,
        questions: Sequence[bytes],
        release: Release,
        *,
        on_behalf: Analyst | None = None,
    ) -> list[Answer]:
        """Answer questions under a plan; nothing leaves before the record of it is durable."""
        keys = _keys(questions)
        request = Request(
            plan_id, keys, release, on_behalf=on_behalf, allow_insecure=self.allow_insecure
        )
        try:
            with self._writing(request) as store:
                known, opened = self._known_now(store, request), self._book.plan(store, plan_id)
                answers = request.carry_out(store, known, opened)
                failpoint(fp.BEFORE_COMMIT)
        except CommitUnclear as error:
            request.abandon()
            answers = self._find_out(plan_id, request, error)
        except BaseException:
            request.abandon()
            raise
        else:
            self._known = request.known
        failpoint(fp.AFTER_COMMIT)
        return answers

    def _known_now(self, store: Store, wanted: Wanted) -> Known:
        """Return what is known of the rows as they are now: little, if others have added some."""
        known = self._known
        if known is not None and store.head() == known.head:
            return known
        store.expect(wanted, seen=0 if known is None else known.head.seq)
        return Known(self._checked_head(store))

    def _find_out(self, plan_id: PlanId, request: Request, error: CommitUnclear) -> list[Answer]:
        """Find out what an unclear commit did: what is recorded may leave, nothing else."""
        try:
            # Alone among writers: the unclear transaction has ended, one way or the other.
            with self._writing() as store:
                self._checked_head(store)
                return request.find_out(store, self._book.plan(store, plan_id))
        except (CommitUnclear, LedgerUnavailable) as again:
            if isinstance(again, LedgerUnavailable):
                raise again from error
            raise LedgerUnavailable(words.UNCLEAR) from error

    # -- analysts ------------------------------------------------------------------------------

    def recorded_for(self, plan_id: PlanId, name: str) -> Account:
        """Return what one analyst was shown under a plan."""
        key = Analyst(name).key
        with self._reading() as store:
            opened = self._book.plan(store, plan_id)
            row = store.keyed(Kind.ANALYST, plan_id, [key]).get(key)
            return read_account(store, opened, name, row)

    def accounts(self, plan_id: PlanId) -> list[Account]:
        """Return what every analyst was shown under a plan, in the order they first asked."""
        with self._reading() as store:
            opened = self._book.plan(store, plan_id)
            rows = list(store.owned(Kind.ANALYST, plan_id))
            return [read_account(store, opened, decode_analyst(row.body), row) for row in rows]

    # -- the chain -----------------------------------------------------------------------------

    def head(self) -> Head:
        """Return the newest row's number and hash."""
        with self._reading() as store:
            return _as_head(self._checked_head(store))

    def contains(self, known: Head) -> bool:
        """Return whether a head kept elsewhere is still a row of this ledger."""
        with self._reading() as store:
            row = store.at([known.seq]).get(known.seq)
            return row is not None and _as_head(row) == known

    def verify(self, known: Head | None = None) -> Head:
        """Walk the whole chain and return its head; ``known`` is a head kept elsewhere."""
        from tacit.ledger.verify import verify_rows

        with self._walking() as store:
            self._verify_store(store)
            head = _as_head(verify_rows(store.rows(), self._creation, known))
            self._verify_keys(store)
            return head

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Creation, Head, Iterator[Row]]]:
        """Open one state of the ledger: how it began, its head, and all rows in order."""
        with self._walking() as store:
            yield self._creation, _as_head(self._checked_head(store)), store.rows()

    def _verify_store(self, store: Store) -> None:  # noqa: B027 - a hook, empty by default
        """Check what is particular to the store, such as its indexes."""

    def _verify_keys(self, store: Store) -> None:  # noqa: B027 - a hook, empty by default
        """Check that rows, which hold by now, are found by their keys."""

    # -- the same account everywhere -------------------------------------------------------------

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

    def _create(
        self, store: Store, budget: Budget | None, composition: Composition | str | None
    ) -> Creation:
        """Return what the first row promises, after writing it if there is none."""
        if composition is not None:
            composition = _validate.choice(Composition, composition=composition)
        first = store.at([0]).get(0)
        if first is not None:
            return _same_creation(_decoded_creation(first), budget, composition)
        if store.head() is not None:
            raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.", row=0)
        if budget is None:
            raise InvalidArgument(
                "`budget` must be given to start a new ledger: the lifetime budget of the data "
                "set, such as Budget(1.0, 1e-5)."
            )
        _validate.instance(Budget, budget=budget)
        creation = Creation(uuid4().hex, budget, composition or Composition.BASIC)
        store.append([link(None, Kind.CREATED, creation.encode())])
        return creation

    def _checked_head(self, store: Store) -> Row:
        head, known = store.head(), self._known
        if head is None:
            raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.", row=0)
        if known is not None and head == known.head:
            return head
        check_linked(store, [head])
        if known is not None and store.at([known.head.seq]).get(known.head.seq) != known.head:
            raise LedgerCorrupt(REPLACED, row=known.head.seq)
        self._known = Known(head)
        return head


def _same_plan(found: Plan, plan: Plan, seq: int) -> PlanId:
    # The price is computed, and its last digits may differ between machines and versions. The
    # recorded one stands.
    close = math.isclose(found.guarantee.epsilon, plan.guarantee.epsilon, rel_tol=1e-6)
    alike = replace(
        plan,
        guarantee=Budget(found.guarantee.epsilon, plan.guarantee.delta),
        accountant=found.accountant,
    )
    if not (close and alike == found):
        raise InvalidArgument(
            f"`key` already belongs to another plan of this ledger (of {found.mechanism}). Use a "
            "new key for a new plan, or the same settings to resume the old one."
        )
    return PlanId(seq)


def _same_creation(
    found: Creation, budget: Budget | None, composition: Composition | None
) -> Creation:
    for name, asked, kept in (
        ("budget", budget, found.budget),
        ("composition", composition, found.composition),
    ):
        if asked is not None and asked != kept:
            raise InvalidArgument(
                f"`{name}` is fixed when a ledger is created: this one has {kept!r}, got "
                f"{asked!r}. Leave it out, or start a new ledger for another data set."
            )
    return found


def _decoded_creation(row: Row) -> Creation:
    check_format(row)
    if row.kind != Kind.CREATED or not row.follows(NO_HASH):
        raise LedgerCorrupt("Row 0 was changed: the ledger's beginning does not hold.", row=0)
    return Creation.decode(row.body)


def _lost_accounts(store: Store) -> int:
    """Return how often the ledger was restored without knowing all that had been spent."""
    rows = store.owned(Kind.RESTORED, 0)
    return sum(Restoration.decode(row.body).lost != 0 for row in rows)


def _checked_key(key: object) -> bytes | str:
    if not (isinstance(key, bytes | str) and key):
        raise InvalidArgument(f"A key must be non-empty bytes or text, got a {type(key).__name__}.")
    return key


def _keys(questions: Sequence[bytes]) -> list[bytes]:
    # Names that are bytes need no further look; each question of a batch comes by here.
    if set(map(type, questions)) == {bytes} and all(questions):
        return [hashlib.sha256(question).digest() for question in questions]
    return [key_hash(_checked_key(question)) for question in questions]


def _as_head(row: Row) -> Head:
    return Head(row.seq, row.hash.hex())
