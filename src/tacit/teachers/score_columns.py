"""Where each teacher's scores stand, and what they vote for.

With two classes a teacher has one column, whose sign decides; with more it has one per class, in
the order in which scikit-learn sorts labels, and the largest wins, the first of equals. A class
that a teacher never saw scores minus infinity. The layout depends on the number of teachers and
classes only: what a teacher learnt moves no other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.teachers.labels import ClassList, IntArray

FloatArray = NDArray[np.float64]


class ScoreColumns:
    """The columns of ``n_teachers`` teachers over a list of classes."""

    __slots__ = ("_first", "_rank", "_second", "_sorted", "each", "n_classes", "n_teachers")

    def __init__(self, classes: ClassList, n_teachers: int) -> None:
        self.n_classes, self.n_teachers = len(classes), n_teachers
        self.each = 1 if self.n_classes == 2 else self.n_classes
        self._sorted = classes.sorted_positions
        self._rank: IntArray = np.argsort(self._sorted).astype(np.int64)
        self._first, self._second = int(self._sorted[0]), int(self._sorted[1])

    @property
    def total(self) -> int:
        """Number of columns."""
        return self.n_teachers * self.each

    def of(self, teacher: int) -> slice:
        """Return the columns of one teacher."""
        return slice(teacher * self.each, (teacher + 1) * self.each)

    def ranks(self, positions: IntArray) -> IntArray:
        """Return where classes stand among the sorted labels."""
        return self._rank[positions]

    def constant(self, position: int) -> FloatArray:
        """Return the scores of a teacher that always votes for one class."""
        rank = self._rank[position]
        if self.each == 1:
            return np.array([1.0 if rank == 1 else -1.0])
        scores = np.full(self.each, -np.inf)
        scores[rank] = 0.0
        return scores

    def positions(self, ranks: IntArray) -> IntArray:
        """Return the classes that stand at ranks of the sorted labels."""
        return self._sorted[ranks]

    def own(self, n_scores: int, ranks: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the scores of classes a model has none for, and the columns of its own scores.

        One score means two classes: it belongs to the second, and the first scores zero.
        """
        if self.each == 1:
            return np.zeros(1), np.zeros(1, dtype=np.int64)
        offset = np.full(self.each, -np.inf)
        if n_scores == 1:
            offset[ranks[0]] = 0.0
            return offset, ranks[1:]
        return offset, ranks

    def count(self, scores: FloatArray) -> IntArray:
        """Return counts of shape (n_questions, n_classes) from scores (n_questions, total)."""
        if self.each == 1:
            return self.of_votes(scores > 0)
        best = scores.reshape(len(scores), self.n_teachers, self.each).argmax(axis=2)
        return count_votes(self._sorted[best], self.n_classes)

    def of_votes(self, votes: NDArray[np.bool_]) -> IntArray:
        """Return the counts of two classes: who votes for the second of the sorted labels."""
        second = _ones(votes)
        counts = np.empty((len(votes), 2), dtype=np.int64)
        counts[:, self._first] = self.n_teachers - second
        counts[:, self._second] = second
        return counts


def _ones(votes: NDArray[np.bool_]) -> IntArray:
    """Return how many votes of each row are true: counted in ways that beat a sum of bools."""
    ones: IntArray = np.add.reduce(np.bitwise_count(np.packbits(votes, axis=1)), 1, np.int64)
    return ones


def count_votes(votes: IntArray, n_classes: int) -> IntArray:
    """Return counts from votes of shape (n_questions, n_teachers)."""
    n_questions = len(votes)
    cells = votes + np.arange(0, n_questions * n_classes, n_classes)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=n_questions * n_classes)
    return counts.reshape(n_questions, n_classes).astype(np.int64, copy=False)
