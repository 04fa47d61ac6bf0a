"""Prices of answering one question from private records alone, without public points.

A *stable* prediction changes its probabilities by little when one record is replaced; turning the
label around with a small probability makes it private. Labels are 0 and 1, neighbours are those of
``replace``. Proofs: ``docs/proofs/private_prediction.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit import validation
from tacit.accounting.amplification import mixed_epsilon, subset_share
from tacit.accounting.budget import Budget
from tacit.accounting.search import boundary, largest_integer
from tacit.errors import InvalidArgument

_ROUNDING = 1e-12
_LOG_2 = math.log(2)

Growth = Callable[[int], float]
"""The most dichotomies a class of hypotheses has on so many points, or a bound on it."""


def selection_stability(epsilon: float) -> float:
    """Return how far one record can move any probability of the exponential mechanism.

    ``tanh(epsilon / 4)``, for a fixed set of candidates; attained.

    Examples
    --------
    >>> round(selection_stability(0.1), 6)
    0.024995
    """
    return math.tanh(validation.positive(epsilon=epsilon) / 4)


def prediction_stability(epsilon: float, *, subset: int, records: int) -> float:
    """Return the uniform stability of ``StablePredictor``.

    ``(1 - subset/records) tanh(epsilon / 4) + subset/records``: the changed record is in the
    subset that defines the candidates, and then nothing is promised, or it is not.

    References
    ----------
    [DF20] Lemma 7, which prints 3 gamma for ``subset/records <= gamma``.

    Examples
    --------
    >>> round(prediction_stability(0.1, subset=100, records=1000), 4)
    0.1225
    """
    share = subset_share(subset, records)
    return min(1.0, ((1 - share) * selection_stability(epsilon) + share) * (1 + _ROUNDING))


def selection_epsilon_for(stability: float, *, subset: int, records: int) -> float:
    """Return the sharpest exponential mechanism that keeps ``StablePredictor`` that stable.

    Raises
    ------
    InvalidArgument
        When the subset alone already uses up the stability.

    Examples
    --------
    >>> round(selection_epsilon_for(0.1225, subset=100, records=1000), 3)
    0.1
    """
    stability = validation.probability(stability=stability)
    share = subset_share(subset, records)
    if share >= stability:
        raise InvalidArgument(
            f"`subset` must be below {stability:g} of the {records} records for a stability of "
            f"{stability:g}, got {subset}. Take a smaller subset or allow less stability."
        )
    return 4 * math.atanh((stability - share) / (1 - share)) * (1 - _ROUNDING)


def flipped_epsilon(flip: float, *, epsilon: float = 0.0, delta: float = 0.0) -> float:
    """Return the pure epsilon of a private label that is turned around with chance ``flip``.

    Exact: the largest over all predictions that are (epsilon, delta)-private. With ``epsilon=0``
    and ``delta`` a stability it is ``ln(1 + (1 - 2 flip) delta / flip)``.

    Parameters
    ----------
    flip : float
        In (0, 1/2).
    epsilon, delta : float
        Guarantee before the flip; ``delta`` may be 1.

    References
    ----------
    [DF20] Corollary 1 and the end of section 4.2.

    Examples
    --------
    >>> round(flipped_epsilon(0.05, delta=0.02), 4)
    0.3075
    >>> round(flipped_epsilon(0.01, epsilon=1.0, delta=1e-3), 4)
    0.9779
    """
    flip = _checked_flip(flip)
    epsilon = validation.non_negative(epsilon=epsilon)
    if delta != 1:
        validation.fraction(delta=delta)
    slope = 1 - 2 * flip
    at_zero = slope * delta / flip
    # Where both constraints bind: p' = (1 - delta)/(1 + e^epsilon) and p = 1 - p'.
    low = flip + slope * (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return math.log1p(max(at_zero, (1 - 2 * low) / low)) * (1 + _ROUNDING)


def smallest_flip(target: float, *, epsilon: float = 0.0, delta: float = 0.0) -> float:
    """Return the smallest chance of a flip after which a label is ``target``-private.

    Examples
    --------
    >>> flip = smallest_flip(0.3075, delta=0.02)
    >>> round(flip, 4)
    0.05
    """
    target = validation.positive(target=target)
    validation.non_negative(epsilon=epsilon)
    if delta != 1:
        validation.fraction(delta=delta)
    # Both branches of flipped_epsilon, solved for the flip.
    growth = math.expm1(target * (1 - 2 * _ROUNDING))
    from_delta = delta / (growth + 2 * delta)
    low = 1 / (2 + growth)
    tied = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    from_epsilon = (low - tied) / (1 - 2 * tied) if tied < low else 0.0
    return max(from_delta, from_epsilon, 1e-300)


def net_failure(eta: float, *, draws: int, population: int, growth: Growth) -> float:
    """Return a bound on the chance that a random subset is not an eta-net of the population.

    An eta-net: any two hypotheses that agree on it disagree on at most ``eta * population``
    points. The bound holds for every population; it is never measured on the data.

    Parameters
    ----------
    eta : float
    draws, population : int
        ``draws`` points are drawn without replacement from ``population``.
    growth : callable
        How many dichotomies the class has on so many points, at most.

    References
    ----------
    [DF20] Lemma 1 (constants not printed). The smaller of a union bound over pairs of dichotomies
    of the whole population, and the double-sample bound.

    Examples
    --------
    >>> thresholds = lambda points: points + 1
    >>> net_failure(0.02, draws=2000, population=100_000, growth=thresholds) < 1.5e-8
    True
    """
    eta = validation.probability(eta=eta)
    draws = validation.positive_integer(draws=draws)
    population = validation.positive_integer(population=population)
    missed = math.floor(eta * population) + 1
    if missed > population - draws:
        return 0.0  # two hypotheses that differ on so many points differ on the subset
    log_whole = _log_pairs(growth(population)) + _log_missed(missed, draws, population)
    log_failure = min(0.0, log_whole, _log_double(eta, draws, growth))
    return min(1.0, math.exp(log_failure) * (1 + 1e-9))


def smallest_net(failure: float, *, draws: int, population: int, growth: Growth) -> float:
    """Return the smallest eta, to one part in a million, with ``net_failure`` at most ``failure``.

    There is always one: two hypotheses that differ on nearly all points differ on the subset.

    Examples
    --------
    >>> eta = smallest_net(1e-6, draws=2000, population=100_000, growth=lambda points: points + 1)
    >>> round(eta, 4)
    0.0179
    """
    failure = validation.probability(failure=failure)

    def fails(eta: float) -> bool:
        bound = net_failure(eta, draws=draws, population=population, growth=growth)
        return bound > failure

    return boundary(fails, 0.0, 1.0, relative=1e-6)[1]


def net_size(eta: float, failure: float, *, growth: Growth) -> int:
    """Return how many independent draws are an eta-net but with probability ``failure``.

    By the double-sample bound of ``net_failure``, which does not depend on the population.

    Examples
    --------
    >>> net_size(0.1, 0.1, growth=lambda points: points + 1)
    461
    """
    eta, failure = validation.probability(eta=eta), validation.probability(failure=failure)

    def fails(draws: int) -> bool:
        return _log_double(eta, draws, growth) > math.log(failure)

    low, high = 0, 1
    while fails(high):
        low, high = high, 2 * high
    return 1 + largest_integer(fails, low, high)


def agnostic_prediction(
    *,
    loss_rate: float,
    vote_epsilon: float,
    teachers: int,
    subset: int,
    records: int,
    eta: float,
    failure: float,
) -> Budget:
    """Return the guarantee of one answer of ``AgnosticPredictor``, before any flip.

    Parameters
    ----------
    loss_rate : float
        a: hypotheses are drawn with weight ``exp(-a * mistakes)``.
    vote_epsilon : float
        b: epsilon of the vote of the teachers trained on the relabelled records.
    teachers : int
    subset, records : int
        Sizes of the random subset that defines the candidates, and of the data.
    eta, failure : float
        The subset, less one record, is an eta-net of the rest but with probability ``failure``.

    References
    ----------
    [DF20] Lemmas 8, 10 and 11, whose O(epsilon) hides a factor 4 e^6.

    Examples
    --------
    >>> agnostic_prediction(
    ...     loss_rate=2e-4, vote_epsilon=2e-4, teachers=10_000, subset=2_000, records=200_000,
    ...     eta=0.019, failure=1e-6,
    ... )
    Budget(epsilon=0.323..., delta=1e-08)
    """
    loss_rate = validation.positive(loss_rate=loss_rate)
    vote_epsilon = validation.positive(vote_epsilon=vote_epsilon)
    teachers = validation.positive_integer(teachers=teachers)
    share = subset_share(subset, records)
    eta, failure = validation.probability(eta=eta), validation.fraction(failure=failure)
    apart = math.floor(eta * (records - 1)) + 1  # r: points on which matched hypotheses differ
    log_ratio = math.log(4) + 2 * loss_rate * apart + vote_epsilon * min(apart, teachers)
    epsilon = mixed_epsilon(log_ratio, share) + 2 * loss_rate + vote_epsilon
    return Budget(epsilon * (1 + _ROUNDING), share * failure)


def _checked_flip(flip: float) -> float:
    flip = validation.probability(flip=flip)
    if flip >= 0.5:
        raise InvalidArgument(f"`flip` must be below one half, got {flip!r}.")
    return flip


def _log_pairs(dichotomies: float) -> float:
    """Logarithm of the number of pairs of different dichotomies."""
    if dichotomies < 2:
        return -math.inf
    return math.log(dichotomies) + math.log(dichotomies - 1) - _LOG_2


def _log_double(eta: float, draws: int, growth: Growth) -> float:
    """Logarithm of the double-sample bound on a pair that is missed."""
    return _log_pairs(growth(2 * draws)) + _LOG_2 * (1 - eta * draws / 2)


def _log_missed(missed: int, draws: int, population: int) -> float:
    """Bound the logarithm of the chance that ``draws`` of ``population`` miss given points.

    The chance is the product over the draws of ``1 - missed / (population - i)``, and the same
    with draws and given points exchanged; each factor is at most the first.
    """
    return min(draws * math.log1p(-missed / population), missed * math.log1p(-draws / population))
