"""[DF20] Dagan, Feldman: PAC Learning with Stable and Private Predictions."""

from __future__ import annotations

import math

from tacit import validation
from tacit.errors import InvalidArgument


def exponential_sample(candidates: int, alpha: float, epsilon: float) -> float:
    """Lemma 4: records for which the exponential mechanism's expected excess error is alpha.

    ``2 ln|H|/(eps alpha)``, on the records themselves.

    Examples
    --------
    >>> round(exponential_sample(1000, 0.1, 1.0), 1)
    138.2
    """
    validation.positive_integer(candidates=candidates)
    validation.probability(alpha=alpha)
    return 2 * math.log(candidates) / (validation.positive(epsilon=epsilon) * alpha)


def stable_lower_bound(dimension: int, alpha: float, stability: float) -> float:
    """Theorem 4: a stable learner needs ``(d - 1)/(8 gamma alpha)`` examples or more.

    gamma is its ``stability``; for expected error alpha of at most 1/4 on realizable
    distributions.

    Examples
    --------
    >>> round(stable_lower_bound(41, 0.1, 0.1))
    500
    """
    validation.positive_integer(dimension=dimension)
    validation.positive(stability=stability)
    if not 0 < validation.finite(alpha=alpha) <= 0.25:
        raise InvalidArgument(f"`alpha` must lie in (0, 1/4], got {alpha!r}.")
    return (dimension - 1) / (8 * stability * alpha)


def agnostic_prediction_excess(alpha: float) -> float:
    """Lemma 9: the excess error of the predictor of Theorem 2, before labels are flipped.

    ``6 alpha``, with probability ``1 - 2 beta``: what the proof shows, where 4 alpha and
    ``1 - beta`` are printed. Assumes the conditions of Lemma 8.
    """
    return min(1.0, 6 * validation.probability(alpha=alpha))
