"""What checks share: findings, known noise, and short ways to ask."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Answer
from tacit.audit.evidence import FailedCheck, Trial
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import (
    Counts,
    Fixed,
    Noise,
    Transcript,
)
from tacit.audit.subjects import (
    Subject,
)
from tacit.errors import MechanismStopped
from tacit.mechanisms import (
    VoteCounts,
    VoteMechanism,
)

__all__ = [
    "SLACK",
    "CountingNoise",
    "Findings",
    "FixedNoise",
    "SuccessiveNoise",
    "with_capacity",
    "tokens",
    "until_stopped",
    "votes_of",
    "voting",
]

IntArray = NDArray[np.int64]
SLACK = 1e-9
"""What rounding may take from a price."""


class Findings:
    """What the checks of one run have found."""

    def __init__(self) -> None:
        self.problems: list[FailedCheck] = []
        self.trials: list[Trial] = []

    def require(self, check: str, holds: bool, message: str) -> bool:
        """Record a problem unless something holds."""
        if not holds:
            self.problems.append(FailedCheck(check, message))
        return holds


class CountingNoise:
    """Seeded noise that counts how many values of each law were drawn."""

    def __init__(self, seed: int) -> None:
        self._source = SeededNoise(seed)
        self.drawn: Counter[Noise] = Counter()
        self.bits_drawn = 0

    @property
    def secure(self) -> bool:
        """Always false."""
        return False

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Draw and count."""
        self.drawn["gaussian", sigma] += size
        return self._source.gaussian(sigma, size)

    def laplace(self, scale: float, size: int) -> IntArray:
        """Draw and count."""
        self.drawn["laplace", scale] += size
        return self._source.laplace(scale, size)

    def bits(self, n: int) -> int:
        """Draw and count."""
        self.bits_drawn += n
        return self._source.bits(n)

    @property
    def total(self) -> int:
        """How much was drawn of anything."""
        return self.drawn.total() + self.bits_drawn


class FixedNoise:
    """Known values for every law, given out in turn and over again at each call.

    A single value stands for all draws. Asks for laws that are not listed are remembered.
    """

    def __init__(self, values: Mapping[Noise, Fixed]) -> None:
        self._values = {
            law: (value,) if isinstance(value, int) else tuple(value)
            for law, value in values.items()
        }
        self.strange: set[Noise] = set()

    @property
    def secure(self) -> bool:
        """Always false."""
        return False

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Return the known values of this law."""
        return self._draw(("gaussian", sigma), size)

    def laplace(self, scale: float, size: int) -> IntArray:
        """Return the known values of this law."""
        return self._draw(("laplace", scale), size)

    def bits(self, n: int) -> int:
        """Return zero bits."""
        return 0

    def _draw(self, law: Noise, size: int) -> IntArray:
        if law not in self._values:
            self.strange.add(law)
        return np.resize(np.array(self._values.get(law, (0,)), dtype=np.int64), size)


class SuccessiveNoise(FixedNoise):
    """Known values given out one after another, across calls; zero when they run out."""

    def _draw(self, law: Noise, size: int) -> IntArray:
        left = self._values.get(law, ())
        first, self._values[law] = left[:size], left[size:]
        return np.array(first + (0,) * (size - len(first)), dtype=np.int64)


def votes_of(rows: Sequence[Counts]) -> VoteCounts:
    """Return counts as what mechanisms take."""
    return VoteCounts(np.array(rows), n_teachers=sum(rows[0]))


def tokens(answers: Iterable[Answer]) -> Transcript:
    """Return the values of the answers."""
    return tuple(answer.values for answer in answers)


def voting(subject: Subject) -> VoteMechanism:
    """Return the mechanism of a subject that votes."""
    assert isinstance(subject.mechanism, VoteMechanism)
    return subject.mechanism


def with_capacity(mechanism: Any, questions: int) -> Any:
    """Return the mechanism with room for so many questions, whatever they are answered."""
    room = {
        name: questions for name in ("answers", "questions", "cutoff") if hasattr(mechanism, name)
    }
    return dataclasses.replace(mechanism, **room)


def until_stopped(
    release: Callable[[VoteCounts], list[Answer]], batches: Iterable[VoteCounts]
) -> Iterable[Answer]:
    """Yield answers batch by batch until the run is used up."""
    for batch in batches:
        try:
            yield from release(batch)
        except MechanismStopped:
            return
