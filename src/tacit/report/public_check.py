"""Predictions against labels, on public points whose labels are known. Public."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_NORMAL_QUANTILE = 1.959964  # two-sided, 95%


@dataclass(frozen=True, slots=True)
class PublicCheck:
    """How the student did on labelled public points.

    Parameters
    ----------
    classes : tuple of str
    counts : tuple of tuple of int
        One row for each actual class, one column for each predicted one.
    unknown : int
        Points whose label is none of the classes. They count as wrong.

    Examples
    --------
    >>> check = PublicCheck(("no", "yes"), ((40, 10), (5, 45)))
    >>> check.n_points, check.accuracy
    (100, 0.85)
    >>> low, high = check.interval()
    >>> round(low, 3), round(high, 3)
    (0.767, 0.907)
    """

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unknown: int = 0

    @property
    def n_points(self) -> int:
        """How many points were looked at."""
        return sum(map(sum, self.counts)) + self.unknown

    @property
    def accuracy(self) -> float:
        """Share of points that were predicted rightly."""
        right = sum(row[place] for place, row in enumerate(self.counts))
        return right / self.n_points if self.n_points else math.nan

    def interval(self) -> tuple[float, float]:
        """Return a 95% interval for the accuracy on new points of the same kind (Wilson's)."""
        n, share, z = self.n_points, self.accuracy, _NORMAL_QUANTILE
        if n == 0:
            return 0.0, 1.0
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        counts = [list(row) for row in self.counts]
        return {"classes": list(self.classes), "counts": counts, "unknown": self.unknown}


def check_predictions(
    classes: Sequence[Any], predicted: Sequence[Any], actual: Sequence[Any]
) -> PublicCheck:
    """Compare predictions with labels, both given as values of ``classes``.

    Examples
    --------
    >>> check_predictions(["no", "yes"], ["no", "yes", "yes"], ["no", "no", "perhaps"])
    PublicCheck(classes=('no', 'yes'), counts=((1, 1), (0, 0)), unknown=1)
    """
    pairs = Counter(zip(actual, predicted, strict=True))
    counts = tuple(tuple(pairs[one, other] for other in classes) for one in classes)
    n_labelled = sum(map(sum, counts))
    return PublicCheck(tuple(map(str, classes)), counts, pairs.total() - n_labelled)
