"""Distance to instability: release a value when no neighbour would give another one.

A query is *stable* on a data set when every neighbour gives the same value; its distance is how
many records may change before one of its neighbours could give another value. The distance is
released with noise and compared with a threshold; the value itself, when it passes, is exact.

Proof: ``docs/proofs/stable_release.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import ApproximateRelease, Event
from tacit.accounting.plan import Plan
from tacit.accounting.pure import pure_epsilon_for
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import (
    Allowance,
    Mechanism,
    PaidPerAnswer,
    VoteMechanism,
    label_answer,
)
from tacit.mechanisms.counts import IntArray, VoteCounts
from tacit.noise import NoiseSource, Uncopyable, checked_scale

T = TypeVar("T")


def plurality(counts: VoteCounts) -> IntArray:
    """Return the class with most votes for every question, the lowest of several. Private."""
    classes: IntArray = counts.private_array().argmax(axis=1).astype(np.int64, copy=False)
    return classes


def vote_distance(counts: VoteCounts) -> IntArray:
    """Return how many votes may move before each plurality could change. Private.

    ``max(0, ceil(margin / 2) - 1)``, where the margin is the largest count minus the second: one
    moved vote changes the margin by up to 2 and this distance by at most 1 [LZCW21, Algorithm 2].
    """
    table = counts.private_array()
    if table.shape[1] > 2:
        table = np.partition(table, -2, axis=1)[:, -2:]
    margin = np.abs(table[:, 1] - table[:, 0])
    # ceil(m / 2) - 1 = floor((m - 1) / 2), and shifting a whole number rounds down.
    distances: IntArray = np.maximum(0, (margin - 1) >> 1)
    return distances


def plain_votes(counts: VoteCounts) -> list[tuple[int, int]]:
    """Return ``plurality`` and ``vote_distance`` of every question as plain numbers. Private."""
    return list(zip(plurality(counts).tolist(), vote_distance(counts).tolist(), strict=True))


def laplace_tail(scale: float, threshold: int) -> float:
    """Return P(Z > threshold) of the discrete Laplace law, for a threshold of 0 or more.

    ``q^(w + 1) / (1 + q)`` with ``q = exp(-1 / scale)``; rounded up by a part in 1e12.

    Examples
    --------
    >>> round(laplace_tail(1.0, 0), 6)  # P(Z >= 1) = q / (1 + q)
    0.268941
    """
    tail = math.exp(-(threshold + 1) / scale) / (1 + math.exp(-1 / scale))
    return tail * (1 + 1e-12)


def stable_threshold(scale: float, failure: float) -> int:
    """Return the smallest integer w of 0 or more with P(Z > w) at most ``failure``.

    Continuous noise would need ``scale * ln(1 / (2 failure))``; [LZCW21, Algorithm 7] and
    [BTT18, Algorithm 1] print ``scale * ln(1 / failure)``, which is more than is needed.

    Examples
    --------
    >>> stable_threshold(scale=10.0, failure=1e-6)
    131
    >>> 10.0 * math.log(1 / 2e-6)
    131.22...
    """
    validation.positive(scale=scale)
    validation.probability(failure=failure)
    needed = -scale * (math.log(failure) + math.log1p(math.exp(-1 / scale)))
    threshold = max(0, math.ceil(needed) - 1)
    # Rounding can put the logarithm a step off: the tail itself decides.
    while laplace_tail(scale, threshold) > failure:
        threshold += 1
    while threshold > 0 and laplace_tail(scale, threshold - 1) <= failure:
        threshold -= 1
    return threshold


def _settings(budget: Budget, releases: int) -> tuple[float, int]:
    """Return the scale and threshold with which so many releases stay within a budget.

    One release spends all of delta on the threshold. Several spend half of it there, and the
    other half on composing their pure parts [KOV15].
    """
    validation.instance(Budget, budget=budget)
    validation.probability("A stable release fails with some probability.", delta=budget.delta)
    validation.positive_integer(releases=releases)
    if releases == 1:
        scale, failure = 1 / budget.epsilon, budget.delta
    else:
        failure = budget.delta / 2 / releases
        scale = 1 / pure_epsilon_for(budget.epsilon, budget.delta / 2, releases)
    # 1/epsilon is rounded: up, so that 1/scale is not above what was asked for.
    scale = math.nextafter(scale, math.inf)
    return scale, stable_threshold(scale, failure)


@dataclass(frozen=True)
class _Stable(Mechanism):
    """Settings and price shared by the generic release and the one of votes."""

    scale: float
    threshold: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(scale=self.scale))
        validation.integer(0, threshold=self.threshold)

    @property
    def event(self) -> Event:
        """What one release costs: pure ``1 / scale``, but for answering at distance 0."""
        return ApproximateRelease(1 / self.scale, laplace_tail(self.scale, self.threshold))

    def _passes(self, distances: IntArray, noise: NoiseSource) -> IntArray:
        noisy = distances + noise.laplace(self.scale, len(distances))
        return (noisy > self.threshold).astype(np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class StableAnswer(Generic[T]):
    """A released value, or a refusal, with its cost. Public.

    ``value`` is None for a refusal; ``refused`` distinguishes a refusal from a released None.
    """

    value: T | None
    refused: bool
    cost: tuple[Event, ...]
    secure: bool

    def __repr__(self) -> str:
        mark = "" if self.secure else ", INSECURE: test noise, no guarantee"
        text = "refused" if self.refused else f"value={self.value!r}"
        return f"StableAnswer({text}{mark})"


@dataclass(frozen=True)
class StableRelease(_Stable):
    """Release the exact value of any query whose distance to instability is large enough.

    Parameters
    ----------
    scale : float
        Scale of the discrete Laplace noise on the distance.
    threshold : int
        The value is released iff ``distance + noise > threshold``.
    releases : int, default 1
        How many releases (or refusals) a run may give.

    Privacy
    -------
    Neighbours: any relation for which the caller's distance (a) moves by at most 1 and (b) is 0 on
    both data sets whenever their values differ. Event: ``ApproximateRelease(1 / scale, P(Z >
    threshold))``. Proof: ``docs/proofs/stable_release.md``.

    References
    ----------
    [LZCW21] Algorithm 7; [BTT18] Algorithm 1. Departures: integer noise and its exact tail.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> stable = StableRelease.for_budget(Budget(1.0, 1e-6))
    >>> stable.threshold
    13
    >>> stable.release("Paris", distance=500, noise=SecureNoise())
    StableAnswer(value='Paris')
    """

    name: ClassVar[str] = "StableRelease"
    releases: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_integer(releases=self.releases)

    @classmethod
    def for_budget(cls, budget: Budget, *, releases: int = 1) -> StableRelease:
        """Return the release with the lowest threshold that stays within ``budget``."""
        scale, threshold = _settings(budget, releases)
        return cls(scale, threshold, releases)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.releases),)

    def plan(self, delta: float) -> Plan:
        """Return the plan of a whole run, priced at ``delta``."""
        return self._plan(delta, width=1, unit=1.0)

    def start(self, *, noise: NoiseSource) -> StableRun:
        """Return a fresh run."""
        return StableRun(self, noise)

    def release(self, value: T, distance: int, *, noise: NoiseSource) -> StableAnswer[T]:
        """Release ``value`` (private) if its ``distance`` (private) passes, with a fresh run."""
        return self.start(noise=noise).release(value, distance)


class StableRun(Uncopyable):
    """A run of ``StableRelease``: counts releases and stops at the planned number."""

    def __init__(self, mechanism: StableRelease, noise: NoiseSource) -> None:
        self._mechanism, self._noise = mechanism, noise
        self._left = Allowance(mechanism.releases, "releases")

    def most_it_can_cost(self, questions: int) -> dict[Event, int]:
        """Every release costs the same, refused or not."""
        return {self._mechanism.event: questions}

    def release(self, value: T, distance: int) -> StableAnswer[T]:
        """Release ``value`` if ``distance`` with noise passes the threshold, or refuse.

        Raises
        ------
        InvalidArgument
            When ``distance`` is not an integer; its value is not shown.
        MechanismStopped
            When the planned releases are used up.
        """
        checked = _private_distance(distance)
        self._left.take(1)
        (passed,) = self._mechanism._passes(checked, self._noise).tolist()
        cost, secure = (self._mechanism.event,), self._noise.secure
        return StableAnswer(value if passed else None, not passed, cost, secure)


def _private_distance(distance: int) -> IntArray:
    # Looks at the type alone. A distance below 0 is none at all: the query is unstable.
    if isinstance(distance, bool) or not isinstance(distance, int | np.integer):
        raise InvalidArgument("`distance` must be an integer.")
    return np.array([min(max(int(distance), 0), 2**60)], dtype=np.int64)


@dataclass(frozen=True)
class StableVote(_Stable, VoteMechanism):
    """Release the exact plurality of the votes when its distance to instability passes.

    Every question pays, answered or not; ``SparseVote`` pays for refusals only.

    Parameters
    ----------
    scale : float
    threshold : int
        Answer iff ``max(0, ceil(margin / 2) - 1) + noise > threshold``.
    n_classes : int, default 2
    answers : int, default 1
        How many questions a run may take, refused ones included.

    Privacy
    -------
    Neighbours: one vote of every question moves. Event, per question:
    ``ApproximateRelease(1 / scale, P(Z > threshold))``. Proof: ``docs/proofs/stable_release.md``.

    References
    ----------
    [LZCW21] Algorithm 7; [BTT18] Algorithm 1, whose distance ``margin - 1`` moves by 2.

    Examples
    --------
    >>> StableVote(scale=10.0, threshold=131, n_classes=3).planned_events()[0][0].epsilon
    0.1
    """

    name: ClassVar[str] = "StableVote"
    n_classes: int = 2
    answers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.integer(2, n_classes=self.n_classes)
        validation.positive_integer(answers=self.answers)

    @classmethod
    def for_budget(cls, budget: Budget, *, answers: int, n_classes: int = 2) -> StableVote:
        """Return the vote with the lowest threshold that keeps the questions within ``budget``."""
        scale, threshold = _settings(budget, answers)
        return cls(scale, threshold, n_classes, answers)

    @property
    def capacity(self) -> int:
        return self.answers

    @property
    def smallest_distance(self) -> int:
        return math.floor(self.threshold)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.answers),)

    def start(self, *, noise: NoiseSource) -> PaidPerAnswer:
        return _StableVoteRun(self, noise)


class _StableVoteRun(PaidPerAnswer):
    def __init__(self, mechanism: StableVote, noise: NoiseSource) -> None:
        super().__init__(mechanism.answers, {mechanism.event: 1})
        self._mechanism, self._noise = mechanism, noise

    def release(self, counts: VoteCounts) -> list[Answer]:
        self._mechanism._check(counts)
        self._take(len(counts))
        passed = self._mechanism._passes(vote_distance(counts), self._noise).tolist()
        cost, secure = (self._mechanism.event,), self._noise.secure
        return [
            label_answer(label if answered else None, cost, secure=secure)
            for label, answered in zip(plurality(counts).tolist(), passed, strict=True)
        ]
