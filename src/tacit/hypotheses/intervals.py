"""Closed intervals on a line, and the empty one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.hypotheses.base import BLOCK_CELLS, Dichotomies, HypothesisClass, Minimum
from tacit.hypotheses.differences import count_differences, pair_with_difference
from tacit.hypotheses.mistakes import Hypothesis, LevelledMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray, as_labels, as_points

EMPTY = np.array([np.inf, -np.inf])


@dataclass(frozen=True)
class Intervals(HypothesisClass):
    """``a <= x <= b``, or nowhere 1. Parameters: ``(a, b)``; ``(inf, -inf)`` is the empty one.

    The representatives of the dichotomies of a point set have their ends at its points. On k
    distinct points there are k (k + 1)/2 + 1 of them: mistakes are counted by level, in n log^2 n,
    and never listed.

    Examples
    --------
    >>> Intervals().count_dichotomies([0.5, 0.1, 0.9])
    7
    >>> best = Intervals().minimise([1, 2, 3, 4], [0, 1, 1, 0])
    >>> best.hypothesis, best.mistakes
    (array([2., 3.]), 0)
    """

    n_features: int = field(default=1, init=False, repr=False)

    @property
    def vc_dimension(self) -> int:
        return 2

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield every behaviour once: by left end, the empty interval first."""
        ends = np.unique(points[:, 0])
        yield EMPTY[None, :]
        most = max(1, BLOCK_CELLS // max(1, len(points)))
        for left in range(len(ends)):
            for start in range(left, len(ends), most):
                right = ends[start : start + most]
                yield np.column_stack([np.full(len(right), ends[left]), right])

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        x = points[:, 0]
        inside: BoolArray = (x >= hypotheses[:, :1]) & (x <= hypotheses[:, 1:])
        return inside

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        points = as_points(X, 1)
        for hypotheses in self.candidates(points):
            yield Dichotomies(hypotheses, self.label(hypotheses, points))

    def minimise(self, X: Any, y: Any) -> Minimum:
        """Return a minimiser in n log n: the steepest climb of the running balance of labels."""
        points = as_points(X, 1)
        labels = as_labels(y, len(points))
        ends = np.unique(points[:, 0])
        ones = int(labels.sum())
        if not ones:
            return Minimum(EMPTY, 0)
        before, upto = _balances(ends, points[:, 0], labels)
        lowest = np.minimum.accumulate(before)
        right = int(np.argmax(upto - lowest))
        left = int(np.argmin(before[: right + 1]))
        gain = int(upto[right] - before[left])
        if gain < 0:  # every one shares its point with more zeros
            return Minimum(EMPTY, ones)
        return Minimum(np.array([ends[left], ends[right]]), ones - gain)

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        ends = np.unique(as_points(cover, 1)[:, 0])
        scored = as_points(X, 1)
        labels = as_labels(y, len(scored))
        before, upto = _balances(ends, scored[:, 0], labels)
        ones = int(labels.sum())
        # An interval makes `ones` mistakes less what it gains: its ones less its zeros.
        lowest, gains = count_differences(before, upto)
        counts = np.zeros(len(scored) + 1, dtype=np.int64)
        used = np.flatnonzero(gains)
        counts[ones - (lowest + used)] = gains[used]
        counts[ones] += 1  # the empty one

        def member(mistakes: int, rank: int) -> Hypothesis:
            if mistakes == ones and rank == counts[ones] - 1:
                return EMPTY
            left, right = pair_with_difference(before, upto, ones - mistakes, rank)
            return np.array([ends[left], ends[right]])

        return LevelledMistakes(counts, member)


def _balances(ends: FloatArray, values: FloatArray, labels: BoolArray) -> tuple[IntArray, IntArray]:
    """Return ones less zeros among the values below each end, and among those up to it."""
    order = np.argsort(values, kind="stable")
    running = np.concatenate([[0], np.cumsum(np.where(labels[order], 1, -1))]).astype(np.int64)
    ranked = values[order]
    below: IntArray = running[np.searchsorted(ranked, ends, side="left")]
    upto: IntArray = running[np.searchsorted(ranked, ends, side="right")]
    return below, upto
