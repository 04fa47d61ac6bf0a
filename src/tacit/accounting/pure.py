"""Exact composition of pure releases: every k releases of the same pure epsilon together.

Randomised response is the worst of all pure mechanisms, also under adaptive composition
[KOV15], and k of them have a binomial loss, so delta(epsilon) is a finite sum.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from tacit import validation
from tacit.accounting.search import boundary

_ROUNDING = 1e-9


def composed_delta(epsilon: float, pure_epsilon: float, count: int) -> float:
    """Return the exact delta at ``epsilon`` of ``count`` releases of ``pure_epsilon`` each.

    ``sum_l C(k, l) max(0, e^{(k-l) e0} - e^eps e^{l e0}) / (1 + e^e0)^k``.

    Examples
    --------
    >>> composed_delta(2.0, 0.1, 20)
    0.0
    >>> round(composed_delta(1.0, 0.1, 20), 6)
    0.002397
    """
    validation.non_negative(epsilon=epsilon)
    validation.positive(pure_epsilon=pure_epsilon)
    validation.positive_integer(count=count)
    flips = np.arange(0, count + 1, dtype=np.float64)
    loss = (count - 2 * flips) * pure_epsilon
    contributes = loss > epsilon
    flips, loss = flips[contributes], loss[contributes]
    if flips.size == 0:
        return 0.0
    log_choose = (
        special.gammaln(count + 1) - special.gammaln(flips + 1) - special.gammaln(count - flips + 1)
    )
    log_mass = (
        log_choose
        + (count - flips) * pure_epsilon
        - count * (pure_epsilon + math.log1p(math.exp(-pure_epsilon)))
    )
    terms = np.exp(log_mass) * -np.expm1(epsilon - loss)
    return min(1.0, float(terms.sum()) * (1 + _ROUNDING))


def composed_epsilon(delta: float, pure_epsilon: float, count: int) -> float:
    """Return an epsilon, within 1e-9 of the smallest, with ``composed_delta <= delta``."""
    validation.fraction(delta=delta)
    high = pure_epsilon * count
    if delta == 0:
        return high

    def exceeds(epsilon: float) -> bool:
        return composed_delta(epsilon, pure_epsilon, count) > delta

    return boundary(exceeds, 0.0, high, relative=1e-10, scale=1.0)[1]


def pure_epsilon_for(epsilon: float, delta: float, count: int) -> float:
    """Return the largest pure epsilon that ``count`` releases may each have within a budget."""
    low, high = epsilon / count, epsilon / count
    if delta == 0:
        return low

    def fits(pure_epsilon: float) -> bool:
        return composed_delta(epsilon, pure_epsilon, count) <= delta

    while fits(high):
        low, high = high, 2 * high
    return boundary(fits, low, high, relative=1e-12)[0]
