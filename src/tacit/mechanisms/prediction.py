"""One label from private records alone: a hypothesis, or a vote, drawn anew for every question.

Proof: ``docs/proofs/private_prediction.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.events import AgnosticPrediction, Event, PrivatePrediction
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.mistakes import Hypothesis
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray
from tacit.mechanisms.base import Mechanism, label_answer
from tacit.mechanisms.exact import sampling, selection
from tacit.mechanisms.hypothesis import select_hypothesis
from tacit.mechanisms.redacted_errors import run_redacted
from tacit.noise import NoiseSource


def draw_from_subset(
    hypotheses: HypothesisClass,
    X: FloatArray,
    y: BoolArray,
    *,
    subset: int,
    epsilon: float,
    noise: NoiseSource,
) -> Hypothesis:
    """Draw a hypothesis by its mistakes on all records; a random subset gives the candidates.

    The weights are ``exp(-epsilon * mistakes / 2)`` ([DF20] section 3.1, steps 1 to 3). As private
    as the records: the candidates are their points.
    """
    chosen = sampling.random_subset(len(X), subset, noise=noise)
    counts = hypotheses.mistake_counts(X[chosen], X, y)
    return select_hypothesis(counts, epsilon=epsilon, noise=noise).hypothesis


def consistent_teachers(
    hypotheses: HypothesisClass, X: FloatArray, y: BoolArray, n_teachers: int
) -> FloatArray:
    """Return the hypothesis with the fewest mistakes on each shard, one row per teacher.

    Record i goes to shard ``i mod n_teachers``: by position alone, so one record reaches one
    teacher. Private.
    """
    return np.array(
        [
            hypotheses.minimise(X[teacher::n_teachers], y[teacher::n_teachers]).hypothesis
            for teacher in range(n_teachers)
        ]
    )


def teacher_votes(
    hypotheses: HypothesisClass, teachers: FloatArray, points: FloatArray
) -> IntArray:
    """Return how many teachers vote 0 and 1 on every point, one row each. Private."""
    ones = hypotheses.label(teachers, points).sum(axis=0).astype(np.int64)
    return np.column_stack([len(teachers) - ones, ones])


class PredictionMechanism(Mechanism):
    """Answers each question with a draw of its own, at the same price each time."""

    hypotheses: HypothesisClass
    records: int
    answers: int
    flip: float

    @property
    @abstractmethod
    def event(self) -> Event:
        """What one answer costs."""

    @abstractmethod
    def _label(self, X: FloatArray, y: BoolArray, point: FloatArray, noise: NoiseSource) -> int:
        """Draw the label of one point, before any flip. Private."""

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.answers),)

    def plan(self, delta: float) -> Plan:
        """Return the plan of ``answers`` answers, priced at ``delta``, for a ledger to hold."""
        return self._plan(delta, width=1, unit=1.0)

    def release(
        self, X: FloatArray, y: BoolArray, points: FloatArray, *, noise: NoiseSource
    ) -> list[Answer]:
        """Answer each point afresh. Every answer costs ``event``, also for the same point.

        Parameters
        ----------
        X, y : tables
            The records, ``records`` of them. Private.
        points : table
            Public, one row per question.
        """
        if len(X) != self.records:
            raise InvalidArgument(
                f"`X` must have the {self.records} records that were planned for, got {len(X)}."
            )
        event = self.event
        return [
            label_answer(self._flipped(X, y, point, noise), (event,), secure=noise.secure)
            for point in points
        ]

    def _flipped(self, X: FloatArray, y: BoolArray, point: FloatArray, noise: NoiseSource) -> int:
        label = run_redacted(
            lambda: self._label(X, y, point[None, :], noise),
            doing="Drawing the label of a question",
        )
        # Drawn also when the chance is 0, so that timing does not depend on it.
        return label ^ int(sampling.coin(self.flip, noise=noise))


@dataclass(frozen=True)
class HypothesisPrediction(PredictionMechanism):
    """Label each question by a hypothesis drawn for it; turn the label around by chance.

    Parameters
    ----------
    hypotheses : HypothesisClass
    records : int
        How many there are. Public.
    subset : int
        Size of the random subset whose points define the candidates.
    selection_epsilon : float
        Parameter of the exponential mechanism, gamma in the paper.
    flip : float
        In (0, 1/2).
    answers : int, default 1

    Privacy
    -------
    Neighbours: ``replace``. Event, per answer: ``PrivatePrediction(records, subset,
    selection_epsilon, flip)``. Proof: ``docs/proofs/private_prediction.md``, claims 1 and 2.

    References
    ----------
    [DF20] Corollary 1.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> rule = HypothesisPrediction(Thresholds(), 10_000, 100, selection_epsilon=0.1, flip=0.05)
    >>> round(rule.epsilon(delta=0.0), 3)
    0.486
    """

    name: ClassVar[str] = "HypothesisPrediction"
    hypotheses: HypothesisClass
    records: int
    subset: int
    selection_epsilon: float
    flip: float
    answers: int = 1

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.positive_integer(answers=self.answers)
        _ = self.event  # its settings are checked where they are priced

    @property
    def event(self) -> Event:
        """What one answer costs."""
        return PrivatePrediction(self.records, self.subset, self.selection_epsilon, self.flip)

    def _label(self, X: FloatArray, y: BoolArray, point: FloatArray, noise: NoiseSource) -> int:
        drawn = draw_from_subset(
            self.hypotheses, X, y, subset=self.subset, epsilon=self.selection_epsilon, noise=noise
        )
        return int(self.hypotheses.predict(drawn, point)[0])


@dataclass(frozen=True)
class RelabelledPrediction(PredictionMechanism):
    """Relabel all records by a drawn hypothesis, train teachers on them, let these vote.

    Parameters
    ----------
    hypotheses : HypothesisClass
    records, subset : int
    loss_rate : float
        a: the hypothesis is drawn with weight ``exp(-a * mistakes)``.
    vote_epsilon : float
        b: epsilon of the teachers' exponential vote.
    teachers : int
    eta, net_failure : float
        A subset of this size, less one, is an eta-net of the others but with this probability,
        whatever the records are. The price rests on it: take it from
        ``tacit.accounting.prediction.net_failure``, as ``AgnosticPredictor`` does.
    flip : float, default 0
        With a flip the price is pure; without one it has a delta.
    answers : int, default 1

    Privacy
    -------
    Neighbours: ``replace``. Event, per answer: ``AgnosticPrediction``. Proof:
    ``docs/proofs/private_prediction.md``, claims 2 to 4. The relabelling hypothesis, the relabelled
    records and the teachers exist only while one question is answered.

    References
    ----------
    [DF20] Theorem 2, section 4.2; [DF18] Theorem 4.1 for the vote.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> rule = RelabelledPrediction(
    ...     Thresholds(), 200_000, 2_000, loss_rate=2e-4, vote_epsilon=2e-4, teachers=10_000,
    ...     eta=0.019, net_failure=1e-6, flip=0.01,
    ... )
    >>> round(rule.epsilon(delta=0.0), 2)
    0.32
    """

    name: ClassVar[str] = "RelabelledPrediction"
    hypotheses: HypothesisClass
    records: int
    subset: int
    loss_rate: float
    vote_epsilon: float
    teachers: int
    eta: float
    net_failure: float
    flip: float = 0.0
    answers: int = 1

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.positive_integer(answers=self.answers)
        if self.teachers > self.records:
            raise InvalidArgument(
                f"`teachers` must be at most the number of records, {self.records}, "
                f"got {self.teachers}."
            )
        _ = self.event

    @property
    def event(self) -> Event:
        """What one answer costs."""
        return AgnosticPrediction(
            records=self.records,
            subset=self.subset,
            loss_rate=self.loss_rate,
            vote_epsilon=self.vote_epsilon,
            teachers=self.teachers,
            eta=self.eta,
            net_failure=self.net_failure,
            flip=self.flip,
        )

    def _label(self, X: FloatArray, y: BoolArray, point: FloatArray, noise: NoiseSource) -> int:
        drawn = draw_from_subset(
            self.hypotheses, X, y, subset=self.subset, epsilon=2 * self.loss_rate, noise=noise
        )
        relabelled = self.hypotheses.label(np.atleast_2d(drawn), X)[0]
        teachers = consistent_teachers(self.hypotheses, X, relabelled, self.teachers)
        (votes,) = teacher_votes(self.hypotheses, teachers, point)
        return int(selection.select(votes, self.vote_epsilon, noise=noise))
