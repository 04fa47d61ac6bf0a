"""Publish a vote-dependent epsilon: integer noise scaled by smooth sensitivity, and its price.

The cost computed in `vote_bounds` is private. `release_epsilon` publishes a noisy version of it
and adds the price of doing so. It is for reports written after the fact: a released
epsilon never enters the ledger, a stopping rule or a plan.

The noise is the discrete Gaussian on the grid of `smooth_sensitivity.UNIT`; no continuous noise
is drawn. Proof: ``docs/proofs/vote_bounds.md``, section 7.

References
----------
[PSMRTE18] arXiv:1802.08908, appendix, Theorem 23 (GNSS). Departure: the price is the exact
divergence between Gaussians of different variance; the formula the authors' code gives for that
theorem is too small for ``beta`` near ``1/(2 order)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.accounting.vote_dependent.smooth_sensitivity import (
    UNIT,
    VoteRule,
    cost_table,
    discounted_maximum,
    top_two,
)
from tacit.accounting.vote_dependent.vote_bounds import conversion_term
from tacit.accounting.vote_dependent.vote_tails import PAD, check_orders, check_votes
from tacit.errors import InvalidArgument
from tacit.noise import LARGEST_SCALE, NoiseSource
from tacit.validation import positive, probability

__all__ = ["ReleasedEpsilon", "release_epsilon", "release_price"]

_LEAST = 16.0  # smallest noise scale, in grid units: keeps the theta terms of section 7 negligible
_SLACK = 1e-6  # relative slack on beta, far above the rounding error of one exp and one product


@dataclass(frozen=True)
class ReleasedEpsilon:
    """A vote-dependent epsilon after its own private release: public.

    It holds at ``delta`` for the data set that was voted on, answers and this release together. It
    is a number for a report: it never enters the ledger, a stopping rule or a plan.

    Attributes
    ----------
    value : float
        Noisy estimate, the price of this release included.
    upper : float
        At least the true figure with probability ``confidence`` over the noise of the release;
        never above ``worst_case``.
    worst_case : float
        The epsilon of answers and this release whatever the votes, at the same order.
    price : float
        Renyi cost of this release at ``order``, already included in the three numbers above.
    noise_scale : float
        Released (noisy, padded) bound on the standard deviation of ``value``.
    order, delta, confidence : float
    secure : bool
        Whether the noise came from a secure source; if not, nothing here is private.
    """

    value: float
    upper: float
    worst_case: float
    price: float
    noise_scale: float
    order: float
    delta: float
    confidence: float
    secure: bool


def release_epsilon(
    votes: npt.ArrayLike,
    rule: VoteRule,
    *,
    order: float,
    delta: float,
    noise: NoiseSource,
    beta: float | None = None,
    noise_multiplier: float | None = None,
    scale_sigma: float | None = None,
    confidence: float = 0.95,
) -> ReleasedEpsilon:
    """Publish the vote-dependent epsilon of these releases, with noise, and add its price.

    Parameters
    ----------
    votes : array of shape (queries, classes)
        Private. The votes on **all** queries put to the mechanism, answered or not; the list of
        queries must have been fixed beforehand.
    rule : VoteRule
        What was released; discrete noise.
    order : float
        Renyi order, chosen without looking at the votes.
    delta : float
    noise : NoiseSource
        Draws two integers.
    beta : float, optional
        Smoothness, below ``1/(2 order)``. Default ``0.25 / order``.
    noise_multiplier : float, optional
        Noise on the cost in units of the smooth sensitivity. Default ``1.5 sqrt(order)``.
    scale_sigma : float, optional
        Noise on the logarithm of the smooth sensitivity, in units of ``beta``; pays for ``upper``.
        Default ``2 sqrt(order)``.
    confidence : float
        Of ``upper``.

    Returns
    -------
    ReleasedEpsilon

    Privacy
    -------
    Neighbours: one vote moves in every query. Two numbers leave: the cost with discrete Gaussian
    noise scaled by its smooth sensitivity, and the logarithm of that sensitivity with discrete
    Gaussian noise. Price at ``order``: `release_price`. The statistic, its sensitivity and the
    noise are integers; the only floating-point number that depends on the votes is the noise
    scale, whose rounding error is covered by pricing with ``beta * (1 + 1e-6)``. That scale is
    private and is handed to ``noise``, which must not show it; it cannot be refused, because its
    range is checked beforehand on public numbers.

    References
    ----------
    [PSMRTE18] Theorem 23, corrected; [CKS20] for the noise. Proof page, sections 5 to 7.
    """
    counts, alpha = check_votes(votes), float(check_orders(order)[0])
    delta, confidence = probability(delta=delta), probability(confidence=confidence)
    beta = 0.25 / alpha if beta is None else positive(beta=beta)
    root = math.sqrt(alpha)
    multiplier = positive(
        noise_multiplier=1.5 * root if noise_multiplier is None else noise_multiplier
    )
    log_sigma = positive(scale_sigma=2.0 * root if scale_sigma is None else scale_sigma)
    price = release_price(alpha, beta=beta, noise_multiplier=multiplier, scale_sigma=log_sigma)

    table, cells = cost_table(rule, int(counts[0].sum()), counts.shape[1], alpha), top_two(counts)
    _check_range(max(multiplier, 1.0) * counts.shape[0] * int(table.max()))
    spread = max(discounted_maximum(table, cells, beta), _LEAST / multiplier)
    step = beta * (1.0 + _SLACK)
    noisy_log = math.ceil(math.log(spread) / step) + int(noise.gaussian(log_sigma, 1)[0])
    noisy_cost = int(table[cells].sum()) + int(noise.gaussian(multiplier * spread, 1)[0])

    # From here on only the two released integers and public settings are used.
    reach = math.sqrt(2.0 * math.log(2.0 / (1.0 - confidence)))
    scale = UNIT * multiplier * math.exp(step * (noisy_log + math.ceil(reach * log_sigma)))
    worst = rule.worst_case_rdp(alpha, counts.shape[1]) * counts.shape[0] + price
    added = float(conversion_term(np.array([alpha]), delta)[0])
    low = UNIT * noisy_cost + price
    value, upper = min(max(low, price), worst), min(max(low + reach * scale, price), worst)
    return ReleasedEpsilon(
        value=max(0.0, value + added),
        upper=max(0.0, upper + added),
        worst_case=max(0.0, worst + added),
        price=price,
        noise_scale=scale,
        order=alpha,
        delta=delta,
        confidence=confidence,
        secure=noise.secure,
    )


def release_price(
    order: float, *, beta: float, noise_multiplier: float, scale_sigma: float
) -> float:
    """Return the Renyi cost, at ``order``, of `release_epsilon` itself: public.

    References
    ----------
    Proof page, section 7: the divergence between Gaussians whose scales differ by a factor of at
    most ``exp(beta)``, plus the theta terms of the integer grid; [CKS20] for the second number.
    [PSMRTE18] Theorem 23 is the same statement with a smaller formula, which fails for ``beta``
    near ``1/(2 order)``.

    Examples
    --------
    >>> round(release_price(20.0, beta=0.01, noise_multiplier=20.0, scale_sigma=20.0), 4)
    0.0683
    """
    alpha = float(check_orders(order)[0])
    b = positive(beta=beta) * (1.0 + _SLACK)
    multiplier = positive(noise_multiplier=noise_multiplier)
    log_sigma = positive(scale_sigma=scale_sigma)
    left = 1.0 - alpha * -math.expm1(-2.0 * b)
    if not (2.0 * alpha * b < 1.0 and left > 0.0):
        raise InvalidArgument(f"`beta` must be below 1/(2 order), got {beta!r}.")
    narrower = alpha * math.exp(-2.0 * b) / (2.0 * multiplier**2 * left) + _scale_cost(-b, alpha)
    wider = alpha / (2.0 * multiplier**2) + _scale_cost(b, alpha)
    grid = _log_theta(_LEAST / 2.0) * (1.0 + 1.0 / (alpha - 1.0))
    return max(narrower, wider) + grid + alpha / (2.0 * log_sigma**2) + PAD * alpha


def _scale_cost(log_ratio: float, order: float) -> float:
    """Renyi divergence of N(0, 1) from N(0, r^2), ``log r = log_ratio``."""
    square = math.expm1(2.0 * log_ratio)
    return log_ratio + (2.0 * log_ratio - math.log1p(order * square)) / (2.0 * (order - 1.0))


def _log_theta(scale: float) -> float:
    """Bound on log of the sum of ``exp(-2 pi^2 scale^2 k^2)`` over the integers k."""
    first = math.exp(-2.0 * math.pi**2 * scale**2)
    return 2.0 * first / (1.0 - first)


def _check_range(largest_scale: float) -> None:
    """Refuse on public numbers what the noise source could refuse with a private one."""
    if largest_scale > LARGEST_SCALE:
        raise InvalidArgument("`votes` must hold fewer queries for one release of this kind.")
