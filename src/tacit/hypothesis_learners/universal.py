"""Any number of answers: a few by a private vote, and from their questions a public hypothesis.

Proof: ``docs/proofs/universal_oracle.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event, ExponentialSelection
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.mistakes import Hypothesis
from tacit.hypotheses.points import FloatArray, as_points
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.oracle import RelabelledAnswers, VotingOracle
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.hypothesis_learners.relabelled_settings import practical_mechanism
from tacit.ledger import Analyst, FixedPriceRelease, Ledger
from tacit.mechanisms.base import label_answer, label_answers
from tacit.mechanisms.hypothesis import select_hypothesis
from tacit.mechanisms.relabelled import RelabelledVote
from tacit.noise import NoiseSource

SPLITS = ("records", "budget")


class UniversalOracle(VotingOracle):
    """Answers ``n_first`` questions by vote, then learns from their points and answers all others.

    The points asked first are public; they are the cover from which the exponential mechanism
    draws a hypothesis. That hypothesis is a release of its own: it may be published, and answers
    any number of further questions at no cost.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of everything this oracle will ever answer.
    n_first : int
        How many different points to answer by vote before learning, m0 in the paper.
    split : {"records", "budget"}
        The vote and the learner must not both spend the whole epsilon on the same records, as the
        paper has it. ``records``: every other record each, with the whole budget. ``budget``: all
        records, with half of epsilon each.
    cutoff : int or "auto"
        How many refusals the vote may give; after them it has stopped, and the remaining first
        questions are refused, free. "auto": one in twenty.
    selection_epsilon : float
        As for ``AgnosticOracle``.
    constants : {"practical", "paper"}
        ``paper``: m0 of [NB20] Algorithm 4 and the vote of its Algorithm 3, for ``alpha`` and
        ``beta``; refuses, with the size needed, when there are too few records.
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``PrivatePredictor``.

    Attributes
    ----------
    n_first_ : int
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``, one record. Events: one ``RelabelledRun``, charged with the
    first answer, and one ``ExponentialSelection``, charged with the first answer by the hypothesis.
    Proof: ``docs/proofs/universal_oracle.md``.

    References
    ----------
    [NB20] Algorithm 4 and Definition 2. Departure: the paper spends epsilon twice on the same
    records.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.random.default_rng(0).random(40_000)
    >>> oracle = UniversalOracle(Thresholds(), epsilon=2.0, delta=1e-5, n_first=20)
    >>> first = oracle.fit(x, x >= 0.5).predict(np.linspace(0, 1, 20))
    >>> oracle.predict([0.1, 0.9]).tolist(), len(oracle.hypothesis_)
    ([0, 1], 2)
    """

    n_first: int
    split: str

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        n_first: int = 100,
        split: str = "records",
        cutoff: int | str = "auto",
        selection_epsilon: float = 1.0,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _settle(self, n_records: int, budget: Budget) -> None:
        by_records = validation.one_of(SPLITS, split=self.split) == "records"
        voting = (n_records + 1) // 2 if by_records else n_records
        if n_records < 2:
            raise InvalidArgument(f"`X` must hold at least two records, got {n_records}.")
        share = 1.0 if by_records else 0.5
        part = Budget(budget.epsilon * share, budget.delta)
        self.n_first_ = validation.positive_integer(n_first=self.n_first)
        if self._uses_paper_constants():
            alpha, beta = self._paper_alpha(), self._paper_beta("chance of failure")
            self.n_first_ = sizes.public_points(self.hypotheses.vc_dimension, alpha, beta)
            self.mechanism_ = self._paper_vote(voting, part, self.n_first_)
        else:
            requirements = self._requirements(voting, part, self.n_first_, 20)
            self.mechanism_ = practical_mechanism(requirements)
        self._learning = ExponentialSelection(part.epsilon)

    def _plan(self) -> Plan:
        return universal_plan(self.mechanism_, self._learning, self.split == "records")

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> UniversalAnswers:
        records = self._records
        if self.split == "records":
            # By position alone; every other one, in case the records are sorted.
            voting, learning = records.take(slice(0, None, 2)), records.take(slice(1, None, 2))
        else:
            voting = learning = records
        return UniversalAnswers(
            self.mechanism_,
            self._learning,
            self.n_first_,
            self._plan(),
            voting,
            learning,
            ledger,
            noise=noise,
            key=key,
        )

    @property
    def hypothesis_(self) -> Hypothesis:
        """The released hypothesis. Public; there is none before the first questions are used up."""
        self._fitted_plan()
        opened = self._opened
        if not isinstance(opened, UniversalAnswers) or opened.released is None:
            raise PrivateValueError(
                "No hypothesis has been released yet: it is learnt with the first question after "
                f"{self.n_first_} different ones."
            )
        return opened.released


def universal_plan(mechanism: RelabelledVote, learning: Event, disjoint: bool) -> Plan:
    """Return the plan of a vote and a learner on disjoint records, or on the same ones.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.hypothesis_learners.relabelled_settings import VoteRequirements
    >>> requirements = VoteRequirements(Thresholds(), 20_000, Budget(1.0, 1e-5), 100, 1)
    >>> vote = practical_mechanism(requirements)
    >>> round(universal_plan(vote, ExponentialSelection(1.0), disjoint=True).guarantee.epsilon, 3)
    1.0
    >>> round(universal_plan(vote, ExponentialSelection(1.0), disjoint=False).guarantee.epsilon, 3)
    2.0
    """
    first, second = mechanism.event, learning
    if disjoint:
        epsilon = max(first.pure_epsilon, second.pure_epsilon)
    else:
        epsilon = first.pure_epsilon + second.pure_epsilon
    return Plan(
        mechanism="UniversalOracle",
        events=((first, 1), (second, 1)),
        guarantee=Budget(epsilon, first.delta),
        accountant="parallel composition" if disjoint else "basic composition",
    )


class UniversalAnswers(RelabelledAnswers):
    """Both phases opened on a ledger."""

    def __init__(
        self,
        mechanism: RelabelledVote,
        learning: ExponentialSelection,
        n_first: int,
        plan: Plan,
        voting: BinaryRecords,
        records: BinaryRecords,
        ledger: Ledger,
        *,
        noise: NoiseSource,
        key: str,
    ) -> None:
        super().__init__(mechanism, plan, voting, ledger, noise=noise, key=key)
        self._learner = _PublicHypothesis(mechanism.hypotheses, learning, records, noise)
        self._first: dict[bytes, FloatArray] = {}  # public: points answered by vote
        self._n_first = n_first

    @property
    def released(self) -> Hypothesis | None:
        """The hypothesis, once an answer by it has been recorded. Public."""
        return self._learner.released

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost."""
        table = as_points(points, self._n_features)
        names = list(questions)
        with self._lock:
            until = self._until(names)
            answers = self._vote(table[:until], names[:until], on_behalf)
            if until == len(names):
                return answers
            return answers + self._by_hypothesis(table[until:], names[until:], on_behalf)

    def _until(self, names: Sequence[bytes]) -> int:
        """Return how many of the questions belong to the first phase: public."""
        seen = set(self._first)
        for position, name in enumerate(names):
            if name not in seen and len(seen) >= self._n_first:
                return position
            seen.add(name)
        return len(names)

    def _vote(
        self, table: FloatArray, names: list[bytes], on_behalf: Analyst | None
    ) -> list[Answer]:
        if not names:
            return []
        release = self._release(table)
        answers = self.ledger.answer(self.plan_id, names, release, on_behalf=on_behalf)
        for name, point in zip(names, table, strict=True):
            self._first.setdefault(name, point)
        return answers

    def _release(self, table: FloatArray) -> FixedPriceRelease:
        """Return the vote, which refuses for free once it has stopped."""
        run = self._run

        def price(questions: int) -> Mapping[Event, int]:
            return {} if run.stopped else run.most_it_can_cost(questions)

        def draw(new: Sequence[int]) -> list[Answer]:
            drawn = [] if run.stopped else run.release(run.count(table[list(new)]))
            # Refused without looking at anything: that the vote has stopped is known.
            refusal = label_answer(None, (), secure=self._noise.secure)
            return drawn + [refusal] * (len(new) - len(drawn))

        return FixedPriceRelease(price, draw, run.abandon)

    def _by_hypothesis(
        self, table: FloatArray, names: list[bytes], on_behalf: Analyst | None
    ) -> list[Answer]:
        learner, cover = self._learner, np.array(list(self._first.values()))
        release = FixedPriceRelease(
            learner.price, lambda new: learner.labels(cover, table[list(new)]), learner.abandon
        )
        answers = self.ledger.answer(self.plan_id, names, release, on_behalf=on_behalf)
        learner.recorded()
        return answers


