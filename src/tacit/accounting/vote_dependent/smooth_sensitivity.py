"""Smooth sensitivity of the vote-dependent cost, by exhaustion over a public table.

The cost of one query is rounded up to a multiple of ``UNIT`` in a table indexed by its two largest
counts; the statistic is a sum of table entries, and its sensitivity at every distance comes from
the same table. All of it is integer arithmetic. Proofs: ``docs/proofs/vote_bounds.md``, sections 5
and 6. What is done with it: `tacit.accounting.vote_dependent.released_epsilon`.

References
----------
[NRS07] Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis.
[PSMRTE18] arXiv:1802.08908, appendix, Algorithms 3 to 5. Departure: the statistic depends on the
top two counts only, so that local sensitivity is found by exhaustion instead of under conditions
checked numerically.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.accounting.vote_dependent.private_value import PrivateValue
from tacit.accounting.vote_dependent.vote_divergence import likely_outcome_rdp, two_step_rdp
from tacit.accounting.vote_dependent.vote_tails import (
    Floats,
    Ints,
    VoteNoise,
    answer_law,
    check_orders,
    check_votes,
    log_pass_and_fail,
)
from tacit.errors import InvalidArgument
from tacit.validation import finite, positive

__all__ = ["UNIT", "VoteRule", "cost_table", "discounted_maximum", "smooth_sensitivity", "top_two"]

UNIT = 2.0**-24
"""The grid, in units of Renyi divergence, on which costs and noise live."""

_MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))


@dataclass(frozen=True)
class VoteRule:
    """Public settings of the release whose cost is in question.

    Parameters
    ----------
    sigma : float
        Noise on each count of an answered query, or on one count in two classes (discrete
        Gaussian, labels released: `GaussianVote` and `ConfidentVote`).
    threshold, sigma_threshold : float, optional
        Confident release: the test on the largest count. Both or neither.
    """

    sigma: float
    threshold: float | None = None
    sigma_threshold: float | None = None

    def __post_init__(self) -> None:
        positive(sigma=self.sigma)
        if (self.threshold is None) != (self.sigma_threshold is None):
            raise InvalidArgument("`threshold` and `sigma_threshold` must be given together.")
        if self.threshold is not None:
            finite(threshold=self.threshold)
            positive(sigma_threshold=self.sigma_threshold)

    def worst_case_rdp(self, order: float, classes: int) -> float:
        """Return the cost of one query at this order whatever the votes."""
        test = 0.0 if self.sigma_threshold is None else order / (2.0 * self.sigma_threshold**2)
        return test + order / (self.sigma**2 * (2.0 if classes == 2 else 1.0))


def smooth_sensitivity(
    votes: npt.ArrayLike, rule: VoteRule, *, order: float, beta: float
) -> PrivateValue[float]:
    """Return a ``beta``-smooth bound on how far one vote per query moves the cost.

    Parameters
    ----------
    votes : array of shape (queries, classes)
        Private.
    rule : VoteRule
    order : float
        The Renyi order, above 1; chosen without looking at the votes.
    beta : float
        Smoothness: neighbours' bounds differ by a factor of at most ``exp(beta)``.

    Privacy
    -------
    The result depends on the votes and is not released.

    References
    ----------
    [NRS07] Definition 2.2; [PSMRTE18] appendix. Proof: section 6 of the proof page.
    """
    counts, alpha = check_votes(votes), float(check_orders(order)[0])
    table = cost_table(rule, int(counts[0].sum()), counts.shape[1], alpha)
    return PrivateValue(UNIT * discounted_maximum(table, top_two(counts), positive(beta=beta)))


def cost_table(rule: VoteRule, teachers: int, classes: int, order: float) -> Ints:
    """Return the cost of one query in grid units for every possible top two counts; -1 elsewhere.

    The entry bounds the divergence in both directions between any histogram with these two largest
    counts and any neighbour. It depends on public settings only.
    """
    if rule.worst_case_rdp(order, classes) > 2.0**20:
        raise InvalidArgument(f"`order` must leave the worst case below 2**20, got {order!r}.")
    first, second = np.nonzero(_possible(teachers, classes))
    orders = np.array([order])
    tail, rate = answer_law(rule.sigma, teachers, classes, VoteNoise.DISCRETE)
    cost = likely_outcome_rdp(_largest_log_q(tail, classes, first, second), rate, orders)
    if rule.threshold is not None and rule.sigma_threshold is not None:
        tests = log_pass_and_fail(
            rule.threshold, rule.sigma_threshold, teachers, VoteNoise.DISCRETE
        )
        cost = two_step_rdp(first, tests, rule.sigma_threshold, cost, orders)
    table = np.full((teachers + 1, teachers + 1), -1, dtype=np.int64)
    table[first, second] = np.ceil(cost[:, 0] / UNIT).astype(np.int64)
    return _spread_once(table)


def _possible(teachers: int, classes: int) -> npt.NDArray[np.bool_]:
    """Whether (n1, n2) are the two largest counts of some histogram."""
    n1, n2 = np.ogrid[: teachers + 1, : teachers + 1]
    rest = teachers - n1 - n2
    return np.asarray((n2 <= n1) & (rest >= 0) & (rest <= (classes - 2) * n2))


def _largest_log_q(tail: Floats, classes: int, n1: Ints, n2: Ints) -> Floats:
    """Largest union bound over histograms with top two counts n1, n2 (section 5)."""
    teachers = tail.size - 1
    rest, size = teachers - n1 - n2, np.maximum(n2, 1)
    full, left = rest // size, rest % size
    empty = classes - 2 - full - (left > 0)
    with np.errstate(divide="ignore"):
        terms = np.stack(
            [
                tail[n1 - n2] + np.log1p(full),
                np.where(left > 0, tail[n1 - left], -np.inf),
                tail[n1] + np.log(empty),
            ]
        )
    cap = math.log1p(-1.0 / classes)
    return np.asarray(np.minimum(np.logaddexp.reduce(terms, axis=0), cap), dtype=np.float64)


def _neighbours(table: Ints) -> list[Ints]:
    """The table as seen from each place one moved vote can lead to; -1 outside."""
    padded = np.pad(table, 1, constant_values=-1)
    rows, columns = table.shape
    return [padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i, j in _MOVES]


def _spread_once(table: Ints) -> Ints:
    """Replace each possible entry by the largest among it and its neighbours."""
    return np.where(table < 0, -1, np.maximum.reduce([table, *_neighbours(table)]))


def _local_sensitivity(table: Ints) -> Ints:
    changes = [np.where(other < 0, 0, np.abs(other - table)) for other in _neighbours(table)]
    return np.where(table < 0, -1, np.maximum.reduce(changes))


def discounted_maximum(table: Ints, cells: tuple[Ints, Ints], beta: float) -> float:
    """Largest over distances d of ``exp(-beta d)`` times the sensitivity at distance d."""
    reached, best, distance = _local_sensitivity(table), 0.0, 0
    while True:
        best = max(best, math.exp(-beta * distance) * int(reached[cells].sum()))
        further = _spread_once(reached)
        if np.array_equal(further, reached):
            return best
        reached, distance = further, distance + 1


def top_two(counts: Ints) -> tuple[Ints, Ints]:
    ordered = np.sort(counts, axis=1)
    return ordered[:, -1], ordered[:, -2]
