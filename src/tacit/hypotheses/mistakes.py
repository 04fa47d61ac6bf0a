"""How many mistakes every hypothesis of a cover makes: what the exponential mechanism needs.

Private: what these objects hold depends on labels. They go into
``tacit.mechanisms.select_hypothesis``, which lets one hypothesis out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.hypotheses.points import FloatArray, IntArray

Hypothesis = FloatArray
"""The parameters of one hypothesis, in one row; what they mean is up to its class."""


class MistakeCounts(ABC):
    """Mistakes of every hypothesis of a cover. Private."""

    size: int
    """How many hypotheses the cover has: a function of its points alone."""

    @abstractmethod
    def levels(self) -> tuple[Sequence[int], Sequence[int]]:
        """Return the distinct numbers of mistakes, rising, and how many hypotheses make each."""

    @abstractmethod
    def member(self, mistakes: int, rank: int) -> Hypothesis:
        """Return one of the hypotheses that make ``mistakes`` mistakes, by its rank among them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{self.size} hypotheses, private>)"

    def __reduce__(self) -> Any:
        raise TypeError("Mistakes are private and are not saved.")


class ListedMistakes(MistakeCounts):
    """Mistakes as a list, for covers small enough to be listed.

    Parameters
    ----------
    counts : array of int, shape (n_hypotheses,)
    hypothesis : callable
        From a position in ``counts`` to the hypothesis.
    """

    def __init__(self, counts: IntArray, hypothesis: Callable[[int], Hypothesis]) -> None:
        self.counts = counts
        self.hypothesis = hypothesis
        self.size = len(counts)

    def levels(self) -> tuple[Sequence[int], Sequence[int]]:
        levels, times = np.unique(self.counts, return_counts=True)
        return levels.tolist(), times.tolist()

    def member(self, mistakes: int, rank: int) -> Hypothesis:
        return self.hypothesis(int(np.flatnonzero(self.counts == mistakes)[rank]))


class LevelledMistakes(MistakeCounts):
    """Mistakes as a count of hypotheses per level, for covers too large to be listed.

    Parameters
    ----------
    counts : array of int
        How many hypotheses make 0, 1, 2, ... mistakes.
    member : callable
        From a level and a rank in it to the hypothesis.
    """

    def __init__(self, counts: IntArray, member: Callable[[int, int], Hypothesis]) -> None:
        self.counts = counts
        self._member = member
        self.size = int(counts.sum())

    def levels(self) -> tuple[Sequence[int], Sequence[int]]:
        levels = np.flatnonzero(self.counts)
        return levels.tolist(), self.counts[levels].tolist()

    def member(self, mistakes: int, rank: int) -> Hypothesis:
        return self._member(mistakes, rank)
