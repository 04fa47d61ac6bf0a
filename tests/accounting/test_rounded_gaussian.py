"""Discrete Gaussian noise on vectors, priced as rounded continuous noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from scipy import stats

from tacit.accounting import gaussian
from tacit.accounting.accountant import RoundedGaussianAccountant, ZCDPAccountant
from tacit.accounting.events import GaussianCoordinates
from tacit.accounting.price import price


@pytest.mark.parametrize("sigma", [10.0, 17.3, 60.0, 300.0])
def test_the_distance_to_rounded_noise_is_not_understated(sigma: float) -> None:
    k = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    discrete = np.exp(-((k / sigma) ** 2) / 2)
    discrete /= discrete.sum()
    # By the upper tail on the positive side, so that small masses keep their digits.
    edge = np.abs(k)
    rounded = stats.norm.sf((edge - 0.5) / sigma) - stats.norm.sf((edge + 0.5) / sigma)
    distance = np.abs(discrete - rounded).sum() / 2
    assert distance <= gaussian.rounding_distance(sigma)
    # The bound is within a factor of three of the truth.
    assert gaussian.rounding_distance(sigma) <= 3 * distance


def test_noise_that_is_too_coarse_has_no_such_price() -> None:
    assert gaussian.rounding_distance(9.9) == 1.0
    event = GaussianCoordinates(5.0, 2.0, 1)
    assert RoundedGaussianAccountant().epsilon({event: 1}, 1e-5) == math.inf
    assert price({event: 1}, delta=1e-5).accountant == ZCDPAccountant.name


@pytest.mark.parametrize(("releases", "delta"), [(1, 1e-6), (30, 1.5e-4), (8, 1e-7)])
def test_the_price_is_that_of_another_library_for_continuous_noise(
    releases: int, delta: float
) -> None:
    event = GaussianCoordinates(2e6, 131072.0, 150)
    found = RoundedGaussianAccountant().epsilon({event: releases}, delta)
    deviation = event.sigma / (event.sensitivity * math.sqrt(releases))
    other = GaussianPrivacyLoss(standard_deviation=deviation, sensitivity=1)
    assert found == pytest.approx(_epsilon(other, delta), rel=5e-4)
    assert found < ZCDPAccountant().epsilon({event: releases}, delta)


def _epsilon(loss: GaussianPrivacyLoss, delta: float) -> float:
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if loss.get_delta_for_epsilon(middle) > delta else (low, middle)
    assert DifferentialPrivacyParameters(high, delta)
    return high


def test_every_coordinate_and_every_release_adds_its_distance() -> None:
    few, many = GaussianCoordinates(400.0, 10.0, 1), GaussianCoordinates(400.0, 10.0, 12)
    accountant = RoundedGaussianAccountant()
    delta = 3e-5
    prices = [accountant.epsilon({event: 2}, delta) for event in (few, many)]
    assert prices[0] < prices[1]
    spent = 2 * 12 * gaussian.rounding_distance(400.0) * (1 + math.exp(prices[1]))
    mu = 10.0 * math.sqrt(2) / 400.0
    assert gaussian.gdp_delta(prices[1], mu) + spent == pytest.approx(delta, rel=1e-6)


def test_an_epsilon_is_infinite_where_the_distance_eats_delta() -> None:
    assert gaussian.rounded_epsilon(1e-6, 0.5, 1e-6) == math.inf
    assert gaussian.rounded_epsilon(1e-3, 1e-6, 0.0) == 0.0
