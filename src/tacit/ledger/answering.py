"""One call of ``Ledger.answer``: look up, check, draw, and append the rows that record it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, Self

from tacit.accounting.answer import Answer, total_cost
from tacit.accounting.events import Event
from tacit.errors import AllowanceExceeded, BudgetExceeded, LedgerError, LedgerUnavailable
from tacit.ledger import failpoints as fp
from tacit.ledger.chain import PlanId, Row, RowKind, encode_analyst, link
from tacit.ledger.composition import within
from tacit.ledger.failpoints import failpoint
from tacit.ledger.plans import PlanRecord
from tacit.ledger.store import Store
from tacit.ledger.tallies import Analyst, AnalystAccount

INSECURE = (
    "This ledger does not record answers drawn from test noise, so nothing was released. Use "
    "SecureNoise; or, in a test, open the ledger with allow_insecure=True."
)

Answers = Mapping[bytes, Answer]
"""Answers by the key of their question."""


class Release(Protocol):
    """Draws the answers of one call of ``Ledger.answer``; holds the votes and the noise."""

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        """Return the most that so many new questions can cost, from public state alone.

        ``room`` is what the plan has left. A release that can stop early stays within it; any
        other returns its full price and is refused when that does not fit.
        """

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> Sequence[Answer]:
        """Answer the questions at these positions, in order; fewer when the run stops."""

    def abandon(self) -> None:
        """Discard live noise: something was drawn, and it is not known that it was recorded."""


def _keep_nothing() -> None:
    """Nothing is kept between answers."""


@dataclass(frozen=True, repr=False, eq=False)
class FixedPriceRelease:
    """A ``Release`` made of functions, whose price does not depend on what the plan has left.

    Parameters
    ----------
    price : callable
        From a number of new questions to the most they can cost.
    answer : callable
        From positions of new questions to their answers.
    forget : callable, optional
        Discards live noise.
    """

    price: Callable[[int], Mapping[Event, int]]
    answer: Callable[[Sequence[int]], list[Answer]]
    forget: Callable[[], None] = _keep_nothing

    @classmethod
    def per_answer(cls, event: Event, answer: Callable[[Sequence[int]], list[Answer]]) -> Self:
        """Return a release that pays one event for every new question."""
        return cls(lambda questions: {event: questions}, answer)

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return self.price(questions)

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return self.answer(new)

    def abandon(self) -> None:
        self.forget()


class AnswerRequest:
    """Questions of one call, answered inside one transaction.

    Parameters
    ----------
    plan_id : PlanId
    keys : sequence of bytes
        Of the questions, in the order asked; may repeat.
    release : Release
    analyst : Analyst, optional
    allow_insecure : bool
    """

    def __init__(
        self,
        plan_id: PlanId,
        keys: Sequence[bytes],
        release: Release,
        *,
        analyst: Analyst | None,
        allow_insecure: bool,
    ) -> None:
        self._plan_id, self._keys, self._release = plan_id, keys, release
        self._analyst, self._allow_insecure = analyst, allow_insecure
        self._new_keys: list[bytes] = []
        self._noise_is_live = False

    def abandon(self) -> None:
        """Discard live noise, if any was drawn: it is not known that it was recorded."""
        if self._noise_is_live:
            self._release.abandon()

    def run(self, store: Store, head: Row, record: PlanRecord) -> tuple[list[Answer], list[Row]]:
        """Return the answers, which may leave once the transaction is durable, and their rows."""
        stored, viewer = self._look_up(store, record)
        unseen = viewer.unseen(store, stored) if viewer else {}
        allowance = viewer.left(unseen) if viewer else {}
        fresh: dict[bytes, Answer] = {}
        rows: list[Row] = []
        positions = first_positions(self._keys, stored)
        if positions:
            tally = record.tally(store)
            room = {event: most - tally.events[event] for event, most in record.plan.events}
            fresh = self._draw(positions, room, allowance)
            for key, answer in fresh.items():
                tally = tally.plus(answer)
                body = record.codec.encode_answer(key, answer, tally)
                head = link(head, RowKind.ANSWER, body, self._plan_id)
                rows.append(head)
        answers = _in_order(self._keys, stored, fresh)
        if viewer:
            returned = set(self._keys[: len(answers)])
            shown = {key: answer for key, answer in (unseen | fresh).items() if key in returned}
            rows += viewer.rows(head, shown)
        return answers, rows

    def recover(self, store: Store) -> list[Answer]:
        """Return what an unclear commit recorded; only that may leave.

        Raises
        ------
        LedgerUnavailable
            When the commit did not take effect.
        """
        stored, viewer = self._look_up(store, PlanRecord.read(store, self._plan_id))
        if any(key not in stored for key in self._new_keys):
            raise LedgerUnavailable(
                "The ledger could not record the answers, so none was released and none was "
                "charged. Check the disk (full? read-only?) and the connection, then ask again."
            )
        fresh = {key: stored[key] for key in self._new_keys}
        answers = _in_order(self._keys, stored, fresh)
        shown = {key: stored[key] for key in self._keys[: len(answers)]}
        if viewer and viewer.unseen(store, shown):
            raise LedgerUnavailable(
                "The ledger could not record who was to see the answers, so they were not shown. "
                "Ask again."
            )
        return answers

    def _look_up(
        self, store: Store, record: PlanRecord
    ) -> tuple[dict[bytes, Answer], AnalystRecord | None]:
        """Return the stored answers of the questions, and the account of the analyst."""
        addresses = [(RowKind.ANSWER, self._plan_id, key) for key in dict.fromkeys(self._keys)]
        analyst, row = self._analyst, None
        if analyst is not None:
            addresses.append((RowKind.ANALYST, self._plan_id, analyst.key))
        rows = store.keyed(addresses)
        if analyst is not None:
            row = rows.pop(addresses[-1], None)
        stored = {key: record.answer(row) for (_, _, key), row in rows.items()}
        if analyst is None:
            return stored, None
        account = record.account(store, analyst.name, row).at_period(analyst.period)
        return stored, AnalystRecord(analyst, record, row, account)

    def _draw(
        self,
        positions: Mapping[bytes, int],
        room: Mapping[Event, int],
        allowance: Mapping[Event, int],
    ) -> dict[bytes, Answer]:
        """Return an answer for each new question: fewer when the run stops early."""
        admitted = MappingProxyType(
            {event: min(times, allowance.get(event, times)) for event, times in room.items()}
        )
        most = self._release.most(len(positions), admitted)
        if not within(most, room):
            short = "; ".join(
                f"{times} times {event.kind} where {room.get(event, 0)} are left"
                for event, times in most.items()
                if times > room.get(event, 0)
            )
            new = "1 new question" if len(positions) == 1 else f"{len(positions)} new questions"
            raise BudgetExceeded(
                f"{new} may cost {short}. Nothing was drawn. Ask fewer, "
                "or open a further plan if the budget allows one; questions answered before are "
                "still free."
            )
        if not within(most, admitted):
            raise _allowance_exceeded(self._analyst)
        failpoint(fp.BEFORE_DRAW)
        self._noise_is_live = True
        answers = self._release.draw(list(positions.values()), admitted)
        failpoint(fp.AFTER_DRAW)
        if len(answers) > len(positions) or not within(total_cost(answers), most):
            raise LedgerError(
                "More was drawn than was announced. Nothing was recorded or released; this is an "
                "error in the mechanism: please report it."
            )
        if not self._allow_insecure and not all(answer.secure for answer in answers):
            raise LedgerError(INSECURE)
        fresh = dict(zip(positions, answers, strict=False))
        self._new_keys = list(fresh)
        return fresh


@dataclass(frozen=True, slots=True)
class AnalystRecord:
    """The account of one analyst under one plan; ``row`` names the analyst, if one does already."""

    analyst: Analyst
    record: PlanRecord
    row: Row | None
    account: AnalystAccount

    def unseen(self, store: Store, stored: Answers) -> dict[bytes, Answer]:
        """Return the recorded answers that the analyst was not shown yet."""
        if self.row is None or not stored:
            return dict(stored)
        owner = self.row.seq
        seen = store.keyed([(RowKind.SHOWN, owner, key) for key in stored])
        shown = {key for _, _, key in seen}
        return {key: answer for key, answer in stored.items() if key not in shown}

    def left(self, unseen: Answers) -> dict[Event, int]:
        """Return what of the allowance is left after the unseen answers; empty without one.

        Raises
        ------
        AllowanceExceeded
            When they cost more than is left.
        """
        if self.analyst.allowance is None:
            return {}
        cost, used = total_cost(unseen.values()), self.account.in_period.events
        left = {event: self.analyst.allowance - used[event] - cost[event] for event in used}
        if any(times < 0 for times in left.values()):
            raise _allowance_exceeded(self.analyst)
        return left

    def rows(self, head: Row, shown: Answers) -> list[Row]:
        """Return the rows after ``head`` that record what the analyst is shown."""
        rows: list[Row] = []
        if not shown:
            return rows
        owner, account = self.row, self.account
        if owner is None:
            body = encode_analyst(self.analyst.name)
            owner = head = link(head, RowKind.ANALYST, body, self.record.plan_id)
            rows.append(owner)
        for key, answer in shown.items():
            account = account.plus(answer)
            head = link(
                head, RowKind.SHOWN, self.record.codec.encode_shown(key, account), owner.seq
            )
            rows.append(head)
        return rows


def _allowance_exceeded(analyst: Analyst | None) -> AllowanceExceeded:
    name = "" if analyst is None else analyst.name
    return AllowanceExceeded(
        f"The answers may cost more than {name!r} may still be shown in this period. Nothing was "
        "drawn or shown. Ask fewer, or wait for the next period."
    )


def first_positions(keys: Sequence[bytes], answered: Container[bytes]) -> dict[bytes, int]:
    """Return the first position of every key that is not answered."""
    positions: dict[bytes, int] = {}
    for position, key in enumerate(keys):
        if key not in answered:
            positions.setdefault(key, position)
    return positions


def _in_order(keys: Sequence[bytes], stored: Answers, fresh: Answers) -> list[Answer]:
    """Return answers in the order asked, up to the first question that has none.

    A fresh answer carries its cost the first time it occurs; all others are free.
    """
    answers: list[Answer] = []
    charged: set[bytes] = set()
    for key in keys:
        answer = fresh.get(key, stored.get(key))
        if answer is None:
            break
        if key not in fresh or key in charged:
            answer = answer.without_cost()
        charged.add(key)
        answers.append(answer)
    return answers
