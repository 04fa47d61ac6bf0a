"""Sums of guarantees: exact, and kind to rounding without letting anything through."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.budget import Budget
from tacit.accounting.events import GaussianCounts, SparseInstance
from tacit.accounting.filter import PrivacyFilter
from tacit.accounting.plan import Plan
from tacit.accounting.zcdp import epsilon_from_rho
from tacit.ledger.composition import (
    FAILURE_SHARE,
    Composition,
    Totals,
    compose,
    fits,
    remaining,
)

epsilons = st.floats(1e-6, 10.0)


def plan(epsilon: float, delta: float = 0.0, sigma: float = 50.0, times: int = 1) -> Plan:
    return Plan("vote", ((GaussianCounts(sigma), times),), Budget(epsilon, delta), "test")


def fits_basic(total: float, parts: list[float]) -> bool:
    return fits(Budget(total), Composition.BASIC, Totals.of(plan(part) for part in parts))


@given(total=epsilons, parts=st.integers(1, 200))
def test_equal_parts_of_a_budget_fit(total: float, parts: int) -> None:
    assert fits_basic(total, [total / parts] * parts)


@given(total=epsilons, parts=st.lists(epsilons, min_size=1, max_size=30))
def test_nothing_beyond_rounding_is_let_through(total: float, parts: list[float]) -> None:
    exact = sum(map(Fraction, parts))
    if fits_basic(total, parts):
        assert exact <= Fraction(total) * (1 + Fraction(1, 2**51))
    else:
        assert exact > Fraction(total)


@given(total=epsilons, parts=st.lists(epsilons, max_size=10))
def test_what_is_said_to_be_left_fits(total: float, parts: list[float]) -> None:
    if fits_basic(total, parts):
        total_of = Totals.of(plan(part) for part in parts)
        left = remaining(Budget(total), Composition.BASIC, total_of)
        assert left.epsilon == 0 or fits_basic(total, [*parts, left.epsilon])


def test_a_hundred_million_tiny_plans_do_not_slip_through_one_by_one() -> None:
    budget = Budget(1.0)
    tiny = plan(1e-17)  # far below the last place of 1.0: a float sum would not move
    assert not fits(budget, Composition.BASIC, Totals.of([plan(1.0), *[tiny] * 100]))


def test_a_budget_without_delta_takes_none() -> None:
    assert not fits(Budget(1.0), Composition.BASIC, Totals.of([plan(0.1, 5e-324)]))


def test_totals_are_rounded_up_and_what_is_left_down() -> None:
    plans = Totals.of([plan(0.1), plan(0.2)])
    total = compose(Budget(1.0), Composition.BASIC, plans)
    left = remaining(Budget(1.0), Composition.BASIC, plans)
    assert Fraction(total.epsilon) >= Fraction(0.1) + Fraction(0.2)
    assert Fraction(left.epsilon) <= 1 - Fraction(0.1) - Fraction(0.2)


def test_concentrated_plans_are_converted_once() -> None:
    budget = Budget(1.0, 1e-5)
    plans = Totals.of([plan(1.0, 1e-5, times=10), plan(1.0, 1e-5, times=20)])
    total = compose(budget, Composition.ZCDP, plans)
    assert total.rho == pytest.approx(30 / 5000)
    assert total.epsilon == pytest.approx(epsilon_from_rho(30 / 5000, 0.9e-5))


def test_failures_have_a_limit_of_their_own_fixed_beforehand() -> None:
    sparse = Plan("sparse", ((SparseInstance(100.0, 1e-7), 5),), Budget(1.0, 1e-5), "test")
    assert fits(Budget(1.0, 1e-5), Composition.ZCDP, Totals.of([sparse, sparse]))
    assert not fits(Budget(1.0, 1e-5), Composition.ZCDP, Totals.of([sparse] * 3))
    left = remaining(Budget(1.0, 1e-5), Composition.ZCDP, Totals.of([sparse]))
    assert left.delta == pytest.approx(5e-7)


def test_concentrated_plans_fill_what_the_filter_admits_and_no_more() -> None:
    budget = Budget(1.0, 1e-5)
    limit = PrivacyFilter(budget, failure_share=FAILURE_SHARE)
    plans: list[Plan] = []
    while fits(budget, Composition.ZCDP, Totals.of([*plans, plan(1.0, 1e-5, times=10)])):
        plans.append(plan(1.0, 1e-5, times=10))
    assert sum(p.rho for p in plans) <= limit.rho_limit < sum(p.rho for p in plans) + plans[0].rho


def test_nothing_costs_nothing() -> None:
    for composition in Composition:
        assert compose(Budget(1.0, 1e-5), composition, Totals()).epsilon == 0
        assert fits(Budget(1.0), composition, Totals())
