"""Many answers from private records, no worse than the best hypothesis: relabel, then vote.

Proof: ``docs/proofs/relabelling.md`` and ``docs/proofs/sparse_vote.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from tacit import validation
from tacit.accounting import amplification as prices
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import FloatArray
from tacit.hypothesis_learners.answering import AnsweringLearner
from tacit.hypothesis_learners.opened_plan import OpenedPlan
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.ledger import FixedPriceRelease, Ledger
from tacit.mechanisms.relabelled import RelabelledVote
from tacit.mechanisms.sparse_vector import SparseVote
from tacit.noise import NoiseSource

_SHARES = tuple(0.9 * 0.65**step for step in range(12))
_CLEAR = 0.9
"""A vote with this share on one side should be answered."""


class VotingOracle(AnsweringLearner):
    """An oracle that answers by a vote of teachers on relabelled records."""

    cutoff: int | str
    mechanism_: RelabelledVote
    _paper_sets_guarantee = True

    def _paper_vote(self, n_records: int, budget: Budget, questions: int) -> RelabelledVote:
        alpha, beta = self._paper_alpha(), self._paper_beta("chance of failure")
        return paper_mechanism(
            self.hypotheses, n_records, budget, questions=questions, alpha=alpha, beta=beta
        )

    def _requirements(
        self, n_records: int, budget: Budget, questions: int, questions_per_refusal: int
    ) -> VoteRequirements:
        if self.cutoff == "auto":
            cutoff = math.ceil(questions / questions_per_refusal)
        else:
            cutoff = validation.positive_integer(cutoff=self.cutoff)
        selection_epsilon = validation.positive(selection_epsilon=self.selection_epsilon)
        return VoteRequirements(
            self.hypotheses, n_records, budget, questions, cutoff, selection_epsilon
        )


class AgnosticOracle(VotingOracle):
    """Answers many questions, nearly as well as the best hypothesis of a class would.

    A vote of teachers trained on the records as they are may be up to three times worse than the
    best hypothesis: teachers may each find a good one, but not the same one. Here a random part
    of the records is first relabelled by one good hypothesis, drawn in secret; teachers trained on
    that agree, and the sparse vector answers clear votes free of charge.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of everything this oracle will ever answer.
    n_questions : int
        How many questions to plan for; only sets sizes, it is no limit.
    cutoff : int or "auto"
        How many refusals there may be before it stops. "auto": one in a hundred questions.
    selection_epsilon : float
        Of the exponential mechanism that selects the relabelling hypothesis.
    subset : int or "auto"
        How many records are drawn. "auto": as many as leave most records to each teacher.
    n_teachers : int or "auto"
    resample : bool, default False
        Draw the relabelled records again with replacement, as the paper does.
    constants : {"practical", "paper"}
        ``paper``: the settings of [NB20] Algorithm 3 for ``alpha`` and ``beta``; refuses, with the
        size needed, when there are too few records.
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``PrivatePredictor``.

    Attributes
    ----------
    mechanism_ : RelabelledVote
        The settings in force. Public.
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``, one record. Everything answered is one release, charged with
    its first answer. After that the relabelling lives in this object only: opened again under the
    same key, elsewhere or later, recorded answers come back and new questions are refused. The
    relabelling hypothesis is never released: it depends on the records' own points.

    References
    ----------
    [NB20] Algorithm 3. Departures: the distance of [LZCW21] in the sparse vector (the margin moves
    by 2); no resampling by default; prices computed, which allows a five times larger subset.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.random.default_rng(0).random(20_000)
    >>> oracle = AgnosticOracle(Thresholds(), n_questions=10_000, cutoff=1, epsilon=2.0, delta=1e-5)
    >>> oracle.fit(x, x >= 0.5).predict([0.1, 0.9]).tolist()
    [0, 1]
    >>> oracle.guarantee_.epsilon <= 2.0
    True
    """

    n_questions: int
    subset: int | str
    n_teachers: int | str
    resample: bool

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        n_questions: int = 100,
        cutoff: int | str = "auto",
        selection_epsilon: float = 1.0,
        subset: int | str = "auto",
        n_teachers: int | str = "auto",
        resample: bool = False,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _settle(self, n_records: int, budget: Budget) -> None:
        questions = validation.positive_integer(n_questions=self.n_questions)
        if self._uses_paper_constants():
            self.mechanism_ = self._paper_vote(n_records, budget, questions)
            return
        requirements = replace(
            self._requirements(n_records, budget, questions, 100),
            teachers=self.n_teachers,
            resample=self.resample,
        )
        self.mechanism_ = practical_mechanism(requirements, self.subset)

    def _plan(self) -> Plan:
        return self.mechanism_.plan()

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> RelabelledAnswers:
        return RelabelledAnswers(
            self.mechanism_, self._plan(), self._records, ledger, noise=noise, key=key
        )


class RelabelledAnswers(OpenedPlan):
    """One relabelling opened on a ledger."""

    def __init__(
        self,
        mechanism: RelabelledVote,
        plan: Plan,
        records: BinaryRecords,
        ledger: Ledger,
        *,
        noise: NoiseSource,
        key: str,
    ) -> None:
        n_features = mechanism.hypotheses.n_features
        super().__init__(plan, ledger, n_features=n_features, noise=noise, key=key)
        self._run = mechanism.start(records.X, records.y, noise=noise)

    def _release(self, table: FloatArray) -> FixedPriceRelease:
        run, counts = self._run, self._run.count(table)
        return FixedPriceRelease(
            run.most_it_can_cost, lambda new: run.release(counts[list(new)]), run.abandon
        )


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
