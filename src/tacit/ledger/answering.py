"""One call of ``Ledger.answer``: look up, check, draw, and append the rows that record it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
)
from tacit.ledger import failpoints as fp
from tacit.ledger import messages
from tacit.ledger.analysts import Account, Analyst, decode_analyst, encode_analyst
from tacit.ledger.answers import without_cost
from tacit.ledger.chain import Kind, Row, link, link_all
from tacit.ledger.composition import within
from tacit.ledger.failpoints import failpoint
from tacit.ledger.protocol import Release
from tacit.ledger.store import PlanRecord, Store, check_linked

Answers = Mapping[bytes, Answer]
"""Answers by the key of their question."""


class AnswerRequest:
    """Questions of one call, answered inside one transaction.

    Parameters
    ----------
    plan_id : int
    keys : sequence of bytes
        Of the questions, in the order asked; may repeat.
    release : Release
    analyst : Analyst, optional
    allow_insecure : bool
    """

    def __init__(
        self,
        plan_id: int,
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

    def run(self, store: Store, head: Row, record: PlanRecord) -> tuple[list[Answer], Row]:
        """Return the answers, which may leave once the transaction is durable, and the new head."""
        stored = self._look_up(store, record)
        account = AnalystAccount.read(store, record, self._analyst)
        unseen = account.unseen(store, stored)
        account.refuse_beyond_allowance(unseen)
        fresh: dict[bytes, Answer] = {}
        rows: list[Row] = []
        positions = _first_positions(self._keys, stored)
        if positions:
            usage = record.usage(store, head)
            fresh = self._draw(usage.room(record.plan), positions, account, unseen)
            bodies, _ = record.answers.encode_all(fresh, fresh.values(), usage)
            rows = link_all(head, Kind.ANSWER, bodies, self._plan_id)
        answers = _in_order(self._keys, stored, fresh)
        returned = set(self._keys[: len(answers)])
        shown = {key: answer for key, answer in (unseen | fresh).items() if key in returned}
        rows += account.rows_for(rows[-1] if rows else head, shown)
        failpoint(fp.BEFORE_WRITE)
        if rows:
            store.append(rows)
        failpoint(fp.AFTER_WRITE)
        return answers, rows[-1] if rows else head

    def _look_up(self, store: Store, record: PlanRecord) -> dict[bytes, Answer]:
        rows = store.keyed(Kind.ANSWER, self._plan_id, set(self._keys))
        check_linked(store, rows.values())
        return {key: record.entry(row).answer for key, row in rows.items()}

    def _draw(
        self,
        room: Mapping[Event, int],
        positions: Mapping[bytes, int],
        account: AnalystAccount,
        unseen: Answers,
    ) -> dict[bytes, Answer]:
        """Return an answer for each new question: fewer when the run stops on the way."""
        admitted = MappingProxyType(account.room(room, unseen))
        most = self._release.most(len(positions), admitted)
        if not within(most, room):
            raise BudgetExceeded(messages.answers_refused(len(positions), most, room))
        if not within(most, admitted):
            raise AllowanceExceeded(messages.allowance_exceeded(account.name))
        failpoint(fp.BEFORE_DRAW)
        self._noise_is_live = True
        answers = self._release.draw(list(positions.values()), admitted)
        failpoint(fp.AFTER_DRAW)
        self._check_drawn(answers, len(positions), most)
        fresh = dict(zip(positions, answers, strict=False))
        self._new_keys = list(fresh)
        return fresh

    def _check_drawn(
        self, answers: Sequence[Answer], questions: int, most: Mapping[Event, int]
    ) -> None:
        if len(answers) > questions or not within(_cost_of(answers), most):
            raise LedgerError(
                "More was drawn than was announced. Nothing was recorded or released; this is an "
                "error in the mechanism: please report it."
            )
        if not self._allow_insecure and not all(answer.secure for answer in answers):
            raise LedgerError(messages.INSECURE_REFUSED)

    def recover(self, store: Store) -> list[Answer]:
        """Return what an unclear commit recorded; only that may leave.

        Raises
        ------
        LedgerUnavailable
            When the commit did not take effect.
        """
        record = PlanRecord.read(store, self._plan_id)
        stored = self._look_up(store, record)
        if any(key not in stored for key in self._new_keys):
            raise LedgerUnavailable(
                "The ledger could not record the answers, so none was released and none was "
                "charged. Check the disk (full? read-only?) and the connection, then ask again."
            )
        fresh = {key: stored[key] for key in self._new_keys}
        answers = _in_order(self._keys, stored, fresh)
        shown = {key: stored[key] for key in self._keys[: len(answers)]}
        if AnalystAccount.read(store, record, self._analyst).unseen(store, shown):
            raise LedgerUnavailable(
                "The ledger could not record to whom the answers were to be shown, so nobody was "
                "shown them. Ask again."
            )
        return answers


@dataclass(frozen=True, slots=True)
class AnalystAccount:
    """The account of one analyst under one plan; without an analyst nothing is recorded."""

    analyst: Analyst | None
    record: PlanRecord
    row: Row | None = None
    account: Account | None = None

    @classmethod
    def read(cls, store: Store, record: PlanRecord, analyst: Analyst | None) -> AnalystAccount:
        """Return the account as it stands in the analyst's period."""
        if analyst is None:
            return cls(None, record)
        row = store.keyed(Kind.ANALYST, record.seq, [analyst.key]).get(analyst.key)
        account = read_account(store, record, analyst.name, row)
        return cls(analyst, record, row, account.at_period(analyst.period))

    @property
    def name(self) -> str:
        """The analyst's public name."""
        return "" if self.analyst is None else self.analyst.name

    def unseen(self, store: Store, stored: Answers) -> dict[bytes, Answer]:
        """Return those recorded answers that the analyst was not shown yet."""
        if self.analyst is None:
            return {}
        if self.row is None or not stored:
            return dict(stored)
        seen = store.keyed(Kind.SHOWN, self.row.seq, stored.keys())
        return {key: answer for key, answer in stored.items() if key not in seen}

    def refuse_beyond_allowance(self, unseen: Answers) -> None:
        """Refuse recorded answers that cost more than the analyst may still be shown."""
        if any(times < 0 for times in self._left(unseen).values()):
            raise AllowanceExceeded(messages.allowance_exceeded(self.name))

    def room(self, room: Mapping[Event, int], unseen: Answers) -> dict[Event, int]:
        """Return what is left both of the plan and of the allowance."""
        left = self._left(unseen)
        return {event: min(times, left.get(event, times)) for event, times in room.items()}

    def _left(self, unseen: Answers) -> dict[Event, int]:
        if self.analyst is None or self.analyst.allowance is None or self.account is None:
            return {}
        cost, used = _cost_of(unseen.values()), self.account.in_period.events
        return {event: self.analyst.allowance - used[event] - cost[event] for event in used}

    def rows_for(self, head: Row, shown: Answers) -> list[Row]:
        """Return the rows after ``head`` that record what the analyst is shown."""
        if self.analyst is None or self.account is None or not shown:
            return []
        owner, rows = self.row, []
        if owner is None:
            owner = head = link(head, Kind.ANALYST, encode_analyst(self.name), self.record.seq)
            rows = [owner]
        bodies = self.record.accounts.encode_all(shown, self.account)
        return rows + link_all(head, Kind.SHOWN, bodies, owner.seq)


def read_account(store: Store, record: PlanRecord, name: str, row: Row | None) -> Account:
    """Return an analyst's account under a plan, from the last row that belongs to it."""
    last = None if row is None else store.last(Kind.SHOWN, row.seq)
    if row is None or last is None:
        return Account.none(name, record.plan)
    check_linked(store, [row, last])
    try:
        return record.accounts.decode(decode_analyst(row.body), last.body)
    except ValueError as error:
        raise LedgerCorrupt(f"Row {last.seq} has {error}.", row=last.seq) from None


def _cost_of(answers: Iterable[Answer]) -> Counter[Event]:
    return Counter(event for answer in answers for event in answer.cost)


def _first_positions(keys: Sequence[bytes], stored: Answers) -> dict[bytes, int]:
    """Return the first position of every key that has no stored answer."""
    positions: dict[bytes, int] = {}
    for position, key in enumerate(keys):
        if key not in stored:
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
            answer = without_cost(answer)
        charged.add(key)
        answers.append(answer)
    return answers
