"""Accountants: what a collection of events costs together.

An accountant prices a tally (how often each event happened). All of them allow the *questions* to
be chosen adaptively; none of them allows the events or their number to be: for that use a
``PrivacyFilter``. A delta that an event carries of its own (``event.delta``) is added outside
every conversion.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from tacit import validation
from tacit.accounting import gaussian, pure, zcdp
from tacit.accounting.events import Event, GaussianCoordinates, GaussianCounts
from tacit.errors import InvalidArgument, UnsupportedEvent

Tally = Mapping[Event, int]


class Accountant(Protocol):
    """Prices a tally of events."""

    name: str

    def supports(self, tally: Tally) -> bool:
        """Whether this accountant has a proven price for every event of the tally."""

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return an epsilon such that the tally is (epsilon, delta) private; infinite if none.

        Raises
        ------
        UnsupportedEvent
            When the tally holds an event this accountant does not price.
        """


def checked_tally(tally: Tally) -> dict[Event, int]:
    """Return the tally with every event known and every count a whole number."""
    if not isinstance(tally, Mapping):
        raise InvalidArgument(f"`tally` must map events to counts, got a {type(tally).__name__}.")
    for event, count in tally.items():
        if not isinstance(event, Event):
            raise UnsupportedEvent(
                f"A {type(event).__name__} is not a registered event; it cannot be priced."
            )
        validation.integer(0, count=count)
    return {event: int(count) for event, count in tally.items() if count}


def failure(tally: Tally) -> float:
    """Return the total failure probability that the events carry themselves."""
    return math.fsum(event.delta * count for event, count in tally.items())


def left_of(delta: float, tally: Tally) -> float:
    """Return what is left of ``delta`` after the events' own failures; negative if too little."""
    validation.fraction(delta=delta)
    spent = failure(tally)
    # Failures calibrated to use up delta exactly may miss by rounding alone.
    return 0.0 if abs(delta - spent) <= 1e-15 * delta else delta - spent


class _Base(ABC):
    name: str

    def supports(self, tally: Tally) -> bool:
        return all(self._supports(event) for event in tally)

    @abstractmethod
    def _supports(self, event: Event) -> bool:
        """Whether there is a proven price for this event."""

    def _require(self, tally: Tally) -> dict[Event, int]:
        checked = checked_tally(tally)
        for event in checked:
            if not self._supports(event):
                raise UnsupportedEvent(
                    f"{type(self).__name__} has no proven price for {event.kind!r} events; "
                    "`price` picks an accountant that has."
                )
        return checked


class BasicAccountant(_Base):
    """Adds up pure epsilons and deltas [DR14, Theorem 3.16]."""

    name = "basic composition"

    def _supports(self, event: Event) -> bool:
        return math.isfinite(event.pure_epsilon)

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the sum of pure epsilons; infinite when delta is below the events' failures."""
        tally = self._require(tally)
        if left_of(delta, tally) < 0:
            return math.inf
        return math.fsum(event.pure_epsilon * count for event, count in tally.items())


class PureAccountant(_Base):
    """Exact optimal composition of pure events that all have the same epsilon [KOV15]."""

    name = "optimal composition of pure releases"

    def supports(self, tally: Tally) -> bool:
        """All events are made of pure releases of one common epsilon."""
        return super().supports(tally) and len({event.pure_parts[0] for event in tally}) == 1

    def _supports(self, event: Event) -> bool:
        return math.isfinite(event.pure_epsilon)

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the exact epsilon of the composition."""
        tally = self._require(tally)
        if not tally:
            return 0.0
        if not self.supports(tally):
            raise UnsupportedEvent("PureAccountant needs events of one common pure epsilon.")
        rest = left_of(delta, tally)
        if rest < 0:
            return math.inf
        each, _ = next(iter(tally)).pure_parts
        releases = sum(event.pure_parts[1] * count for event, count in tally.items())
        return pure.composed_epsilon(rest, each, releases)


class GaussianAccountant(_Base):
    """Exact composition of discrete Gaussian noise of one common scale."""

    name = "exact composition of discrete Gaussians"

    def supports(self, tally: Tally) -> bool:
        """All events are Gaussian counts with the same sigma."""
        return super().supports(tally) and len({_sigma(event) for event in tally}) == 1

    def _supports(self, event: Event) -> bool:
        return isinstance(event, GaussianCounts)

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the exact epsilon; infinite where little noise leaves the bound no epsilon."""
        tally = self._require(tally)
        if not tally:
            return 0.0
        if not self.supports(tally):
            raise UnsupportedEvent("GaussianAccountant needs noise of one common sigma.")
        if delta <= 0:
            return math.inf
        shifts = sum(_moves(event) * count for event, count in tally.items())
        return gaussian.discrete_epsilon(delta, _sigma(next(iter(tally))), shifts)


def _sigma(event: Event) -> float:
    assert isinstance(event, GaussianCounts)
    return event.sigma


def _moves(event: Event) -> int:
    assert isinstance(event, GaussianCounts)
    return event.moves


class RoundedGaussianAccountant(_Base):
    """Exact price of continuous Gaussian noise, for discrete noise that is nearly its rounding."""

    name = "exact composition of Gaussians, discrete noise as rounded noise"

    def _supports(self, event: Event) -> bool:
        return isinstance(event, GaussianCoordinates)

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the epsilon; infinite where noise is too small to be like rounded noise."""
        tally = self._require(tally)
        if not tally:
            return 0.0
        if delta <= 0:
            return math.inf
        squared = distance = 0.0
        for event, count in tally.items():
            assert isinstance(event, GaussianCoordinates)
            squared += count * (event.sensitivity / event.sigma) ** 2
            distance += count * event.dimension * gaussian.rounding_distance(event.sigma)
        # The last digits of the sums and of the normal tails, in the unfavourable direction.
        mu = math.sqrt(squared) * (1 + 1e-10)
        return gaussian.rounded_epsilon(delta * (1 - 1e-10), mu, distance)


class ZCDPAccountant(_Base):
    """Adds up zero-concentrated prices [BS16, Lemma 2.3]; every event has one."""

    name = "zero-concentrated composition"

    def _supports(self, event: Event) -> bool:
        return math.isfinite(event.rho)

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the converted epsilon of the total rho."""
        tally = self._require(tally)
        if not tally:
            return 0.0
        rest = left_of(delta, tally)
        if rest <= 0:
            return math.inf
        rho = math.fsum(event.rho * count for event, count in tally.items())
        return zcdp.epsilon_from_rho(rho, rest)
