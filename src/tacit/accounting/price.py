"""The price of a planned tally: the smallest epsilon that any of our accountants proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit import validation
from tacit.accounting.accountant import (
    Accountant,
    BasicAccountant,
    GaussianAccountant,
    PureAccountant,
    RoundedGaussianAccountant,
    Tally,
    ZCDPAccountant,
    checked_tally,
    failure,
)
from tacit.accounting.events import GaussianLabel
from tacit.accounting.pld import LossAccountant
from tacit.accounting.rdp import RenyiAccountant
from tacit.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Price:
    """(epsilon, delta) of a tally, and the accountant whose proof it rests on."""

    epsilon: float
    delta: float
    accountant: str


def price(tally: Tally, *, delta: float) -> Price:
    """Return the smallest epsilon at ``delta`` that is proven for events fixed beforehand.

    Parameters
    ----------
    tally : mapping of Event to int
        How often each event can happen. Public.
    delta : float
        In [0, 1).

    Raises
    ------
    InvalidArgument
        When no epsilon is proven at this delta, for example Gaussian noise at delta 0.

    Examples
    --------
    >>> from tacit.accounting.events import GaussianCounts
    >>> price({GaussianCounts(sigma=64.617): 300}, delta=1e-5).epsilon < 1
    True
    """
    validation.fraction(delta=delta)
    tally = checked_tally(tally)
    quick: list[Accountant] = [
        BasicAccountant(),
        PureAccountant(),
        GaussianAccountant(),
        RoundedGaussianAccountant(),
        ZCDPAccountant(),
    ]
    if any(isinstance(event, GaussianLabel) for event in tally):
        quick.append(RenyiAccountant())
    best = _best(quick, tally, delta)
    if not math.isfinite(best.epsilon):
        best = _best([LossAccountant(), RenyiAccountant()], tally, delta)
    if not math.isfinite(best.epsilon):
        raise InvalidArgument(
            f"`delta` must be larger for these events, got {delta!r}: "
            f"they fail with probability {failure(tally):.3g} by themselves, "
            "and Gaussian noise has no epsilon at delta 0."
        )
    return best


def _best(accountants: list[Accountant], tally: Tally, delta: float) -> Price:
    best = Price(math.inf, delta, "none")
    for accountant in accountants:
        if accountant.supports(tally):
            epsilon = accountant.epsilon(tally, delta)
            if epsilon < best.epsilon:
                best = Price(epsilon, delta, accountant.name)
    return best
