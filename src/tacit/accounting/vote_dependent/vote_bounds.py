"""Renyi cost of releasing the winners of given votes: smaller than the worst case, and private.

When nearly all teachers agree, one changed vote hardly changes the law of the answer. The cost
below uses this, so it depends on the votes. **It is private**: every function returns a
`PrivateValue`, and the only way to publish such a cost is `released_epsilon.release_epsilon`,
offline. It never enters the ledger, a stopping rule or a plan.

What the numbers say, and for whom, is in ``docs/proofs/vote_bounds.md``: they bound
``D_alpha(M(D) || M(D'))`` for the data set D that gave these votes and every neighbour D', when
the list of queries was fixed beforehand.

References
----------
[PSMRTE18] Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson: Scalable Private Learning with
PATE, arXiv:1802.08908. [CKS20] Canonne, Kamath, Steinke: The Discrete Gaussian for Differential
Privacy, arXiv:2004.00010.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tacit.accounting.vote_dependent.private_value import PrivateValue
from tacit.accounting.vote_dependent.vote_divergence import (
    expected_rdp,
    likely_outcome_rdp,
    two_step_rdp,
)
from tacit.accounting.vote_dependent.vote_tails import (
    Floats,
    Ints,
    VoteNoise,
    answer_law,
    check_orders,
    check_votes,
    log_pass_and_fail,
)
from tacit.validation import choice, finite, positive

__all__ = [
    "DEFAULT_ORDERS",
    "ConfidentCost",
    "VoteNoise",
    "argmax_rdp",
    "confident_rdp",
]

DEFAULT_ORDERS: tuple[float, ...] = (
    *(1.0 + i / 10 for i in range(1, 10)),
    *(i / 2 for i in range(4, 200)),
    *(float(x) for x in np.geomspace(100.0, 500.0, num=100)),
)

_ROWS = 2048  # queries handled at once, so that memory does not grow with their number


class ConfidentCost(StrEnum):
    """Which cost of a confident release: one that is a guarantee, or the published average."""

    GUARANTEE = "guarantee"
    EXPECTED = "expected"


def argmax_rdp(
    votes: npt.ArrayLike,
    *,
    sigma: float,
    orders: npt.ArrayLike = DEFAULT_ORDERS,
    noise: VoteNoise | str = VoteNoise.DISCRETE,
) -> PrivateValue[Floats]:
    """Return the Renyi cost, per order, of the noisy winners of all these votes.

    Labels only: noisy counts or shares cost the worst case whatever the votes.

    Parameters
    ----------
    votes : array of shape (queries, classes)
        Private. Votes on a list of queries fixed beforehand.
    sigma : float
        Standard deviation parameter of the noise on each count.
    orders : array of floats above 1
    noise : {"discrete", "continuous"}

    Returns
    -------
    PrivateValue of an array of shape (orders,)
        At most the cost whatever the votes: per query ``orders / sigma**2``, or half of that for
        discrete noise in two classes, where the library puts noise on one count only.

    Privacy
    -------
    Neighbours: one vote moves per query. The result is private; see `release_epsilon`.

    References
    ----------
    [PSMRTE18] Theorem 6 with the orders of Proposition 10; Proposition 8 for the worst case.

    Examples
    --------
    >>> argmax_rdp([[250, 0], [240, 10]], sigma=40.0, orders=[10.0])
    PrivateValue(<hidden>)
    """
    counts, alphas = check_votes(votes), check_orders(orders)
    sigma, law = positive(sigma=sigma), choice(VoteNoise, noise=noise)
    log_q, rate = _log_q(counts, sigma, law)
    parts = (log_q[i : i + _ROWS] for i in range(0, log_q.size, _ROWS))
    return PrivateValue(_sum(likely_outcome_rdp(part, rate, alphas) for part in parts))


def confident_rdp(
    votes: npt.ArrayLike,
    *,
    threshold: float,
    sigma_threshold: float,
    sigma_argmax: float,
    orders: npt.ArrayLike = DEFAULT_ORDERS,
    noise: VoteNoise | str = VoteNoise.DISCRETE,
    cost: ConfidentCost | str = ConfidentCost.GUARANTEE,
) -> PrivateValue[Floats]:
    """Return the Renyi cost, per order, of confident releases: test the top count, then argmax.

    Parameters
    ----------
    votes : array of shape (queries, classes)
        Private. Votes on a list of queries fixed beforehand, answered or not.
    threshold, sigma_threshold : float
        A query is answered when its largest count plus noise reaches the threshold.
    sigma_argmax : float
        Noise on every count of an answered query.
    orders, noise
        As in `argmax_rdp`.
    cost : {"guarantee", "expected"}
        ``guarantee`` bounds the divergence of both steps together. ``expected`` adds to the test's
        cost P[answered] times the cost of an answer: the published figure, an average and **not**
        a bound.

    Returns
    -------
    PrivateValue of an array of shape (orders,)

    Privacy
    -------
    Neighbours: one vote moves per query, so the largest count moves by at most 1. Private.

    References
    ----------
    [PSMRTE18] Algorithm 1 and Theorem 6. Departure: ``guarantee`` takes the exact divergence of the
    two-outcome test (``docs/proofs/vote_bounds.md``, section 4).
    """
    counts, alphas = check_votes(votes), check_orders(orders)
    law, kind = choice(VoteNoise, noise=noise), choice(ConfidentCost, cost=cost)
    sigma1, sigma2 = positive(sigma_threshold=sigma_threshold), positive(sigma_argmax=sigma_argmax)
    (log_q, rate), top = _log_q(counts, sigma2, law), counts.max(axis=1)
    tests = log_pass_and_fail(finite(threshold=threshold), sigma1, int(counts[0].sum()), law)

    def part(rows: slice) -> Floats:
        answer = likely_outcome_rdp(log_q[rows], rate, alphas)
        if kind is ConfidentCost.EXPECTED:
            return expected_rdp(top[rows], tests, sigma1, answer, alphas)
        return two_step_rdp(top[rows], tests, sigma1, answer, alphas)

    return PrivateValue(_sum(part(slice(i, i + _ROWS)) for i in range(0, top.size, _ROWS)))


def conversion_term(orders: Floats, delta: float) -> Floats:
    """Return what the conversion of [CKS20] adds to a Renyi bound at each order: public."""
    return np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)


def _log_q(counts: Ints, sigma: float, law: VoteNoise) -> tuple[Floats, float]:
    """Return the log of the union bound on q, and the rate of the worst case."""
    classes = counts.shape[1]
    winner = counts.argmax(axis=1)
    gaps = np.take_along_axis(counts, winner[:, None], axis=1) - counts
    table, rate = answer_law(sigma, int(counts[0].sum()), classes, law)
    tails = table[gaps]
    np.put_along_axis(tails, winner[:, None], -np.inf, axis=1)
    capped = np.minimum(np.logaddexp.reduce(tails, axis=1), math.log1p(-1.0 / classes))
    return np.asarray(capped, dtype=np.float64), rate


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.asarray(np.sum([part.sum(axis=0) for part in parts], axis=0), dtype=np.float64)
