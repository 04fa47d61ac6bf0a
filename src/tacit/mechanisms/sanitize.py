"""Sanitizers: public points that stand for private ones, for a class of hypotheses.

Proof: ``docs/proofs/sanitize.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import comb
from typing import Any, ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.events import Event, ExponentialSelection, LaplaceCounts
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import FloatArray, IntArray, as_points
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.exact import selection
from tacit.noise import NoiseSource

_MOST_DATA_SETS = 200_000
_MOST_CELLS = 50_000_000


class Sanitizer(Mechanism):
    """Releases points that stand for private ones."""

    n_features: int

    @property
    @abstractmethod
    def event(self) -> Event:
        """What the release costs: pure."""

    @abstractmethod
    def release(self, points: Any, *, noise: NoiseSource) -> FloatArray:
        """Return public points; every call costs ``event`` again."""

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, 1),)


@dataclass(frozen=True, eq=False)
class SmallDomain(Sanitizer):
    """The sanitizer of Blum, Ligett and Roth, exactly, over a domain small enough to list.

    Of all data sets of ``size`` points of the domain, one is drawn by the exponential mechanism.
    Its score is the worst difference, over all pairs of hypotheses, between the share of private
    points on which the two disagree and the share of its own.

    Parameters
    ----------
    hypotheses : HypothesisClass
    domain : table
        All points there can be; private ones count as the nearest. Public.
    release_epsilon : float
    size : int
        Points of the released data set.

    Privacy
    -------
    Neighbours: ``replace``. Scores are whole numbers that move by at most ``size``, so each unit
    weighs ``release_epsilon / size``. Event: ``ExponentialSelection(release_epsilon)``.

    References
    ----------
    [BNS15] Theorem A.3 (Blum, Ligett, Roth 2013), with respect to the class of differences of
    Definition 3.1.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.noise import SecureNoise
    >>> small = SmallDomain(Thresholds(), [0, 1, 2, 3], release_epsilon=50.0, size=4)
    >>> small.release([0, 0, 3, 3] * 25, noise=SecureNoise()).ravel()
    array([0., 0., 3., 3.])
    """

    name: ClassVar[str] = "SmallDomain"
    hypotheses: HypothesisClass
    domain: Any
    release_epsilon: float
    size: int
    n_features: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        object.__setattr__(self, "n_features", self.hypotheses.n_features)
        domain = np.unique(as_points(self.domain, self.n_features), axis=0)
        if not len(domain):
            raise InvalidArgument("`domain` must hold at least one point, got none.")
        object.__setattr__(self, "domain", domain)
        validation.positive(release_epsilon=self.release_epsilon)
        size = validation.positive_integer(size=self.size)
        listed = comb(len(domain) + size - 1, size)
        if listed > _MOST_DATA_SETS:
            raise InvalidArgument(
                f"`size` must be smaller for a domain of {len(domain)} points: {size} allows "
                f"{listed} data sets, and {_MOST_DATA_SETS} can be listed."
            )

    @property
    def event(self) -> Event:
        """What the release costs."""
        return ExponentialSelection(self.release_epsilon)

    def release(self, points: Any, *, noise: NoiseSource) -> FloatArray:
        private = as_points(points, self.n_features)
        differences = self._differences()
        data_sets = self._data_sets()
        counts = np.bincount(self._nearest(private), minlength=len(self.domain))
        target = self.size * (differences @ counts)
        scores = np.zeros(len(data_sets), dtype=np.int64)
        rows = max(1, _MOST_CELLS // len(differences))
        for start in range(0, len(data_sets), rows):
            own = len(private) * (data_sets[start : start + rows] @ differences.T)
            scores[start : start + rows] = -np.abs(own - target).max(axis=1)
        # Rounded down, so that `size` units are not above release_epsilon.
        per_unit = math.nextafter(self.release_epsilon / self.size, 0.0)
        chosen = data_sets[selection.select(scores, per_unit, noise=noise)]
        return np.asarray(np.repeat(self.domain, chosen, axis=0))

    def _differences(self) -> IntArray:
        """Return where on the domain two hypotheses of the class disagree, each way once."""
        rows = np.concatenate([b.labels for b in self.hypotheses.dichotomies(self.domain)])
        pairs = (rows[:, None, :] != rows[None, :, :]).reshape(-1, len(self.domain))
        return np.unique(pairs, axis=0).astype(np.int64)

    def _data_sets(self) -> IntArray:
        """Return how often each point occurs in every data set of the size."""
        chosen = combinations_with_replacement(range(len(self.domain)), self.size)
        table = np.array(list(chosen), dtype=np.int64)
        per_point = [(table == point).sum(axis=1) for point in range(len(self.domain))]
        histograms: IntArray = np.column_stack(per_point).astype(np.int64)
        return histograms

    def _nearest(self, private: FloatArray) -> IntArray:
        """Return the number of the domain's nearest point, for each private one by itself."""
        with np.errstate(over="ignore"):
            gaps = [np.abs(private - point).sum(axis=1) for point in self.domain]
        nearest: IntArray = np.argmin(gaps, axis=0).astype(np.int64)
        return nearest


