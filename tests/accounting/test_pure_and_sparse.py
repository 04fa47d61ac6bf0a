"""Optimal composition of pure releases, and the sparse vector's one probability."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import pure
from tacit.accounting.sparse import unstable_probability
from tacit.errors import InvalidArgument


@pytest.mark.parametrize("each, count", [(0.3, 1), (0.5, 3), (0.1, 8), (1.2, 5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 1.0])
def test_composition_equals_enumerated_randomised_responses(
    each: float, count: int, epsilon: float
) -> None:
    truth = math.exp(each) / (1 + math.exp(each))
    delta = 0.0
    for outcome in itertools.product((0, 1), repeat=count):
        flips = sum(outcome)
        p = truth ** (count - flips) * (1 - truth) ** flips
        q = (1 - truth) ** (count - flips) * truth**flips
        delta += max(0.0, p - math.exp(epsilon) * q)
    assert pure.composed_delta(epsilon, each, count) == pytest.approx(delta, rel=1e-8, abs=1e-15)


def test_composition_of_many_releases_matches_loss_distributions() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    each, count = 0.1, 64
    upper = pld.from_randomized_response(
        2 / (1 + math.exp(each)), 2, value_discretization_interval=1e-5
    ).self_compose(count)
    for epsilon in (1.0, 2.0, 4.0):
        ours = pure.composed_delta(epsilon, each, count)
        assert ours == pytest.approx(upper.get_delta_for_epsilon(epsilon), rel=2e-2)


def test_large_counts_keep_their_digits() -> None:
    each, count, epsilon = 0.01, 20_000, 8.0
    with mpmath.workdps(40):
        e0 = mpmath.mpf(each)
        exact = (
            mpmath.fsum(
                mpmath.binomial(count, flips)
                * (mpmath.exp((count - flips) * e0) - mpmath.exp(epsilon + flips * e0))
                for flips in range(int((count - epsilon / each) / 2), 6000, -1)
                if (count - 2 * flips) * each > epsilon
            )
            / (1 + mpmath.exp(e0)) ** count
        )
    assert pure.composed_delta(epsilon, each, count) == pytest.approx(float(exact), rel=1e-6)


@given(epsilon=st.floats(0.05, 8), delta=st.floats(1e-12, 0.01), count=st.integers(1, 2000))
def test_the_share_of_each_release_composes_to_the_budget(
    epsilon: float, delta: float, count: int
) -> None:
    each = pure.pure_epsilon_for(epsilon, delta, count)
    assert each >= epsilon / count
    assert pure.composed_delta(epsilon, each, count) <= delta
    assert pure.composed_delta(epsilon, each * 1.001, count) >= delta * 0.5 or count == 1


def test_with_delta_zero_epsilons_add_up() -> None:
    assert pure.composed_epsilon(0.0, 0.25, 4) == 1.0
    assert pure.pure_epsilon_for(1.0, 0.0, 4) == 0.25


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0, 5.0, 17.3])
@pytest.mark.parametrize("threshold", [-7, -0.5, 0, 0.5, 1, 3, 40])
def test_unstable_probability_equals_the_convolved_laws(scale: float, threshold: float) -> None:
    reach = int(60 * scale) + 60
    x = np.arange(-reach, reach + 1)
    z = np.exp(-np.abs(x) / (2 * scale))
    v = np.exp(-np.abs(x) / scale)
    law = np.convolve(z / z.sum(), v / v.sum())
    difference = np.arange(-2 * reach, 2 * reach + 1)
    exact = float(law[difference > threshold].sum())
    ours = unstable_probability(scale, threshold)
    assert ours >= exact * (1 - 1e-9)
    assert ours == pytest.approx(exact, rel=1e-9)


def test_the_discrete_law_tends_to_the_continuous_one() -> None:
    scale, w = 1e5, 1.5e6
    continuous = (4 * math.exp(-w / (2 * scale)) - math.exp(-w / scale)) / 6
    assert unstable_probability(scale, w) == pytest.approx(continuous, rel=1e-4)


def test_far_thresholds_do_not_underflow_to_nonsense() -> None:
    assert 0 <= unstable_probability(1.0, 5000) < 1e-300
    with pytest.raises(InvalidArgument, match="`threshold`"):
        unstable_probability(1.0, math.nan)
