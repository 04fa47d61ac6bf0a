"""A noisy test of the largest count first; the winner only when it passes.

Proof: ``docs/proofs/confident_vote.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import confident_sigmas
from tacit.accounting.events import Event, GaussianCounts
from tacit.mechanisms.base import Allowance, Run, VoteMechanism, VoteRun, label_answer
from tacit.mechanisms.counts import IntArray, VoteCounts
from tacit.mechanisms.noisy_argmax import gaussian_counts, gaussian_moves, winners
from tacit.noise import NoiseSource, checked_scale

SHARE = 0.2
"""How far from an even vote to a unanimous one a confident answer lies: 60% of two classes."""

_PLANNED_SHARES = (0.05, 0.1, 0.2, 0.3)
_PLANNED_RATIOS = (1.0, 2.0, 3.75)


@dataclass(frozen=True)
class ConfidentVote(VoteMechanism):
    """Answer only if the largest count, with noise, reaches a threshold.

    Parameters
    ----------
    threshold : float
        The noisy largest count must be at least this. Public, and chosen without the votes.
    sigma1 : float
        Noise of the test, on the largest count.
    sigma2 : float
        Noise of the answer, as in ``GaussianVote``.
    n_classes : int, default 2
    questions : int, default 1
        How many questions a run may test.
    answers : int, optional
        How many it may answer; every tested question when left out.

    Privacy
    -------
    Neighbours: one vote of every question moves. The largest count moves by at most 1, so every
    test is ``GaussianCounts(sigma1, moves=1)``; an answer adds ``GaussianCounts(sigma2, moves)``
    with one moving count in two classes and two in more. A refusal costs the test alone. Proof:
    ``docs/proofs/confident_vote.md``.

    References
    ----------
    Papernot et al. (2018), the confident Gaussian aggregator. Departures: integer noise; in two
    classes the answer's noise is on one count.

    Examples
    --------
    >>> vote = ConfidentVote(200, sigma1=150, sigma2=40, n_classes=10, questions=640, answers=300)
    >>> [(event.sigma, event.moves, most) for event, most in vote.planned_events()]
    [(150.0, 1, 640), (40.0, 2, 300)]
    """

    name: ClassVar[str] = "ConfidentVote"
    threshold: float
    sigma1: float
    sigma2: float
    n_classes: int = 2
    questions: int = 1
    answers: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", validation.finite(threshold=self.threshold))
        object.__setattr__(self, "sigma1", checked_scale(sigma1=self.sigma1))
        object.__setattr__(self, "sigma2", checked_scale(sigma2=self.sigma2))
        validation.integer(2, n_classes=self.n_classes)
        validation.positive_integer(questions=self.questions)
        if self.answers is not None:
            validation.positive_integer(answers=self.answers)

    @classmethod
    def for_run(cls, run: VoteRun) -> ConfidentVote:
        return cls.for_budget(
            run.budget,
            questions=run.n_questions,
            answers=run.n_questions,
            threshold=SHARE * run.n_teachers + (1 - SHARE) * run.n_teachers / run.n_classes,
            n_classes=run.n_classes,
        )

    @classmethod
    def variants(cls, run: VoteRun) -> Iterator[ConfidentVote]:
        even = 1 / run.n_classes
        for ratio in _PLANNED_RATIOS:
            draft = cls.for_budget(
                run.budget,
                threshold=0.0,
                questions=run.n_questions,
                n_classes=run.n_classes,
                ratio=ratio,
            )
            for share in _PLANNED_SHARES:
                yield replace(draft, threshold=(even + share * (1 - even)) * run.n_teachers)

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        threshold: float,
        questions: int,
        answers: int | None = None,
        n_classes: int = 2,
        ratio: float = 3.75,
    ) -> ConfidentVote:
        """Return the vote with the least noise that keeps a whole run within ``budget``.

        ``ratio`` is ``sigma1 / sigma2``; the default is that of the published MNIST run.
        """
        most = cls(threshold, 1.0, 1.0, n_classes, questions, answers).most_answers
        sigma1, sigma2 = confident_sigmas(
            budget, questions=questions, answers=most, moves=gaussian_moves(n_classes), ratio=ratio
        )
        return cls(threshold, sigma1, sigma2, n_classes, questions, answers)

    @property
    def most_answers(self) -> int:
        """The most questions a run can answer."""
        return self.questions if self.answers is None else min(self.answers, self.questions)

    @property
    def capacity(self) -> int:
        return self.questions

    def describe_noise(self) -> str:
        return f"threshold {self.threshold:.4g}, sigma1 {self.sigma1:.4g}, sigma2 {self.sigma2:.4g}"

    @property
    def test_event(self) -> Event:
        """What every tested question costs."""
        return GaussianCounts(self.sigma1, moves=1)

    @property
    def answer_event(self) -> Event:
        """What an answered question costs on top."""
        return GaussianCounts(self.sigma2, gaussian_moves(self.n_classes))

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        most = _sum({self.test_event: self.questions}, {self.answer_event: self.most_answers})
        return tuple(most.items())

    def start(self, *, noise: NoiseSource) -> Run:
        return _ConfidentRun(self, noise)


class _ConfidentRun(Run):
    def __init__(self, mechanism: ConfidentVote, noise: NoiseSource) -> None:
        self._mechanism, self._noise = mechanism, noise
        self._tests = Allowance(mechanism.questions, "questions")
        self._answers = Allowance(mechanism.most_answers)

    def most_it_can_cost(self, questions: int) -> Mapping[Event, int]:
        """Every question may be answered, as long as answers are left."""
        answered = min(questions, self._answers.left)
        return _sum(
            {self._mechanism.test_event: questions}, {self._mechanism.answer_event: answered}
        )

    def release(self, counts: VoteCounts) -> list[Answer]:
        self._mechanism._check(counts)
        if len(counts):
            self._answers_must_be_left()
        self._tests.take(len(counts))
        passed = self._reached(self._test(counts))
        # Questions after the last answer were never reached: their test noise is thrown away.
        self._tests.left += len(counts) - len(passed)
        chosen = np.flatnonzero(passed)
        self._answers.take(len(chosen))
        labels = winners(gaussian_counts(counts[chosen], self._mechanism.sigma2, self._noise))
        return self._answer(passed, labels)

    def _answers_must_be_left(self) -> None:
        if self._answers.left == 0:
            self._answers.take(1)  # raises: a test whose answer cannot follow would waste budget

    def _test(self, counts: VoteCounts) -> IntArray:
        largest = counts.private_array().max(axis=1)
        noisy = largest + self._noise.gaussian(self._mechanism.sigma1, len(counts))
        passed: IntArray = (noisy >= self._mechanism.threshold).astype(np.int64)
        return passed

    def _reached(self, passed: IntArray) -> IntArray:
        """Return the tests up to the one that uses up the planned answers."""
        last = np.searchsorted(np.cumsum(passed), self._answers.left, side="left")
        return passed[: int(last) + 1]

    def _answer(self, passed: IntArray, labels: IntArray) -> list[Answer]:
        test, both = (
            (self._mechanism.test_event,),
            (
                self._mechanism.test_event,
                self._mechanism.answer_event,
            ),
        )
        secure, next_labels = self._noise.secure, iter(labels.tolist())
        return [
            label_answer(next(next_labels), both, secure=secure)
            if answered
            else label_answer(None, test, secure=secure)
            for answered in passed.tolist()
        ]


def _sum(*costs: Mapping[Event, int]) -> dict[Event, int]:
    """Add up costs: the test and the answer are one event when their noise is the same."""
    together: dict[Event, int] = {}
    for cost in costs:
        for event, times in cost.items():
            together[event] = together.get(event, 0) + times
    return {event: times for event, times in together.items() if times}
