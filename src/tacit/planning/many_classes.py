"""Probability that the true class wins a noisy vote among more than two classes.

The counts are multinomial. They are independent Poisson numbers given their total, so the
probability that every other class stays below the winner is one coefficient of a product of
generating functions, read off with a discrete Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.fft import next_fast_len

from tacit.planning.noise_tails import gaussian_at_least, laplace_at_least
from tacit.planning.vote_model import VoteModel

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Law = Callable[[FloatArray], FloatArray]

_FEWEST_WEIGHT = 1e-9

_FAR = 7.0
"""Standard deviations from its mean beyond which the winner's count is left out: 1e-11 of it."""

_WIDE = 16.0
"""Noise scale from which on ties of three classes move the result by less than 1e-4."""

_SHARP = 0.1
"""Gumbel scale below which one vote decides: the runner-up wins with probability e^-10 at most."""


def gaussian_wins(model: VoteModel, n_teachers: int, sigma: float) -> float:
    """P(the true class is the largest) with discrete Gaussian noise on every count."""

    def at_least(value: FloatArray) -> FloatArray:
        return gaussian_at_least(sigma, value)

    return _integer_noise(model, n_teachers, at_least, scale=sigma, reach=7, steps=4)


def laplace_wins(model: VoteModel, n_teachers: int, scale: float) -> float:
    """P(the true class is the largest) with discrete Laplace noise on every count."""

    def at_least(value: FloatArray) -> FloatArray:
        return laplace_at_least(scale, value)

    return _integer_noise(model, n_teachers, at_least, scale=scale, reach=16, steps=8)


def exponential_wins(model: VoteModel, n_teachers: int, epsilon: float) -> float:
    """P(the true class is drawn) by the exponential mechanism: Gumbel noise of scale 2/epsilon."""
    scale = 2 / epsilon
    if scale < _SHARP:
        return _integer_noise(model, n_teachers, _no_noise, scale=scale, reach=1, steps=1)
    # Winning at a level is again a Gumbel density, whose transform is below 1e-7 at this step.
    step = scale / 2

    def below(gap: FloatArray) -> FloatArray:
        return np.exp(-np.exp(-np.clip(gap / scale, -700, 700)))

    def density(gap: FloatArray) -> FloatArray:
        falling = np.exp(-np.clip(gap / scale, -700, 700))
        return falling * np.exp(-falling) * (step / scale)

    above = (30 + math.log(model.n_classes)) * scale
    levels = _Levels(n_teachers, 4 * scale, above, step)
    return _mixture(model, levels, density, [(1.0, below)])


def _no_noise(least: FloatArray) -> FloatArray:
    return (least <= 0).astype(np.float64)


def _integer_noise(
    model: VoteModel, n_teachers: int, at_least: Law, *, scale: float, reach: int, steps: int
) -> float:
    """Sum over the winner's noisy count; classes that tie for it win equally often.

    Give every class a uniform number and let the largest win the tie: given that of the true class,
    u, each other class stays behind with probability P(below) + u P(equal), and u is summed out
    with three nodes, exactly for ties of up to six classes.
    """
    # A wide noise law is summed in steps: its sum is that of a smooth function.
    step, far = max(1, int(scale // steps)), reach * scale + 2

    def wins(gap: FloatArray) -> FloatArray:
        return (at_least(gap) - at_least(gap + 1)) * step

    def behind(share: float) -> Law:
        return lambda gap: 1 - (1 - share) * at_least(gap) - share * at_least(gap + 1)

    # Under wide noise ties of three are so rare that one node, a half for every tie, will do.
    nodes, weights = np.polynomial.legendre.leggauss(3 if scale < _WIDE else 1)
    losing = [
        (float(weight) / 2, _tabled(behind((1 + float(node)) / 2)))
        for node, weight in zip(nodes, weights, strict=True)
    ]
    return _mixture(model, _Levels(n_teachers, far, far, step), _tabled(wins), losing)


def _tabled(law: Law) -> Law:
    """Return the law of whole gaps, worked out once for each when they are fewer than asked for."""

    def looked_up(gap: FloatArray) -> FloatArray:
        low, high = float(gap.min()), float(gap.max())
        if high - low >= gap.size:
            return law(gap)
        return law(np.arange(low, high + 1))[(gap - low).astype(np.intp)]

    return looked_up


@dataclass(frozen=True)
class _Levels:
    """Which noisy counts of the winner are summed over."""

    n_teachers: int
    below: float
    above: float
    step: float

    def near(self, chance: float) -> FloatArray:
        """Return levels that a class with this chance of a vote can have."""
        mean = self.n_teachers * chance
        far = _FAR * math.sqrt(mean * (1 - chance)) + 25
        low = math.floor(max(0.0, mean - far) - self.below)
        high = math.ceil(min(self.n_teachers, mean + far) + self.above)
        return np.arange(low, high + self.step, self.step, dtype=np.float64)


def _mixture(
    model: VoteModel, levels: _Levels, wins: Law, losing: Sequence[tuple[float, Law]]
) -> float:
    """Return the probability over all kinds of points.

    ``wins`` of a gap is the probability that noise lifts votes by it to a level, and the laws of
    ``losing``, with their weights, that other classes stay behind the level.
    """
    others, total, n_teachers = model.n_classes - 2, 0.0, levels.n_teachers
    for right, rival, weight in zip(model.right, model.right_of_rival, model.weights, strict=True):
        if weight < _FEWEST_WEIGHT:
            continue
        even = max(0.0, 1 - right - rival) / others
        places = levels.near(right)
        first = _series(wins, places, n_teachers, right)
        for share, loses in losing:
            rows = first * _series(loses, places, n_teachers, rival)
            rows = rows * _series(loses, places, n_teachers, even) ** others
            total += weight * share * _coefficient(rows, n_teachers)
    return float(min(1.0, max(0.0, total)))


def _period(n_teachers: int) -> int:
    """Length of the transform: a Poisson total this far from its mean has no weight left."""
    return int(next_fast_len(math.ceil(14 * math.sqrt(n_teachers)) + 60, real=True))


def _series(law: Law, levels: FloatArray, n_teachers: int, chance: float) -> ComplexArray:
    """Return, at every level, the transform of ``Poisson(n) * law(level - n)`` over n."""
    mean, period = n_teachers * chance, _period(n_teachers)
    reach = 12 * math.sqrt(mean) + 30  # counts further from their mean have no weight
    low, high = max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1
    votes = np.arange(low, high)
    poisson = np.exp(special.xlogy(votes, mean) - mean - special.gammaln(votes + 1))
    table = law(levels[:, None] - votes[None, :]) * poisson
    folded = np.zeros((len(levels), period))
    for start in range(low - low % period, high, period):
        first, last = max(start, low), min(start + period, high)
        folded[:, first - start : last - start] += table[:, first - low : last - low]
    return np.fft.rfft(folded, axis=1)


def _coefficient(rows: ComplexArray, n_teachers: int) -> float:
    """Return the coefficient of the total, summed over levels, given that total."""
    period = _period(n_teachers)
    series = np.fft.irfft(rows.sum(axis=0), period)
    given = math.exp(n_teachers * math.log(n_teachers) - n_teachers - math.lgamma(n_teachers + 1))
    return float(series[n_teachers % period]) / given