@dataclass(frozen=True)
class HierarchicalCounts(Sanitizer):
    """Noisy counts of halves, quarters, ... of a line of whole numbers, and points that fit them.

    Parameters
    ----------
    depth : int
        The line is 0, 1, ..., 2**depth - 1; private points are rounded down into it.
    release_epsilon : float
    size : int
        Points to release.

    Privacy
    -------
    Neighbours: ``replace``. A point lies in one interval of every depth but the whole line, whose
    count is public: replacing it moves at most two counts of each by one. Event:
    ``LaplaceCounts(scale, moves=2 * depth)`` with ``scale = 2 * depth / release_epsilon``. Only
    noise that is looked at is drawn: which is decided by noisy counts alone.

    References
    ----------
    [BNS15] section 3 uses a sanitizer for intervals; dyadic counts are Hay et al. (2010) and
    Dwork, Naor, Pitassi, Rothblum (2010).

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> counts = HierarchicalCounts(depth=10, release_epsilon=2.0, size=50)
    >>> found = counts.release(np.full(10_000, 700), noise=SecureNoise())
    >>> int(np.median(found))
    700
    """

    name: ClassVar[str] = "HierarchicalCounts"
    depth: int
    release_epsilon: float
    size: int
    n_features: int = field(default=1, init=False, repr=False)

    def __post_init__(self) -> None:
        depth = validation.positive_integer(depth=self.depth)
        validation.integer(0, "The largest depth is 52.", room=52 - depth)
        validation.positive(release_epsilon=self.release_epsilon)
        validation.positive_integer(size=self.size)

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, rounded up."""
        return math.nextafter(2 * self.depth / self.release_epsilon, math.inf)

    @property
    def event(self) -> Event:
        """What the release costs."""
        return LaplaceCounts(self.scale, moves=2 * self.depth)

    def release(self, points: Any, *, noise: NoiseSource) -> FloatArray:
        whole = np.floor(as_points(points, 1)[:, 0])
        places = np.sort(np.clip(whole, 0, 2**self.depth - 1).astype(np.int64))
        # Starts of the dyadic intervals of one level, and how many points each of them gets.
        starts, sizes = np.zeros(1, dtype=np.int64), [self.size]
        for depth in range(self.depth - 1, -1, -1):
            half = 1 << depth
            ends = np.searchsorted(places, starts[:, None] + [0, half, 2 * half])
            drawn = noise.laplace(self.scale, 2 * len(starts)).reshape(-1, 2)
            noisy = np.maximum(np.diff(ends, axis=1) + drawn, 0)
            left = [_share(size, pair) for size, pair in zip(sizes, noisy, strict=True)]
            parts = [(part, size - part) for part, size in zip(left, sizes, strict=True)]
            halves = np.stack([starts, starts + half], axis=1)
            shares = np.array(parts, dtype=np.int64)
            starts, sizes = halves[shares > 0], shares[shares > 0].tolist()
        return np.repeat(starts, sizes).astype(np.float64)[:, None]


def _share(size: int, counts: IntArray) -> int:
    """Return how many of ``size`` points go to the first of two counts."""
    total = int(counts.sum())
    if total == 0:
        return size // 2
    return int((2 * size * int(counts[0]) + total) // (2 * total))
