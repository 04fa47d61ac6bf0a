"""The rules of a ledger over any store of rows.

``RowLedger`` decides what fits, what is drawn, what is written and when an answer may leave. What
keeps the rows is a ``Store``, seen only inside a transaction that ``RowLedger`` opens. A further
kind of ledger brings a store and two kinds of transaction, and inherits the contract.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self
from uuid import uuid4

from tacit import _validate
from tacit.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerCorrupt,
    LedgerError,
    LedgerFormatError,
    LedgerUnavailable,
)
from tacit.privacy.answer import Answer
from tacit.privacy.budget import Budget
from tacit.privacy.events import Event
from tacit.privacy.ledger import failpoint as fp
from tacit.privacy.ledger import words
from tacit.privacy.ledger.chain import (
    FORMAT_VERSION,
    NO_HASH,
    AnswerCodec,
    Creation,
    Kind,
    Row,
    Tally,
    decode_plan,
    encode_plan,
    key_hash,
    link,
)
from tacit.privacy.ledger.composition import Amount, Composition, compose, fits, remaining, within
from tacit.privacy.ledger.protocol import Head, PlanId, Release
from tacit.privacy.ledger.store import (
    CommitUnclear,
    Store,
    check_linked,
    decoded,
    free,
    look_up,
    opened_plans,
)
from tacit.privacy.plan import Plan


class RowLedger(ABC):
    """A ledger kept as chained rows. See ``Ledger`` for what its methods promise."""

    allow_insecure: bool

    def __init__(self, allow_insecure: bool) -> None:
        self.allow_insecure = bool(allow_insecure)
        self._codecs: dict[tuple[int, bytes], AnswerCodec] = {}
        self._created: Creation | None = None
        self._seen: Row | None = None

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Store]:
        """Open a transaction that sees one state of the rows."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Store]:
        """Open a transaction, alone among writers, that is durable once the block is left.

        An error inside the block, or before the commit, takes back what was appended. Raises
        ``CommitUnclear`` when the commit itself fails.
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
            return self._compose(opened_plans(store))

    def spent(self) -> Amount:
        """Return the composed guarantee of the plans under which something was released.

        An odometer reading: the guarantee is ``reserved()``, and over the lifetime ``budget``.
        """
        with self._reading() as store:
            used = {
                seq: plan for seq, plan in opened_plans(store).items() if store.last_answer(seq)
            }
            return self._compose(used)

    def remaining(self) -> Amount:
        """Return what a further plan may cost."""
        with self._reading() as store:
            return remaining(self.budget, self.composition, list(opened_plans(store).values()))

    def statement(self) -> str:
        """Return the state of the account in words."""
        with self._reading() as store:
            plans = opened_plans(store)
            tallies = {seq: Tally() for seq in plans}
            for row in store.rows(Kind.ANSWER):
                tallies[row.plan].add(row.body)
            return words.statement(
                budget=self.budget,
                composition=self.composition,
                reserved=self._compose(plans),
                left=remaining(self.budget, self.composition, list(plans.values())),
                plans=[(plan, tallies[seq]) for seq, plan in plans.items()],
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
        opened = []
        for row in store.rows(Kind.PLAN):
            other, found = decode_plan(row.body)
            opened.append(found)
            if other == name:
                return _same_plan(found, plan, row.seq)
        self._refuse_unfit(opened, plan)
        row = link(head, Kind.PLAN, encode_plan(plan, name))
        store.append([row])
        return PlanId(row.seq)

    def check_plan(self, plan: Plan) -> None:
        """Check that a plan would fit in what is left; nothing is reserved or written."""
        _validate.instance(Plan, plan=plan)
        with self._reading() as store:
            self._refuse_unfit(list(opened_plans(store).values()), plan)

    def _refuse_unfit(self, opened: Sequence[Plan], plan: Plan) -> None:
        if not fits(self.budget, self.composition, [*opened, plan]):
            raise BudgetExceeded(
                words.plan_refused(
                    plan,
                    self.budget,
                    self.composition,
                    left=remaining(self.budget, self.composition, opened),
                )
            )

    def plan(self, plan_id: PlanId) -> Plan:
        """Return an opened plan."""
        with self._reading() as store:
            return self._codec(store, plan_id).plan

    def usage(self, plan_id: PlanId) -> dict[Event, int]:
        """Return how often each event of the plan has happened so far.

        An odometer reading, not a guarantee: how far a run gets depends on what was released. The
        guarantee that holds beforehand is the plan's.
        """
        with self._reading() as store:
            return self._used(store, plan_id, self._codec(store, plan_id))

    # -- answers -------------------------------------------------------------------------------

    def recorded(self, plan_id: PlanId, questions: Sequence[bytes]) -> dict[bytes, Answer]:
        """Return the stored answers, with what each cost, of those questions that have one."""
        with self._reading() as store:
            codec = self._codec(store, plan_id)
            found = ((q, store.answer(plan_id, key_hash(_checked_key(q)))) for q in questions)
            return {q: codec.decode(row.body).answer for q, row in found if row is not None}

    def answer(self, plan_id: PlanId, questions: Sequence[bytes], release: Release) -> list[Answer]:
        """Answer questions under a plan; nothing leaves before the record of it is durable."""
        keys = [key_hash(_checked_key(question)) for question in questions]
        attempt = _Attempt(release)
        try:
            with self._writing() as store:
                stored, drawn = self._draw(store, plan_id, keys, attempt)
                fp.failpoint(fp.AFTER_WRITE)
        except CommitUnclear as error:
            attempt.abandon()
            stored, drawn = self._reread(plan_id, keys, attempt, error)
        except BaseException:
            attempt.abandon()
            raise
        fp.failpoint(fp.AFTER_COMMIT)
        return _first_answered(keys, stored, drawn)

    def _draw(
        self, store: Store, plan_id: PlanId, keys: Sequence[bytes], attempt: _Attempt
    ) -> tuple[dict[bytes, Answer], dict[bytes, Answer]]:
        """Look up, check, draw and write; return the answers that were there and the new ones."""
        head = self._checked_head(store)
        codec = self._codec(store, plan_id)
        stored, new = look_up(store, plan_id, keys, codec)
        if not new:
            return stored, {}
        used = self._used(store, plan_id, codec)
        room = {event: most - used[event] for event, most in codec.plan.events}
        most = attempt.release.most(len(new), dict(room))
        if not within(most, room):
            raise BudgetExceeded(words.answers_refused(len(new), most, room))
        fp.failpoint(fp.BEFORE_DRAW)
        answers = attempt.draw(list(new.values()), room)
        fp.failpoint(fp.AFTER_DRAW)
        self._check_drawn(answers, len(new), most)
        drawn = dict(zip(new, answers, strict=False))
        attempt.drawn = tuple(drawn)
        store.append(_answer_rows(head, plan_id, codec, drawn, used))
        return stored, drawn

    def _check_drawn(
        self, answers: Sequence[Answer], questions: int, most: Mapping[Event, int]
    ) -> None:
        cost = Counter(event for answer in answers for event in answer.cost)
        if len(answers) > questions or not within(cost, most):
            raise LedgerError(
                "More was drawn than was announced. Nothing was recorded or released; this is an "
                "error in the mechanism: please report it."
            )
        if not self.allow_insecure and not all(answer.secure for answer in answers):
            raise LedgerError(words.INSECURE_REFUSED)

    def _reread(
        self, plan_id: PlanId, keys: Sequence[bytes], attempt: _Attempt, error: CommitUnclear
    ) -> tuple[dict[bytes, Answer], dict[bytes, Answer]]:
        """Find out what an unclear commit did: what is recorded may leave, nothing else."""
        with self._reading() as store:
            codec = self._codec(store, plan_id)
            stored, missing = look_up(store, plan_id, keys, codec, charged=attempt.drawn)
        if any(key in missing for key in attempt.drawn):
            raise LedgerUnavailable(
                "The ledger could not record the answers, so none was released and none was "
                "charged. Check the disk (full? read-only?), then ask again."
            ) from error
        return stored, {}

    # -- the chain -----------------------------------------------------------------------------

    def head(self) -> Head:
        """Return the newest row's number and hash."""
        with self._reading() as store:
            return _as_head(self._checked_head(store))

    def verify(self, known: Head | None = None) -> Head:
        """Walk the whole chain and return its head; ``known`` is a head kept elsewhere."""
        from tacit.privacy.ledger.verify import verify_rows

        with self._reading() as store:
            self._verify_store(store)
            return _as_head(verify_rows(store, self._creation, known))

    def _verify_store(self, store: Store) -> None:  # noqa: B027 - a hook, empty by default
        """Check what is particular to the store, such as its indexes."""

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
        first = store.row(0)
        if first is not None:
            return _same_creation(_decoded_creation(first), budget, composition)
        if budget is None:
            raise InvalidArgument(
                "`budget` must be given to start a new ledger: the lifetime budget of the data "
                "set, such as Budget(1.0, 1e-5)."
            )
        _validate.instance(Budget, budget=budget)
        creation = Creation(uuid4().hex, budget, composition or Composition.BASIC)
        store.append([link(None, Kind.CREATED, creation.encode())])
        return creation

    def _compose(self, plans: Mapping[int, Plan]) -> Amount:
        return compose(self.budget, self.composition, list(plans.values()))

    def _checked_head(self, store: Store) -> Row:
        head = store.head()
        if head is None:
            raise LedgerCorrupt("Row 0 is missing: the ledger has no beginning.")
        check_linked(store, head)
        self._check_same_ledger(store)
        self._seen = head
        return head

    def _check_same_ledger(self, store: Store) -> None:
        """Check that the head seen last is still there: no other or earlier file took its place."""
        if self._seen is not None and store.row(self._seen.seq) != self._seen:
            raise LedgerCorrupt(
                "The ledger was replaced, or put back to an earlier state, while it was in use. "
                "Nothing was released. Find out what happened, then open it again."
            )

    def _codec(self, store: Store, plan_id: PlanId) -> AnswerCodec:
        row = store.row(plan_id)
        if row is None or row.kind != Kind.PLAN:
            raise InvalidArgument(
                f"`plan_id` must come from open_plan of this ledger, got {plan_id}."
            )
        known = (row.seq, row.hash)
        if known not in self._codecs:
            check_linked(store, row)
            self._codecs[known] = AnswerCodec(decode_plan(row.body)[1])
        return self._codecs[known]

    def _used(self, store: Store, plan_id: PlanId, codec: AnswerCodec) -> dict[Event, int]:
        last = store.last_answer(plan_id)
        if last is None:
            return dict.fromkeys(codec.plan.most, 0)
        check_linked(store, last)
        return decoded(codec, last).used


