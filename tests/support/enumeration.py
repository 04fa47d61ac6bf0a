"""The exact law of a release: run it on every outcome of its random choices.

Inside ``enumerated()`` the random primitives of ``tacit.mechanisms.exact`` (``sampling`` and
``selection``) are choices among listed outcomes; everything else is the shipped code.
The sum over all paths is the exact law of what it returns, small programs only. Not for use beside
other threads: the primitives are replaced for the whole process.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tacit.errors import NoiseError
from tacit.mechanisms.exact import sampling, selection
from tacit.noise import IntArray

__all__ = ["Enumeration", "Law", "enumerated", "worst_excess"]

Law = Mapping[Hashable, float]
"""Chances of outcomes."""


class NoNoise:
    """Stands where a source of noise is asked for; nothing may be drawn from it."""

    @property
    def secure(self) -> bool:
        """Always false."""
        return False

    def gaussian(self, sigma: float, size: int) -> IntArray:
        raise NoiseError("Integer noise cannot be enumerated.")

    def laplace(self, scale: float, size: int) -> IntArray:
        raise NoiseError("Integer noise cannot be enumerated.")

    def bits(self, n: int) -> int:
        raise NoiseError("Bits cannot be enumerated; enumerate what is made of them.")


class Enumeration:
    """The random primitives as choices along one path after another, depth first.

    Examples
    --------
    >>> from tacit.mechanisms.exact import sampling
    >>> with enumerated() as every:
    ...     law = every.law(lambda: int(sampling.random_subset(4, 1, noise=every.noise)[0]))
    >>> law
    {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25}
    """

    def __init__(self) -> None:
        self.noise = NoNoise()
        self._path: list[int] = []
        self._widths: list[int] = []
        self._depth = 0
        self._chance = 1.0

    def law(self, run: Callable[[], Hashable]) -> dict[Hashable, float]:
        """Return the exact law of what ``run`` returns."""
        self._path, self._widths = [], []
        found: dict[Hashable, float] = defaultdict(float)
        more = True
        while more:
            self._depth, self._chance = 0, 1.0
            outcome = run()
            found[outcome] += self._chance
            more = self._advance()
        return dict(found)

    def choose(self, chances: Sequence[float]) -> int:
        """Return which of the outcomes with these chances this path takes."""
        if self._depth == len(self._path):
            self._path.append(0)
            self._widths.append(len(chances))
        choice = self._path[self._depth]
        self._depth += 1
        self._chance *= chances[choice]
        return choice

    def _advance(self) -> bool:
        while self._path:
            self._path[-1] += 1
            if self._path[-1] < self._widths[-1]:
                return True
            self._path.pop()
            self._widths.pop()
        return False

    # ---- the primitives -------------------------------------------------------------------------

    def random_subset(self, n: int, size: int, *, noise: object) -> NDArray[np.intp]:
        """All ordered subsets."""
        return self._one_of(list(itertools.permutations(range(n), size)))

    def resample(self, n: int, draws: int, *, noise: object) -> NDArray[np.intp]:
        """All sequences of positions."""
        return self._one_of(list(itertools.product(range(n), repeat=draws)))

    def _one_of(self, positions: Sequence[Sequence[int]]) -> NDArray[np.intp]:
        which = self.choose([1 / len(positions)] * len(positions))
        return np.array(positions[which], dtype=np.intp)

    def coin(self, probability: float, *, noise: object) -> bool:
        """Tails, and heads if they can come."""
        return probability > 0 and bool(self.choose([1 - probability, probability]))

    def select(self, scores: Sequence[int], epsilon: float, *, noise: object) -> int:
        """Every candidate, by the law of the exponential mechanism."""
        levels = np.asarray(scores, dtype=np.float64)
        weights = np.exp(epsilon / 2 * (levels - levels.max()))
        return self.choose((weights / weights.sum()).tolist())

    def select_level(
        self, levels: Sequence[int], counts: Sequence[int], epsilon: float, *, noise: object
    ) -> int:
        """Every level, by its count and weight."""
        heights = np.asarray(levels, dtype=np.float64)
        weights = np.asarray(counts) * np.exp(epsilon / 2 * (heights - heights.max()))
        return levels[self.choose((weights / weights.sum()).tolist())]

    def uniform_below(self, n: int, *, noise: object) -> int:
        """Every number."""
        return self.choose([1 / n] * n)


_REPLACED = (
    (sampling, ("random_subset", "resample", "coin")),
    (selection, ("select", "select_level", "uniform_below")),
)


@contextmanager
def enumerated() -> Iterator[Enumeration]:
    """Replace the random primitives for the length of a block."""
    every = Enumeration()
    before = [(home, name, getattr(home, name)) for home, names in _REPLACED for name in names]
    try:
        for home, name, _ in before:
            setattr(home, name, getattr(every, name))
        yield every
    finally:
        for home, name, original in before:
            setattr(home, name, original)


def excess(first: Law, second: Law, epsilon: float) -> float:
    """Return the largest ``P(E) - e^epsilon Q(E)`` over all events E."""
    factor = math.exp(epsilon)
    return math.fsum(
        max(0.0, chance - factor * second.get(outcome, 0.0)) for outcome, chance in first.items()
    )


def worst_excess(laws: Mapping[tuple[Hashable, ...], Law], epsilon: float) -> float:
    """Return the largest excess over all pairs of data sets that differ in one record.

    The smallest delta with which a mechanism is (epsilon, delta)-private on these data sets, under
    ``replace``. A data set is a tuple of records.

    Examples
    --------
    >>> laws = {("a",): {0: 0.6, 1: 0.4}, ("b",): {0: 0.3, 1: 0.7}}
    >>> round(worst_excess(laws, math.log(2)), 12), round(worst_excess(laws, 0.0), 12)
    (0.0, 0.3)
    """
    return max(
        excess(laws[a], laws[b], epsilon)
        for a, b in itertools.permutations(laws, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )
