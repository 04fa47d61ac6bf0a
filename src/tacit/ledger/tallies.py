"""Running totals: of a plan, and of what each analyst was shown under it.

Accounts of analysts are readings, not guarantees: the ledger's guarantee holds against all analysts
together. They enforce allowances: how much one analyst may be shown per period.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.ledger.chain import key_hash

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of answers, of refusals, of either from test noise, and of their events. Public."""

    answered: int = 0
    refused: int = 0
    insecure: int = 0
    events: Mapping[Event, int] = field(default_factory=dict)

    @classmethod
    def none(cls, plan: Plan) -> Tally:
        """Return the tally of a plan under which nothing was answered."""
        return cls(events=dict.fromkeys(plan.most, 0))

    def plus(self, answer: Answer) -> Tally:
        """Return the tally with one more answer, at what it cost when it was drawn."""
        events = dict(self.events)
        for event in answer.cost:
            events[event] = events.get(event, 0) + 1
        return Tally(
            self.answered + (not answer.refused),
            self.refused + answer.refused,
            self.insecure + (not answer.secure),
            events,
        )


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
        if not (0 < len(self.name) <= LONGEST_NAME and self.name.isprintable()):
            raise InvalidArgument(
                f"`name` of an analyst must be printable text of 1 to {LONGEST_NAME} characters."
            )
        validation.integer(0, period=self.period)
        if self.allowance is not None:
            validation.integer(0, allowance=self.allowance)

    @property
    def key(self) -> bytes:
        """Key of the analyst's row."""
        return key_hash(self.name)


@dataclass(frozen=True, slots=True)
class AnalystAccount:
    """What one analyst was shown under one plan: in all, and in the latest period.

    An answer counts with what it cost when it was drawn, whoever asked for it first.
    """

    name: str
    total: Tally
    period: int
    in_period: Tally

    @classmethod
    def none(cls, name: str, plan: Plan) -> AnalystAccount:
        """Return an empty account."""
        return cls(name, Tally.none(plan), 0, Tally.none(plan))

    def at_period(self, period: int) -> AnalystAccount:
        """Return the account as it stands in a period: reset if it is a later one."""
        if period <= self.period:
            return self
        fresh = Tally(events=dict.fromkeys(self.total.events, 0))
        return AnalystAccount(self.name, self.total, period, fresh)

    def plus(self, answer: Answer) -> AnalystAccount:
        """Return the account with one more answer."""
        return AnalystAccount(
            self.name, self.total.plus(answer), self.period, self.in_period.plus(answer)
        )
