"""Accounts of analysts: what each of them was shown under each plan.

These accounts are readings, not guarantees: the ledger's guarantee holds against all analysts
together. They enforce allowances: how much one analyst may be shown per period.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.ledger.chain import HASH_SIZE, key_hash

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Analyst:
    """On whose behalf questions are asked.

    Parameters
    ----------
    name : str
        Public name, up to 200 characters; it is written to the ledger.
    period : int, default 0
        Number of the present period, such as days since a fixed day. The allowance starts fresh
        when the number grows; a smaller one than before counts as the latest.
    allowance : int, optional
        The most times that each event may be charged to the analyst in one period under one plan.
        Without it there is no limit but the plan's.

    Examples
    --------
    >>> Analyst("alice", period=12, allowance=100)
    Analyst(name='alice', period=12, allowance=100)
    """

    name: str
    period: int = 0
    allowance: int | None = None

    def __post_init__(self) -> None:
        validation.instance(str, name=self.name)
        if not 0 < len(self.name) <= LONGEST_NAME:
            raise InvalidArgument(
                f"`name` of an analyst must be text of 1 to {LONGEST_NAME} characters."
            )
        if not self.name.isprintable():
            raise InvalidArgument("`name` of an analyst must be printable text.")
        validation.integer(0, period=self.period)
        if self.allowance is not None:
            validation.integer(0, allowance=self.allowance)

    @property
    def key(self) -> bytes:
        """Key of the analyst's row."""
        return key_hash(self.name)


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown to somebody: answers, refusals, and the events that caused them.

    An answer counts with what it cost when it was drawn, whoever asked for it first.
    """

    answered: int = 0
    refused: int = 0
    events: Mapping[Event, int] = field(default_factory=dict)

    def plus(self, answer: Answer) -> Shown:
        """Return the account with one more answer."""
        events = Counter(dict(self.events))
        events.update(answer.cost)
        return Shown(
            self.answered + (not answer.refused), self.refused + answer.refused, dict(events)
        )


@dataclass(frozen=True, slots=True)
class Account:
    """What one analyst was shown under one plan: in all, and in the latest period."""

    name: str
    total: Shown
    period: int
    in_period: Shown

    @classmethod
    def none(cls, name: str, plan: Plan) -> Account:
        """Return an empty account."""
        nothing = Shown(events=dict.fromkeys(plan.most, 0))
        return cls(name, nothing, 0, nothing)

    def at_period(self, period: int) -> Account:
        """Return the account as it stands in a period: reset if it is a later one."""
        if period <= self.period:
            return self
        fresh = Shown(events=dict.fromkeys(self.total.events, 0))
        return Account(self.name, self.total, period, fresh)

    def plus(self, answer: Answer) -> Account:
        """Return the account with one more answer."""
        return Account(self.name, self.total.plus(answer), self.period, self.in_period.plus(answer))


def encode_analyst(name: str) -> bytes:
    """Return the body of an analyst's row: the hash of the name, then the name."""
    return key_hash(name) + name.encode()


def decode_analyst(body: bytes) -> str:
    """Return the name; raises ``ValueError`` when its hash is another's."""
    name = body[HASH_SIZE:].decode()
    if key_hash(name) != body[:HASH_SIZE]:
        raise ValueError("a name with another's hash")
    return name


class ShownCodec:
    """Encodes and decodes what was shown under one plan; all bodies have the same size.

    The layout, big-endian, 8 bytes each after the question's key (32): period; answers, refusals
    and every event of the plan, first in all, then in the period.
    """

    def __init__(self, plan: Plan) -> None:
        self._events = [event for event, _ in plan.events]
        self._layout = struct.Struct(f">{HASH_SIZE}sQ{2 * (2 + len(self._events))}Q")

    def encode_all(self, shown: Mapping[bytes, Answer], before: Account) -> list[bytes]:
        """Return a body for each answer, with the account after it."""
        bodies, account = [], before
        for key, answer in shown.items():
            account = account.plus(answer)
            totals = (*self._numbers(account.total), *self._numbers(account.in_period))
            bodies.append(self._layout.pack(key, account.period, *totals))
        return bodies

    def decode(self, name: str, body: bytes) -> Account:
        """Return the account; raises ``ValueError`` for anything else."""
        try:
            _, period, *numbers = self._layout.unpack(body)
        except struct.error:
            raise ValueError("a body of another size") from None
        half = len(numbers) // 2
        return Account(name, self._shown(numbers[:half]), period, self._shown(numbers[half:]))

    def _numbers(self, shown: Shown) -> list[int]:
        return [shown.answered, shown.refused, *(shown.events[event] for event in self._events)]

    def _shown(self, numbers: list[int]) -> Shown:
        events = dict(zip(self._events, numbers[2:], strict=True))
        return Shown(numbers[0], numbers[1], events)
