"""Decision stumps: a threshold on one of several features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import shake_128
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.hypotheses.base import BLOCK_CELLS, Dichotomies, HypothesisClass, first_seen
from tacit.hypotheses.mistakes import ListedMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IndexArray, as_labels, as_points
from tacit.hypotheses.thresholds import cut_mistakes, cuts

_Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Stumps(HypothesisClass):
    """``x[j] >= t``; with ``both_directions`` also ``x[j] < t``. Parameters: ``(j, t, 1 or -1)``.

    Two stumps on different features may label a point set alike; the one on the earlier feature
    stands for both. Mistakes are counted in d n log n.

    Parameters
    ----------
    n_features : int
    both_directions : bool, default True

    Examples
    --------
    >>> stumps = Stumps(n_features=2)
    >>> stumps.count_dichotomies([[0, 0], [0, 1], [1, 1]])
    6
    """

    n_features: int
    both_directions: bool = True

    def __post_init__(self) -> None:
        validation.positive_integer(n_features=self.n_features)
        validation.instance(bool, both_directions=self.both_directions)

    @property
    def vc_dimension(self) -> int:
        """The largest n with C(n, n // 2) <= d, or 2 d with both directions; at least 1. Exact.

        Each feature sorts n shattered points in one order, whose cuts of size k are 1 set going up
        (2 with both directions: its first k and its last k). Sets of size k number C(n, k), so
        d features need C(n, k) <= d, or 2 d, for every k between 1 and n - 1. So many suffice:
        the sets of n points are the union of C(n, n // 2) chains, each part of one order's cuts;
        with both directions by Gey (2018) and Leboeuf, LeBlanc and Marchand (2020).
        """
        most = self.n_features * (2 if self.both_directions else 1)
        n = 1
        while comb(n + 1, (n + 1) // 2) <= most:
            n += 1
        return n

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield every behaviour once."""
        table = self._cover(points)
        rows = max(1, BLOCK_CELLS // max(1, len(points)))
        for start in range(0, len(table), rows):
            yield table[start : start + rows]

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        reached = points.T[hypotheses[:, 0].astype(np.intp)] >= hypotheses[:, 1:2]
        labels: BoolArray = reached == (hypotheses[:, 2:] > 0)
        return labels

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        points = as_points(X, self.n_features)
        for hypotheses in self.candidates(points):
            yield Dichotomies(hypotheses, self.label(hypotheses, points))

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        table = self._cover(as_points(cover, self.n_features))
        scored = as_points(X, self.n_features)
        labels = as_labels(y, len(scored))
        counts = np.empty(len(table), dtype=np.int64)
        ends = np.searchsorted(table[:, 0], np.arange(self.n_features + 1))
        for feature, (start, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
            if start < end:
                own = table[start:end, 1:]
                counts[start:end] = cut_mistakes(own, scored[:, feature], labels)
        return ListedMistakes(counts, lambda index: table[index])

    def _cover(self, points: FloatArray) -> FloatArray:
        """Return one stump per behaviour on the points, by feature."""
        words = _words(len(points))
        tables, behaviours = [], []
        for feature in range(self.n_features):
            own = cuts(points[:, feature], self.both_directions)
            tables.append(np.column_stack([np.full(len(own), float(feature)), own]))
            behaviours.append(_behaviours(own, points[:, feature], words))
        table = np.concatenate(tables)
        _, first, which = np.unique(
            np.concatenate(behaviours), axis=0, return_index=True, return_inverse=True
        )
        rows = np.sort(first)
        if not self._alike(table, first[which.ravel()], points):
            rows = self._distinct_behaviours(table, points)
        cover: FloatArray = table[rows]
        return cover

    def _alike(self, table: FloatArray, stands_for: IndexArray, points: FloatArray) -> bool:
        """Return whether every stump behaves as the one that stands for it: sums can collide."""
        replaced = np.flatnonzero(stands_for != np.arange(len(table)))
        features = table[:, 0].astype(np.intp)
        pairs = features[replaced] * self.n_features + features[stands_for[replaced]]
        by_pair = np.argsort(pairs, kind="stable")
        ends = np.flatnonzero(np.diff(pairs[by_pair])) + 1
        return all(
            _same_cuts(table[some], table[stands_for[some]], points)
            for some in np.split(replaced[by_pair], ends)
            if len(some)
        )

    def _distinct_behaviours(self, table: FloatArray, points: FloatArray) -> IndexArray:
        """Return the first stump of every behaviour, by looking at all labels."""
        seen: set[bytes] = set()
        rows = max(1, BLOCK_CELLS // max(1, len(points)))
        parts = [
            at + first_seen(self.label(table[at : at + rows], points), seen)
            for at in range(0, len(table), rows)
        ]
        representatives: IndexArray = np.concatenate(parts)
        return representatives


def _same_cuts(some: FloatArray, others: FloatArray, points: FloatArray) -> bool:
    """Return whether stumps on one feature label points as as many stumps on another feature do.

    With points sorted by the first feature, those below a cut of it are the first m. They are those
    below a cut of the second feature if m are below it, and the largest of the first m is; they are
    those not below it if so many are not, and the smallest of the first m is not.
    """
    first, second = (points[:, int(stumps[0, 0])] for stumps in (some, others))
    order = np.argsort(first, kind="stable")
    m = np.searchsorted(first[order], some[:, 1])
    cut, below = others[:, 1], np.searchsorted(np.sort(second), others[:, 1])
    along = second[order]
    largest = np.append(-np.inf, np.maximum.accumulate(along))[m]
    smallest = np.append(np.inf, np.minimum.accumulate(along))[m]
    same = (below == m) & (largest < cut)
    turned = (len(points) - below == m) & (smallest >= cut)
    return bool(np.where(some[:, 2] == others[:, 2], same, turned).all())


def _words(n_points: int) -> _Words:
    """Return two fixed 64-bit words per point, to distinguish sets of points by their sums."""
    drawn = shake_128(b"tacit: names of points").digest(16 * n_points)
    return np.frombuffer(drawn, dtype="<u8").reshape(n_points, 2).astype(np.uint64)


def _behaviours(table: FloatArray, values: FloatArray, words: _Words) -> _Words:
    """Return, for every cut, the sum of the words of the points it labels 1, modulo 2**64.

    Equal sets have equal sums. Sums of different sets hardly ever agree, but points can be chosen
    such that some do: where sums agree, labels are compared.
    """
    order = np.argsort(values, kind="stable")
    before = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(words[order], axis=0)])
    below = before[np.searchsorted(values[order], table[:, 0])]
    sums: _Words = np.where(table[:, 1:] > 0, before[-1] - below, below)
    return sums
