"""Exact prices of composed Gaussian noise, continuous and discrete.

``n`` adaptively chosen releases, each of an integer that moves by one, with noise of scale sigma:

* continuous noise is exactly ``mu``-GDP with ``mu = sqrt(n)/sigma`` [DRS22];
* discrete noise has a loss that is linear in the *sum* of the n noises, so its exact delta is a
  difference of two tails of that sum. ``discrete_delta`` evaluates those tails with certified
  bounds. The proof is on the page ``docs/proofs/gaussian_accounting.md``; its steps are named here.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from tacit import validation
from tacit.accounting.search import boundary

# Relative slack for the rounding of the special functions used (accurate to about 1e-14).
_ROUNDING = 1e-12
# Below this standard deviation tails are summed term by term, above by Euler-Maclaurin (step 4).
_SUM_DIRECTLY_BELOW = 200.0
# Sub-Gaussian tails beyond this many standard deviations are below exp(-800) (step 3).
_WINDOW = 40.0
_LARGEST_EPSILON = 600.0


def gdp_delta(epsilon: float, mu: float) -> float:
    """Return delta(epsilon) of a mu-GDP release (continuous Gaussian noise) [BW18, Theorem 8].

    Examples
    --------
    >>> round(gdp_delta(1.0, 0.5), 6)
    0.00683
    """
    log_first = float(special.log_ndtr(-epsilon / mu + mu / 2))
    log_second = epsilon + float(special.log_ndtr(-epsilon / mu - mu / 2))
    return math.exp(log_first) * -math.expm1(min(0.0, log_second - log_first))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu with ``gdp_delta(epsilon, mu) <= delta``."""
    validation.positive(epsilon=epsilon)
    validation.probability(delta=delta)

    def excess(log_mu: float) -> float:
        reached_delta = gdp_delta(epsilon, math.exp(log_mu))
        return math.log(reached_delta) - math.log(delta) if reached_delta > 0 else -800.0

    low, high = math.log(epsilon) - 8, math.log(epsilon + 10)
    while excess(high) < 0:
        high += 1
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-13)))


_ROUNDING_FROM = 10.0


def rounding_distance(sigma: float) -> float:
    """Return a bound on how far discrete Gaussian noise is from rounded continuous noise.

    In total variation, one coordinate: ``1/(20 sigma^2)`` from sigma 10 on, else 1. Proof:
    ``docs/proofs/gaussian_accounting.md``, step 6.

    Examples
    --------
    >>> rounding_distance(1000.0)
    5e-08
    """
    return 1 / (20 * sigma**2) if sigma >= _ROUNDING_FROM else 1.0


def rounded_epsilon(delta: float, mu: float, distance: float) -> float:
    """Return epsilon of releases that are together ``distance`` away from a mu-GDP release.

    The least epsilon with ``gdp_delta(epsilon, mu) + (1 + e^epsilon) distance <= delta``, rounded
    up; infinite where there is none.

    Examples
    --------
    >>> round(rounded_epsilon(1e-5, 0.25, 1e-12), 4)
    0.9263
    """

    def excess(epsilon: float) -> float:
        return gdp_delta(epsilon, mu) + (1 + math.exp(epsilon)) * distance - delta

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        # Beyond this the distance alone exceeds delta, or the price is of no use to anybody.
        if high > _LARGEST_EPSILON or (1 + math.exp(high)) * distance > delta:
            break
    if excess(high) > 0:
        # The distance grows with epsilon: the least excess lies before it takes over.
        grid = np.linspace(0.0, min(high, _LARGEST_EPSILON), 2001)
        sufficient = [float(at) for at in grid if excess(float(at)) <= 0]
        if not sufficient:
            return math.inf
        high = sufficient[0]
    return boundary(lambda at: excess(at) > 0, 0.0, high, relative=1e-12, scale=1.0)[1]


