"""Probability that the true class wins a noisy vote among more than two classes.

The counts are multinomial. They are independent Poisson numbers given their total, so the
probability that every other class stays below the winner is one coefficient of a product of
generating functions, read off with a discrete Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.fft import next_fast_len

from tacit.theory.noise_tails import gaussian_at_least, laplace_at_least
from tacit.theory.vote_model import VoteModel

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Law = Callable[[FloatArray], FloatArray]

_FEWEST_WEIGHT = 1e-9


def gaussian_wins(model: VoteModel, n_teachers: int, sigma: float) -> float:
    """P(the true class is the largest) with discrete Gaussian noise on every count."""

    def at_least(value: FloatArray) -> FloatArray:
        return gaussian_at_least(sigma, value)

    step = max(1, int(sigma // 8))
    return _integer_noise(model, n_teachers, at_least, reach=9 * sigma + 2, step=step)


def laplace_wins(model: VoteModel, n_teachers: int, scale: float) -> float:
    """P(the true class is the largest) with discrete Laplace noise on every count."""

    def at_least(value: FloatArray) -> FloatArray:
        return laplace_at_least(scale, value)

    step = max(1, int(scale // 8))
    return _integer_noise(model, n_teachers, at_least, reach=16 * scale + 2, step=step)


def exponential_wins(model: VoteModel, n_teachers: int, epsilon: float) -> float:
    """P(the true class is drawn) by the exponential mechanism: Gumbel noise of scale 2/epsilon."""
    scale = 2 / epsilon
    step = scale / 8
    levels = np.arange(-4 * scale, n_teachers + 40 * scale + step, step)
    gaps = (levels[:, None] - _votes(n_teachers)[None, :]) / scale
    falling = np.exp(-np.clip(gaps, -700, 700))
    below = np.exp(-falling)
    return _mixture(model, n_teachers, falling * below * (step / scale), below)


def _integer_noise(
    model: VoteModel, n_teachers: int, at_least: Law, *, reach: float, step: int
) -> float:
    """Sum over the winner's noisy count; ties with one other class count half."""
    low, high = -math.ceil(reach), n_teachers + math.ceil(reach)
    # A wide noise law is summed in steps: its sum is that of a smooth function.
    levels = np.arange(low, high + step, step)
    votes = _votes(n_teachers)
    least = low - len(votes)
    tail = at_least(np.arange(least, high + step + 2, dtype=np.float64))
    place = levels[:, None] - votes[None, :] - least
    mass = (tail[:-1] - tail[1:]) * step
    below = 1 - (tail[:-1] + tail[1:]) / 2
    return _mixture(model, n_teachers, mass[place], below[place])


def _mixture(model: VoteModel, n_teachers: int, wins: FloatArray, loses: FloatArray) -> float:
    """Return the probability over all kinds of points.

    ``wins[level, n]`` is the probability that n votes become the level, ``loses`` that they stay
    below it.
    """
    others, total = model.n_classes - 2, 0.0
    for right, rival, weight in zip(model.right, model.right_of_rival, model.weights, strict=True):
        if weight < _FEWEST_WEIGHT:
            continue
        even = max(0.0, 1 - right - rival) / others
        rows = _series(wins, n_teachers, right) * _series(loses, n_teachers, rival)
        rows = rows * _series(loses, n_teachers, even) ** others
        total += weight * _coefficient(rows, n_teachers)
    return float(min(1.0, max(0.0, total)))


def _votes(n_teachers: int) -> NDArray[np.int64]:
    """Return the counts to sum over: a Poisson count may exceed the number of teachers."""
    return np.arange(n_teachers + _period(n_teachers))


def _period(n_teachers: int) -> int:
    """Length of the transform: a Poisson total this far from its mean has no weight left."""
    return int(next_fast_len(math.ceil(14 * math.sqrt(n_teachers)) + 60, real=True))


def _series(table: FloatArray, n_teachers: int, chance: float) -> ComplexArray:
    """Return, at every level, the transform of ``Poisson(n) * table[level, n]`` over n."""
    mean, period = n_teachers * chance, _period(n_teachers)
    reach = 12 * math.sqrt(mean) + 30  # counts further from their mean have no weight
    low, high = max(0, math.floor(mean - reach)), min(table.shape[1], math.ceil(mean + reach) + 1)
    votes = np.arange(low, high)
    poisson = np.exp(special.xlogy(votes, mean) - mean - special.gammaln(votes + 1))
    folded = np.zeros((len(table), period))
    for start in range(low - low % period, high, period):
        first, last = max(start, low), min(start + period, high)
        part = table[:, first:last] * poisson[first - low : last - low]
        folded[:, first - start : last - start] += part
    return np.fft.rfft(folded, axis=1)


def _coefficient(rows: ComplexArray, n_teachers: int) -> float:
    """Return the coefficient of the total, summed over levels, given that total."""
    period = _period(n_teachers)
    series = np.fft.irfft(rows.sum(axis=0), period)
    given = math.exp(n_teachers * math.log(n_teachers) - n_teachers - math.lgamma(n_teachers + 1))
    return float(series[n_teachers % period]) / given
