"""Settings of a vote on relabelled records: the best within a budget, and those of the paper.

Proof: ``docs/proofs/relabelling.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tacit import validation
from tacit.accounting import amplification as prices
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.mechanisms.relabelled import RelabelledVote
from tacit.mechanisms.sparse_vector import SparseVote

_SHARES = tuple(0.9 * 0.65**step for step in range(12))
_CLEAR = 0.9
"""A vote with this share on one side should be answered."""


@dataclass(frozen=True)
class VoteRequirements:
    """The requested size and noise of an oracle, except how many records it samples. Public.

    Parameters
    ----------
    hypotheses : HypothesisClass
    n_records : int
    budget : Budget
    questions, cutoff : int
    selection_epsilon : float
    teachers : int or "auto"
    resample : bool
    """

    hypotheses: HypothesisClass
    n_records: int
    budget: Budget
    questions: int
    cutoff: int
    selection_epsilon: float = 1.0
    teachers: int | str = "auto"
    resample: bool = False

    def with_subset(self, subset: int) -> RelabelledVote | None:
        """Return the mechanism with this subset; None when budget or records do not reach.

        With "auto" teachers each must have ``d + 1`` records.
        """
        base = _base_budget(
            self.budget, subset, self.n_records, self.selection_epsilon, self.resample
        )
        if base is None:
            return None
        vote = SparseVote.for_budget(base, cutoff=self.cutoff)
        if self.teachers == "auto":
            teachers = clear_teachers(vote, self.questions)
            least = teachers * (self.hypotheses.vc_dimension + 1)
        else:
            teachers = least = validation.positive_integer(n_teachers=self.teachers)
        if least > subset:
            return None
        return RelabelledVote(
            self.hypotheses,
            self.n_records,
            subset,
            self.selection_epsilon,
            teachers,
            vote,
            base.delta,
            self.resample,
        )

    def best(self) -> RelabelledVote | None:
        """Return the mechanism that leaves most records to each teacher, if there is one."""
        sizes = sorted({max(1, math.floor(share * self.n_records)) for share in _SHARES})
        usable = [vote for size in sizes if (vote := self.with_subset(size)) is not None]
        return max(usable, key=lambda vote: vote.subset / vote.teachers, default=None)


def practical_mechanism(
    requirements: VoteRequirements, subset: int | str = "auto"
) -> RelabelledVote:
    """Return settings within the budget, chosen from public numbers alone.

    Refuses, with the size needed, when teachers would have too few records.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> requirements = VoteRequirements(Thresholds(), 20_000, Budget(1.0, 1e-5), 100, 1)
    >>> practical_mechanism(requirements).event.pure_epsilon <= 1.0
    True
    """
    if requirements.budget.delta == 0:
        raise InvalidArgument("`delta` must be above 0: the sparse vector has no pure price.")
    if subset == "auto":
        vote = requirements.best()
    else:
        vote = requirements.with_subset(validation.positive_integer(subset=subset))
    if vote is None:
        raise InvalidArgument(_too_few(requirements, subset))
    return vote


def _base_budget(
    budget: Budget, subset: int, n_records: int, selection_epsilon: float, resample: bool
) -> Budget | None:
    """Return what the vote may cost so that the whole stays within the budget."""
    inside = prices.largest_base_epsilon(budget.epsilon, subset=subset, records=n_records)
    epsilon = (inside - prices.relabelling_epsilon(selection_epsilon)) * (1 - 1e-9)
    if epsilon <= 1e-6:
        return None
    delta = min(budget.delta * n_records / subset, 0.1)
    if resample:
        epsilon = prices.largest_resampled_base(epsilon, records=subset)
        grown = prices.resampled(Budget(epsilon, 1e-30), records=subset).delta / 1e-30
        delta = delta / grown
    return Budget(epsilon, delta * (1 - 1e-9))


def clear_teachers(vote: SparseVote, questions: int) -> int:
    """Return how many teachers make nine votes in ten clear, on nearly all questions.

    A vote at distance D is refused with probability about ``2/3 exp((threshold - D)/(2 scale))``;
    that may use up a twentieth of the refusals planned for.

    Examples
    --------
    >>> clear_teachers(SparseVote(scale=2.0, threshold=45, cutoff=1), 100)
    187
    """
    spare = 2 * vote.scale * math.log(max(2.0, 40 * questions / (3 * vote.cutoff)))
    return math.ceil(2 * (vote.threshold + spare + 1) / (2 * _CLEAR - 1))


def _too_few(requirements: VoteRequirements, subset: int | str) -> str:
    if (subset, requirements.teachers) != ("auto", "auto"):
        return (
            "`subset` and `n_teachers` do not fit the budget: sampling so many records leaves "
            "nothing for the vote, or there are more teachers than sampled records. Leave them "
            "at 'auto'."
        )
    needed = 2 * requirements.n_records
    while replace(requirements, n_records=needed).best() is None:
        needed *= 2
    return (
        f"`X` must hold up to {needed} records for epsilon {requirements.budget.epsilon:g} and "
        f"{requirements.cutoff} refusal(s), got {requirements.n_records}: teachers would have "
        f"fewer than {requirements.hypotheses.vc_dimension + 1} records each."
    )


def paper_mechanism(
    hypotheses: HypothesisClass,
    n_records: int,
    budget: Budget,
    *,
    questions: int,
    alpha: float,
    beta: float,
) -> RelabelledVote:
    """Return the settings of [NB20] Algorithm 3, or refuse with the number of records needed."""
    d, m = hypotheses.vc_dimension, questions
    log_delta = math.log(2 / budget.delta)
    spread = math.sqrt(3 * m * alpha * math.log(m / beta)) / 4
    cutoff = max(1, math.ceil(m * alpha / 8 + spread))
    share = min(1.0, alpha * max(1.0, math.sqrt(m * alpha)))  # epsilon* in Lemma 8
    base = Budget(share / log_delta, budget.delta / (2 * math.exp(share) * log_delta))
    vote = SparseVote.for_budget(base, cutoff=cutoff, questions=m, constants="btt18")
    smaller = min(base.delta, beta / 2)
    teachers = math.ceil(34 * math.sqrt(2) * vote.scale * math.log(4 * m * cutoff / smaller))
    # The size of S'' in the proof of Lemma 9.
    needed = max(
        teachers,
        8000
        * (d * math.log(1 / alpha) + math.log(m / beta))
        * log_delta**1.5
        * math.log(max(math.e, m * alpha / min(budget.delta, beta / 2)))
        * max(1.0, math.sqrt(m) * alpha**1.5)
        / alpha**2,
    )
    subset = math.floor(min(1.0, budget.epsilon / 56) * n_records)
    if subset < needed:
        enough = math.ceil(needed / min(1.0, budget.epsilon / 56))
        raise InvalidArgument(
            f"`X` must hold at least {enough} records for the constants of the paper at "
            f"alpha={alpha:g}, beta={beta:g}, got {n_records}. Use constants='practical', or ask "
            "for less."
        )
    return RelabelledVote(
        hypotheses, n_records, subset, 1.0, teachers, vote, base.delta, resample=True
    )