def discrete_delta(epsilon: float, sigma: float, shifts: int) -> float:
    """Return an upper bound, tight to rounding, on delta of composed discrete Gaussian noise.

    Parameters
    ----------
    epsilon : float
    sigma : float
        Scale of the discrete Gaussian noise on each integer.
    shifts : int
        How many noisy integers move by one: answers times ``moves``.

    Notes
    -----
    A bound for every sigma; tight from about sigma = 2 upwards. Below, the term of step 3 is not
    negligible and loss-distribution or zCDP accounting may be tighter: ``price`` compares.

    Examples
    --------
    >>> round(discrete_delta(1.0, 64.6164, 300), 8)
    1e-05
    """
    validation.non_negative(epsilon=epsilon)
    validation.positive(sigma=sigma)
    validation.positive_integer(shifts=shifts)
    # delta falls with epsilon, so its value at a smaller epsilon bounds it: exp() stays finite.
    epsilon = min(epsilon, _LARGEST_EPSILON)
    deviation = sigma * math.sqrt(shifts)
    edge = math.floor(epsilon * sigma**2 - shifts / 2) + 1
    # The true edge maximises the difference, so a rounded edge's neighbours are tried too (step 2).
    best = max(
        _tail(k, deviation) * (1 + _ROUNDING)
        - math.exp(epsilon) * _tail(k + shifts, deviation) * (1 - _ROUNDING)
        for k in (edge - 1, edge, edge + 1)
    )
    slack = (1 + math.exp(epsilon)) * _sum_error(sigma, shifts) * (_WINDOW * deviation + 2)
    return min(1.0, max(0.0, best) + slack)


def discrete_epsilon(delta: float, sigma: float, shifts: int) -> float:
    """Return an epsilon, within 1e-9 of the smallest found, with ``discrete_delta <= delta``.

    Infinite where the bound reaches delta at no epsilon (little noise).
    """
    validation.probability(delta=delta)

    def exceeds(epsilon: float) -> bool:
        return discrete_delta(epsilon, sigma, shifts) > delta

    low, high = 0.0, 1.0
    while exceeds(high):
        low, high = high, 2 * high
        if low > _LARGEST_EPSILON:
            return math.inf
    return boundary(exceeds, low, high, relative=1e-10, scale=1.0)[1]


def _sum_error(sigma: float, shifts: int) -> float:
    """Bound how far the sum's point masses are from one discrete Gaussian's (step 3).

    The sum of n discrete Gaussians of scale sigma differs from a discrete Gaussian of scale
    ``sigma sqrt(n)`` by at most this in every point: the largest difference of their
    characteristic functions, split at half the range.
    """
    if shifts == 1:
        return 0.0
    if sigma < 0.5:
        return 1.0
    near = math.expm1(min(700.0, 2 * shifts * math.exp(-((math.pi * sigma) ** 2))))
    far = math.exp(min(0.0, shifts * (math.log(2.02) - (math.pi * sigma) ** 2 / 8)))
    return max(near, far)


def _tail(k: int, deviation: float) -> float:
    """Return P(Y >= k) for a discrete Gaussian Y of the given scale, to relative 1e-9 or better."""
    if k <= 0:
        return 1.0 - _tail(1 - k, deviation)
    if deviation < _SUM_DIRECTLY_BELOW:
        return _summed_tail(k, deviation)
    # Midpoint Euler-Maclaurin: sum over j >= k of f(j) = integral from u = k - 1/2
    # + f'(u)/24 + R with |R| <= (1/384) * integral of |f''''| (step 4).
    z = (k - 0.5) / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return float(special.ndtr(-z)) - z * density / (24 * deviation**2)


def _summed_tail(k: int, deviation: float) -> float:
    reach = int(_WINDOW * deviation) + 2
    inner = np.arange(-reach, reach + 1, dtype=np.float64)
    total = float(np.exp(-((inner / deviation) ** 2) / 2).sum())
    outer = np.arange(k, k + reach + 1, dtype=np.float64)
    return float(np.exp(-((outer / deviation) ** 2) / 2).sum()) / total
