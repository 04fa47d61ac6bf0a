"""Halfspaces in one to three dimensions, exactly, whatever the position of the points.

Every way in which a halfspace cuts a point set can be had by pushing its border against the
points: until it holds as many as span it. Then the points strictly on one side are labelled 1,
those on the other 0, and those on the border are cut by a halfspace of the border, a problem with
one dimension less. Turning the border by a little about that smaller border, in the right sense,
gives back an ordinary halfspace that does the same. So a hypothesis here is a border through
points, with a border in the border for the points on it, and so on. It is compared with points,
never computed from them, and no rounding can lose a behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacit.errors import InvalidArgument
from tacit.hypotheses.base import BLOCK_CELLS, Dichotomies, HypothesisClass, first_seen
from tacit.hypotheses.orientation import side
from tacit.hypotheses.points import BoolArray, FloatArray, IndexArray, IntArray, as_points
from tacit.hypotheses.thresholds import cut_labels, cuts

_Behaviours = Iterator[tuple[FloatArray, BoolArray]]


@dataclass(frozen=True)
class Halfspaces(HypothesisClass):
    """All halfspaces of one, two or three dimensions, open and closed.

    Parameters of a hypothesis, in d dimensions: the d points its border goes through, the side
    that is labelled 1 (1 or -1), which coordinate to drop on the border, and the parameters there;
    in one dimension, a threshold and its direction.

    Parameters
    ----------
    n_features : int
        1, 2 or 3.

    Examples
    --------
    >>> Halfspaces(n_features=2).count_dichotomies([[0, 0], [0, 1], [1, 0], [1, 1]])
    14
    >>> on_a_line = [[0, 0], [1, 1], [2, 2]]
    >>> Halfspaces(n_features=2).count_dichotomies(on_a_line)
    6
    """

    n_features: int

    def __post_init__(self) -> None:
        if self.n_features not in (1, 2, 3):
            raise InvalidArgument(
                f"`n_features` must be 1, 2 or 3, got {self.n_features!r}: halfspaces are listed "
                "exactly, and in more dimensions they are too many."
            )

    @property
    def vc_dimension(self) -> int:
        return self.n_features + 1

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield borders through points; several may cut them alike."""
        for hypotheses, _ in _listed(points):
            yield hypotheses

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        # How many points lie on borders is private: tables of them must be small at their largest.
        cells = BLOCK_CELLS // hypotheses.shape[1]
        rows = max(1, cells // max(1, len(points)))
        labels = np.empty((len(hypotheses), len(points)), dtype=np.bool_)
        for start in range(0, len(hypotheses), rows):
            part = slice(start, start + rows)
            labels[part] = _label(hypotheses[part, None, :], points[None, :, :])
        return labels

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        points = as_points(X, self.n_features)
        distinct, where = np.unique(points, axis=0, return_inverse=True)
        seen: set[bytes] = set()
        for hypotheses, labels in _in_blocks(_listed(distinct), len(points)):
            fresh = first_seen(labels, seen)
            if len(fresh):
                yield Dichotomies(hypotheses[fresh], labels[fresh][:, where.ravel()])


def _label(hypotheses: FloatArray, points: FloatArray) -> BoolArray:
    """Label points, by the outermost border first, and those on it by the next."""
    d = points.shape[-1]
    if d == 1:
        return cut_labels(hypotheses, points[..., 0])
    corners = hypotheses[..., : d * d].reshape(*hypotheses.shape[:-1], d, d)
    sides = side(corners, points)
    labels: BoolArray = sides * hypotheses[..., d * d] > 0
    on = np.nonzero(sides == 0)
    inner = np.broadcast_to(hypotheses, (*sides.shape, hypotheses.shape[-1]))[on]
    rest = np.broadcast_to(points, (*sides.shape, d))[on]
    dropped = inner[:, d * d + 1].astype(np.intp)
    for axis in range(d):
        own = dropped == axis
        if own.any():
            inside = _label(inner[own, d * d + 2 :], np.delete(rest[own], axis, axis=1))
            labels[tuple(index[own] for index in on)] = inside
    return labels


def _listed(points: FloatArray) -> _Behaviours:
    """Yield hypotheses and their labels on distinct points: every behaviour at least once."""
    n, d = points.shape
    if d == 1:
        table = cuts(points[:, 0], both_directions=True)
        yield table, cut_labels(table[:, None, :], points[None, :, 0])
        return
    axis = _redundant_axis(points)
    if axis is not None:
        # All points lie in a smaller space. A border through one point alone has all points on it.
        corners = np.tile(points[0] if n else np.zeros(d), d)
        for inner, labels in _listed(np.delete(points, axis, axis=1)):
            yield _outer(corners, 1.0, axis, inner), labels
        return
    yield from _by_borders(points)


def _by_borders(points: FloatArray) -> _Behaviours:
    """Yield, for every border through points that span it, what it does on both of its sides."""
    d = points.shape[1]
    borders: set[bytes] = set()
    for chosen in _blocks_of_combinations(len(points), d):
        corners = points[chosen]
        sides = side(corners[:, None], points[None])
        n_on_border = (sides == 0).sum(axis=1)
        yield from _by_simplices(points, chosen[n_on_border == d], sides[n_on_border == d])
        for row in np.flatnonzero((n_on_border > d) & (n_on_border < len(points))):
            key = np.packbits(sides[row] == 0).tobytes()
            if key not in borders:
                borders.add(key)
                yield from _by_crowded_border(points, corners[row], sides[row])


def _by_crowded_border(points: FloatArray, corners: FloatArray, sides: IntArray) -> _Behaviours:
    """Yield what a border does that holds more points than are needed to span it."""
    on = sides == 0
    axis = int(_axes_to_drop(corners[None])[0])
    inside = list(_listed(np.delete(points[on], axis, axis=1)))
    for sign in (1.0, -1.0):
        for inner, inner_labels in inside:
            labels = np.repeat((sign * sides > 0)[None, :], len(inner), axis=0)
            labels[:, on] = inner_labels
            yield _outer(corners.ravel(), sign, axis, inner), labels


def _by_simplices(points: FloatArray, chosen: IndexArray, sides: IntArray) -> _Behaviours:
    """Yield what borders do that hold the points they go through and no other, many at once.

    These points can be labelled in every way, by one chain of borders inside each other: through
    all but the last, through all but the last two, and so on.
    """
    if not len(chosen):
        return
    n_borders, d = chosen.shape
    inner, inner_labels = _simplex_tables(points[chosen])
    ways = inner.shape[1]
    axes = _axes_to_drop(points[chosen])
    head = np.hstack([points[chosen].reshape(n_borders, -1), np.zeros((n_borders, 2))])
    head[:, -1] = axes
    for sign in (1.0, -1.0):
        head[:, -2] = sign
        table = np.concatenate([np.repeat(head[:, None], ways, axis=1), inner], axis=2)
        labels = np.repeat((sign * sides > 0)[:, None, :], ways, axis=1)
        np.put_along_axis(labels, np.repeat(chosen[:, None, :], ways, axis=1), inner_labels, axis=2)
        yield table.reshape(n_borders * ways, -1), labels.reshape(n_borders * ways, -1)


def _simplex_tables(corners: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return all ways to label the d corners of each border, by hypotheses of the border.

    Shapes: (n_borders, 2**d, parameters) and (n_borders, 2**d, d).
    """
    d = corners.shape[1]
    axes = _axes_to_drop(corners)
    remaining_axes = np.array([[a for a in range(d) if a != axis] for axis in range(d)])[axes]
    flat = np.take_along_axis(corners, np.repeat(remaining_axes[:, None, :], d, axis=1), axis=2)
    if d == 2:
        return _pair_tables(flat[:, :, 0])
    pair, last = flat[:, :2], flat[:, 2]
    inner, inner_labels = _simplex_tables(pair)
    head = np.hstack([pair.reshape(len(pair), -1), np.zeros((len(pair), 2))])
    head[:, -1] = _axes_to_drop(pair)
    where = side(pair, last)
    tables, labels = [], []
    for sign in (1, -1):
        head[:, -2] = sign
        own = np.repeat(head[:, None], inner.shape[1], axis=1)
        tables.append(np.concatenate([own, inner], axis=2))
        third = np.repeat((sign * where > 0)[:, None, None], inner.shape[1], axis=1)
        labels.append(np.concatenate([inner_labels, third], axis=2))
    return np.concatenate(tables, axis=1), np.concatenate(labels, axis=1)


def _pair_tables(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the four thresholds that label two different values in every way."""
    low, high = values.min(axis=1), values.max(axis=1)
    cut = np.stack([low, high, np.full_like(low, np.inf), high], axis=1)
    table = np.stack([cut, np.broadcast_to([1.0, 1.0, 1.0, -1.0], cut.shape)], axis=2)
    return table, cut_labels(table[:, :, None, :], values[:, None, :])


def _outer(corners: FloatArray, sign: float, axis: int, inner: FloatArray) -> FloatArray:
    head = np.concatenate([corners, [sign, float(axis)]])
    return np.hstack([np.tile(head, (len(inner), 1)), inner])


def _redundant_axis(points: FloatArray) -> int | None:
    """Return a coordinate that the others determine, if the points do not span their space."""
    if _spans(points):
        return None
    d = points.shape[1]
    ranks = [_rank(np.delete(points, axis, axis=1)) for axis in range(d)]
    return int(np.argmax(ranks))


def _rank(points: FloatArray) -> int:
    """Return the dimension of the space that the points span."""
    d = int(points.shape[1])
    if _spans(points):
        return d
    return max(_rank(np.delete(points, axis, axis=1)) for axis in range(d)) if d > 1 else 0


def _spans(points: FloatArray) -> bool:
    n, d = points.shape
    return any(
        bool(side(points[chosen][:, None], points[None]).any())
        for chosen in _blocks_of_combinations(n, d)
    )


def _axes_to_drop(corners: FloatArray) -> IndexArray:
    """Return, for each border, a coordinate without which its corners still span it.

    There is one where the corners span a border; where they do not, the answer means nothing.
    """
    d = corners.shape[1]
    rest = [np.delete(corners, axis, axis=2) for axis in range(d)]
    spanning = [side(others[:, :-1], others[:, -1]) != 0 for others in rest]
    axes: IndexArray = np.argmax(spanning, axis=0)
    return axes


def _blocks_of_combinations(n: int, d: int) -> Iterator[IndexArray]:
    """Yield the d-subsets of n points, many at a time."""
    rows, most = [], max(1, BLOCK_CELLS // (2 ** (d + 1) * max(1, n)))
    for chosen in combinations(range(n), d):
        rows.append(chosen)
        if len(rows) == most:
            yield np.array(rows, dtype=np.intp)
            rows = []
    if rows:
        yield np.array(rows, dtype=np.intp)


def _in_blocks(behaviours: _Behaviours, n_points: int) -> _Behaviours:
    """Join small tables into blocks of bounded size."""
    hypotheses: list[FloatArray] = []
    labels: list[BoolArray] = []
    n_rows, most = 0, max(1, BLOCK_CELLS // (8 * max(1, n_points)))
    for table, rows in behaviours:
        hypotheses.append(table)
        labels.append(rows)
        n_rows += len(table)
        if n_rows >= most:
            yield np.concatenate(hypotheses), np.concatenate(labels)
            hypotheses, labels, n_rows = [], [], 0
    if n_rows:
        yield np.concatenate(hypotheses), np.concatenate(labels)
