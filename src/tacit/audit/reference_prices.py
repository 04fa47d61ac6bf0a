"""What a run of each mechanism costs, by formulas kept apart from the shipped accountants.

``stated`` gives the prices of each event that the docstrings promise. ``least_epsilon`` is the
exact composition of the pairs of laws behind them, by plain convolution: no sound price lies below
it. ``known_epsilon`` is the smallest epsilon that the stated proofs give: a price above it wastes
budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.calibrate import Calibration
from tacit.audit.reference_laws import Pmf, gaussian_law, laplace_law
from tacit.mechanisms import (
    ClippedMean,
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    Mechanism,
    SparseVote,
    StableRelease,
    StableVote,
)

__all__ = ["ORDERS", "Stated", "hockey_stick", "known_epsilon", "least_epsilon", "renyi", "stated"]

FloatArray = NDArray[np.float64]

ORDERS: FloatArray = np.array([1.05, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256])
"""Orders at which Renyi prices are compared."""

_FINE_ORDERS: FloatArray = 1 + np.geomspace(1e-3, 1e4, 20_001)

# Pairs of laws with more losses than this are put on a grid before they are combined.
_MOST_LOSSES = 4000

# Up to here the search of ``label_renyi`` reaches far enough from the tie.
_LARGEST_LABEL_ORDER = 16.0


@dataclass(frozen=True)
class Stated:
    """The documented price of one kind of event, and how often it may happen.

    ``pair`` holds independent factors of the pair of laws behind the price: ("gaussian", sigma)
    for noise on an integer that moves by one, ("response", epsilon) for randomised response.
    """

    most: int
    rho: float
    pure: float = math.inf
    failure: float = 0.0
    pair: tuple[tuple[str, float], ...] = ()
    curve: Callable[[FloatArray], FloatArray] | None = field(default=None, compare=False)

    def orders(self, orders: FloatArray) -> FloatArray:
        """Return those orders at which the stated cost is known."""
        return orders if self.curve is None else orders[orders <= _LARGEST_LABEL_ORDER]

    def renyi(self, orders: FloatArray) -> FloatArray:
        """Return the stated Renyi cost at each order."""
        if self.curve is not None:
            return self.curve(orders)
        line = orders * self.rho
        return (
            line if math.isinf(self.pure) else np.minimum(line, response_renyi(self.pure, orders))
        )


def stated(mechanism: Mechanism) -> tuple[Stated, ...]:
    """Return the documented events of a whole run."""
    match mechanism:
        case GaussianVote():
            return (_gaussian_vote(mechanism),)
        case LaplaceVote():
            pure_ = 2 / mechanism.scale
            factors = (("response", 1 / mechanism.scale),) * 2
            return (Stated(mechanism.answers, pure_**2 / 2, pure_, pair=factors),)
        case ConfidentVote():
            tests = _counts(mechanism.questions, mechanism.sigma1, 1)
            most = mechanism.questions if mechanism.answers is None else mechanism.answers
            moves = 1 if mechanism.n_classes == 2 else 2
            return tests, _counts(min(most, mechanism.questions), mechanism.sigma2, moves)
        case ExponentialVote():
            return (selection(mechanism.epsilon_per_answer, mechanism.answers),)
        case StableVote():
            return (_stable(mechanism.scale, mechanism.threshold, mechanism.answers),)
        case StableRelease():
            return (_stable(mechanism.scale, mechanism.threshold, mechanism.releases),)
        case SparseVote():
            return (_sparse(mechanism),)
        case ClippedMean():
            rho = (2 * mechanism.levels) ** 2 / (2 * mechanism.sigma**2)
            # One coordinate moved all the way: a single integer that moves by 2 levels.
            pair = (("gaussian", mechanism.sigma / (2 * mechanism.levels)),)
            return (Stated(mechanism.releases, rho, pair=pair),)
    raise NotImplementedError(type(mechanism).__name__)


def _gaussian_vote(mechanism: GaussianVote) -> Stated:
    if mechanism.calibration is Calibration.LABEL:
        sigma = mechanism.sigma
        return Stated(
            mechanism.answers, 1 / (2 * sigma**2), curve=lambda orders: label_renyi(sigma, orders)
        )
    return _counts(mechanism.answers, mechanism.sigma, 1 if mechanism.n_classes == 2 else 2)


def _counts(most: int, sigma: float, moves: int) -> Stated:
    return Stated(most, moves / (2 * sigma**2), pair=(("gaussian", sigma),) * moves)


def selection(epsilon: float, most: int) -> Stated:
    """Return the stated price of an exponential mechanism."""
    return Stated(most, epsilon**2 / 8, epsilon)


def pure(epsilon: float, failure: float = 0.0, most: int = 1) -> Stated:
    """Return the stated price of a release that is pure but for a failure."""
    return Stated(most, epsilon**2 / 2, epsilon, failure, pair=(("response", epsilon),))


def _stable(scale: float, threshold: int, most: int) -> Stated:
    return pure(1 / scale, laplace_law(scale).at_least(threshold + 1), most)


def _sparse(mechanism: SparseVote) -> Stated:
    query, bar = laplace_law(2 * mechanism.scale), laplace_law(mechanism.scale)
    bars = bar.values + math.floor(mechanism.threshold)
    failure = float((bar.chances * (1 - query.below(bars + 1))).sum())
    return pure(2 / mechanism.scale, failure, mechanism.cutoff)


# ---- divergences -----------------------------------------------------------------------------


def hockey_stick(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """Return the smallest delta at ``epsilon`` for one direction of one pair of laws."""
    return float(np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0).sum())


def renyi(p: FloatArray, q: FloatArray, orders: FloatArray) -> FloatArray:
    """Return the Renyi divergence of one direction of one pair of laws at each order."""
    positive = p > 0
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p[positive]), np.log(q[positive])
    terms = orders[:, None] * log_p + (1 - orders[:, None]) * log_q
    divergences: FloatArray = np.logaddexp.reduce(terms, axis=1) / (orders - 1)
    return divergences


def response_renyi(epsilon: float, orders: FloatArray) -> FloatArray:
    """Return the Renyi cost of randomised response, summed from its definition."""
    p = 1 / (1 + math.exp(-epsilon))
    return renyi(np.array([p, 1 - p]), np.array([1 - p, p]), orders)


def label_renyi(sigma: float, orders: FloatArray) -> FloatArray:
    """Return the Renyi cost of ``1(n1 + Z >= K/2)``, over all places near and far from the tie."""
    law = gaussian_law(sigma)
    reach = math.ceil(9 * sigma) + 2
    # By symmetry P(Z < j) = P(Z >= 1 - j): summed as it is, and not as a difference from 1.
    bits = [np.array([law.at_least(j), law.at_least(1 - j)]) for j in range(-reach, reach + 1)]
    worst = np.zeros_like(orders)
    for one, two in zip(bits[1:], bits[:-1], strict=True):
        for p, q in ((one, two), (two, one)):
            worst = np.fmax(worst, renyi(p, q, orders))
    # Its count costs this much: the bit cannot cost more (post-processing).
    return np.fmin(worst, orders / (2 * sigma**2))


# ---- composition -----------------------------------------------------------------------------


def least_epsilon(events: Sequence[Stated], delta: float) -> float:
    """Return the exact epsilon of the composed pairs; zero where no pair is stated."""
    rest = delta - sum(event.failure * event.most for event in events)
    if rest < 0:
        return math.inf
    losses, chances = np.zeros(1), np.ones(1)
    for (kind, parameter), times in _factors(events).items():
        loss, chance = _coarse(*_composed(kind, parameter, times))
        losses, chances = _coarse(losses, chances)
        losses = (losses[:, None] + loss).ravel()
        chances = (chances[:, None] * chance).ravel()
    return _epsilon_of(losses, chances, rest)


def _coarse(losses: FloatArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return losses rounded down to a grid where there are many: the bound stays a lower one."""
    if len(losses) <= _MOST_LOSSES:
        return losses, chances
    likely = chances > 1e-15
    losses, chances = losses[likely], chances[likely]
    low, width = losses.min(), (losses.max() - losses.min()) / _MOST_LOSSES
    cells = np.floor((losses - low) / width).astype(np.int64)
    sums: FloatArray = np.bincount(cells, weights=chances).astype(np.float64)
    return low + width * np.arange(len(sums)), sums


