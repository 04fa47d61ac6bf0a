"""Tails of the Gaussian noise put on votes, in log space, and checks of vote arrays.

Every tail here is an upper bound on the probability it stands for. ``discrete`` is the noise the
library draws (Canonne, Kamath and Steinke 2020, [CKS20]); ``continuous`` is the noise of the
published analysis and serves to reproduce its figures.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from tacit.errors import InvalidArgument

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PAD = 1e-12
"""Relative slack added to computed logarithms, above the rounding error of the sums."""


class VoteNoise(StrEnum):
    """The law of the noise on the counts."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


def check_votes(votes: npt.ArrayLike) -> Ints:
    """Return the votes as integers, one row per query; the message of a refusal holds no counts.

    Privacy
    -------
    The counts are private. Their shape and the number of teachers (the common row sum) are public.
    """
    try:
        array = np.asarray(votes)
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("`votes` must be an array of counts (values not shown).") from None
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 2:
        raise InvalidArgument(
            "`votes` must be a two-dimensional array, queries by at least two classes, "
            f"got shape {array.shape}."
        )
    whole = np.isfinite(numbers).all() and (np.abs(numbers) < 2**53).all()
    if not (whole and (numbers >= 0).all() and (numbers == np.rint(numbers)).all()):
        raise InvalidArgument("`votes` must hold whole counts, zero or more (values not shown).")
    counts = numbers.astype(np.int64)
    sums = counts.sum(axis=1)
    if sums[0] < 1 or (sums != sums[0]).any():
        raise InvalidArgument(
            "`votes` must have the same positive sum, the number of teachers, in every row "
            "(values not shown)."
        )
    return counts


def check_orders(orders: npt.ArrayLike) -> Floats:
    """Return Renyi orders as a one-dimensional array of finite numbers above 1."""
    try:
        array = np.atleast_1d(np.asarray(orders, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidArgument(f"`orders` must be numbers above 1, got {orders!r}.") from None
    bad = array[~(np.isfinite(array) & (array > 1))]
    if array.ndim != 1 or array.size == 0 or bad.size:
        problem = repr(bad.tolist()[0]) if bad.size else f"shape {array.shape}"
        raise InvalidArgument(f"`orders` must be finite numbers above 1, got {problem}.")
    return array


def log1mexp(x: Floats) -> Floats:
    """Return ``log(1 - exp(x))`` for ``x <= 0``."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(np.maximum(x, -1.0)))
        far = np.log1p(-np.exp(np.minimum(x, -1.0)))
    return np.where(x > -1.0, near, far)


def log_difference_tail(sigma: float, largest: int, noise: VoteNoise) -> Floats:
    """Return ``log P[Z - Z' >= g]`` for ``g = 0, ..., largest``; ``Z, Z'`` independent noise.

    References
    ----------
    [PSMRTE18] arXiv:1802.08908, Proposition 7, for the continuous law: ``erfc(g / 2 sigma) / 2``.
    The discrete law is worked out in ``docs/proofs/vote_bounds.md``, section 2.
    """
    if noise is VoteNoise.CONTINUOUS:
        gaps = np.arange(largest + 1, dtype=np.float64)
        return np.asarray(log_ndtr(-gaps / (math.sqrt(2.0) * sigma)), dtype=np.float64)
    # P[Z - Z' = d] = exp(-d^2 / 4 sigma^2) theta(d / 2) / N^2, and theta has period 1.
    whole = _log_lattice_sum(sigma / math.sqrt(2.0), 0.0)
    half = _log_lattice_sum(sigma / math.sqrt(2.0), 0.5)
    norm = 2.0 * _log_lattice_sum(sigma, 0.0)
    end = largest + math.ceil(30.0 * sigma) + 2
    d = np.arange(end, dtype=np.float64)
    log_pmf = -(d**2) / (4.0 * sigma**2) + np.where(d % 2 == 0, whole, half) - norm
    rest = _log_remainder(end, 4.0 * sigma**2) + whole - norm
    return _padded(_suffix_logsumexp(log_pmf, rest)[: largest + 1])


def answer_law(sigma: float, teachers: int, classes: int, noise: VoteNoise) -> tuple[Floats, float]:
    """Return how a label can go wrong: ``log P[a class g votes behind wins]``, and the RDP rate.

    The release costs ``rate * order`` whatever the votes. In two classes the library puts discrete
    noise Z on one count only: the winner changes when ``2 Z`` makes up the gap, and one moved vote
    moves one count. Otherwise every count has its own noise.
    """
    if classes == 2 and noise is VoteNoise.DISCRETE:
        tail = _padded(_log_single_tail(sigma, (teachers + 1) // 2 + 1))
        return tail[(np.arange(teachers + 1) + 1) // 2], 1.0 / (2.0 * sigma**2)
    return log_difference_tail(sigma, teachers, noise), 1.0 / sigma**2


def log_pass_and_fail(threshold: float, sigma: float, teachers: int, noise: VoteNoise) -> Floats:
    """Return ``log P[m + Z >= threshold]`` and ``log P[m + Z < threshold]`` for every count m.

    Two rows of ``teachers + 1`` columns. The test looks at the largest count m alone.
    """
    counts = np.arange(teachers + 1, dtype=np.float64)
    if noise is VoteNoise.CONTINUOUS:
        z = (counts - threshold) / sigma
        return np.stack([log_ndtr(z), log_ndtr(-z)])
    need = np.ceil(threshold - counts).astype(np.int64)  # pass when the integer noise is >= need
    tail = _log_single_tail(sigma, int(max(need.max(), (1 - need).max(), 1)))
    up = np.where(need >= 1, tail[np.maximum(need, 1)], log1mexp(tail[np.maximum(1 - need, 1)]))
    down = np.where(need >= 1, log1mexp(tail[np.maximum(need, 1)]), tail[np.maximum(1 - need, 1)])
    return np.stack([up, down])


def _log_single_tail(sigma: float, largest: int) -> Floats:
    """``log P[Z >= k]`` of the discrete Gaussian, k = 0, ..., largest."""
    end = largest + math.ceil(30.0 * sigma) + 2
    d = np.arange(end, dtype=np.float64)
    norm = _log_lattice_sum(sigma, 0.0)
    log_pmf = -(d**2) / (2.0 * sigma**2) - norm
    return _suffix_logsumexp(log_pmf, _log_remainder(end, 2.0 * sigma**2) - norm)


def _log_lattice_sum(sigma: float, shift: float) -> float:
    """Log of the sum of ``exp(-(z + shift)^2 / 2 sigma^2)`` over the integers."""
    reach = math.ceil(40.0 * sigma) + 2
    z = np.arange(-reach, reach + 1, dtype=np.float64) + shift
    exponents = -(z**2) / (2.0 * sigma**2)
    top = float(exponents.max())
    return top + math.log(math.fsum(np.exp(exponents - top)))


def _log_remainder(start: int, width: float) -> float:
    """Bound on ``log sum_{d >= start} exp(-d^2 / width)`` by a geometric series."""
    return -(start**2) / width - float(np.log(-np.expm1(-2.0 * start / width)))


def _suffix_logsumexp(log_terms: Floats, log_rest: float) -> Floats:
    ends = np.append(log_terms, log_rest)
    return np.logaddexp.accumulate(ends[::-1])[::-1][:-1]


def _padded(log_values: Floats) -> Floats:
    return log_values + PAD * (1.0 + np.abs(log_values))
