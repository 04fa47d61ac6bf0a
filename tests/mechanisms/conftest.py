"""Exact laws of small mechanisms, by summation, written without the code they check."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Outcomes = dict[object, float]


class Law:
    """A law on the integers, cut where nothing is left in double precision."""

    def __init__(self, log_weight: Callable[[Floats], Floats], reach: int) -> None:
        self.values = np.arange(-reach, reach + 1)
        weights = np.exp(log_weight(self.values.astype(float)))
        self.chances = weights / weights.sum()

    def at_least(self, least: float) -> float:
        return math.fsum(self.chances[self.values >= least])

    def below(self, bound: float) -> float:
        return math.fsum(self.chances[self.values < bound])

    def at(self, points: NDArray[np.int64]) -> Floats:
        return np.array([math.fsum(self.chances[self.values == x]) for x in points])


class Laws:
    """Laws of noise, laws of labels, and how far apart two laws are."""

    @staticmethod
    def gaussian(sigma: float) -> Law:
        return Law(lambda x: -0.5 * (x / sigma) ** 2, math.ceil(12 * sigma) + 3)

    @staticmethod
    def laplace(scale: float) -> Law:
        return Law(lambda x: -np.abs(x) / scale, math.ceil(45 * scale) + 3)

    @staticmethod
    def rows(n_teachers: int, n_classes: int) -> Iterator[tuple[int, ...]]:
        """Every way the teachers can vote."""
        for row in itertools.product(range(n_teachers + 1), repeat=n_classes):
            if sum(row) == n_teachers:
                yield row

    @classmethod
    def neighbours(
        cls, n_teachers: int, n_classes: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Every pair of votes, one of which moved."""
        for row in cls.rows(n_teachers, n_classes):
            for source, target in itertools.permutations(range(n_classes), 2):
                if row[source]:
                    moved = list(row)
                    moved[source] -= 1
                    moved[target] += 1
                    yield row, tuple(moved)

    @staticmethod
    def half(row: tuple[int, ...], noise: Law) -> Outcomes:
        """Class 1 iff n1 + Z >= K/2."""
        need = sum(row) / 2 - row[1]
        return {0: noise.below(need), 1: noise.at_least(need)}

    @staticmethod
    def largest(row: tuple[int, ...], noise: Law) -> Outcomes:
        """The largest of independent noisy counts; ties to the lowest class, of two to class 1."""
        points = np.arange(min(row) + noise.values[0], max(row) + noise.values[-1] + 1)
        table = np.zeros((len(row), len(points)))
        for c, n in enumerate(row):
            start = n + noise.values[0] - points[0]
            table[c, start : start + len(noise.values)] = noise.chances
        up_to = table.cumsum(axis=1)
        strictly = up_to - table
        chances: Outcomes = {}
        for c in range(len(row)):
            others = [
                (strictly if _beats(j, c, len(row)) else up_to)[j]
                for j in range(len(row))
                if j != c
            ]
            chances[c] = math.fsum(table[c] * np.prod(others, axis=0))
        return chances

    @staticmethod
    def product(*laws: Outcomes) -> Outcomes:
        """Independent outcomes together."""
        together: Outcomes = {}
        for combination in itertools.product(*(law.items() for law in laws)):
            outcome = tuple(x for x, _ in combination)
            together[outcome] = math.prod(p for _, p in combination)
        return together

    @staticmethod
    def renyi(p: Outcomes, q: Outcomes, order: float) -> float:
        terms = [order * math.log(p[x]) + (1 - order) * math.log(q[x]) for x in p if p[x] > 0]
        return float(np.logaddexp.reduce(terms)) / (order - 1)

    @staticmethod
    def log_ratio(p: Outcomes, q: Outcomes) -> float:
        return max(math.log(p[x] / q[x]) for x in p if p[x] > 0)

    @staticmethod
    def hockey_stick(p: Outcomes, q: Outcomes, epsilon: float) -> float:
        return math.fsum(max(0.0, p[x] - math.exp(epsilon) * q[x]) for x in p)


def _beats(other: int, own: int, n_classes: int) -> bool:
    """Whether ``other`` wins a tie against ``own``."""
    return other > own if n_classes == 2 else other < own


@pytest.fixture(scope="session")
def laws() -> type[Laws]:
    return Laws


ORDERS = np.array([1.25, 2.0, 4.0, 16.0, 64.0])


@pytest.fixture(scope="session")
def orders() -> Floats:
    return ORDERS
