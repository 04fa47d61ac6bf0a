"""Choose from a finite set: candidates with weight ``exp(epsilon * score / 2)``, sampled exactly.

Proofs: ``docs/proofs/exponential_mechanism.md`` and ``docs/proofs/exponential_vote.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import exponential_epsilon
from tacit.accounting.events import ApproximateRelease, Event, ExponentialSelection
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import PaidPerAnswer, VoteMechanism, VoteRun, label_answer
from tacit.mechanisms.counts import IntArray, VoteCounts
from tacit.mechanisms.exact import selection
from tacit.noise import NoiseSource


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """The candidate that was drawn, and what drawing it cost. Public.

    Parameters
    ----------
    index : int
        Position of the candidate in the scores given.
    cost : tuple of Event
    secure : bool
        False when the randomness came from a test source: no guarantee.
    """

    index: int
    cost: tuple[Event, ...]
    secure: bool

    def __repr__(self) -> str:
        mark = "" if self.secure else ", INSECURE: test noise, no guarantee"
        return f"Selection(index={self.index}{mark})"


def exponential_mechanism(scores: ArrayLike, *, epsilon: float, noise: NoiseSource) -> Selection:
    """Draw a candidate with probability proportional to ``exp(epsilon * score / 2)``.

    Parameters
    ----------
    scores : array of int, one per candidate
        Private. One changed record must move every score by at most 1.
    epsilon : float
    noise : NoiseSource

    Privacy
    -------
    Neighbours: any two data sets on which every score differs by at most 1; the number of
    candidates and what they are must not depend on private data. Event:
    ``ExponentialSelection(epsilon)``: pure epsilon, zCDP ``epsilon^2 / 8``. Proof:
    ``docs/proofs/exponential_mechanism.md``.

    References
    ----------
    [BNS15] Algorithm 3; [CR21] Lemma 1 (bounded range).

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> exponential_mechanism([0, 9000, 12], epsilon=1.0, noise=SecureNoise())
    Selection(index=1)
    """
    event = ExponentialSelection(validation.positive(epsilon=epsilon))
    index = int(selection.select(_checked_scores(scores), event.epsilon, noise=noise))
    return Selection(index, (event,), noise.secure)


def permute_and_flip(scores: ArrayLike, *, epsilon: float, noise: NoiseSource) -> Selection:
    """Draw a candidate by permute-and-flip: never worse than the exponential mechanism, once.

    Privacy
    -------
    Neighbours and scores as for ``exponential_mechanism``. Event: ``ApproximateRelease(epsilon,
    0)``, pure epsilon. Its loss has no range of width epsilon, so the ``epsilon^2 / 8`` of the
    exponential mechanism does not apply: for many selections prefer that one. Not for algorithms
    whose proofs use the exponential mechanism's weights (LabelBoost, [DF20]).

    References
    ----------
    McKenna, Sheldon (2020), Algorithm 1.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> permute_and_flip([0, 9000, 12], epsilon=1.0, noise=SecureNoise())
    Selection(index=1)
    """
    event = ApproximateRelease(validation.positive(epsilon=epsilon), 0.0)
    index = selection.permute_and_flip(_checked_scores(scores), event.epsilon, noise=noise)
    return Selection(int(index), (event,), noise.secure)


def _checked_scores(scores: ArrayLike) -> IntArray:
    """Return the scores as int64; only their type and shape are looked at, both public.

    Unsigned 64-bit integers are refused: past 2**63 they would wrap, and neighbours could differ
    by far more than 1.
    """
    try:
        table = np.asarray(scores)
    except (TypeError, ValueError):
        table = np.empty(0, dtype=object)
    whole = table.dtype.kind in "iu" and np.can_cast(table.dtype, np.int64)
    if not whole or table.ndim != 1 or table.size == 0:
        raise InvalidArgument(
            "`scores` must be one signed integer per candidate, in a one-dimensional array."
        )
    return table.astype(np.int64)


@dataclass(frozen=True)
class ExponentialVote(VoteMechanism):
    """Release class ``y`` with weight ``exp(epsilon_per_answer * n_y / 2)``.

    Parameters
    ----------
    epsilon_per_answer : float
    n_classes : int, default 2
    answers : int, default 1

    Privacy
    -------
    Neighbours: one vote of every question moves, and every count by at most 1. Event, per answer:
    ``ExponentialSelection(epsilon_per_answer)``. Proof: ``docs/proofs/exponential_vote.md``.

    References
    ----------
    Dwork, Feldman (2018), used by [DF20] Lemma 6; [CR21] Lemma 1.

    Examples
    --------
    >>> ExponentialVote(0.1, n_classes=10, answers=5).planned_events()
    ((ExponentialSelection(epsilon=0.1), 5),)
    """

    name: ClassVar[str] = "ExponentialVote"
    prices_alike: ClassVar[bool] = True
    epsilon_per_answer: float
    n_classes: int = 2
    answers: int = 1

    def __post_init__(self) -> None:
        epsilon = validation.positive(epsilon_per_answer=self.epsilon_per_answer)
        object.__setattr__(self, "epsilon_per_answer", epsilon)
        validation.integer(2, n_classes=self.n_classes)
        validation.positive_integer(answers=self.answers)

    @classmethod
    def for_run(cls, run: VoteRun) -> ExponentialVote:
        return cls.for_budget(run.budget, answers=run.n_questions, n_classes=run.n_classes)

    @classmethod
    def for_budget(cls, budget: Budget, *, answers: int, n_classes: int = 2) -> ExponentialVote:
        """Return the sharpest vote that keeps ``answers`` answers within ``budget``."""
        draft = cls(1.0, n_classes, answers)
        return replace(draft, epsilon_per_answer=exponential_epsilon(budget, answers=answers))

    @property
    def capacity(self) -> int:
        return self.answers

    def describe_noise(self) -> str:
        return f"epsilon {self.epsilon_per_answer:.4g} per answer"

    @property
    def event(self) -> Event:
        """What one answer costs."""
        return ExponentialSelection(self.epsilon_per_answer)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.answers),)

    def start(self, *, noise: NoiseSource) -> PaidPerAnswer:
        return _ExponentialRun(self, noise)


class _ExponentialRun(PaidPerAnswer):
    def __init__(self, mechanism: ExponentialVote, noise: NoiseSource) -> None:
        super().__init__(mechanism.answers, {mechanism.event: 1})
        self._mechanism, self._noise = mechanism, noise

    def release(self, counts: VoteCounts) -> list[Answer]:
        self._mechanism._check(counts)
        self._take(len(counts))
        cost, epsilon = (self._mechanism.event,), self._mechanism.epsilon_per_answer
        return [
            label_answer(
                int(selection.select(row, epsilon, noise=self._noise)),
                cost,
                secure=self._noise.secure,
            )
            for row in counts.private_array()
        ]
