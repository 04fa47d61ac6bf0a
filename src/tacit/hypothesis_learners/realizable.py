"""Private prediction where some hypothesis is right on all records: teachers that vote.

Proof: ``docs/proofs/exponential_vote.md``; one record reaches one teacher by its position.
"""

from __future__ import annotations

import math
from typing import Any

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import FloatArray, as_points
from tacit.hypothesis_learners.answering import AnsweringLearner
from tacit.labeling.source import Answering, VotingSource
from tacit.ledger import Ledger
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.exponential import ExponentialVote
from tacit.mechanisms.prediction import consistent_teachers, teacher_votes
from tacit.noise import NoiseSource


class HypothesisVoters:
    """Teachers that are hypotheses of one class. Private."""

    def __init__(self, hypotheses: HypothesisClass, teachers: FloatArray) -> None:
        self._hypotheses, self._teachers = hypotheses, teachers
        self.n_teachers = len(teachers)

    def count(self, X: Any) -> VoteCounts:
        """Return the votes on public points, one row each. Private."""
        points = as_points(X, self._hypotheses.n_features)
        votes = teacher_votes(self._hypotheses, self._teachers, points)
        return VoteCounts(votes, self.n_teachers)

    def __repr__(self) -> str:
        return f"HypothesisVoters(n_teachers={self.n_teachers}, <private>)"


class RealizablePredictor(AnsweringLearner):
    """Answers by a private vote of hypotheses, each with the fewest mistakes on its own shard.

    For data on which some hypothesis makes (nearly) no mistake: every teacher then finds nearly the
    same one. On other data teachers may disagree although the class has a good hypothesis; see
    ``AgnosticPredictor`` and ``AgnosticOracle``.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of all answers together.
    n_questions : int
    n_teachers : int or "auto"
        "auto": as many as make a vote of two thirds come out right with probability
        ``1 - alpha``, and at least ``2 (d + 1)`` records for each.
    alpha : float, default 0.01
    ledger, key
        As for ``PrivatePredictor``.

    Attributes
    ----------
    mechanism_ : ExponentialVote
    n_teachers_ : int
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``; record i trains teacher ``i mod n_teachers_`` and no other.
    Event per answer: ``ExponentialSelection``.

    References
    ----------
    [DF18] Theorem 4.1; [DF20] Lemma 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.random.default_rng(0).random(4000)
    >>> private = RealizablePredictor(Thresholds(), epsilon=4.0, n_questions=2, n_teachers=40)
    >>> private.fit(x, x >= 0.5).predict([0.1, 0.9]).tolist()
    [0, 1]
    """

    n_questions: int
    n_teachers: int | str

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        n_questions: int = 1,
        n_teachers: int | str = "auto",
        alpha: float = 0.01,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _settle(self, n_records: int, budget: Budget) -> None:
        n_questions = validation.positive_integer(n_questions=self.n_questions)
        self.mechanism_ = ExponentialVote.for_budget(budget, answers=n_questions)
        alpha = validation.probability(alpha=self.alpha)
        self.n_teachers_ = chosen_teachers(
            self.n_teachers,
            n_records,
            wanted=teachers_for(self.mechanism_.epsilon_per_answer, alpha),
            least_records=2 * (self.hypotheses.vc_dimension + 1),
        )

    def _plan(self) -> Plan:
        return self.mechanism_.plan(self.delta)

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> Answering:
        teachers = consistent_teachers(
            self.hypotheses, self._records.X, self._records.y, self.n_teachers_
        )
        voters = HypothesisVoters(self.hypotheses, teachers)
        source = VotingSource(voters, self.mechanism_, self.classes, delta=self.delta)
        return source.open(ledger, noise=noise, key=key)


def teachers_for(vote_epsilon: float, alpha: float) -> int:
    """Return how many teachers make two thirds win an exponential vote but with chance alpha.

    The winner is ahead by a third of the votes, and loses with odds ``exp(-vote_epsilon K / 6)``.

    Examples
    --------
    >>> teachers_for(1.0, 0.01)
    28
    """
    return math.ceil(6 * math.log(1 / alpha) / vote_epsilon)


def chosen_teachers(given: Any, n_records: int, *, wanted: int, least_records: int) -> int:
    """Return the number of teachers: as given, or as wanted as far as the records reach."""
    if given == "auto":
        return max(1, min(wanted, n_records // least_records))
    teachers = validation.positive_integer(n_teachers=given)
    if teachers > n_records:
        raise InvalidArgument(
            f"`n_teachers` must be at most the number of records, {n_records}, got {teachers}."
        )
    return teachers