class _Attempt:
    """One call of ``answer``: remembers whether anything was drawn, and for which questions."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.drawn: tuple[bytes, ...] = ()
        self._live = False

    def draw(self, positions: list[int], room: Mapping[Event, int]) -> Sequence[Answer]:
        self._live = True
        return self.release.draw(positions, dict(room))

    def abandon(self) -> None:
        if self._live:
            self.release.abandon()


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
    if row.format_version > FORMAT_VERSION:
        raise LedgerFormatError(words.newer_format(row.format_version, FORMAT_VERSION))
    if row.kind != Kind.CREATED or not row.follows(NO_HASH):
        raise LedgerCorrupt("Row 0 was changed: the ledger's beginning does not hold.")
    return Creation.decode(row.body)


def _answer_rows(
    head: Row,
    plan_id: PlanId,
    codec: AnswerCodec,
    drawn: Mapping[bytes, Answer],
    used: Mapping[Event, int],
) -> list[Row]:
    total, rows, before = Counter(dict(used)), [], head
    for key, answer in drawn.items():
        total.update(answer.cost)
        before = link(before, Kind.ANSWER, codec.encode(key, answer, total), plan_id)
        rows.append(before)
    return rows


def _first_answered(
    keys: Sequence[bytes], stored: Mapping[bytes, Answer], drawn: Mapping[bytes, Answer]
) -> list[Answer]:
    """Return answers in the order asked, up to the first question that has none."""
    answers: list[Answer] = []
    given: set[bytes] = set()
    for key in keys:
        found = drawn.get(key) or stored.get(key)
        if found is None:
            break
        answers.append(free(found) if key in given else found)
        given.add(key)
    return answers


def _checked_key(key: object) -> bytes | str:
    if not (isinstance(key, bytes | str) and key):
        raise InvalidArgument(f"A key must be non-empty bytes or text, got a {type(key).__name__}.")
    return key


def _as_head(row: Row) -> Head:
    return Head(row.seq, row.hash.hex())
