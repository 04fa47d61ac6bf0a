"""Exact Gaussian prices against brute force, mpmath, dp-accounting and autodp."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import gaussian
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import gaussian_sigma
from tacit.errors import InvalidArgument


def brute_force_delta(epsilon: float, sigma: float, shifts: int) -> float:
    """Convolve the discrete Gaussian with itself and sum the hockey-stick term by term."""
    reach = int(14 * sigma) + 3
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    one = np.exp(-((x / sigma) ** 2) / 2)
    one /= one.sum()
    total = one
    for _ in range(shifts - 1):
        total = np.convolve(total, one)
    half = (total.size - 1) // 2
    loss = (shifts - 2 * np.arange(-half, half + 1)) / (2 * sigma**2)
    kept = loss > epsilon
    return float((total[kept] * -np.expm1(epsilon - loss[kept])).sum())


@pytest.mark.parametrize("sigma, shifts", [(0.7, 1), (1.5, 1), (4.0, 2), (3.0, 10), (6.5, 40)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_discrete_delta_is_the_brute_force_value_and_never_below(
    sigma: float, shifts: int, epsilon: float
) -> None:
    exact = brute_force_delta(epsilon, sigma, shifts)
    ours = gaussian.discrete_delta(epsilon, sigma, shifts)
    assert ours >= exact * (1 - 1e-12)
    assert ours == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("k", [1, 150, 700, 1200])
def test_the_closed_tail_agrees_with_the_sum_of_its_terms(k: int) -> None:
    deviation = 210.0
    direct = gaussian._summed_tail(k, deviation)
    assert gaussian._tail(k, deviation) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("sigma, shifts", [(0.6, 3), (0.8, 2), (1.2, 6), (2.0, 3)])
def test_the_sum_of_discrete_gaussians_is_as_near_to_one_as_the_bound_says(
    sigma: float, shifts: int
) -> None:
    reach = int(14 * sigma) + 3
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    one = np.exp(-((x / sigma) ** 2) / 2)
    one /= one.sum()
    total = one
    for _ in range(shifts - 1):
        total = np.convolve(total, one)
    half = (total.size - 1) // 2
    y = np.arange(-half, half + 1, dtype=np.float64)
    single = np.exp(-(y**2) / (2 * shifts * sigma**2))
    single /= single.sum()
    assert np.abs(total - single).max() <= gaussian._sum_error(sigma, shifts)


@pytest.mark.parametrize("sigma, shifts", [(0.4, 3), (0.8, 5), (1.2, 4), (1.6, 8)])
def test_with_little_noise_it_stays_a_bound(sigma: float, shifts: int) -> None:
    for epsilon in (0.5, 3.0, 12.0):
        exact = brute_force_delta(epsilon, sigma, shifts)
        assert gaussian.discrete_delta(epsilon, sigma, shifts) >= exact * (1 - 1e-12)
    assert gaussian.discrete_epsilon(1e-5, 0.4, 3) == math.inf


@pytest.mark.parametrize("epsilon, mu", [(0.1, 0.05), (1.0, 0.3), (1.0, 2.0), (8.0, 1.5)])
def test_gdp_delta_equals_high_precision_arithmetic(epsilon: float, mu: float) -> None:
    with mpmath.workdps(40):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        exact = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
    assert gaussian.gdp_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-9)


@given(epsilon=st.floats(0.01, 10), delta=st.floats(1e-12, 0.1), answers=st.integers(1, 100_000))
def test_gdp_mu_inverts_gdp_delta(epsilon: float, delta: float, answers: int) -> None:
    mu = gaussian.gdp_mu(epsilon, delta)
    assert gaussian.gdp_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_epsilon_inverts_delta(delta: float) -> None:
    epsilon = gaussian.discrete_epsilon(delta, 20.0, 50)
    assert gaussian.discrete_delta(epsilon, 20.0, 50) <= delta
    assert gaussian.discrete_delta(epsilon - 1e-6, 20.0, 50) > delta


def test_discrete_delta_agrees_with_loss_distributions() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    composed = pld.from_discrete_gaussian_mechanism(
        30.0, 1, value_discretization_interval=1e-5, use_connect_dots=True
    ).self_compose(100)
    for epsilon in (0.5, 1.0, 1.5):
        upper = composed.get_delta_for_epsilon(epsilon)
        assert gaussian.discrete_delta(epsilon, 30.0, 100) == pytest.approx(upper, rel=1e-4)


def test_a_second_opinion_calibrates_the_same() -> None:
    from autodp.calibrator_zoo import ana_gaussian_calibrator
    from autodp.mechanism_zoo import ExactGaussianMechanism

    found = ana_gaussian_calibrator()(ExactGaussianMechanism, 1.0, 1e-5)
    assert 1 / gaussian.gdp_mu(1.0, 1e-5) == pytest.approx(found.params["sigma"], rel=1e-5)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True])
def test_bad_arguments_are_named(bad: object) -> None:
    with pytest.raises(InvalidArgument, match="`sigma`"):
        gaussian.discrete_delta(1.0, bad, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="`delta`"):
        gaussian.discrete_epsilon(bad, 1.0, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "planned", "epsilon", "answered", "published"),
    [
        (6499, 49, 0.5, 40.1, 0.4461),
        (6499, 49, 1.0, 42.9, 0.9267),
        (6499, 49, 2.0, 46.5, 1.9410),
        (39073, 293, 1.0, 290.8, 0.9958),
        (39073, 293, 2.0, 290.3, 1.9896),
    ],
)
def test_ex_post_figures_of_the_paper(n, planned, epsilon, answered, published):
    """[LZCW21] Table 4: mean numbers of answers at noise fixed for the planned number."""
    sigma = gaussian_sigma(Budget(epsilon, 1 / n), answers=planned)
    low, high = 1e-6, epsilon
    while high - low > 1e-9:
        middle = (low + high) / 2
        above = gaussian.gdp_delta(middle, math.sqrt(answered) / sigma) > 1 / n
        low, high = (middle, high) if above else (low, middle)
    # The published mean of answers has one decimal.
    assert high == pytest.approx(published, abs=1.5e-3)
