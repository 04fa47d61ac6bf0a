"""Candidate sets that are fixed before any private record is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit import validation
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.mistakes import Hypothesis, LevelledMistakes, MistakeCounts
from tacit.hypotheses.points import as_labels, as_points
from tacit.hypotheses.thresholds import Thresholds


@runtime_checkable
class Candidates(Protocol):
    """A public set of hypotheses that the exponential mechanism can choose from."""

    @property
    def hypotheses(self) -> HypothesisClass:
        """The class they belong to."""

    def mistake_counts(self, X: Any, y: Any) -> MistakeCounts:
        """Return the mistakes of every candidate on labelled records. Private."""


@dataclass(frozen=True, eq=False, repr=False)
class PublicCover:
    """One hypothesis of a class for each way in which it labels public points.

    Parameters
    ----------
    hypotheses : HypothesisClass
    points : table
        Public.

    Examples
    --------
    >>> cover = PublicCover(Thresholds(), [1.0, 2.0, 3.0])
    >>> cover.mistake_counts([0, 9], [0, 1])
    ListedMistakes(<4 hypotheses, private>)
    """

    hypotheses: HypothesisClass
    points: Any

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        table = as_points(self.points, self.hypotheses.n_features)
        object.__setattr__(self, "points", table)

    def mistake_counts(self, X: Any, y: Any) -> MistakeCounts:
        return self.hypotheses.mistake_counts(self.points, X, y)

    def __repr__(self) -> str:
        return f"PublicCover({self.hypotheses!r}, <{len(self.points)} points>)"


@dataclass(frozen=True)
class IntegerThresholds:
    """All thresholds 0, 1, ..., ``size``: what a line of ``size`` whole numbers allows.

    Never listed: between two records all thresholds make the same mistakes.

    Parameters
    ----------
    size : int
        At most 2**52, so that every one of them is a double.

    Examples
    --------
    >>> line = IntegerThresholds(2**50)
    >>> line.mistake_counts([10, 2**49], [0, 1]).levels()[1]
    [562949953421302, 562949953421323]
    """

    size: int
    hypotheses: HypothesisClass = field(default=Thresholds(), init=False, repr=False)

    def __post_init__(self) -> None:
        size = validation.positive_integer(size=self.size)
        validation.integer(0, "The largest is 2**52.", room=2**52 - size)

    def mistake_counts(self, X: Any, y: Any) -> MistakeCounts:
        x = as_points(X, 1)[:, 0]
        labels = as_labels(y, len(x))
        # x is below a threshold from the next whole number on.
        turns = np.clip(np.floor(x) + 1, 0, self.size + 1).astype(np.int64)
        order = np.argsort(turns, kind="stable")
        starts = np.concatenate([[0], turns[order]])
        lengths = np.diff(np.append(starts, self.size + 1))
        steps = np.where(labels[order], 1, -1)
        mistakes = np.concatenate([[0], np.cumsum(steps)]) + int((~labels).sum())
        counts = np.zeros(len(x) + 1, dtype=np.int64)
        np.add.at(counts, mistakes, lengths)

        def member(level: int, rank: int) -> Hypothesis:
            own = np.flatnonzero(mistakes == level)
            upto = np.cumsum(lengths[own])
            which = int(np.searchsorted(upto, rank, side="right"))
            before = int(upto[which] - lengths[own[which]])
            return np.array([float(starts[own[which]] + rank - before), 1.0])

        return LevelledMistakes(counts, member)
