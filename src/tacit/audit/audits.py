"""Audits of mechanisms on made-up inputs: two votes that differ in one, near a tie and far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.accounting.answer import Answer, Output
from tacit.audit.checks.findings import votes_of
from tacit.audit.estimates import AuditResult, audit
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import Counts
from tacit.audit.subjects import (
    SelectionSubject,
    Subject,
    bar_margin,
    moved,
    row_of_margin,
    spread,
)
from tacit.mechanisms import ClippedMean, SparseVote, StableRelease, VoteMechanism
from tacit.noise import NoiseSource, SecureNoise

__all__ = ["Audited", "audit_subject"]

Release = Callable[[NoiseSource], Hashable]


@dataclass(frozen=True, slots=True)
class Audited:
    """The measured epsilon of one example on one pair of inputs, and the price it claims."""

    example: str
    inputs: str
    claimed: float
    result: AuditResult

    @property
    def holds(self) -> bool:
        """Whether the measured bound stays within the claimed price."""
        return self.result.epsilon_lower <= self.claimed


def audit_subject(
    name: str,
    subject: Subject | SelectionSubject,
    *,
    samples: int,
    confidence: float = 0.9999,
    seed: int | None = None,
    jobs: int = -1,
    progress: bool = True,
) -> list[Audited]:
    """Audit a subject near a tie and far from it, over a whole planned run.

    ``seed`` replaces secure noise by seeded noise, for a run that can be repeated.
    """
    claimed, at_delta = _claim(subject)
    return [
        Audited(
            name,
            inputs,
            claimed,
            audit(
                _Sampler(first, seed is not None),
                _Sampler(second, seed is not None),
                delta=at_delta,
                samples=samples,
                confidence=confidence,
                seed=seed or 0,
                jobs=jobs,
                progress=progress,
            ),
        )
        for inputs, first, second in _inputs(subject)
    ]


@dataclass(frozen=True)
class _Sampler:
    """Draws outputs of a release, with noise made where the work is done."""

    release: Release
    seeded: bool

    def __call__(self, seed: int, size: int) -> Sequence[Hashable]:
        noise: NoiseSource = SeededNoise(seed) if self.seeded else SecureNoise()
        return [self.release(noise) for _ in range(size)]


def _claim(subject: Subject | SelectionSubject) -> tuple[float, float]:
    """Return the claimed epsilon and the delta it holds at."""
    if isinstance(subject, SelectionSubject):
        return subject.epsilon, 0.0
    return subject.mechanism.epsilon(subject.delta), subject.delta


def _inputs(subject: Subject | SelectionSubject) -> list[tuple[str, Release, Release]]:
    """Return pairs of neighbouring inputs: a name and a release on each of the two."""
    if isinstance(subject, SelectionSubject):
        pairs = {"near a tie": ((4, 4, 4), (5, 3, 3)), "far from it": ((9, 2, 1), (8, 3, 2))}
        return [
            (name, _Selecting(subject, one), _Selecting(subject, two))
            for name, (one, two) in pairs.items()
        ]
    if isinstance(subject.mechanism, ClippedMean):
        return _means(subject.mechanism)
    if isinstance(subject.mechanism, StableRelease):
        stable = subject.mechanism
        bar = stable.threshold
        return [
            (
                "near the bar",
                _StableReleases(stable, bar, "a"),
                _StableReleases(stable, bar + 1, "a"),
            ),
            ("unstable", _StableReleases(stable, 0, "a"), _StableReleases(stable, 0, "b")),
        ]
    assert isinstance(subject.mechanism, VoteMechanism)
    return [
        (name, _Voting(subject.mechanism, row), _Voting(subject.mechanism, other))
        for name, row, other in _votes(subject)
    ]


def _votes(subject: Subject) -> list[tuple[str, Counts, Counts]]:
    mechanism, teachers = subject.mechanism, subject.n_teachers
    assert isinstance(mechanism, VoteMechanism)
    classes = mechanism.n_classes
    tie = row_of_margin(teachers, classes, 0, 0, 1)
    margin = round(2 * spread(mechanism))
    if hasattr(mechanism, "threshold"):
        margin = bar_margin(mechanism, teachers)
    far = row_of_margin(teachers, classes, min(teachers, margin), 0, 1)
    return [
        ("near a tie", tie, moved(tie, 0, 1)),
        ("far from it", far, moved(far, 0, 1)),
    ]


def _means(mechanism: ClippedMean) -> list[tuple[str, Release, Release]]:
    still = np.zeros((mechanism.n_teachers, mechanism.dimension))
    one, two = still.copy(), still.copy()
    one[0, 0], two[0, 0] = mechanism.radius, -mechanism.radius
    half = still.copy()
    half[0, 0] = mechanism.radius / 2
    return [
        ("opposite ends", _Averaging(mechanism, one), _Averaging(mechanism, two)),
        ("half a radius", _Averaging(mechanism, half), _Averaging(mechanism, still)),
    ]


@dataclass(frozen=True)
class _Voting:
    """A whole run on one question asked over and over: the strongest that one pair can show."""

    mechanism: VoteMechanism
    row: Counts

    def __call__(self, noise: NoiseSource) -> Hashable:
        answers = self.mechanism.release(votes_of([self.row] * self._length()), noise=noise)
        return _summary(answers)

    def _length(self) -> int:
        if isinstance(self.mechanism, SparseVote):
            return 3 * self.mechanism.cutoff
        return int(getattr(self.mechanism, "questions", getattr(self.mechanism, "answers", 1)))


def _summary(answers: Sequence[Answer]) -> Hashable:
    """Return the statistic that distinguishes the inputs: counts of answers, or lean of shares."""
    if answers and answers[0].output is Output.SHARE:
        return sum(answer.values[1] - answer.values[0] for answer in answers if answer.values)
    return frozenset(Counter(answer.values for answer in answers).items())


@dataclass(frozen=True)
class _Selecting:
    subject: SelectionSubject
    scores: tuple[int, ...]

    def __call__(self, noise: NoiseSource) -> Hashable:
        selected = self.subject.select(list(self.scores), epsilon=self.subject.epsilon, noise=noise)
        return selected.index


@dataclass(frozen=True)
class _StableReleases:
    mechanism: StableRelease
    distance: int
    value: str

    def __call__(self, noise: NoiseSource) -> Hashable:
        run = self.mechanism.start(noise=noise)
        releases = range(self.mechanism.releases)
        released = [run.release(self.value, self.distance).value for _ in releases]
        return frozenset(Counter(released).items())


@dataclass(frozen=True, eq=False)
class _Averaging:
    mechanism: ClippedMean
    table: Any

    def __call__(self, noise: NoiseSource) -> Hashable:
        run = self.mechanism.start(noise=noise)
        drawn = [run.release(self.table).values for _ in range(self.mechanism.releases)]
        return sum(values[0] for values in drawn if values) // round(self.mechanism.sigma)
