"""How many refusals a sparse vector should plan for.

Every refusal costs, and the threshold that votes must reach grows with the number that is planned
for: too few and the oracle falls silent early, too many and it refuses what it could answer.
"""

from __future__ import annotations

import math

from scipy import stats

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import sparse_vector
from tacit.accounting.search import largest_integer
from tacit.errors import InvalidArgument

SHARE_OF_WRONG = 3
"""A question is hard when a third of the teachers err on it [BTT18, Theorem 3.2]."""

AUTO_SHARE = 0.1
"""Refusals planned per question when nothing is known of the teachers' errors."""

_DEVIATIONS = 3
_CONFIDENCE = 0.95


def hard_questions(error: float, n_questions: int) -> int:
    """Return how many questions, at most, a third of the teachers will err on.

    If teachers err with probability ``error`` on average, then by Markov's inequality a random
    question is hard with probability at most ``3 * error``, and the number of hard ones among
    independent questions has a binomial quantile. ([BTT18] Theorem 3.2 bounds it by a deviation
    that is not a Chernoff bound; the quantile is exact.)

    Parameters
    ----------
    error : float
        Mean error of the teachers, in [0, 1]: a released number, never the true one.
    n_questions : int

    Examples
    --------
    >>> hard_questions(0.02, 1000)
    73
    >>> hard_questions(0.5, 1000)
    1000
    """
    validation.positive_integer(n_questions=n_questions)
    chance = min(1.0, SHARE_OF_WRONG * max(0.0, validation.finite(error=error)))
    return max(1, int(stats.binom.ppf(_CONFIDENCE, n_questions, chance)))


def largest_cutoff(budget: Budget, *, n_teachers: int, n_questions: int) -> int:
    """Return the most refusals that leave clear votes answerable.

    A vote on which two thirds of the teachers agree has a distance of about ``n_teachers / 6``;
    it must pass the threshold with three noise scales to spare.

    Parameters
    ----------
    budget : Budget
    n_teachers : int
    n_questions : int
        More refusals than questions are never planned.

    Raises
    ------
    InvalidArgument
        When not even a single refusal can be planned for: a unanimous vote would be refused.

    Examples
    --------
    >>> largest_cutoff(Budget(1.0, 1e-5), n_teachers=1000, n_questions=1000)
    2
    >>> largest_cutoff(Budget(1.0, 1e-5), n_teachers=10_000, n_questions=1000)
    42
    """
    validation.positive_integer(n_teachers=n_teachers)
    validation.positive_integer(n_questions=n_questions)
    _refuse_silent(budget, n_teachers)
    return largest_integer(
        lambda cutoff: _answerable(budget, cutoff, n_teachers), 1, n_questions + 1
    )


def _answerable(budget: Budget, cutoff: int, n_teachers: int) -> bool:
    vote = sparse_vector(budget, cutoff=cutoff)
    return vote.threshold + _DEVIATIONS * vote.scale <= n_teachers / 6 - 1


def _refuse_silent(budget: Budget, n_teachers: int) -> None:
    threshold = sparse_vector(budget, cutoff=1).threshold
    unanimous = math.ceil(n_teachers / 2) - 1
    if threshold > unanimous:
        raise InvalidArgument(
            f"`n_teachers` must be at least {2 * math.floor(threshold) + 2} for a sparse vector "
            f"with this budget, got {n_teachers}: even a unanimous vote would be refused. Use more "
            'teachers, a larger epsilon, or mechanism="gaussian".'
        )