def _factors(events: Sequence[Stated]) -> dict[tuple[str, float], int]:
    factors: dict[tuple[str, float], int] = {}
    for event in events:
        for factor in event.pair:
            factors[factor] = factors.get(factor, 0) + event.most
    return factors


def _composed(kind: str, parameter: float, times: int) -> tuple[FloatArray, FloatArray]:
    """Return losses and chances of ``times`` equal factors together."""
    if kind == "response":
        p = 1 / (1 + math.exp(-parameter))
        flips = np.arange(times + 1)
        ways: FloatArray = np.array([float(math.comb(times, int(k))) for k in flips])
        losses = np.asarray((times - 2 * flips) * parameter, dtype=np.float64)
        return losses, ways * p ** (times - flips) * (1 - p) ** flips
    if parameter < 0.5:  # a fraction of the shift: wide noise, far apart; the continuous law
        return _continuous(parameter, times)
    total = sum_law(gaussian_law(parameter), times)
    shifted = np.asarray((total.values + times / 2) / parameter**2, dtype=np.float64)
    return shifted, total.chances


def _continuous(multiplier: float, times: int) -> tuple[FloatArray, FloatArray]:
    """Return the loss of continuous Gaussian noise on a fine grid, each rounded down."""
    mu = math.sqrt(times) / multiplier
    edges = np.linspace(-9, 9, 20_001)
    from scipy import special

    return edges[:-1] * mu + mu**2 / 2, np.diff(special.ndtr(edges))


