"""The limits of an oracle's plan, its usage, and what is left. Public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan

_EVENT_LABELS = {"sparse-instance": "instances, each ending in one refusal"}


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """The limits of a plan, its usage, and what is left. Public.

    Parameters
    ----------
    guarantee : Budget
        Reserved for everything the plan can release, used or not.
    used, most : mapping of Event to int
        How often each event has happened, and how often it may.

    Examples
    --------
    >>> from tacit.accounting.events import SparseInstance
    >>> event = SparseInstance(20.0, 1e-8)
    >>> left = BudgetLeft(Budget(1.0, 1e-5), {event: 3}, {event: 10})
    >>> left.left, left.spent
    (7, False)
    >>> print(left)
    3 of 10 instances, each ending in one refusal, are used.
    """

    guarantee: Budget
    used: Mapping[Event, int]
    most: Mapping[Event, int]

    @classmethod
    def of(cls, plan: Plan, used: Mapping[Event, int]) -> BudgetLeft:
        """Return what is left of a plan."""
        return cls(plan.guarantee, dict(used), plan.most)

    @property
    def left(self) -> int:
        """How many more charges are sure to fit: the least over the plan's events."""
        return min(most - self.used.get(event, 0) for event, most in self.most.items())

    @property
    def total(self) -> int:
        """How many charges the plan allows, by its scarcest event."""
        return self.most[self._scarcest()]

    @property
    def spent(self) -> bool:
        """Whether no further charge fits. Under a sparse vector an open instance may go on."""
        return self.left <= 0

    def _scarcest(self) -> Event:
        return min(self.most, key=lambda event: self.most[event] - self.used.get(event, 0))

    def to_dict(self) -> dict[str, object]:
        """Return plain fields."""
        return {
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "left": self.left,
            "total": self.total,
            "charges": [
                {"event": event.kind, "used": self.used.get(event, 0), "most": most}
                for event, most in self.most.items()
            ],
        }

    def __str__(self) -> str:
        parts = (
            f"{self.used.get(event, 0)} of {most} {_EVENT_LABELS.get(event.kind, event.kind)}"
            for event, most in self.most.items()
        )
        text = "; ".join(parts)
        return f"{text}{',' if ',' in text else ''} are used."
