"""How many dichotomies a class can have on a number of points: bounds from its VC dimension."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.finite import FiniteClass


def sauer_shelah(points: int, vc_dimension: int) -> int:
    """Return the most dichotomies of ``points`` points for a class of this VC dimension.

    Examples
    --------
    >>> sauer_shelah(10, 1), sauer_shelah(3, 5)
    (11, 8)
    """
    return sum(comb(points, i) for i in range(min(vc_dimension, points) + 1))


def growth_bound(hypotheses: HypothesisClass) -> Callable[[int], float]:
    """Return a function from ``points`` to a bound on the dichotomies of that many points.

    It looks at the class alone, never at points.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> growth_bound(Thresholds())(100)
    101.0
    """
    size = len(hypotheses) if isinstance(hypotheses, FiniteClass) else None

    def bound(points: int) -> float:
        most = sauer_shelah(points, hypotheses.vc_dimension)
        return float(most if size is None else min(most, size))

    return bound