def sum_law(law: Pmf, times: int) -> Pmf:
    """Return the law of a sum of independent values, by repeated convolution."""
    result: Pmf | None = None
    power = law
    while times:
        if times & 1:
            result = power if result is None else _convolved(result, power)
        times >>= 1
        if times:
            power = _convolved(power, power)
    assert result is not None
    return result


def _convolved(a: Pmf, b: Pmf) -> Pmf:
    from scipy.signal import fftconvolve

    short = len(a.chances) < 2000
    full = np.convolve(a.chances, b.chances) if short else fftconvolve(a.chances, b.chances)
    support = np.flatnonzero(full > 1e-18)
    first, last = int(support[0]), int(support[-1])
    return Pmf(a.low + b.low + first, full[first : last + 1])


def _epsilon_of(losses: FloatArray, chances: FloatArray, delta: float) -> float:
    def delta_at(epsilon: float) -> float:
        over = losses > epsilon
        return float((chances[over] * -np.expm1(epsilon - losses[over])).sum())

    low, high = 0.0, max(0.0, float(losses.max()))
    if delta_at(0.0) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def known_epsilon(events: Sequence[Stated], delta: float) -> float:
    """Return the smallest epsilon that the stated proofs give at ``delta``."""
    rest = delta - sum(event.failure * event.most for event in events)
    if rest < 0:
        return math.inf
    epsilons = [sum(event.pure * event.most for event in events)]
    if rest > 0:
        # [CKS20, Proposition 12] at a dense grid of orders.
        a = _FINE_ORDERS
        for event in events:
            a = event.orders(a)
        curve = sum((event.most * event.renyi(a) for event in events), np.zeros(1))
        bounds = curve + np.log1p(-1 / a) - (math.log(rest) + np.log(a)) / (a - 1)
        epsilons.append(max(0.0, float(np.nanmin(bounds))))
    if len({event.pure for event in events}) == 1 and math.isfinite(events[0].pure):
        times = sum(event.most for event in events)
        epsilons.append(_epsilon_of(*_composed("response", events[0].pure, times), rest))
    return min(epsilons)
