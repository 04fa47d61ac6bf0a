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
from tacit.hypotheses.points import BoolArray, FloatArray, as_points
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
        return _label(hypotheses[:, None, :], points[None, :, :])

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
    found = side(corners, points)
    labels: BoolArray = found * hypotheses[..., d * d] > 0
    on = np.nonzero(found == 0)
    inner = np.broadcast_to(hypotheses, (*found.shape, hypotheses.shape[-1]))[on]
    rest = np.broadcast_to(points, (*found.shape, d))[on]
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
        sides = side(points[chosen][:, None], points[None])
        for corners, row in zip(points[chosen], sides, strict=True):
            on = row == 0
            key = np.packbits(on).tobytes()
            if on.all() or key in borders:  # the corners span less than a border, or it is known
                continue
            if on.sum() > d:
                borders.add(key)
            axis = _axis_to_drop(corners)
            inside = list(_listed(np.delete(points[on], axis, axis=1)))
            for sign in (1.0, -1.0):
                for inner, inner_labels in inside:
                    labels = np.repeat((sign * row > 0)[None, :], len(inner), axis=0)
                    labels[:, on] = inner_labels
                    yield _outer(corners.ravel(), sign, axis, inner), labels


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


def _axis_to_drop(corners: FloatArray) -> int:
    """Return a coordinate without which the corners still span their border."""
    d = len(corners)
    return next(a for a in range(d) if _rank(np.delete(corners, a, axis=1)) == d - 1)


def _blocks_of_combinations(n: int, d: int) -> Iterator[np.ndarray[Any, np.dtype[np.intp]]]:
    """Yield the d-subsets of n points, many at a time."""
    rows, most = [], max(1, BLOCK_CELLS // (8 * max(1, n)))
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
    held, most = 0, max(1, BLOCK_CELLS // (8 * max(1, n_points)))
    for table, rows in behaviours:
        hypotheses.append(table)
        labels.append(rows)
        held += len(table)
        if held >= most:
            yield np.concatenate(hypotheses), np.concatenate(labels)
            hypotheses, labels, held = [], [], 0
    if held:
        yield np.concatenate(hypotheses), np.concatenate(labels)
