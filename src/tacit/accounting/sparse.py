"""The one probability a sparse vector's stability rests on, for the discrete noise it draws."""

from __future__ import annotations

import math

from tacit import validation

# The result is rounded up by more than the arithmetic can have lost.
_ROUNDING = 1e-12


def unstable_probability(scale: float, threshold: float) -> float:
    """Return P(Z - V > threshold): the chance that a question of distance 0 is answered.

    ``Z`` is discrete Laplace of scale ``2 * scale`` (query noise) and ``V`` discrete Laplace of
    ``scale`` (threshold noise). With continuous noise it would be
    ``(4 exp(-w/(2 scale)) - exp(-w/scale)) / 6``.

    Examples
    --------
    >>> w, scale = 800.0, 40.0
    >>> continuous = (4 * math.exp(-w / (2 * scale)) - math.exp(-w / scale)) / 6
    >>> abs(unstable_probability(scale, w) / continuous - 1) < 0.01
    True
    """
    validation.positive(scale=scale)
    validation.finite(threshold=threshold)
    least = math.floor(threshold) + 1
    # Z - V is symmetric: P(D >= m) = 1 - P(D >= 1 - m).
    chance = _at_least(scale, least) if least > 0 else 1.0 - _at_least(scale, 1 - least)
    return min(1.0, chance * (1 + _ROUNDING))


def _at_least(scale: float, least: int) -> float:
    """P(Z - V >= least) for least >= 1: a geometric sum over V (docs/proofs/sparse_vote.md).

    With ``a = exp(-1/(2 scale))`` the law of V has ratio ``a^2`` and that of Z ratio ``a``.
    """
    rate = 1 / (2 * scale)
    a = math.exp(-rate)
    one_minus_a = -math.expm1(-rate)
    one_minus_a2 = -math.expm1(-2 * rate)
    one_minus_a3 = -math.expm1(-3 * rate)
    a_m = math.exp(-rate * least)
    below = -math.expm1(-rate * (least - 1))
    z_above = a_m / (1 + a) * (1 / one_minus_a3 + a * below / one_minus_a)
    z_below = a_m**2 * (1 / one_minus_a2 - a / ((1 + a) * one_minus_a3))
    norm_v = one_minus_a2 / (1 + a**2)
    return norm_v * (z_above + z_below)
