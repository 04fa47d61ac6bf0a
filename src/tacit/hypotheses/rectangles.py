"""Axis-aligned closed rectangles in any number of dimensions, and the empty one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import validation
from tacit.hypotheses.base import BLOCK_CELLS, Dichotomies, HypothesisClass
from tacit.hypotheses.mistakes import MistakeCounts
from tacit.hypotheses.plane_rectangles import plane_mistakes
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray, as_labels, as_points


@dataclass(frozen=True)
class Rectangles(HypothesisClass):
    """``low[j] <= x[j] <= high[j]`` for every feature. Parameters: all lows, then all highs.

    The representative of a dichotomy is the smallest box around the points labelled 1; nothing is
    labelled 1 by lows of infinity and highs of minus infinity. In the plane, mistakes are counted
    by level and never listed: for a cover of m points and n scored ones in about m^2 n log n steps
    or, where that is less, m^4/100, in memory that m and n bound.

    Parameters
    ----------
    n_features : int

    Examples
    --------
    >>> corners = [[0, 1], [1, 0], [1, 2], [2, 1]]
    >>> Rectangles(n_features=2).count_dichotomies(corners)
    16
    """

    n_features: int

    def __post_init__(self) -> None:
        validation.positive_integer(n_features=self.n_features)

    @property
    def vc_dimension(self) -> int:
        return 2 * self.n_features

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield every behaviour once: the empty rectangle, then the smallest boxes."""
        yield empty_rectangle(self.n_features)[None, :]
        rows, most = [], max(1, BLOCK_CELLS // max(1, len(points)))
        for box in _tight_boxes(points):
            rows.append(box)
            if len(rows) == most:
                yield np.array(rows)
                rows = []
        if rows:
            yield np.array(rows)

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        inside = np.ones((len(hypotheses), len(points)), dtype=np.bool_)
        for feature, values in enumerate(points.T):
            inside &= values >= hypotheses[:, feature, None]
            inside &= values <= hypotheses[:, self.n_features + feature, None]
        return inside

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        points = as_points(X, self.n_features)
        for hypotheses in self.candidates(points):
            yield Dichotomies(hypotheses, self.label(hypotheses, points))

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        if self.n_features != 2:
            return super().mistake_counts(cover, X, y)
        scored = as_points(X, 2)
        return plane_mistakes(as_points(cover, 2), scored, as_labels(y, len(scored)))


def empty_rectangle(n_features: int) -> FloatArray:
    """Return the rectangle that holds no point."""
    return np.repeat([np.inf, -np.inf], n_features)


def _tight_boxes(points: FloatArray) -> Iterator[FloatArray]:
    """Yield each box that touches the points inside it on every side, once.

    Every set of points that some box cuts out has exactly one such box: its bounding box. Sides
    are chosen feature by feature; a choice after which an earlier side is touched no more is
    dropped at once, together with all that would follow from it.
    """
    distinct = np.unique(points, axis=0)
    n_features = points.shape[1]
    box = np.empty(2 * n_features)

    def choose(feature: int, inside: IntArray) -> Iterator[FloatArray]:
        if feature == n_features:
            yield box.copy()
            return
        values = distinct[inside, feature]
        ends = np.unique(values)
        for left, low in enumerate(ends):
            for high in ends[left:]:
                remaining = inside[(values >= low) & (values <= high)]
                if touched(distinct[remaining, :feature], feature):
                    box[feature], box[n_features + feature] = low, high
                    yield from choose(feature + 1, remaining)

    def touched(remaining: FloatArray, upto: int) -> bool:
        low, high = box[:upto], box[n_features : n_features + upto]
        return bool((remaining.min(axis=0) == low).all() and (remaining.max(axis=0) == high).all())

    if len(distinct):
        yield from choose(0, np.arange(len(distinct)))
