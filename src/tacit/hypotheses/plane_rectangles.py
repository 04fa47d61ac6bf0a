"""Mistakes of all rectangles of a cover in the plane, counted by level without listing them.

Fix the left and the right side of a rectangle. What its closed vertical range from b to t gains
(ones less zeros inside) is ``upto(t) - below(b)``, two running balances along the vertical axis.
The rectangle is the smallest around its points of the cover when a point touches each side: b and
t lie at points of the strip, and between them there is one on the left side and one on the right.
With t(b) the first height at which both are reached, going up from b, the pairs are all (b, t)
with t >= t(b). The b with the same t(b) meet the same t: a histogram of ``below`` times one of
``upto``, and summing such products over many strips is one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.hypotheses.mistakes import Hypothesis, LevelledMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray


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
        found: IntArray = np.minimum.accumulate(at[..., ::-1], axis=-1)[..., ::-1]
        return found


def plane_mistakes(cover: FloatArray, points: FloatArray, labels: BoolArray) -> MistakeCounts:
    """Return the mistakes of one rectangle per dichotomy of ``cover``, the empty one last."""
    ones = int(labels.sum())
    counts = np.zeros(len(points) + 1, dtype=np.int64)
    grid = _Grid.of(cover, points, labels)
    by_left = [_gains(grid, left) for left in range(len(grid.xs))]
    for lowest, gains in by_left:
        used = np.flatnonzero(gains)
        counts[ones - (lowest + used)] += gains[used]
    counts[ones] += 1

    def member(mistakes: int, rank: int) -> Hypothesis:
        if mistakes == ones and rank == counts[ones] - 1:
            return np.repeat([np.inf, -np.inf], 2)
        return _rectangle(grid, by_left, ones - mistakes, rank)

    return LevelledMistakes(counts, member)


def _gains(grid: _Grid, left: int) -> tuple[int, IntArray]:
    """Return the least gain of rectangles with this left side, and how many have it, one more..."""
    below, upto, occupied = grid.strips(left)
    low_b, low_t = int(below.min()), int(upto.min())
    wide_b, wide_t = int(below.max()) - low_b + 1, int(upto.max()) - low_t + 1
    product = np.zeros((wide_b, wide_t))
    for strips, bottoms, tops in _groups(grid, left, occupied):
        product += _histogram(below - low_b, strips, bottoms, wide_b).T @ _histogram(
            upto - low_t, strips, tops, wide_t
        )
    least = low_t - (low_b + wide_b - 1)
    gains = np.zeros(wide_b + wide_t - 1, dtype=np.int64)
    for b in range(wide_b):
        # Whole numbers below 2**53: the products are exact.
        gains[wide_b - 1 - b : wide_b - 1 - b + wide_t] += product[b].astype(np.int64)
    return least, gains


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


def _histogram(values: IntArray, strips: IntArray, chosen: BoolArray, width: int) -> FloatArray:
    """Return how often each value occurs among the chosen heights, one row per strip."""
    row, height = np.nonzero(chosen)
    cell = row * width + values[strips[row], height]
    return np.bincount(cell, minlength=len(strips) * width).reshape(-1, width).astype(np.float64)


def _rectangle(
    grid: _Grid, by_left: list[tuple[int, IntArray]], gain: int, rank: int
) -> Hypothesis:
    """Return the rectangle of the given rank among those with the given gain."""
    for left, (lowest, gains) in enumerate(by_left):  # noqa: B007 - where it stops is used
        here = int(gains[gain - lowest]) if 0 <= gain - lowest < len(gains) else 0
        if rank < here:
            break
        rank -= here
    below, upto, occupied = grid.strips(left)
    for strips, bottoms, tops in _groups(grid, left, occupied):
        for row, strip in enumerate(strips):
            b, t = np.flatnonzero(bottoms[row]), np.flatnonzero(tops[row])
            hits = upto[strip, t][None, :] - below[strip, b][:, None] == gain
            here = int(hits.sum())
            if rank < here:
                at_b, at_t = (found[rank] for found in np.nonzero(hits))
                return np.array(
                    [grid.xs[left], grid.ys[b[at_b]], grid.xs[left + strip], grid.ys[t[at_t]]]
                )
            rank -= here
    raise IndexError("There is no rectangle of this rank.")
