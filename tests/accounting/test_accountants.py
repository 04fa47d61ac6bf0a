"""Every accountant: composition laws, agreement with each other and with dp-accounting."""

from __future__ import annotations

import math
from collections.abc import Callable

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp as dp_rdp

from tacit.accounting.accountant import (
    Accountant,
    BasicAccountant,
    GaussianAccountant,
    PureAccountant,
    RoundedGaussianAccountant,
    ZCDPAccountant,
)
from tacit.accounting.budget import Budget
from tacit.accounting.events import (
    EVENT_KINDS,
    AgnosticPrediction,
    ApproximateRelease,
    Event,
    ExponentialSelection,
    GaussianCoordinates,
    GaussianCounts,
    GaussianLabel,
    GaussianVector,
    LaplaceCounts,
    PrivatePrediction,
    RelabelledRun,
    SparseInstance,
    event_from_dict,
    pure_renyi,
)
from tacit.accounting.filter import PrivacyFilter
from tacit.accounting.pld import LossAccountant
from tacit.accounting.price import price
from tacit.accounting.rdp import RenyiAccountant
from tacit.accounting.zcdp import epsilon_from_rho, rho_for_budget
from tacit.errors import BudgetExceeded, InvalidArgument, UnsupportedEvent

EVENTS: list[Event] = [
    GaussianCounts(12.0),
    GaussianCounts(12.0, 2),
    GaussianLabel(12.0),
    GaussianVector(100.0, 6.5),
    GaussianCoordinates(1e5, 6500.0, 3),
    LaplaceCounts(20.0),
    ExponentialSelection(0.1),
    ApproximateRelease(0.1, 1e-8),
    SparseInstance(25.0, 1e-8),
    PrivatePrediction(records=10_000, subset=20, selection_epsilon=0.02, flip=0.1),
    AgnosticPrediction(200_000, 400, 1e-5, 1e-5, 10_000, 0.09, 1e-4, flip=0.001),
    RelabelledRun(100_000, 500, 1.0, 0.5, 1e-6),
]
ACCOUNTANTS: list[Callable[[], Accountant]] = [
    BasicAccountant,
    PureAccountant,
    GaussianAccountant,
    RoundedGaussianAccountant,
    ZCDPAccountant,
    RenyiAccountant,
    LossAccountant,
]
PAIRS = [
    pytest.param(make, event, id=f"{make.__name__}-{event.kind}-{i}")  # type: ignore[attr-defined]
    for make in ACCOUNTANTS
    for i, event in enumerate(EVENTS)
]


def test_every_kind_of_event_is_exercised_here() -> None:
    assert {event.kind for event in EVENTS} == set(EVENT_KINDS)


@pytest.mark.parametrize("make, event", PAIRS)
def test_an_accountant_keeps_the_laws_of_composition(
    make: Callable[[], Accountant], event: Event
) -> None:
    accountant, delta = make(), 1e-5
    if not accountant.supports({event: 1}):
        with pytest.raises(UnsupportedEvent):
            accountant.epsilon({event: 1}, delta)
        return
    assert accountant.epsilon({}, delta) == 0.0
    assert accountant.epsilon({event: 0}, delta) == 0.0
    prices = [accountant.epsilon({event: count}, delta) for count in (1, 4, 16)]
    assert 0 < prices[0] < prices[1] < prices[2]
    assert accountant.epsilon({event: 16}, delta / 2) >= prices[2]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_n_compositions_are_never_priced_as_one(event: Event) -> None:
    one = price({event: 1}, delta=1e-5).epsilon
    hundred = price({event: 100}, delta=1e-5).epsilon
    # Square-root growth is the least that composition can give.
    assert hundred >= 9 * one


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_events_survive_being_written_down(event: Event) -> None:
    assert event_from_dict(event.to_dict()) == event


def test_unknown_events_are_refused_everywhere() -> None:
    with pytest.raises(UnsupportedEvent, match="Unknown event kind 'magic'"):
        event_from_dict({"kind": "magic"})
    with pytest.raises(UnsupportedEvent, match="settings"):
        event_from_dict({"kind": "gaussian-counts", "sigma": 1.0, "colour": 2})
    for make in ACCOUNTANTS:
        with pytest.raises(UnsupportedEvent, match="A str is not a registered event"):
            make().epsilon({"laplace": 3}, 1e-5)  # type: ignore[dict-item]
    with pytest.raises(UnsupportedEvent):
        price({object(): 1}, delta=1e-5)  # type: ignore[dict-item]


@pytest.mark.parametrize("count", [-1, 1.5, math.nan, "3", True])
def test_counts_must_be_whole(count: object) -> None:
    with pytest.raises(InvalidArgument, match="`count`"):
        price({GaussianCounts(3.0): count}, delta=1e-5)  # type: ignore[dict-item]


@pytest.mark.parametrize("delta", [1.5, -0.1, math.nan, 1.0, None])
def test_delta_must_be_a_probability(delta: object) -> None:
    with pytest.raises(InvalidArgument, match="`delta`"):
        price({GaussianCounts(3.0): 1}, delta=delta)  # type: ignore[arg-type]


def test_gaussian_noise_has_no_price_at_delta_zero() -> None:
    with pytest.raises(InvalidArgument, match="delta 0"):
        price({GaussianCounts(3.0): 1}, delta=0.0)


