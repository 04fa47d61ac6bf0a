"""[BNS15] Beimel, Nissim, Stemmer: Learning Privately with Labeled and Unlabeled Examples."""

from __future__ import annotations

import math

from tacit import validation


def dichotomies(points: int, dimension: int) -> float:
    """Theorem B.2 (Sauer): ``(e |B|/d)^d`` labelings of a set at most, when ``|B| > d``.

    ``2^|B|`` for smaller sets.

    Examples
    --------
    >>> round(dichotomies(100, 2))
    18473
    """
    validation.integer(0, points=points)
    validation.positive_integer(dimension=dimension)
    if points <= dimension:
        return float(2**points)
    return float((math.e * points / dimension) ** dimension)


def iterations(n: int) -> int:
    """Corollary C.8: how often a logarithm to base 2 can be taken until 1 is reached.

    IterLabelBoost makes a constant times this many iterations for a base learner of sample
    complexity n.

    Examples
    --------
    >>> iterations(10**9)
    5
    """
    left, n_logarithms = float(validation.positive_integer(n=n)), 0
    while left > 1:
        left, n_logarithms = math.log2(left), n_logarithms + 1
    return n_logarithms
