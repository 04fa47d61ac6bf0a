"""What a class of hypotheses is: everything ``tacit.hypothesis_learners`` asks of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidArgument
from tacit.hypotheses.mistakes import Hypothesis, ListedMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray, as_labels, as_points

BLOCK_CELLS = 1 << 22
"""How many labels a block of dichotomies holds at most (one hypothesis at least)."""


@dataclass(frozen=True, slots=True)
class Dichotomies:
    """Some of the ways in which a class labels a set of points.

    Parameters
    ----------
    hypotheses : array of shape (n_dichotomies, n_parameters)
        One representative each.
    labels : boolean array of shape (n_dichotomies, n_points)
    """

    hypotheses: FloatArray
    labels: BoolArray

    def __len__(self) -> int:
        return len(self.hypotheses)


@dataclass(frozen=True, slots=True, repr=False)
class Minimum:
    """A hypothesis with the fewest mistakes. As private as the labels it was found with."""

    hypothesis: Hypothesis
    mistakes: int


class HypothesisClass(ABC):
    """Binary hypotheses on points with ``n_features`` numbers, finitely many on finitely many.

    A subclass says how many features a point has, its VC dimension, how hypotheses label points,
    and a list of candidates that shows every behaviour on given points at least once. Everything
    else follows; a class with more structure replaces ``dichotomies`` and ``mistake_counts``.

    Privacy
    -------
    Candidates are a function of the points given to ``candidates`` alone, never of labels or of
    anything else: the exponential mechanism needs a candidate set that neighbours share.
    ``tacit.audit.check_hypothesis_class`` checks it.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> line = Thresholds()
    >>> [block.labels.astype(int).tolist() for block in line.dichotomies([3.0, 1.0, 3.0])]
    [[[1, 1, 1], [1, 0, 1], [0, 0, 0]]]
    >>> best = line.minimise([1, 2, 3, 4], [0, 1, 0, 1])
    >>> best.mistakes, line.predict(best.hypothesis, [0, 9])
    (1, array([0, 1], dtype=int8))
    """

    n_features: int
    """How many numbers a point has."""

    @property
    @abstractmethod
    def vc_dimension(self) -> int:
        """The size of the largest set of points that is labelled in every way, or more than it."""

    @abstractmethod
    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield blocks of hypotheses that label ``points`` in every way the class can.

        Several may label them in the same way. ``points`` has shape (n_points, n_features), any
        number of rows, duplicates included.
        """

    @abstractmethod
    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        """Return the labels that each hypothesis gives each point: one row per hypothesis.

        The label of a point must not depend on the other points.
        """

    def predict(self, hypothesis: Hypothesis, X: Any) -> NDArray[np.int8]:
        """Return 0 or 1 for every point of ``X``."""
        points = as_points(X, self.n_features)
        row = np.atleast_2d(np.asarray(hypothesis, dtype=np.float64))
        if len(row) != 1:
            raise InvalidArgument(f"`hypothesis` must be one row of numbers, got {len(row)} rows.")
        labels: NDArray[np.int8] = self.label(row, points)[0].astype(np.int8)
        return labels

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        """Yield one representative of each behaviour on ``X``, in blocks, always in one order.

        Of candidates that behave alike the first is the representative. To know them again, one
        bit per point and dichotomy is kept; a hash could mistake two for one, and a guarantee may
        rest on none being left out.
        """
        points = as_points(X, self.n_features)
        seen: set[bytes] = set()
        for hypotheses in self._in_blocks(points):
            labels = self.label(hypotheses, points)
            fresh = first_seen(labels, seen)
            if len(fresh):
                yield Dichotomies(hypotheses[fresh], labels[fresh])

    def count_dichotomies(self, X: Any) -> int:
        """Return in how many ways the class labels ``X``."""
        return sum(len(block) for block in self.dichotomies(X))

    def minimise(self, X: Any, y: Any) -> Minimum:
        """Return a hypothesis with the fewest mistakes on ``(X, y)``, the first of equals."""
        points = as_points(X, self.n_features)
        counts = self.mistake_counts(points, points, y)
        fewest = int(counts.levels()[0][0])
        return Minimum(counts.member(fewest, 0), fewest)

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        """Return the mistakes on ``(X, y)`` of one hypothesis per dichotomy of ``cover``.

        Parameters
        ----------
        cover : points
            The candidate set is a function of these alone.
        X, y : points and labels
            Private.
        """
        scored = as_points(X, self.n_features)
        labels = as_labels(y, len(scored))
        blocks, counts = [], []
        for block in self.dichotomies(cover):
            blocks.append(block.hypotheses)
            counts.append(self._mistakes(block.hypotheses, scored, labels))
        hypotheses = np.concatenate(blocks)
        return ListedMistakes(np.concatenate(counts), lambda index: hypotheses[index])

    def _mistakes(self, hypotheses: FloatArray, points: FloatArray, labels: BoolArray) -> IntArray:
        """Return the mistakes of each hypothesis, a bounded number of cells at a time."""
        rows = max(1, BLOCK_CELLS // max(1, len(points)))
        parts = [
            (self.label(hypotheses[start : start + rows], points) != labels).sum(axis=1)
            for start in range(0, len(hypotheses), rows)
        ]
        mistakes: IntArray = np.concatenate(parts).astype(np.int64)
        return mistakes

    def _in_blocks(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield the candidates in blocks of bounded size."""
        rows = max(1, BLOCK_CELLS // max(1, len(points)))
        for hypotheses in self.candidates(points):
            for start in range(0, len(hypotheses), rows):
                yield hypotheses[start : start + rows]


def first_seen(labels: BoolArray, seen: set[bytes]) -> NDArray[np.intp]:
    """Return the rows that are not in ``seen`` yet, and add them."""
    fresh = []
    for row, packed in enumerate(np.packbits(labels, axis=1)):
        key = packed.tobytes()
        if key not in seen:
            seen.add(key)
            fresh.append(row)
    return np.array(fresh, dtype=np.intp)
