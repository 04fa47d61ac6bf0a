"""A class together with a finite one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import Dichotomies, HypothesisClass
from tacit.hypotheses.finite import FiniteClass
from tacit.hypotheses.mistakes import Hypothesis, ListedMistakes, MistakeCounts
from tacit.hypotheses.points import BoolArray, FloatArray, IntArray, as_labels, as_points


class Union(HypothesisClass):
    """The hypotheses of a class and those of a finite one.

    Parameters of a hypothesis: 0 and its parameters in the first class, or 1 and its position in
    the finite one. Where both behave alike on a point set, the first class's stands for both.

    Parameters
    ----------
    first : HypothesisClass
    second : FiniteClass
        With the same number of features.

    Examples
    --------
    >>> from tacit.hypotheses import Intervals
    >>> parity = FiniteClass([lambda X: X[:, 0] % 2], n_features=1)
    >>> both = Union(Intervals(), parity)
    >>> both.minimise([1, 2, 3, 4, 5], [1, 0, 1, 0, 1]).mistakes
    0
    """

    def __init__(self, first: HypothesisClass, second: FiniteClass) -> None:
        validation.instance(HypothesisClass, first=first)
        validation.instance(FiniteClass, second=second)
        self.first, self.second = first, second
        if first.n_features != second.n_features:
            raise InvalidArgument(
                f"`second` must have the {first.n_features} features of `first`, "
                f"got {second.n_features}."
            )
        self.n_features = first.n_features

    @property
    def vc_dimension(self) -> int:
        """At most both together and one more."""
        return self.first.vc_dimension + self.second.vc_dimension + 1

    def __repr__(self) -> str:
        return f"Union({self.first!r}, {self.second!r})"

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield those of the first class, then those of the second that do anything else."""
        for block in self.dichotomies(points):
            yield block.hypotheses

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        labels = np.empty((len(hypotheses), len(points)), dtype=np.bool_)
        listed = hypotheses[:, 0] == 1
        if listed.any():
            labels[listed] = self.second.label(hypotheses[listed, 1:], points)
        if not listed.all():
            labels[~listed] = self.first.label(hypotheses[~listed, 1:], points)
        return labels

    def dichotomies(self, X: Any) -> Iterator[Dichotomies]:
        points = as_points(X, self.n_features)
        width = 1
        for block in self.first.dichotomies(points):
            width = block.hypotheses.shape[1]
            yield Dichotomies(_marked(0, block.hypotheses, width), block.labels)
        for block in self._new(points):
            yield Dichotomies(_marked(1, block.hypotheses, width), block.labels)

    def mistake_counts(self, cover: Any, X: Any, y: Any) -> MistakeCounts:
        points, scored = as_points(cover, self.n_features), as_points(X, self.n_features)
        labels = as_labels(y, len(scored))
        counts = self.first.mistake_counts(points, scored, labels)
        width = len(counts.member(int(counts.levels()[0][0]), 0))
        new = [block.hypotheses for block in self._new(points)]
        added = np.concatenate([np.empty((0, 1)), *new])
        return _Joined(
            counts,
            self.second._mistakes(added, scored, labels) if len(added) else np.empty(0, np.int64),
            _marked(1, added, width),
        )

    def _new(self, points: FloatArray) -> Iterator[Dichotomies]:
        """Yield what the finite class does and the first cannot: to fit it makes a mistake."""
        for block in self.second.dichotomies(points):
            new = [self.first.minimise(points, row).mistakes > 0 for row in block.labels]
            if any(new):
                yield Dichotomies(block.hypotheses[new], block.labels[new])


class _Joined(MistakeCounts):
    """Mistakes of a first class, however they are counted, and of a few listed hypotheses."""

    def __init__(self, first: MistakeCounts, added: IntArray, hypotheses: FloatArray) -> None:
        self._first, self._hypotheses = first, hypotheses
        self._added = ListedMistakes(added, lambda index: hypotheses[index])
        self.size = first.size + self._added.size

    def levels(self) -> tuple[list[int], list[int]]:
        total = dict(zip(*self._first.levels(), strict=True))
        for level, size in zip(*self._added.levels(), strict=True):
            total[level] = total.get(level, 0) + size
        levels = sorted(total)
        return levels, [total[level] for level in levels]

    def member(self, mistakes: int, rank: int) -> Hypothesis:
        own = dict(zip(*self._first.levels(), strict=True)).get(mistakes, 0)
        if rank < own:
            return np.concatenate([[0.0], self._first.member(mistakes, rank)])
        return self._added.member(mistakes, rank - own)


def _marked(which: int, hypotheses: FloatArray, width: int) -> FloatArray:
    """Return parameters with the number of their class in front, in rows of one length."""
    padded = np.full((len(hypotheses), 1 + max(width, hypotheses.shape[1])), np.nan)
    padded[:, 0] = which
    padded[:, 1 : 1 + hypotheses.shape[1]] = hypotheses
    return padded
