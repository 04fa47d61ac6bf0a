"""[BNS15] Beimel, Nissim, Stemmer: Learning Privately with Labeled and Unlabeled Examples."""

from __future__ import annotations

import math

from tacit import validation


def selection_failure(candidates: int, excess: float, n: int, epsilon: float) -> float:
    """Proposition A.1: how likely the exponential mechanism picks a bad hypothesis.

    ``|H| exp(-eps excess n/2)``: the probability that its error on the n records is more than
    ``excess`` above the least.

    Examples
    --------
    >>> round(selection_failure(1000, 0.1, 500, 1.0), 10)
    1.39e-08
    """
    validation.positive_integer(candidates=candidates)
    validation.positive_integer(n=n)
    exponent = validation.positive(epsilon=epsilon) * validation.positive(excess=excess) * n / 2
    return min(1.0, math.exp(math.log(candidates) - exponent))


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


def least_labels(dimension: int, alpha: float) -> float:
    """Theorem B.3: every learner needs ``(d - 1)/(16 alpha)`` labelled examples or more.

    Also without privacy, for error alpha with probability above 1/2.

    Examples
    --------
    >>> least_labels(33, 0.05)
    40.0
    """
    validation.positive_integer(dimension=dimension)
    return (dimension - 1) / (16 * validation.probability(alpha=alpha))


def realizable_sample(dimension: int, alpha: float, beta: float) -> float:
    """Theorem B.4: with so many examples every consistent hypothesis has error alpha at most.

    ``(8/alpha)(d ln(16/alpha) + ln(2/beta))``, with probability ``1 - beta``; the target is in the
    class and fixed.

    Examples
    --------
    >>> round(realizable_sample(10, 0.1, 0.05))
    4355
    """
    validation.positive_integer(dimension=dimension)
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 8 / alpha * (dimension * math.log(16 / alpha) + math.log(2 / beta))


def pairs_sample(dimension: int, alpha: float, beta: float) -> float:
    """Theorem B.5: with so many examples all pairs that nearly agree on them nearly agree.

    ``(48/alpha)(10 d log(48 e/alpha) + log(5/beta))``: with probability ``1 - beta`` no two
    hypotheses differ on a share alpha of points but on alpha/10 of the sample at most.

    Examples
    --------
    >>> round(pairs_sample(10, 0.1, 0.05))
    346552
    """
    validation.positive_integer(dimension=dimension)
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 48 / alpha * (10 * dimension * math.log(48 * math.e / alpha) + math.log(5 / beta))


def agnostic_sample(dimension: int, alpha: float, beta: float) -> float:
    """Theorem B.6: with so many examples all errors are seen within alpha.

    ``(50 d/alpha^2) ln(1/(alpha beta))``, with probability ``1 - beta``, for any target.

    Examples
    --------
    >>> round(agnostic_sample(10, 0.1, 0.05))
    264916
    """
    validation.positive_integer(dimension=dimension)
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 50 * dimension / alpha**2 * math.log(1 / (alpha * beta))


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
