"""Composition of plans in exact arithmetic.

Sums are exact: a float is a rational number, and ``fractions.Fraction`` adds those without error.
One case needs care: ten plans of 0.1 against a budget of 1.0. The float 0.1 is a little more than
a tenth, so the exact sum is a little more than 1. A float stands for every number that rounds to
it, so a sum *fits* when the smallest numbers that its terms stand for do: each term less half of
its last place, against the budget plus half of its last place. Ten times 0.1 fits in 1.0, three
times ``0.7 / 3`` in 0.7, and what is let through beyond the exact sum is at most one part in 2**51
of the budget, however many plans there are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import reduce

from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan

FAILURE_SHARE = 0.1
"""Part of a ``zcdp`` ledger's delta kept for plans that carry a failure of their own."""


class Composition(StrEnum):
    """How plans on one ledger compose.

    ``basic``
        Epsilons add up and deltas add up; a valid filter for plans chosen adaptively [RRUV16].
    ``zcdp``
        Zero-concentrated prices add up to a limit, and failure probabilities to a limit of their
        own, both fixed by the budget alone (``FAILURE_SHARE``) as the filter's theorem needs
        [WRRW23]. Several plans cost less together than under ``basic``.
    """

    BASIC = "basic"
    ZCDP = "zcdp"


@dataclass(frozen=True, slots=True)
class Amount:
    """How much privacy: like ``Budget``, but it may be nothing.

    Parameters
    ----------
    epsilon, delta : float
    rho : float, optional
        The same in the currency of a ``zcdp`` ledger.

    Examples
    --------
    >>> Amount(0.5, 1e-6)
    Amount(epsilon=0.5, delta=1e-06, rho=None)
    """

    epsilon: float
    delta: float
    rho: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact sums over plans: all that their composition depends on.

    A further plan is added in constant time, however many there were.

    Examples
    --------
    >>> from tacit.accounting.events import GaussianCounts
    >>> tenth = Plan("vote", ((GaussianCounts(50.0), 9),), Budget(0.1, 1e-6), "exact")
    >>> Totals.of([tenth] * 3).plans
    3
    """

    plans: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    least_epsilon: Fraction = Fraction(0)
    least_delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    @classmethod
    def of(cls, plans: Iterable[Plan]) -> Totals:
        """Return the sums over some plans."""
        return reduce(cls.plus, plans, cls())

    def plus(self, plan: Plan) -> Totals:
        """Return the sums with one more plan."""
        epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
        return Totals(
            plans=self.plans + 1,
            epsilon=self.epsilon + Fraction(epsilon),
            delta=self.delta + Fraction(delta),
            least_epsilon=self.least_epsilon + Fraction(epsilon) - _half_place(epsilon),
            least_delta=self.least_delta + Fraction(delta) - _half_place(delta),
            rho=self.rho + _exact(plan.rho),
            failure=self.failure + Fraction(plan.failure),
        )


def fits(budget: Budget, composition: Composition, total: Totals) -> bool:
    """Return whether plans with these sums fit together in the budget.

    Examples
    --------
    >>> from tacit.accounting.events import GaussianCounts
    >>> tenth = Plan("vote", ((GaussianCounts(50.0), 9),), Budget(0.1, 1e-6), "exact")
    >>> fits(Budget(1.0, 1e-5), Composition.BASIC, Totals.of([tenth] * 10))
    True
    >>> fits(Budget(1.0, 1e-5), Composition.BASIC, Totals.of([tenth] * 11))
    False
    """
    if not total.plans:
        return True
    if composition is Composition.BASIC:
        return _at_most(total.least_epsilon, budget.epsilon) and _at_most(
            total.least_delta, budget.delta
        )
    return total.failure <= _failure_limit(budget) and total.rho <= _rho_limit(budget)


def compose(budget: Budget, composition: Composition, total: Totals) -> Amount:
    """Return the guarantee of plans with these sums together, rounded up.

    Under ``zcdp`` it is stated at the budget's delta.
    """
    if composition is Composition.BASIC:
        return Amount(_up(total.epsilon), _up(total.delta))
    if not total.plans:
        return Amount(0.0, 0.0, 0.0)
    rho = _up(total.rho)
    return Amount(_epsilon(rho, _conversion_delta(budget)), budget.delta, rho)


def remaining(budget: Budget, composition: Composition, total: Totals) -> Amount:
    """Return what a further plan may cost, rounded down.

    Under ``zcdp`` epsilons do not subtract: ``rho`` is what is left, ``epsilon`` what that would
    be worth alone, and ``delta`` what is left for plans that fail by themselves.
    """
    if composition is Composition.BASIC:
        return Amount(
            _down(Fraction(budget.epsilon) - total.epsilon),
            _down(Fraction(budget.delta) - total.delta),
        )
    rho = _down(_rho_limit(budget) - total.rho)
    failures = _down(_failure_limit(budget) - total.failure)
    return Amount(_epsilon(rho, _conversion_delta(budget)), failures, rho)


def within(cost: Mapping[Event, int], room: Mapping[Event, int]) -> bool:
    """Return whether no event happens more often than there is room for."""
    return not cost or all(times <= room.get(event, 0) for event, times in cost.items())


def _exact(price: float) -> Fraction:
    # A price without bound stays beyond every limit.
    return Fraction(min(price, sys.float_info.max))


def _at_most(least: Fraction, limit: float) -> bool:
    return least <= Fraction(limit) + _half_place(limit)


def _half_place(number: float) -> Fraction:
    # Zero stands for zero: a budget without delta must not let any delta through.
    return Fraction(math.ulp(number)) / 2 if number else Fraction(0)


def _up(exact: Fraction) -> float:
    if exact > Fraction(sys.float_info.max):
        return math.inf
    number = float(exact)
    return number if Fraction(number) >= exact else math.nextafter(number, math.inf)


def _down(exact: Fraction) -> float:
    if exact <= 0:
        return 0.0
    number = float(exact)
    return number if Fraction(number) <= exact else math.nextafter(number, 0.0)


def _failure_limit(budget: Budget) -> Fraction:
    return Fraction(budget.delta) * Fraction(FAILURE_SHARE)


def _conversion_delta(budget: Budget) -> float:
    return _down(Fraction(budget.delta) - _failure_limit(budget))


def _rho_limit(budget: Budget) -> Fraction:
    delta = _conversion_delta(budget)
    if delta <= 0:
        return Fraction(0)
    from tacit.accounting.zcdp import rho_for_budget

    return Fraction(rho_for_budget(Budget(budget.epsilon, delta)))


def _epsilon(rho: float, delta: float) -> float:
    if rho == 0:
        return 0.0
    if delta <= 0 or not math.isfinite(rho):
        return math.inf
    # Imported where it is used: a ledger with basic composition never converts.
    from tacit.accounting.zcdp import epsilon_from_rho

    return epsilon_from_rho(rho, delta)
