"""Every place where the harness reaches into the library: re-point them here when code moves.

``intercepted`` records what reaches the mechanisms. The second run of a pair hands the mechanisms
what the first one had recorded, so both runs get the same answers: whatever is public must then be
the same to the last byte, and what differs in a round is what one record can do in that round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tests.neighbours import learners

from tacit.audit.noise import SeededNoise
from tacit.mechanisms import base, clipped_mean
from tacit.mechanisms.clipped_mean import ClippedMeanRun, ClippedTotal
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise
from tacit.teachers.teacher import Teacher

IntArray = NDArray[np.int64]


class Halt(BaseException):
    """Raised at the first release where only reader and teachers are of interest."""


@dataclass
class Ballot:
    """What reached a vote mechanism at once: counts, and the single votes cast since the last."""

    counts: IntArray
    n_teachers: int
    votes: list[IntArray]


@dataclass
class Round:
    """What reached a clipped mean: one vector per teacher on the grid, before they are added."""

    vectors: IntArray
    levels: int
    public: str


@dataclass
class Record:
    """Everything private that was seen on its way to the mechanisms in one run."""

    ballots: list[Ballot] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    fitted: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether anything reached a mechanism."""
        return bool(self.ballots or self.rounds)


@contextmanager
def intercepted(
    record: Record, seed: int, *, before: Record | None = None, halt: bool = False
) -> Iterator[None]:
    """Record one run; ``before`` is the record of the other one, whose votes are then released."""
    learners.FITTED.clear()
    learners.QUESTIONS.clear()
    with ExitStack() as stack:
        for patch in (*_noise(seed), *_votes(record, before, halt), *_means(record, before, halt)):
            stack.enter_context(patch)
        try:
            yield
        finally:
            record.fitted = list(learners.FITTED)
            record.questions = list(learners.QUESTIONS)


# ---- noise --------------------------------------------------------------------------------------


def _noise(seed: int) -> Iterator[Any]:
    """Let every secure source draw from one seeded stream; they still say that they are secure."""
    stream = SeededNoise(seed)
    for name in ("gaussian", "laplace", "bits"):
        drawn = getattr(stream, name)
        yield mock.patch.object(SecureNoise, name, lambda self, *how, _draw=drawn: _draw(*how))


# ---- votes --------------------------------------------------------------------------------------


def _votes(record: Record, before: Record | None, halt: bool) -> Iterator[Any]:
    # One array per teacher, who may be tested before it votes. The objects are kept alive: the
    # identity of one that is gone would come again.
    cast: dict[int, IntArray] = {}
    alive: list[Any] = []
    depth = [0]

    def votes(original: Callable[..., IntArray]) -> Callable[..., IntArray]:
        def recorded(self: Any, X: Any) -> IntArray:
            found = original(self, X)
            alive.append(self)
            # Put last again: every teacher votes at the end, but not every one has a record to
            # be tested on before.
            before_now = cast.pop(id(self), np.empty(0, dtype=found.dtype))
            cast[id(self)] = np.concatenate([before_now, found])
            return found

        return recorded

    def release(original: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: Any, counts: VoteCounts) -> Any:
            if depth[0]:
                return original(self, counts)
            array = counts.private_array().copy()
            record.ballots.append(Ballot(array, counts.n_teachers, list(cast.values())))
            cast.clear()
            alive.clear()
            if halt:
                raise Halt
            depth[0] += 1
            try:
                return original(self, _same_votes(counts, before, len(record.ballots) - 1))
            finally:
                depth[0] -= 1

        return recorded

    yield mock.patch.object(Teacher, "votes", votes(Teacher.votes))
    for run in _with_own(base.Run, "release"):
        yield mock.patch.object(run, "release", release(run.release))


def _same_votes(counts: VoteCounts, before: Record | None, number: int) -> VoteCounts:
    if before is None or number >= len(before.ballots):
        return counts
    other = before.ballots[number]
    if other.counts.shape != (counts.n_questions, counts.n_classes):
        return counts
    return VoteCounts(other.counts, other.n_teachers)


def _with_own(kind: type, name: str) -> Iterator[type]:
    """Yield all kinds of a class that define a method themselves."""
    for one in kind.__subclasses__():
        if name in vars(one):
            yield one
        yield from _with_own(one, name)


# ---- means of one vector per teacher ------------------------------------------------------------


def _means(record: Record, before: Record | None, halt: bool) -> Iterator[Any]:
    blocks: list[IntArray] = []
    clip, release = clipped_mean.clip_to_grid, ClippedMeanRun.release

    def clipped(vectors: Any, radius: float, levels: int) -> IntArray:
        found = clip(vectors, radius, levels)
        blocks.append(found.copy())
        return found

    def recorded(self: Any, contributions: Any) -> Any:
        mechanism = self._mechanism
        if not isinstance(contributions, ClippedTotal):
            contributions = mechanism.gather(contributions)
        vectors = np.concatenate(blocks) if blocks else np.empty((0, mechanism.dimension), int)
        blocks.clear()
        record.rounds.append(Round(vectors, mechanism.levels, repr(mechanism)))
        if halt:
            raise Halt
        number = len(record.rounds) - 1
        if before is not None and number < len(before.rounds):
            other = before.rounds[number].vectors
            if other.shape == vectors.shape:
                contributions = ClippedTotal(other.sum(axis=0))
        return release(self, contributions)

    yield mock.patch.object(clipped_mean, "clip_to_grid", clipped)
    yield mock.patch.object(ClippedMeanRun, "release", recorded)
