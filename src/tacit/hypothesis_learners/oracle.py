"""Many answers from private records, no worse than the best hypothesis: relabel, then vote.

Proof: ``docs/proofs/relabelling.md`` and ``docs/proofs/sparse_vote.md``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit import validation
from tacit.accounting import amplification as prices
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import as_points
from tacit.hypothesis_learners.asking import CONSTANTS, AskedLearner, check_noise
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.ledger import Ledger
from tacit.ledger.analysts import Analyst
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.relabelled import RelabelledVote, RelabelledVoteRun
from tacit.mechanisms.sparse_vector import SparseVote
from tacit.noise import NoiseSource, Uncopyable

_SHARES = tuple(0.9 * 0.65**step for step in range(12))
_CLEAR = 0.9
"""A vote with this share on one side should be answered."""


class AgnosticOracle(AskedLearner):
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
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.n_questions = n_questions
        self.cutoff = cutoff
        self.selection_epsilon = selection_epsilon
        self.subset = subset
        self.n_teachers = n_teachers
        self.resample = resample
        self.constants = constants
        self.alpha = alpha
        self.beta = beta
        self.ledger = ledger
        self.key = key

    def _settle(self, n_records: int, budget: Budget) -> None:
        questions = validation.positive_integer(n_questions=self.n_questions)
        if validation.one_of(CONSTANTS, constants=self.constants) == "paper":
            alpha = validation.probability("Give the excess error to reach.", alpha=self.alpha)
            beta = validation.probability("Give the chance of failure.", beta=self.beta)
            self.mechanism_ = paper_mechanism(
                self.hypotheses, n_records, budget, questions=questions, alpha=alpha, beta=beta
            )
            return
        cutoff = (
            max(1, math.ceil(questions / 100))
            if self.cutoff == "auto"
            else validation.positive_integer(cutoff=self.cutoff)
        )
        wanted = Wanted(
            self.hypotheses,
            n_records,
            budget,
            questions,
            cutoff,
            validation.positive(selection_epsilon=self.selection_epsilon),
            self.n_teachers,
            self.resample,
        )
        self.mechanism_ = practical_mechanism(wanted, self.subset)

    def _account(self, budget: Budget) -> Budget:
        return self._plan().guarantee if self.constants == "paper" else budget

    def _plan(self) -> Plan:
        return self.mechanism_.plan()

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> RelabelledAnswers:
        return RelabelledAnswers(self.mechanism_, self._records, ledger, noise=noise, key=key)


class RelabelledAnswers(Uncopyable):
    """One relabelling opened on a ledger."""

    def __init__(
        self,
        mechanism: RelabelledVote,
        records: BinaryRecords,
        ledger: Ledger,
        *,
        noise: NoiseSource,
        key: str,
    ) -> None:
        check_noise(ledger, noise)
        self.ledger = ledger
        self.plan_id = ledger.open_plan(mechanism.plan(), key)
        self.plan = ledger.plan(self.plan_id)
        self._n_features = mechanism.hypotheses.n_features
        self._run = mechanism.start(records.X, records.y, noise=noise)
        self._lock = threading.Lock()

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost."""
        counts = self._run.count(as_points(points, self._n_features))
        with self._lock:
            release = PaidOnce(self._run, counts)
            return self.ledger.answer(self.plan_id, list(questions), release, on_behalf=on_behalf)

    def __repr__(self) -> str:
        return f"RelabelledAnswers({self.ledger!r})"


class PaidOnce:
    """Draws for a ledger from one relabelled run."""

    def __init__(self, run: RelabelledVoteRun, counts: VoteCounts) -> None:
        self._run, self._counts = run, counts

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return self._run.most_it_can_cost(questions)

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return self._run.release(self._counts[list(new)])

    def abandon(self) -> None:
        self._run.abandon()


@dataclass(frozen=True)
class Wanted:
    """What an oracle is asked to be, apart from how many records it samples. Public.

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
        usable = [found for size in sizes if (found := self.with_subset(size)) is not None]
        if not usable:
            return None
        return max(usable, key=lambda found: found.subset / found.teachers)


def practical_mechanism(wanted: Wanted, subset: int | str = "auto") -> RelabelledVote:
    """Return settings within the budget, chosen from public numbers alone.

    Refuses, with the size needed, when teachers would have too few records.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> found = practical_mechanism(Wanted(Thresholds(), 20_000, Budget(1.0, 1e-5), 100, 1))
    >>> found.event.pure_epsilon <= 1.0
    True
    """
    if wanted.budget.delta == 0:
        raise InvalidArgument("`delta` must be above 0: the sparse vector has no pure price.")
    if subset == "auto":
        found = wanted.best()
    else:
        found = wanted.with_subset(validation.positive_integer(subset=subset))
    if found is None:
        raise InvalidArgument(_too_few(wanted, subset))
    return found


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


def _too_few(wanted: Wanted, subset: int | str) -> str:
    if (subset, wanted.teachers) != ("auto", "auto"):
        return (
            "`subset` and `n_teachers` do not fit the budget: sampling so many records leaves "
            "nothing for the vote, or there are more teachers than sampled records. Leave them "
            "at 'auto'."
        )
    needed = 2 * wanted.n_records
    while replace(wanted, n_records=needed).best() is None:
        needed *= 2
    return (
        f"`X` must hold up to {needed} records for epsilon {wanted.budget.epsilon:g} and "
        f"{wanted.cutoff} refusal(s), got {wanted.n_records}: teachers would have fewer than "
        f"{wanted.hypotheses.vc_dimension + 1} records each."
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
