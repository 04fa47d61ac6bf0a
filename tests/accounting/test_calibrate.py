"""Calibration: the published table, round trips, and the promise that the price fits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import calibrate
from tacit.accounting.budget import Budget
from tacit.accounting.events import (
    Event,
    ExponentialSelection,
    GaussianCoordinates,
    GaussianCounts,
    GaussianLabel,
    LaplaceCounts,
    SparseInstance,
)
from tacit.accounting.pld import LossAccountant
from tacit.accounting.price import price
from tacit.accounting.sparse import unstable_probability
from tacit.errors import InvalidArgument

# (n, answers) -> sigma at epsilon 0.5, 1, 2 with delta = 1/n: zCDP as printed, then exact.
TABLE = {
    (6499, 49): ((59.488, 30.145, 15.459), (39.660, 21.538, 11.779)),
    (6499, 163): ((108.499, 54.981, 28.195), (72.336, 39.283, 21.484)),
    (39073, 293): ((159.268, 80.533, 41.138), (112.676, 60.169, 32.369)),
    (39073, 977): ((290.831, 147.058, 75.119), (205.753, 109.872, 59.107)),
    (57847, 434): ((197.321, 99.737, 50.912), (141.090, 75.127, 40.299)),
    (57847, 1447): ((360.299, 182.114, 92.962), (257.624, 137.177, 73.584)),
}
CELLS = [
    (n, answers, epsilon, printed, exact)
    for (n, answers), (printed_row, exact_row) in TABLE.items()
    for epsilon, printed, exact in zip((0.5, 1.0, 2.0), printed_row, exact_row, strict=True)
]


@pytest.mark.parametrize("n, answers, epsilon, printed, exact", CELLS)
def test_the_planner_table_is_reproduced_to_four_digits(
    n: int, answers: int, epsilon: float, printed: float, exact: float
) -> None:
    budget = Budget(epsilon, 1 / n)
    zcdp = calibrate.gaussian_sigma(budget, answers=answers, method="zcdp")
    assert zcdp == pytest.approx(printed, abs=6e-4)
    assert calibrate.gaussian_sigma(budget, answers=answers) == pytest.approx(exact, abs=6e-4)


def test_three_hundred_gaussians_need_the_known_sigma_and_loss_distributions_agree() -> None:
    sigma = calibrate.gaussian_sigma(Budget(1.0, 1e-5), answers=300)
    assert sigma == pytest.approx(64.6164, abs=5e-5)
    found = LossAccountant().epsilon({GaussianCounts(sigma): 300}, 1e-5)
    assert found == pytest.approx(1.0, abs=1e-5)


def test_a_histogram_needs_root_two_times_the_noise() -> None:
    budget = Budget(1.0, 1e-5)
    one = calibrate.gaussian_sigma(budget, answers=300)
    two = calibrate.gaussian_sigma(budget, answers=300, moves=2)
    assert two / one == pytest.approx(math.sqrt(2), rel=1e-6)


def test_a_label_alone_needs_less_noise_than_its_count() -> None:
    budget = Budget(1.0, 1 / 6499)
    assert calibrate.gaussian_sigma(budget, answers=49, method="label") == pytest.approx(
        19.1, abs=0.05
    )


def test_the_label_price_is_for_two_classes_only() -> None:
    with pytest.raises(InvalidArgument, match="two classes"):
        calibrate.gaussian_sigma(Budget(1.0, 1e-5), answers=3, moves=2, method="label")


BUDGETS = st.builds(Budget, st.floats(0.05, 8), st.floats(1e-10, 1e-2))


@given(budget=BUDGETS, answers=st.integers(1, 5000), moves=st.sampled_from([1, 2]))
@settings(max_examples=60)
def test_what_calibration_returns_is_priced_within_the_budget(
    budget: Budget, answers: int, moves: int
) -> None:
    sigma = calibrate.gaussian_sigma(budget, answers=answers, moves=moves)
    _fits({GaussianCounts(sigma, moves): answers}, budget)
    sigma = calibrate.gaussian_sigma(budget, answers=answers, moves=moves, method="zcdp")
    _fits({GaussianCounts(sigma, moves): answers}, budget)
    for sensitivity in (3.0, 3e5):
        sigma = calibrate.vector_sigma(
            budget, releases=answers, sensitivity=sensitivity, dimension=100
        )
        _fits({GaussianCoordinates(sigma, sensitivity, 100): answers}, budget)
    each = calibrate.exponential_epsilon(budget, answers=answers)
    _fits({ExponentialSelection(each): answers}, budget)


@given(budget=BUDGETS, cutoff=st.integers(1, 200))
@settings(max_examples=30)
def test_sparse_settings_are_priced_within_the_budget(budget: Budget, cutoff: int) -> None:
    for constants in calibrate.SparseConstants:
        found = calibrate.sparse_vector(budget, cutoff=cutoff, questions=1000, constants=constants)
        assert found.failure >= unstable_probability(found.scale, found.threshold)
        if constants is not calibrate.SparseConstants.TIGHT and budget.epsilon > 1:
            continue  # the papers assume epsilon at most 1 or so; ours must always fit
        _fits({SparseInstance(found.scale, found.failure): cutoff}, budget)


@pytest.mark.parametrize("answers", [1, 20, 300])
def test_laplace_settings_are_priced_within_the_budget(answers: int) -> None:
    for budget in (Budget(1.0, 1e-5), Budget(0.5)):
        scale = calibrate.laplace_scale(budget, answers=answers)
        _fits({LaplaceCounts(scale): answers}, budget)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.75])
def test_confident_settings_are_priced_within_the_budget(ratio: float) -> None:
    budget = Budget(1.0, 1e-5)
    one, two = calibrate.confident_sigmas(budget, questions=640, answers=283, ratio=ratio)
    assert one == pytest.approx(ratio * two)
    _fits({GaussianCounts(one, 1): 640, GaussianCounts(two, 2): 283}, budget)


def test_the_tight_threshold_is_far_below_the_papers() -> None:
    budget = Budget(1.0, 1e-5)
    tight = calibrate.sparse_vector(budget, cutoff=20)
    printed = calibrate.sparse_vector(budget, cutoff=20, questions=1000, constants="paper")
    assert printed.threshold == pytest.approx(2588, abs=1)
    assert tight.threshold < 950
    # One less would fail: the threshold is the least whole number at its scale.
    assert 20 * unstable_probability(tight.scale, tight.threshold - 1) > 1e-5 * 0.02


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: calibrate.gaussian_sigma(Budget(1.0), answers=3), "delta"),
        (lambda: calibrate.gaussian_sigma(Budget(1.0, 1e-5), answers=0), "answers"),
        (lambda: calibrate.gaussian_sigma(Budget(1.0, 1e-5), answers=2.5), "answers"),
        (lambda: calibrate.gaussian_sigma(Budget(1.0, 1e-5), answers=3, method="best"), "method"),
        (lambda: calibrate.sparse_vector(Budget(1.0, 1e-5), cutoff=0), "cutoff"),
        (lambda: calibrate.sparse_vector(Budget(1.0), cutoff=3), "delta"),
        (
            lambda: calibrate.sparse_vector(Budget(1.0, 1e-5), cutoff=3, constants="paper"),
            "questions",
        ),
        (lambda: calibrate.laplace_scale(Budget(1.0), answers=-1), "answers"),
        (
            lambda: calibrate.vector_sigma(
                Budget(1.0, 1e-5), releases=1, sensitivity=0, dimension=1
            ),
            "sensit",
        ),
        (
            lambda: calibrate.confident_sigmas(
                Budget(1.0, 1e-5), questions=5, answers=5, ratio=math.nan
            ),
            "ratio",
        ),
        (lambda: calibrate.gaussian_sigma((1.0, 1e-5), answers=3), "budget"),
        (lambda: Budget(-1.0), "epsilon"),
        (lambda: Budget(math.nan), "epsilon"),
        (lambda: Budget(1.0, 1.5), "delta"),
        (lambda: Budget(1.0, -1e-9), "delta"),
        (lambda: Budget("1"), "epsilon"),
    ],
)
def test_bad_arguments_get_one_clear_error(call: object, named: str) -> None:
    with pytest.raises(InvalidArgument, match=f"`{named}"):
        call()  # type: ignore[operator]


def _fits(tally: dict[Event, int], budget: Budget) -> None:
    assert price(tally, delta=budget.delta).epsilon <= budget.epsilon


def test_the_label_event_is_priced_below_the_count_event() -> None:
    count = price({GaussianCounts(20.0): 49}, delta=1e-4).epsilon
    label = price({GaussianLabel(20.0): 49}, delta=1e-4).epsilon
    assert label < count


@pytest.mark.parametrize("answers", [24, 60])
@pytest.mark.parametrize("epsilon", [8.0, 10.0, 12.0, 18.0, 20.0, 25.0, 1e3, 1e6])
def test_little_noise_is_priced_within_the_budget_it_was_made_for(epsilon, answers):
    # Near sigma 2 the closed form stops being tight; what calibrates must agree with what prices.
    sigma = calibrate.gaussian_sigma(Budget(epsilon, 1e-5), answers=answers)
    assert price({GaussianCounts(sigma): answers}, delta=1e-5).epsilon <= epsilon
