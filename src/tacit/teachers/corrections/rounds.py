"""The loop: teachers look at the student, correct it through the clipped mean, and again.

One vote from nothing has to carry everything at once; a correction
only has to point from where the student stands to where it should be, and can be clipped short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.accounting.answer import Answer
from tacit.teachers.corrections.coordinates import FloatArray
from tacit.teachers.corrections.estimate import Proposal, estimate
from tacit.teachers.corrections.metric import PRIOR_WEIGHT, Metric

Release = Callable[[int, Callable[[], Iterator[FloatArray]]], Answer]
"""Releases the mean of contributions for a round: its number, and what makes them."""


class CorrectingTeachers(Protocol):
    """Teachers that correct a student."""

    n_teachers: int
    shard_size: int
    curved: bool
    """Whether they start at the student, where the loss has the student's curvature."""

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield blocks of rows, one per teacher. Private."""

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return contributions of teachers of public points labelled by the student. Public."""

    def close(self) -> None:
        """Shut down the workers, if there are any."""


@dataclass(frozen=True)
class Schedule:
    """How a student moves in rounds. Public, and fixed beforehand.

    Parameters
    ----------
    rounds : int
    clip : float
        Contributions are clipped at this many times the length they would typically have, to first
        order, if the student were right: noise falls with it, and what counts is where they point
        on average.
    typical : float, default 1
        Nor are they longer than this many times what teachers of public points contribute.
    """

    rounds: int
    clip: float
    typical: float = 1.0

    def radius(self, first_order: float, expected: FloatArray) -> float:
        """Return the radius, from the length to first order and lengths of public teachers."""
        typical = float(np.sqrt((expected**2).mean()))
        radius = min(self.clip * first_order, self.typical * typical)
        return radius if np.isfinite(radius) and radius > 0 else 1.0


@dataclass(frozen=True)
class Standpoint:
    """Where a student stood when a round began, in the metric of that round. Public.

    ``position`` are its weights, ``intercept`` is the direction of the constant, and ``full_step``
    how far a student moves per unit of the answer.
    """

    position: FloatArray
    intercept: FloatArray
    full_step: float


@dataclass(frozen=True)
class Corrected:
    """A student that was corrected, and what was released for it. Public.

    ``weights`` has one row per coordinate and one column per contrast; ``radii`` are what one unit
    of each round's answer is worth.
    """

    weights: FloatArray
    answers: tuple[Answer, ...]
    radii: tuple[float, ...]
    standpoints: tuple[Standpoint, ...] = ()


def correct_in_rounds(
    teachers: CorrectingTeachers,
    pool: FloatArray,
    n_classes: int,
    schedule: Schedule,
    release: Release,
    rng: np.random.Generator,
    *,
    after_round: Callable[[Corrected], None] | None = None,
) -> Corrected:
    """Correct a student that starts at zero, round by round.

    Parameters
    ----------
    teachers : CorrectingTeachers
        Private.
    pool : array
        Public points in the student's coordinates, with a constant.
    release : function
        Releases the mean of contributions of length one at most: the only door.
    rng : numpy Generator
        For imagined labels. Not privacy noise.
    after_round : callable, optional
        Called with what there is so far.

    Privacy
    -------
    Each round releases one clipped mean; the radius, the metric and the step are functions of
    public points and earlier releases. Proof: ``docs/proofs/rounds.md``.
    """
    weights = np.zeros((pool.shape[1], n_classes - 1))
    proposals: list[Proposal] = []
    answers: list[Answer] = []
    radii: list[float] = []
    standpoints: list[Standpoint] = []
    for number in range(schedule.rounds):
        metric = Metric.of(pool, weights, n_classes, curved=teachers.curved)
        expected = np.sqrt((teachers.imagined(metric, rng) ** 2).sum(axis=1))
        radius = schedule.radius(metric.typical_length(teachers.shard_size), expected)
        unclipped = _unclipped_share(expected, radius)
        answer = release(number, _scaled(teachers, metric, radius))
        # A teacher's shard is a small part of what it is fitted on: the rest is prior or pool.
        size = teachers.shard_size
        step = radius * metric.haste * (PRIOR_WEIGHT + size) / size / unclipped
        moved = step * np.array(answer.share).reshape(weights.shape)
        deviation = step * answer.sigma * answer.unit
        standpoints.append(_standpoint(metric, weights, step))
        proposals.append(Proposal(weights + metric.whiten @ moved, deviation))
        weights = estimate(proposals, metric)
        answers.append(answer)
        radii.append(radius)
        if after_round is not None:
            after_round(Corrected(weights, tuple(answers), tuple(radii), tuple(standpoints)))
    return Corrected(weights, tuple(answers), tuple(radii), tuple(standpoints))


def _standpoint(metric: Metric, weights: FloatArray, full_step: float) -> Standpoint:
    intercept = np.zeros(len(weights))
    intercept[-1] = 1.0
    unwhiten = np.asarray(np.linalg.inv(metric.whiten), dtype=np.float64)
    return Standpoint(unwhiten @ weights, unwhiten @ intercept, full_step)


def _unclipped_share(lengths: FloatArray, radius: float) -> float:
    """Return how much of typical contributions clipping leaves: steps make up for the rest."""
    squared = lengths**2
    if not np.isfinite(squared).all() or squared.sum() == 0:
        return 1.0
    left = np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
    return float((left * squared).sum() / squared.sum())


def _scaled(
    teachers: CorrectingTeachers, metric: Metric, radius: float
) -> Callable[[], Iterator[FloatArray]]:
    """Return what makes the contributions in units of the radius, when it is called. Private."""

    def blocks() -> Iterator[FloatArray]:
        with np.errstate(all="ignore"):
            for block in teachers.contributions(metric):
                yield block / radius

    return blocks