class _PublicHypothesis:
    """Draws the public hypothesis once, and answers by it."""

    def __init__(
        self,
        hypotheses: HypothesisClass,
        event: ExponentialSelection,
        records: BinaryRecords,
        noise: NoiseSource,
    ) -> None:
        self._hypotheses, self.event = hypotheses, event
        self._records, self._noise = records, noise
        self._drawn: Hypothesis | None = None
        self.released: Hypothesis | None = None

    def labels(self, cover: FloatArray, points: FloatArray) -> list[Answer]:
        cost: tuple[Event, ...] = ()
        if self._drawn is None:
            counts = self._hypotheses.mistake_counts(cover, self._records.X, self._records.y)
            chosen = select_hypothesis(counts, epsilon=self.event.epsilon, noise=self._noise)
            self._drawn, cost = chosen.hypothesis, (self.event,)
        labels = self._hypotheses.predict(self._drawn, points).astype(np.int64)
        secure = self._noise.secure
        first = label_answers(labels[:1], cost, secure=secure)
        return first + label_answers(labels[1:], (), secure=secure)

    def price(self, questions: int) -> Mapping[Event, int]:
        return {} if self._drawn is not None else {self.event: 1}

    def recorded(self) -> None:
        """Note that what was drawn has been recorded: it may be seen."""
        self.released = self._drawn

    def abandon(self) -> None:
        """Forget a hypothesis of which it is unclear whether it was recorded."""
        if self.released is None:
            self._drawn = None
