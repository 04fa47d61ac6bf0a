"""A vote of teachers trained on a random, relabelled part of the records, as one release.

Proof: ``docs/proofs/relabelling.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.events import Event, RelabelledRun
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import BoolArray, FloatArray, as_points
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.exact import sampling
from tacit.mechanisms.hypothesis import select_hypothesis
from tacit.mechanisms.prediction import consistent_teachers, teacher_votes
from tacit.mechanisms.redacted_errors import run_redacted
from tacit.mechanisms.sparse_vector import SparseRun, SparseVote
from tacit.noise import NoiseSource, Uncopyable


@dataclass(frozen=True)
class RelabelledVote(Mechanism):
    """Relabel a random subset by a selected hypothesis, train teachers on it, release votes.

    Parameters
    ----------
    hypotheses : HypothesisClass
    records, subset : int
        How many records there are, and how many are drawn without replacement.
    selection_epsilon : float
        Of the exponential mechanism that selects the relabelling hypothesis.
    teachers : int
        Trained on disjoint shards of the relabelled subset.
    vote : SparseVote
        Releases their votes.
    base_delta : float
        At which the vote is priced.
    resample : bool, default False
        Draw the relabelled subset again with replacement first, as [NB20] does.

    Privacy
    -------
    Neighbours: ``replace``, one record. Event: one ``RelabelledRun`` for everything a run ever
    answers, charged to its first answer. The subset, the relabelling hypothesis and the teachers
    never leave.

    References
    ----------
    [NB20] Algorithm 3; [BNS15] Algorithm 2.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.mechanisms import SparseVote
    >>> vote = SparseVote(scale=2.0, threshold=50, cutoff=1)
    >>> RelabelledVote(Thresholds(), 10_000, 950, 1.0, 150, vote, 1e-5).event.pure_epsilon < 1.0
    True
    """

    name: ClassVar[str] = "RelabelledVote"
    hypotheses: HypothesisClass
    records: int
    subset: int
    selection_epsilon: float
    teachers: int
    vote: SparseVote
    base_delta: float
    resample: bool = False

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.instance(SparseVote, vote=self.vote)
        teachers = validation.positive_integer(teachers=self.teachers)
        if teachers > self.subset:
            raise InvalidArgument(
                f"`teachers` must be at most the size of the subset, {self.subset}, got {teachers}."
            )
        if self.vote.n_classes != 2:
            raise InvalidArgument(f"`vote` must be of two classes, got {self.vote.n_classes}.")
        _ = self.event

    @cached_property
    def event(self) -> Event:
        """What a whole run costs."""
        return RelabelledRun(
            records=self.records,
            subset=self.subset,
            selection_epsilon=self.selection_epsilon,
            base_epsilon=self.vote.epsilon(self.base_delta),
            base_failure=self.base_delta,
            resampled=self.resample,
        )

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, 1),)

    def plan(self) -> Plan:
        """Return the plan of one run, for a ledger to hold."""
        return self._plan(self.event.delta, width=1, unit=1.0)

    def start(self, X: FloatArray, y: BoolArray, *, noise: NoiseSource) -> RelabelledVoteRun:
        """Draw, relabel and train. Private; nothing has been released or spent yet."""
        if len(X) != self.records:
            raise InvalidArgument(
                f"`X` must have the {self.records} records that were planned for, got {len(X)}."
            )
        teachers = run_redacted(
            lambda: relabelled_teachers(self, X, y, noise=noise),
            doing="Training teachers on relabelled records",
        )
        return RelabelledVoteRun(self, teachers, self.vote.start(noise=noise))


def relabelled_teachers(
    mechanism: RelabelledVote, X: FloatArray, y: BoolArray, *, noise: NoiseSource
) -> FloatArray:
    """Return the teachers, one hypothesis per row. Private, like all that happens here."""
    chosen = sampling.random_subset(len(X), mechanism.subset, noise=noise)
    points, labels = X[chosen], y[chosen]
    hypotheses = mechanism.hypotheses
    counts = hypotheses.mistake_counts(points, points, labels)
    selected = select_hypothesis(counts, epsilon=mechanism.selection_epsilon, noise=noise)
    relabelled = hypotheses.label(np.atleast_2d(selected.hypothesis), points)[0]
    if mechanism.resample:
        again = sampling.resample(len(points), len(points), noise=noise)
        points, relabelled = points[again], relabelled[again]
    # The subset comes in random order, so dealing it out by position is dealing at random.
    return consistent_teachers(hypotheses, points, relabelled, mechanism.teachers)


class RelabelledVoteRun(Uncopyable):
    """One run: answers questions until the vote stops. Charges its first answer with all of it."""

    def __init__(self, mechanism: RelabelledVote, teachers: FloatArray, run: SparseRun) -> None:
        self._hypotheses, self._teachers, self._run = mechanism.hypotheses, teachers, run
        self._event = mechanism.event
        self._paid = False

    @property
    def stopped(self) -> bool:
        """Whether the last refusal planned for has been given. Public."""
        return not self._run.live and not self._run.instances_left

    def most_it_can_cost(self, questions: int) -> Mapping[Event, int]:
        """The whole run with the first answer, and nothing after it."""
        return {self._event: 1} if questions and not self._paid else {}

    def count(self, points: FloatArray) -> VoteCounts:
        """Return the votes on public points. Private."""
        table = as_points(points, self._hypotheses.n_features)
        votes = teacher_votes(self._hypotheses, self._teachers, table)
        return VoteCounts(votes, len(self._teachers))

    def release(self, counts: VoteCounts) -> list[Answer]:
        """Answer questions in order; fewer when the vote stops on the way.

        Raises
        ------
        MechanismStopped
            When nothing more can be answered.
        """
        drawn = self._run.release(counts)
        # What the vote charges by itself is part of the run's price.
        answers = [replace(answer, cost=()) for answer in drawn]
        if answers and not self._paid:
            answers[0] = replace(answers[0], cost=(self._event,))
            self._paid = True
        return answers

    def abandon(self) -> None:
        """Forget live noise, and that anything was paid: it is unclear whether it was recorded."""
        self._run.abandon()
        self._paid = False

    def __repr__(self) -> str:
        return "RelabelledVoteRun(<private>)"
