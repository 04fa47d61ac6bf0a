"""The price of one bit: brute force over every distance from a tie, in both directions."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from tacit.accounting.gaussian_label import label_renyi

ORDERS = np.array([1.1, 1.5, 2.0, 4.0, 9.0, 25.0])


def brute_force(sigma: float, order: float) -> float:
    """Return the largest divergence between neighbouring bits, at 250 digits."""
    with mpmath.workdps(250):
        s = mpmath.mpf(sigma)
        reach = int(14 * sigma + order) + 2
        far = reach + int(14 * sigma) + 2
        mass = {j: mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * s**2)) for j in range(-far, far + 1)}
        total = mpmath.fsum(mass.values())
        tail, tails = mpmath.mpf(0), {}
        for j in range(far, -reach - 1, -1):
            tail += mass[j] / total
            tails[j] = tail
        worst = mpmath.mpf(0)
        a = mpmath.mpf(order)
        for j in range(-reach + 1, reach + 1):
            for p, q in ((tails[j], tails[j - 1]), (tails[j - 1], tails[j])):
                moment = p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)
                worst = max(worst, mpmath.log(moment) / (a - 1))
        return float(worst)


@pytest.mark.parametrize("sigma", [0.8, 2.0, 7.5])
def test_the_maximum_over_all_integers_is_found(sigma: float) -> None:
    ours = label_renyi(sigma, ORDERS)
    for order, found in zip(ORDERS, ours, strict=True):
        exact = min(brute_force(sigma, float(order)), order / (2 * sigma**2))
        assert found >= exact * (1 - 1e-12)
        assert found == pytest.approx(exact, rel=1e-6)


def test_the_bit_costs_about_two_over_pi_of_the_count() -> None:
    ratio = label_renyi(50.0, np.array([1.5, 2.0])) / (np.array([1.5, 2.0]) / (2 * 50.0**2))
    assert ratio == pytest.approx(2 / math.pi, rel=2e-3)


def test_it_never_costs_more_than_the_count() -> None:
    orders = np.geomspace(1.01, 3000, 60)
    assert (label_renyi(3.0, orders) <= orders / (2 * 9.0) + 1e-15).all()
