"""[NB20] Nandi, Bassily: Privately Answering Classification Queries in the Agnostic PAC Model."""

from __future__ import annotations

import math

from tacit import validation


def relabelling_sample(dimension: int, alpha: float, beta: float) -> float:
    """Lemma 6: records for which relabelling by a drawn hypothesis costs alpha at most.

    ``256 (d + log(3/beta))/alpha^2``: the drawn hypothesis then has an error within alpha of that
    of the empirical risk minimiser, with probability ``1 - beta``.

    Examples
    --------
    >>> round(relabelling_sample(10, 0.1, 0.05))
    360815
    """
    validation.positive_integer(dimension=dimension)
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 256 * (dimension + math.log(3 / beta)) / alpha**2


def disagreement_sample(dimension: int, alpha: float, beta: float) -> float:
    """Claim 10: points on which all disagreements of two hypotheses are seen within alpha.

    ``50 (d log(1/alpha) + log(1/beta))/alpha^2``, with probability ``1 - beta``.

    Examples
    --------
    >>> round(disagreement_sample(10, 0.1, 0.05))
    130108
    """
    validation.positive_integer(dimension=dimension)
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 50 * (dimension * math.log(1 / alpha) + math.log(1 / beta)) / alpha**2


def least_questions(alpha: float, beta: float) -> float:
    """Lemma 9: how many questions its accuracy guarantee assumes, ``8 log(1/(alpha beta))/alpha``.

    Then at most ``alpha + gamma`` of the answers are wrong, gamma the least error in the class;
    how many records that takes is a rate (``tacit.planning.rates``).

    Examples
    --------
    >>> round(least_questions(0.05, 0.05))
    959
    """
    validation.probability(alpha=alpha)
    validation.probability(beta=beta)
    return 8 * math.log(1 / (alpha * beta)) / alpha
