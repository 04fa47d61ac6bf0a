"""Thresholds on a line: 1 from a point on, or, when both directions are allowed, up to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit import validation
from tacit.hypotheses.base import BLOCK_CELLS, HypothesisClass
from tacit.hypotheses.mistakes import ListedMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray, as_labels, as_points


@dataclass(frozen=True)
class Thresholds(HypothesisClass):
    """``x >= t``; with ``both_directions`` also ``x < t``. Parameters: ``(t, 1 or -1)``.

    The representatives of the dichotomies of a point set have ``t`` at its distinct points or at
    infinity. Mistakes are counted in n log n.

    Parameters
    ----------
    both_directions : bool, default False

    Examples
    --------
    >>> line = Thresholds(both_directions=True)
    >>> line.vc_dimension, line.count_dichotomies([0.5, 0.1, 0.9])
    (2, 6)
    """

    n_features: int = field(default=1, init=False, repr=False)
    both_directions: bool = False

    def __post_init__(self) -> None:
        validation.instance(bool, both_directions=self.both_directions)

    @property
    def vc_dimension(self) -> int:
        return 2 if self.both_directions else 1

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield each behaviour once: up at every distinct point and at infinity, then down."""
        table = cuts(points[:, 0], self.both_directions)
        rows = max(1, BLOCK_CELLS // max(1, len(points)))
        for start in range(0, len(table), rows):
            yield table[start : start + rows]

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        return cut_labels(hypotheses[:, None, :], points[None, :, 0])

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        table = cuts(as_points(cover, 1)[:, 0], self.both_directions)
        scored = as_points(X, 1)
        counts = cut_mistakes(table, scored[:, 0], as_labels(y, len(scored)))
        return ListedMistakes(counts, lambda index: table[index])


def cuts(values: FloatArray, both_directions: bool) -> FloatArray:
    """Return ``(t, direction)`` for every way a threshold labels ``values``, each once.

    Downwards at the smallest value and at infinity would be the constants again.
    """
    distinct = np.unique(values)
    up = np.append(distinct, np.inf)
    down = distinct[1:] if both_directions else distinct[:0]
    return np.column_stack(
        [np.concatenate([up, down]), np.repeat([1.0, -1.0], [len(up), len(down)])]
    )


def cut_labels(table: FloatArray, values: FloatArray) -> BoolArray:
    """Return the labels that every ``(t, direction)`` gives every value, by broadcasting."""
    labels: BoolArray = (values >= table[..., 0]) == (table[..., 1] > 0)
    return labels


def cut_mistakes(table: FloatArray, values: FloatArray, labels: BoolArray) -> IntArray:
    """Return the mistakes of every ``(t, direction)``, in n log n.

    Upwards at t, the mistakes are the ones below t and the zeros from t on; downwards they are all
    the others.
    """
    order = np.argsort(values, kind="stable")
    ones_before = np.concatenate([[0], np.cumsum(labels[order])])
    below = np.searchsorted(values[order], table[:, 0])
    ones_below = ones_before[below]
    zeros_from = (len(values) - below) - (ones_before[-1] - ones_below)
    upwards = ones_below + zeros_from
    mistakes: IntArray = np.where(table[:, 1] > 0, upwards, len(values) - upwards).astype(np.int64)
    return mistakes
