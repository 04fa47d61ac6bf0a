"""What the label alone costs when a binary count is released with discrete Gaussian noise.

The label says only whether ``n1 + Z`` reaches the middle: one bit with probability
``p_j = P(Z >= j)``, where the integer j says how far the votes are from a tie. One moved vote
takes ``p_j`` to ``p_(j-1)`` or back. The Renyi cost of the bit is the largest divergence over all
integers j, in both directions: a finite search, because far from a tie the divergence is bounded by
a term that decays like a Gaussian tail (proof: ``docs/proofs/gaussian_label.md``). It is about
``2/pi`` of the price of the count itself, which always remains an upper bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tacit.accounting.events import FloatArray


def label_renyi(sigma: float, orders: FloatArray) -> FloatArray:
    """Return the Renyi cost of one released bit at each order.

    Examples
    --------
    >>> float(label_renyi(20.0, np.array([2.0]))[0] / (2 / (2 * 20.0**2))) < 0.65
    True
    """
    costs = np.array([_largest_divergence(sigma, float(order)) for order in orders])
    cost: FloatArray = np.minimum(costs, orders / (2 * sigma**2))
    return cost


def _largest_divergence(sigma: float, order: float) -> float:
    reach = _reach(sigma, order)
    log_tails, log_heads = _log_tails(sigma, reach)
    # By symmetry (1 - p_j = p_(1-j)) j from 1 upwards with both directions covers every integer.
    p, q = log_tails[1:], log_tails[:-1]
    not_p, not_q = log_heads[1:], log_heads[:-1]
    worst = max(
        _bit_divergence(p, not_p, q, not_q, order), _bit_divergence(q, not_q, p, not_p, order)
    )
    return worst * (1 + 1e-9)


def _bit_divergence(
    p: FloatArray, not_p: FloatArray, q: FloatArray, not_q: FloatArray, order: float
) -> float:
    moment = np.logaddexp(order * p + (1 - order) * q, order * not_p + (1 - order) * not_q)
    return max(0.0, float(moment.max()) / (order - 1))


def _reach(sigma: float, order: float) -> int:
    """Return j beyond which every divergence is below ``exp(-60)`` (proof page, step 3)."""
    spread = math.sqrt(order * (order - 1) / sigma**2 + 120)
    return int(order + spread * sigma) + 2


@lru_cache(maxsize=4)
def _log_tails_cached(sigma: float, reach: int) -> tuple[FloatArray, FloatArray]:
    far = reach + int(40 * sigma) + 2
    log_mass = -((np.arange(0, far + 1, dtype=np.float64) / sigma) ** 2) / 2
    # tails[j] = log sum_{i >= j} mass(i), accumulated from the far end so no digit is lost.
    tails = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    log_total = np.logaddexp(tails[0], tails[1])
    tails = tails[: reach + 1] - log_total
    heads = np.log1p(-np.exp(tails))
    return tails, heads


def _log_tails(sigma: float, reach: int) -> tuple[FloatArray, FloatArray]:
    """Return ``log P(Z >= j)`` and ``log P(Z < j)`` for j = 0 .. reach."""
    # Rounded up so that nearby orders share one table.
    return _log_tails_cached(sigma, 1 << max(6, reach.bit_length()))
