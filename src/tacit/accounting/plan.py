"""A plan: the most a run may release, priced before the first draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit import validation
from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event, event_from_dict
from tacit.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be released at most, and the guarantee that holds for all of it beforehand.

    Parameters
    ----------
    mechanism : str
        Public name of the mechanism, for people.
    events : tuple of (Event, int)
        Every event the run can cause, with the most times it can happen.
    guarantee : Budget
        (epsilon, delta) of the whole plan, whatever is asked and in whatever order.
    accountant : str
        Which proof gives that guarantee.
    output : Output
    width : int
        Number of integers in one answer: the same for every answer, so that a stored answer has
        one size whatever it says.
    unit : float
        See ``Answer``.
    sigma : float
        See ``Answer``.
    """

    mechanism: str
    events: tuple[tuple[Event, int], ...]
    guarantee: Budget
    accountant: str
    output: Output = Output.LABEL
    width: int = 1
    unit: float = 1.0
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if not self.events:
            raise InvalidArgument("`events` must name at least one event.")
        if len({event for event, _ in self.events}) != len(self.events):
            raise InvalidArgument("`events` must name each event once, with its count.")
        for _, most in self.events:
            validation.positive_integer(most=most)
        validation.positive_integer(width=self.width)

    @property
    def most(self) -> dict[Event, int]:
        """Each event with the most times it can happen."""
        return dict(self.events)

    @property
    def rho(self) -> float:
        """Zero-concentrated price of the whole plan (apart from ``failure``)."""
        return sum(event.rho * most for event, most in self.events)

    @property
    def failure(self) -> float:
        """Failure probability of the whole plan that is added outside any conversion."""
        return sum(event.delta * most for event, most in self.events)

    def to_json(self) -> str:
        """Return a stable text form: the same plan gives the same text."""
        return json.dumps(
            {
                "accountant": self.accountant,
                "events": [{"event": e.to_dict(), "most": most} for e, most in self.events],
                "guarantee": {"delta": self.guarantee.delta, "epsilon": self.guarantee.epsilon},
                "mechanism": self.mechanism,
                "output": self.output.value,
                "sigma": self.sigma,
                "unit": self.unit,
                "width": self.width,
            },
            sort_keys=True,
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read back what ``to_json`` wrote."""
        fields: Mapping[str, Any] = json.loads(text)
        return cls(
            mechanism=fields["mechanism"],
            events=tuple((event_from_dict(e["event"]), int(e["most"])) for e in fields["events"]),
            guarantee=Budget(**fields["guarantee"]),
            accountant=fields["accountant"],
            output=Output(fields["output"]),
            width=int(fields["width"]),
            unit=float(fields["unit"]),
            sigma=float(fields["sigma"]),
        )