def test_failures_use_up_delta_outside_the_conversion() -> None:
    event = SparseInstance(10.0, 1e-6)
    clean = PureAccountant().epsilon({ApproximateRelease(0.2, 0.0): 5}, 1e-5 - 5e-6)
    assert PureAccountant().epsilon({event: 5}, 1e-5) == pytest.approx(clean, rel=1e-9)
    assert PureAccountant().epsilon({event: 11}, 1e-5) == math.inf
    with pytest.raises(InvalidArgument, match="fail with probability"):
        price({event: 11}, delta=1e-5)


def test_renyi_curves_match_dp_accounting() -> None:
    orders = [1.5, 2.0, 4.0, 16.0, 64.0]
    theirs = dp_rdp.RdpAccountant(orders)
    theirs.compose(dp_accounting.GaussianDpEvent(12.0), 30)
    ours = RenyiAccountant(np.array(orders)).epsilon({GaussianCounts(12.0): 30}, 1e-5)
    assert ours == pytest.approx(theirs.get_epsilon(1e-5), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_the_pure_curve_is_randomised_responses_own(epsilon: float) -> None:
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    for order in (1.01, 2.0, 7.0, 90.0):
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        found = float(pure_renyi(epsilon, np.array([order]))[0])
        assert found == pytest.approx(math.log(moment) / (order - 1), rel=1e-9)
        assert found <= min(epsilon, order * epsilon**2 / 2) + 1e-12


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_the_renyi_curve_is_below_the_concentrated_line(event: Event) -> None:
    orders = np.geomspace(1.01, 500, 40)
    assert (event.renyi(orders) <= orders * event.rho * (1 + 1e-12)).all()


def test_the_tightest_accountant_is_chosen() -> None:
    assert "Gaussian" in price({GaussianCounts(64.7): 300}, delta=1e-5).accountant
    assert "pure" in price({SparseInstance(40.0, 1e-9): 20}, delta=1e-5).accountant
    assert "basic" in price({LaplaceCounts(20.0): 2}, delta=0.0).accountant
    mixed = {GaussianCounts(150.0, 1): 640, GaussianCounts(40.0, 2): 283}
    assert "concentrated" in price(mixed, delta=1e-5).accountant


def test_loss_distributions_are_tighter_for_mixed_events() -> None:
    mixed = {GaussianCounts(150.0, 1): 640, GaussianCounts(40.0, 2): 283}
    assert LossAccountant().epsilon(mixed, 1e-5) < price(mixed, delta=1e-5).epsilon


def test_zcdp_conversion_is_inverted() -> None:
    for budget in (Budget(0.1, 1e-8), Budget(1.0, 1e-5), Budget(6.0, 1e-3)):
        rho = rho_for_budget(budget)
        assert epsilon_from_rho(rho, budget.delta) <= budget.epsilon
        assert epsilon_from_rho(rho * 1.0001, budget.delta) > budget.epsilon


def test_zcdp_conversion_is_the_minimum_over_orders() -> None:
    rho, delta = 0.02, 1e-6
    orders = 1 + np.geomspace(1e-3, 1e4, 200_000)
    curve = orders * rho - (np.log(orders) + math.log(delta)) / (orders - 1) + np.log1p(-1 / orders)
    assert epsilon_from_rho(rho, delta) == pytest.approx(float(curve.min()), rel=1e-7)


class TestFilter:
    """A filter stops in time, whatever is chosen next."""

    def test_it_never_admits_more_than_the_budget(self) -> None:
        budget = Budget(1.0, 1e-5)
        limit = PrivacyFilter(budget)
        rng = np.random.default_rng(7)
        for _ in range(500):
            event = GaussianCounts(float(rng.choice([5.0, 20.0, 80.0])), int(rng.integers(1, 3)))
            if limit.admits(event):
                limit.spend(event)
        assert ZCDPAccountant().epsilon(limit.admitted, budget.delta) <= budget.epsilon
        assert not limit.admits(GaussianCounts(5.0))

    def test_a_refusal_changes_nothing(self) -> None:
        limit = PrivacyFilter(Budget(1.0, 1e-5))
        limit.spend(GaussianCounts(50.0), 3)
        before = limit.admitted
        with pytest.raises(BudgetExceeded, match="would not fit"):
            limit.spend(GaussianCounts(0.5))
        assert limit.admitted == before

    def test_failures_need_an_allowance_fixed_beforehand(self) -> None:
        event = SparseInstance(50.0, 1e-7)
        assert not PrivacyFilter(Budget(1.0, 1e-5)).admits(event)
        limit = PrivacyFilter(Budget(1.0, 1e-5), failure_share=0.1)
        limit.spend(event, 10)
        assert not limit.admits(event)

    @pytest.mark.parametrize("share", [1.0, -0.1, math.nan])
    def test_the_allowance_is_checked(self, share: float) -> None:
        with pytest.raises(InvalidArgument, match="`failure_share`"):
            PrivacyFilter(Budget(1.0, 1e-5), failure_share=share)

    def test_delta_zero_has_no_filter(self) -> None:
        with pytest.raises(InvalidArgument, match="`delta`"):
            PrivacyFilter(Budget(1.0))
