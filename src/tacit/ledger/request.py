"""One call of ``Ledger.answer``: look up, check, draw, and the rows that record it."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tacit.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
)
from tacit.ledger import failpoint as fp
from tacit.ledger import words
from tacit.ledger.analysts import Account, Analyst, decode_analyst, encode_analyst
from tacit.ledger.answers import Usage, free
from tacit.ledger.book import OpenPlan
from tacit.ledger.chain import Kind, Row, link, link_all
from tacit.ledger.composition import within
from tacit.ledger.failpoint import failpoint
from tacit.ledger.known import Known
from tacit.ledger.protocol import Release
from tacit.ledger.store import Store, check_linked
from tacit.privacy.answer import Answer
from tacit.privacy.events import Event


class Request:
    """Questions asked at once, and what has become of them.

    ``carry_out`` works inside a transaction and returns what may leave once that is durable.
    """

    _drawn: Collection[bytes] = ()
    _live = False
    known: Known | None = None

    def __init__(
        self,
        plan: int,
        keys: Sequence[bytes],
        release: Release,
        *,
        on_behalf: Analyst | None,
        allow_insecure: bool,
    ) -> None:
        self.plan, self.keys = plan, frozenset(keys)
        self._asked, self._release = keys, release
        self._analyst, self._allow_insecure = on_behalf, allow_insecure

    @property
    def analyst_key(self) -> bytes:
        """The key of the analyst's row, empty without one."""
        return b"" if self._analyst is None else self._analyst.key

    def abandon(self) -> None:
        """Forget live noise, if any was drawn: it is not clear that it was recorded."""
        if self._live:
            self._release.abandon()

    def carry_out(self, store: Store, known: Known, opened: OpenPlan) -> list[Answer]:
        """Look up, check, draw and write; return the answers in the order asked.

        ``known`` holds for the rows that the store shows; afterwards ``self.known`` does.
        """
        keys = self._asked
        stored, new = self._look_up(store, opened)
        desk, unseen = None, stored
        if self._analyst is not None:
            desk = _Desk.of(store, known, opened, self._analyst)
            unseen = desk.unseen(store, stored)
            desk.refuse_beyond_allowance(unseen)
        rows: list[Row] = []
        fresh: dict[bytes, Answer] = {}
        if new:
            usage = known.usage.get(self.plan) or opened.usage(store)
            fresh = self._draw(opened, usage, new, desk, unseen)
            bodies, usage = opened.codec.encode_all(fresh, fresh.values(), usage)
            rows = link_all(known.head, _ANSWER, bodies, self.plan)
            known = known.after(rows, self.plan, usage)
        answers = _first_answered(keys, stored, fresh)
        if desk is not None:
            given = set(keys[: len(answers)])
            seen = {key: answer for key, answer in (unseen | fresh).items() if key in given}
            if seen:
                owner, account, more = desk.show(known.head, seen)
                rows += more
                known = known.with_account(more, self.plan, owner, account)
        failpoint(fp.BEFORE_WRITE)
        if rows:
            store.append(rows)
        failpoint(fp.AFTER_WRITE)
        self.known = known
        return answers

    def _look_up(
        self, store: Store, opened: OpenPlan
    ) -> tuple[dict[bytes, Answer], dict[bytes, int]]:
        """Return the recorded answers, and the first position of every key that has none."""
        keys = self._asked
        found = store.keyed(_ANSWER, self.plan, self.keys)
        if not found and len(self.keys) == len(keys):
            return {}, dict(zip(keys, range(len(keys)), strict=True))
        check_linked(store, found.values())
        stored = {key: opened.decoded(row).answer for key, row in found.items()}
        new: dict[bytes, int] = {}
        for position, key in enumerate(keys):
            if key not in stored:
                new.setdefault(key, position)
        return stored, new

    def _draw(
        self,
        opened: OpenPlan,
        usage: Usage,
        new: Mapping[bytes, int],
        desk: _Desk | None,
        unseen: Mapping[bytes, Answer],
    ) -> dict[bytes, Answer]:
        room = admitted = opened.room(usage.used)
        if desk is not None:
            admitted = MappingProxyType(desk.room(room, unseen))
        most = self._release.most(len(new), admitted)
        if most:
            self._refuse_beyond(most, room, admitted, len(new))
        failpoint(fp.BEFORE_DRAW)
        self._live = True
        answers = self._release.draw(list(new.values()), admitted)
        failpoint(fp.AFTER_DRAW)
        self._check_drawn(answers, len(new), most)
        drawn = dict(zip(new, answers, strict=False))
        self._drawn = drawn.keys()
        return drawn

    def _refuse_beyond(
        self,
        most: Mapping[Event, int],
        room: Mapping[Event, int],
        admitted: Mapping[Event, int],
        questions: int,
    ) -> None:
        if not within(most, room):
            raise BudgetExceeded(words.answers_refused(questions, most, room))
        if not within(most, admitted):
            raise AllowanceExceeded(words.allowance_exceeded(self._name()))

    def _check_drawn(
        self, answers: Sequence[Answer], questions: int, most: Mapping[Event, int]
    ) -> None:
        paid = list(itertools.chain.from_iterable(map(_COST, answers)))
        if len(answers) > questions or (paid and not within(Counter(paid), most)):
            raise LedgerError(
                "More was drawn than was announced. Nothing was recorded or released; this is an "
                "error in the mechanism: please report it."
            )
        if not self._allow_insecure and not all(map(_SECURE, answers)):
            raise LedgerError(words.INSECURE_REFUSED)

    def _name(self) -> str:
        return "" if self._analyst is None else self._analyst.name

    def find_out(self, store: Store, opened: OpenPlan) -> list[Answer]:
        """Return what an unclear commit recorded: that may leave, nothing else."""
        stored, missing = self._look_up(store, opened)
        if any(key in missing for key in self._drawn):
            raise LedgerUnavailable(
                "The ledger could not record the answers, so none was released and none was "
                "charged. Check the disk (full? read-only?) and the connection, then ask again."
            )
        drawn = {key: stored[key] for key in self._drawn}
        answers = _first_answered(self._asked, stored, drawn)
        self._refuse_unshown(store, opened, stored, len(answers))
        return answers

    def _refuse_unshown(
        self, store: Store, opened: OpenPlan, stored: Mapping[bytes, Answer], given: int
    ) -> None:
        if self._analyst is None:
            return
        shown = {key: stored[key] for key in self._asked[:given]}
        account = _Desk.read(store, opened, self._analyst)
        if account.unseen(store, shown):
            raise LedgerUnavailable(
                "The ledger could not record to whom the answers were to be shown, so nobody was "
                "shown them. Ask again."
            )


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where one analyst is served under one plan: the account, and the row it belongs to."""

    analyst: Analyst
    opened: OpenPlan
    row: Row | None
    account: Account

    @classmethod
    def of(cls, store: Store, known: Known, opened: OpenPlan, analyst: Analyst) -> _Desk:
        remembered = known.accounts.get((opened.seq, analyst.name))
        if remembered is None:
            return cls.read(store, opened, analyst)
        row, account = remembered
        return cls(analyst, opened, row, account.in_(analyst.period))

    @classmethod
    def read(cls, store: Store, opened: OpenPlan, analyst: Analyst) -> _Desk:
        row = store.keyed(Kind.ANALYST, opened.seq, [analyst.key]).get(analyst.key)
        account = read_account(store, opened, analyst.name, row)
        return cls(analyst, opened, row, account.in_(analyst.period))

    def unseen(self, store: Store, stored: Mapping[bytes, Answer]) -> dict[bytes, Answer]:
        """Return those recorded answers that the analyst was not shown yet."""
        if self.row is None or not stored:
            return dict(stored)
        seen = store.keyed(Kind.SHOWN, self.row.seq, stored.keys())
        return {key: answer for key, answer in stored.items() if key not in seen}

    def refuse_beyond_allowance(self, unseen: Mapping[bytes, Answer]) -> None:
        """Refuse recorded answers that cost more than the analyst may still be shown."""
        if any(times < 0 for times in self._left(unseen).values()):
            raise AllowanceExceeded(words.allowance_exceeded(self.analyst.name))

    def room(self, room: Mapping[Event, int], unseen: Mapping[bytes, Answer]) -> dict[Event, int]:
        """Return what is left both of the plan and of the allowance."""
        left = self._left(unseen)
        return {event: min(times, left.get(event, times)) for event, times in room.items()}

    def _left(self, unseen: Mapping[bytes, Answer]) -> dict[Event, int]:
        allowance = self.analyst.allowance
        if allowance is None:
            return {}
        asked = Counter(event for answer in unseen.values() for event in answer.cost)
        shown = self.account.in_period.events
        return {event: allowance - shown[event] - asked[event] for event in shown}

    def show(self, before: Row, seen: Mapping[bytes, Answer]) -> tuple[Row, Account, list[Row]]:
        """Return the analyst's row, the account afterwards, and rows to add after ``before``."""
        owner, rows = self.row, []
        if owner is None:
            body = encode_analyst(self.analyst.name)
            owner = before = link(before, Kind.ANALYST, body, self.opened.seq)
            rows = [owner]
        bodies, account = self.opened.shown.encode_all(seen, self.account)
        return owner, account, rows + link_all(before, Kind.SHOWN, bodies, owner.seq)


