"""The sparse vector: clear pluralities are answered free of charge, refusals cost.

An *instance* runs from the draw of a noisy threshold to the refusal that ends it. Its whole price
is spent when the threshold is drawn, whatever follows, so instances are counted and not refusals.

Proof: ``docs/proofs/sparse_vote.md``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import sparse_vector
from tacit.accounting.events import Event, SparseInstance
from tacit.accounting.sparse import unstable_probability
from tacit.errors import MechanismStopped, NoiseError
from tacit.mechanisms.base import Run, VoteMechanism, VoteRun, label_answer
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.instability import plain_votes
from tacit.noise import NoiseSource, checked_scale

_PLANNED_REFUSALS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5)
"""Shares of the questions that a plan tries as the cut-off."""


@dataclass(frozen=True)
class SparseVote(VoteMechanism):
    """Answer with the exact plurality while it is clear; refuse, and pay, when it is not.

    A question is answered iff ``distance + Z > threshold + V``: the distance is ``max(0,
    ceil(margin / 2) - 1)``, Z is discrete Laplace of scale ``2 * scale`` and V of ``scale``, drawn
    anew after every refusal.

    Parameters
    ----------
    scale : float
        Lambda in the papers.
    threshold : float
        w in the papers; only its integer part matters, since everything compared is whole.
    cutoff : int
        T in the papers: how many instances a run may start.
    n_classes : int, default 2

    Privacy
    -------
    Neighbours: one vote of every question moves. Event, per instance: ``SparseInstance(scale,
    failure)``: pure ``2 / scale`` but for an event of probability ``failure``, that a question
    whose plurality differs between neighbours is answered; the number of questions plays no part.
    Charged to the answer at which the threshold was drawn. Proof: ``docs/proofs/sparse_vote.md``.

    References
    ----------
    [LZCW21] Algorithm 2; [BTT18] Algorithm 2; [NB20] Algorithm 5. Departures: the distance of
    [LZCW21] for all of them (the margin moves by 2, not 1), integer noise, and exactly ``cutoff``
    instances (the printed loops run one more).

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> vote = SparseVote(scale=5.0, threshold=100, cutoff=2)
    >>> run = vote.start(noise=SecureNoise())
    >>> answers = run.release(VoteCounts([[0, 1000], [1000, 0]], n_teachers=1000))
    >>> [(answer.label, len(answer.cost)) for answer in answers]  # the second one is free
    [(1, 1), (0, 0)]
    """

    name: ClassVar[str] = "SparseVote"
    scale: float
    threshold: float
    cutoff: int
    n_classes: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(scale=self.scale))
        object.__setattr__(self, "threshold", validation.non_negative(threshold=self.threshold))
        validation.positive_integer(cutoff=self.cutoff)
        validation.integer(2, n_classes=self.n_classes)

    @classmethod
    def for_run(cls, run: VoteRun) -> SparseVote:
        return cls.for_budget(run.budget, cutoff=run.refusals, n_classes=run.n_classes)

    @classmethod
    def variants(cls, run: VoteRun) -> list[SparseVote]:
        cutoffs = {1, *(max(1, round(share * run.n_questions)) for share in _PLANNED_REFUSALS)}
        votes = [
            cls.for_budget(run.budget, cutoff=cutoff, n_classes=run.n_classes)
            for cutoff in sorted(cutoffs)
        ]
        # A threshold that a unanimous vote does not reach answers nothing. One such vote stays, so
        # that a plan can say so.
        unanimous = math.ceil(run.n_teachers / 2) - 1
        return [vote for vote in votes if vote.smallest_distance <= unanimous] or votes[:1]

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        cutoff: int,
        n_classes: int = 2,
        questions: int | None = None,
        constants: str = "tight",
    ) -> SparseVote:
        """Return the vote with the lowest threshold that keeps ``cutoff`` instances in ``budget``.

        Parameters
        ----------
        budget : Budget
            With a positive delta.
        cutoff : int
        n_classes : int
        questions : int, optional
            Only the constants printed in the papers depend on the number of questions.
        constants : {"tight", "paper", "btt18"}
            The default; those of [LZCW21] Algorithm 2; those of [BTT18] Algorithm 2.
        """
        validation.integer(2, n_classes=n_classes)
        calibrated = sparse_vector(budget, cutoff=cutoff, questions=questions, constants=constants)
        return cls(calibrated.scale, calibrated.threshold, calibrated.cutoff, n_classes)

    @property
    def smallest_distance(self) -> int:
        return math.floor(self.threshold)

    def describe_noise(self) -> str:
        return f"lambda {self.scale:.4g}, w {self.threshold:.0f}, T {self.cutoff}"

    @property
    def failure(self) -> float:
        """Probability that an instance answers an unstable question, at most."""
        return unstable_probability(self.scale, self.threshold)

    @property
    def event(self) -> Event:
        """What one instance costs."""
        return SparseInstance(self.scale, self.failure)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.cutoff),)

    def start(self, *, noise: NoiseSource) -> SparseRun:
        return SparseRun(self, noise)


class SparseRun(Run):
    """A run of ``SparseVote``: at most one live threshold, and how many may still be drawn."""

    def __init__(self, mechanism: SparseVote, noise: NoiseSource) -> None:
        self._mechanism, self._noise = mechanism, noise
        self._event, self._scale = mechanism.event, 2 * mechanism.scale
        self._unstarted = mechanism.cutoff
        self._bar: int | None = None  # the live threshold, private until its instance ends
        self._process = os.getpid()
        # One object for all answers alike: they never change.
        self._free = [self._answer(label, ()) for label in range(mechanism.n_classes)]

    @property
    def instances_left(self) -> int:
        """How many instances may still be started. Public."""
        return self._unstarted

    @property
    def live(self) -> bool:
        """Whether an instance that is already paid for is open. Public."""
        return self._bar is not None

    def most_it_can_cost(self, questions: int) -> Mapping[Event, int]:
        """Every question may be refused, and the next one then starts an instance.

        A live instance is paid for: the first question can only end it.
        """
        starts = questions if self._bar is None else max(0, questions - 1)
        most = min(starts, self._unstarted)
        return {self._event: most} if most else {}

    def release(self, counts: VoteCounts) -> list[Answer]:
        self._mechanism._check(counts)
        questions = counts.n_questions
        if os.getpid() != self._process:
            # A child holds the same live threshold and the same allowance: both would spend it.
            raise NoiseError(
                "A sparse-vector run cannot go on in a forked process. Start a run of its own "
                "there, or let a Labeler with a ledger do so."
            )
        if questions and self._bar is None and not self._unstarted:
            raise MechanismStopped(
                f"All {self._mechanism.cutoff} planned instances have ended in a refusal or were "
                "abandoned. Start a run with a new budget."
            )
        drawn = self._noise.laplace(self._scale, questions).tolist()
        answers = []
        for (label, distance), noise in zip(plain_votes(counts), drawn, strict=True):
            cost: tuple[Event, ...] = ()
            bar = self._bar
            if bar is None:
                if not self._unstarted:
                    break
                cost, bar = (self._event,), self._open()
            # Strictly above, as in the proof; both sides are whole numbers.
            if distance + noise > bar:
                answers.append(self._answer(label, cost) if cost else self._free[label])
            else:
                self._bar = None
                answers.append(self._answer(None, cost))
        return answers

    def abandon(self) -> None:
        """Drop the live threshold: the next question starts, and pays for, a new instance.

        For when it is unclear whether answers given under it were recorded. What was paid stays
        paid.
        """
        self._bar = None

    def _answer(self, label: int | None, cost: tuple[Event, ...]) -> Answer:
        return label_answer(label, cost, secure=self._noise.secure)

    def _open(self) -> int:
        """Draw a threshold: counted first, so that a failed draw can only lose an instance."""
        self._unstarted -= 1
        drawn = self._noise.laplace(self._mechanism.scale, 1)
        self._bar = math.floor(self._mechanism.threshold) + int(drawn[0])
        return self._bar
