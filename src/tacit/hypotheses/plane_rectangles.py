"""Mistakes of all rectangles of a cover in the plane, counted by level without listing them.

Fix the left and the right side of a rectangle. What its closed vertical range from b to t gains
(ones less zeros inside) is ``upto(t) - below(b)``, two running balances along the vertical axis.
The rectangle is the smallest around its points of the cover when a point touches each side: b and
t lie at points of the strip, and between them there is one on the left side and one on the right.
With t(b) the first height at which both are reached, going up from b, the pairs are all (b, t)
with t >= t(b). The b with the same t(b) meet the same t: every one of them with every one.

How often each gain occurs among such pairs is counted pair by pair, or as the correlation of two
histograms by Fourier transform. Which of the two, and how much memory it takes, follow from the
number of cover points and of scored points alone: labels decide neither. The balances that a strip
can have grow with the number of labels of one kind, which is private.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.fft

from tacit.hypotheses.mistakes import Hypothesis, LevelledMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray

_CHUNK = 1 << 20
"""How many numbers a table of pairs or of histograms holds at most (one strip at least)."""

_PAIRS = 16
"""How many pairs are counted one by one in the time of one step of a Fourier transform."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """The cover on its grid of distinct coordinates, with the balances of the scored points."""

    xs: FloatArray
    ys: FloatArray
    cells: BoolArray  # which grid points are in the cover
    below: IntArray  # [a, b]: balance of scored points left of x_a (or of the end), below y_b
    upto: IntArray  # the same, up to and including y_b
    column_of_right: IntArray  # row of the balances that ends with x_a itself

    @classmethod
    def of(cls, cover: FloatArray, points: FloatArray, labels: BoolArray) -> _Grid:
        xs, ys = np.unique(cover[:, 0]), np.unique(cover[:, 1])
        cells = np.zeros((len(xs), len(ys)), dtype=np.bool_)
        cells[np.searchsorted(xs, cover[:, 0]), np.searchsorted(ys, cover[:, 1])] = True
        # Between grid lines and on them: cell 2k is before line k, cell 2k + 1 on it.
        across = 2 * np.searchsorted(xs, points[:, 0]) + np.isin(points[:, 0], xs)
        up = 2 * np.searchsorted(ys, points[:, 1]) + np.isin(points[:, 1], ys)
        table = np.zeros((2 * len(xs) + 1, 2 * len(ys) + 1), dtype=np.int64)
        np.add.at(table, (across, up), np.where(labels, 1, -1))
        running = np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        heights = 2 * np.arange(len(ys)) + 1
        return cls(
            xs, ys, cells, running[:, heights], running[:, heights + 1], 2 * np.arange(len(xs)) + 2
        )

    def strips(self, left: int) -> tuple[IntArray, IntArray, BoolArray]:
        """Return, for every right side from ``left`` on: ``below``, ``upto``, occupied heights."""
        rights = self.column_of_right[left:]
        start = self.column_of_right[left] - 1
        below = self.below[rights] - self.below[start]
        upto = self.upto[rights] - self.upto[start]
        occupied = np.logical_or.accumulate(self.cells[left:], axis=0)
        return below, upto, occupied

    def first_tops(self, left: int) -> IntArray:
        """Return, for every right side and height b, the first height where both are touched."""
        return np.maximum(self._next(self.cells[left])[None, :], self._next(self.cells[left:]))

    @staticmethod
    def _next(touched: BoolArray) -> IntArray:
        """Return, for every height, the first height from it on that is touched (or the end)."""
        n = touched.shape[-1]
        at = np.where(touched, np.arange(n), n)
        next_touched: IntArray = np.minimum.accumulate(at[..., ::-1], axis=-1)[..., ::-1]
        return next_touched


def plane_mistakes(cover: FloatArray, points: FloatArray, labels: BoolArray) -> MistakeCounts:
    """Return the mistakes of one rectangle per dichotomy of ``cover``, the empty one last."""
    ones, n = int(labels.sum()), len(points)
    grid = _Grid.of(cover, points, labels)
    counter = _counter(len(cover), n)
    for left in range(len(grid.xs)):
        below, upto, occupied = grid.strips(left)
        for strips, bottoms, tops in _groups(grid, left, occupied):
            counter.add(below[strips], bottoms, upto[strips], tops)
    gains = counter.counts()  # of -n, -n + 1, ..., n
    counts = np.zeros(n + 1, dtype=np.int64)
    used = np.flatnonzero(gains)
    counts[ones - (used - n)] = gains[used]
    counts[ones] += 1

    def member(mistakes: int, rank: int) -> Hypothesis:
        if mistakes == ones and rank == counts[ones] - 1:
            return np.repeat([np.inf, -np.inf], 2)
        return _rectangle(grid, ones - mistakes, rank)

    return LevelledMistakes(counts, member)


class _Pairs:
    """Counts of gains between -n and n, by listing the pairs of a strip."""

    def __init__(self, n: int) -> None:
        self._n, self._counts = n, np.zeros(2 * n + 1, dtype=np.int64)
        self._waiting: list[IntArray] = []
        self._size = 0

    def add(self, below: IntArray, bottoms: BoolArray, upto: IntArray, tops: BoolArray) -> None:
        """Count every bottom with every top of the same row."""
        for row in range(len(below)):
            low, high = below[row, bottoms[row]], upto[row, tops[row]]
            step = max(1, _CHUNK // max(1, len(high)))
            for start in range(0, len(low), step):
                pairs = high[None, :] - low[start : start + step, None]
                self._waiting.append(pairs.ravel())
                self._size += pairs.size
                if self._size >= _CHUNK:
                    self._count()

    def _count(self) -> None:
        if self._waiting:
            gains = np.concatenate(self._waiting) + self._n
            self._counts += np.bincount(gains, minlength=len(self._counts))
        self._waiting, self._size = [], 0

    def counts(self) -> IntArray:
        """Return how often each gain occurs, from -n to n."""
        self._count()
        return self._counts


class _Correlation:
    """Counts of gains between -n and n, by Fourier transform of the histograms of each strip.

    Balances are taken modulo ``length``, which is more than 2 n: gains remain distinct.
    """

    def __init__(self, n: int) -> None:
        self._n, self._counts = n, np.zeros(2 * n + 1, dtype=np.int64)
        self._length = scipy.fft.next_fast_len(2 * n + 1, real=True)

    def add(self, below: IntArray, bottoms: BoolArray, upto: IntArray, tops: BoolArray) -> None:
        """Count every bottom with every top of the same row.

        With h heights, an entry is off by at most about ``rows * h**2 * log2(length) * 2**-49``
        (see ``exact_convolution``): below a quarter up to a hundred thousand heights.
        """
        step = max(1, _CHUNK // self._length)
        for start in range(0, len(below), step):
            part = slice(start, start + step)
            low = scipy.fft.rfft(self._histograms(below[part], bottoms[part]))
            high = scipy.fft.rfft(self._histograms(upto[part], tops[part]))
            total = scipy.fft.irfft((np.conj(low) * high).sum(axis=0), self._length)
            exact = np.rint(total).astype(np.int64)
            self._counts += exact[np.arange(-self._n, self._n + 1)]

    def _histograms(self, values: IntArray, chosen: BoolArray) -> FloatArray:
        row, height = np.nonzero(chosen)
        cell = row * self._length + values[row, height] % self._length
        counts = np.bincount(cell, minlength=len(values) * self._length)
        return counts.reshape(-1, self._length).astype(np.float64)

    def counts(self) -> IntArray:
        """Return how often each gain occurs, from -n to n."""
        return self._counts


def _counter(n_cover: int, n_points: int) -> _Pairs | _Correlation:
    """Return the faster way to count, by public sizes alone."""
    length = 2 * n_points + 1
    by_pairs = n_cover**2 <= _PAIRS * length * length.bit_length()
    return _Pairs(n_points) if by_pairs else _Correlation(n_points)


def _groups(
    grid: _Grid, left: int, occupied: BoolArray
) -> Iterator[tuple[IntArray, BoolArray, BoolArray]]:
    """Yield strips with the bottoms and the tops that meet, each strip at most once at a time.

    Without ties a strip has one group: the bottoms up to the lower of its two side points, the
    tops from the higher one on. With several points on a side it has one for each value of t(b).
    """
    first = grid.first_tops(left)
    n = occupied.shape[1]
    usable = occupied & (first < n)
    heights = np.arange(n)
    while True:
        strips = np.flatnonzero(usable.any(axis=1))
        if not len(strips):
            return
        top = first[strips, usable[strips].argmax(axis=1)]
        bottoms = usable[strips] & (first[strips] == top[:, None])
        yield strips, bottoms, occupied[strips] & (heights >= top[:, None])
        usable[strips] &= ~bottoms


def _rectangle(grid: _Grid, gain: int, rank: int) -> Hypothesis:
    """Return the rectangle of the given rank among those with the given gain."""
    for left in range(len(grid.xs)):
        below, upto, occupied = grid.strips(left)
        for strips, bottoms, tops in _groups(grid, left, occupied):
            matches = _matches(below[strips] + gain, bottoms, upto[strips], tops)
            if rank >= matches.sum():
                rank -= int(matches.sum())
                continue
            row = int(np.searchsorted(matches.cumsum(), rank, side="right"))
            rank -= int(matches[:row].sum())
            low, high = np.flatnonzero(bottoms[row]), np.flatnonzero(tops[row])
            strip = strips[row]
            per_bottom = [(upto[strip, high] == below[strip, b] + gain).sum() for b in low]
            at = int(np.searchsorted(np.cumsum(per_bottom), rank, side="right"))
            rank -= int(sum(per_bottom[:at]))
            b = low[at]
            t = high[np.flatnonzero(upto[strip, high] == below[strip, b] + gain)[rank]]
            return np.array([grid.xs[left], grid.ys[b], grid.xs[left + strip], grid.ys[t]])
    raise IndexError("There is no rectangle of this rank.")


def _matches(first: IntArray, bottoms: BoolArray, last: IntArray, tops: BoolArray) -> IntArray:
    """Return, for every row, how many pairs of a bottom and a top have equal values."""
    start = min(first.min(), last.min())
    width = int(max(first.max(), last.max()) - start) + 1
    row_b, b = np.nonzero(bottoms)
    row_t, t = np.nonzero(tops)
    keys = np.sort(row_b * width + first[row_b, b] - start)
    searched = row_t * width + last[row_t, t] - start
    equal = np.searchsorted(keys, searched, side="right") - np.searchsorted(keys, searched)
    return np.bincount(row_t, weights=equal, minlength=len(first)).astype(np.int64)
