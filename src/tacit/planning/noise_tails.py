"""Upper tails of the noise that mechanisms add, as probabilities to plan with.

These describe accuracy only. What a guarantee rests on is computed in ``tacit.accounting``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]

_SMOOTH = 200.0
"""From this scale on a discrete Gaussian tail is the normal one, at half-integers, to 1e-6."""


def gaussian_at_least(sigma: float, least: ArrayLike) -> FloatArray:
    """Return P(Z >= least) of the discrete Gaussian, for integers ``least``.

    Examples
    --------
    >>> gaussian_at_least(1.0, [0, 1]).round(4).tolist()  # P(Z = 0) is what is between them
    [0.6995, 0.3005]
    """
    wanted = np.asarray(least, dtype=np.float64)
    if sigma >= _SMOOTH:
        tail: FloatArray = special.ndtr((0.5 - wanted) / sigma)
        return tail
    reach = math.ceil(40 * sigma) + 1
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = np.exp(-((values / sigma) ** 2) / 2)
    above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]) / mass.sum()
    place = np.clip(wanted + reach, 0, len(above) - 1).astype(np.int64)
    tails: FloatArray = above[place]
    return tails


def laplace_at_least(scale: float, least: ArrayLike) -> FloatArray:
    """Return P(Z >= least) of the discrete Laplace law, for integers ``least``.

    Examples
    --------
    >>> laplace_at_least(1.0, [0, 1]).round(4).tolist()
    [0.7311, 0.2689]
    """
    wanted = np.asarray(least, dtype=np.float64)
    ratio = math.exp(-1 / scale)
    # The law is symmetric: P(Z >= k) = 1 - P(Z >= 1 - k).
    upper = np.exp(-np.maximum(wanted, 1 - wanted) / scale) / (1 + ratio)
    tail: FloatArray = np.where(wanted >= 1, upper, 1 - upper)
    return tail


def laplace_difference_at_least(scale: float, least: ArrayLike) -> FloatArray:
    """Return P(Z1 - Z2 >= least) of two independent discrete Laplace draws.

    With q = exp(-1/scale) the difference is d >= 0 with probability
    ``((1-q)/(1+q))^2 q^d (d + 1 + 2 q^2/(1-q^2))``; the tail sums this.
    """
    wanted = np.asarray(least, dtype=np.float64)
    k = np.maximum(wanted, 1 - wanted)  # 1 or more; the rest by symmetry
    rate = 1 / scale
    q, one_minus_q = math.exp(-rate), -math.expm1(-rate)
    front = (one_minus_q / (1 + q)) ** 2
    both = 2 * q**2 / (one_minus_q * (1 + q))
    # sum over d >= k of q^d (d + 1 + both)
    summed = np.exp(-k * rate) * ((k + 1 + both) / one_minus_q + q / one_minus_q**2)
    upper = front * summed
    tail: FloatArray = np.where(wanted >= 1, upper, 1 - upper)
    return tail