def read_account(store: Store, opened: OpenPlan, name: str, row: Row | None) -> Account:
    """Return an analyst's account under a plan, from the last row that belongs to it."""
    last = None if row is None else store.last(Kind.SHOWN, row.seq)
    if row is None or last is None:
        return Account.none(name, opened.plan)
    check_linked(store, [row, last])
    try:
        return opened.shown.decode(decode_analyst(row.body), last.body)
    except ValueError as error:
        raise LedgerCorrupt(f"Row {last.seq} has {error}.", row=last.seq) from None


_ANSWER = Kind.ANSWER
_COST, _SECURE = operator.attrgetter("cost"), operator.attrgetter("secure")


def _first_answered(
    keys: Sequence[bytes], stored: Mapping[bytes, Answer], drawn: Mapping[bytes, Answer]
) -> list[Answer]:
    """Return answers in the order asked, up to the first question that has none.

    What was drawn just now has its cost the first time it is given, everything else is free.
    """
    if len(drawn) == len(keys):
        return list(drawn.values())  # every one of them, in their order
    answers: list[Answer] = []
    given: set[bytes] = set()
    for key in keys:
        found = drawn.get(key)
        if found is None:
            found = stored.get(key)
            if found is None:
                break
            found = free(found)
        elif key in given:
            found = free(found)
        given.add(key)
        answers.append(found)
    return answers
