"""From a budget to the least noise, or from the noise to the number of answers.

Every function here returns settings whose price, as the accountants compute it, is within the
budget: the price is checked, not assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tacit import validation
from tacit.accounting import gaussian, pure, zcdp
from tacit.accounting.budget import Budget
from tacit.accounting.events import (
    Event,
    ExponentialSelection,
    GaussianCoordinates,
    GaussianCounts,
    GaussianLabel,
    LaplaceCounts,
)
from tacit.accounting.price import price
from tacit.accounting.rdp import RenyiAccountant
from tacit.accounting.search import boundary, largest_integer
from tacit.accounting.sparse import unstable_probability
from tacit.errors import InvalidArgument


class Calibration(StrEnum):
    """Which proof turns a budget into Gaussian noise.

    ``exact``: the discrete Gaussian's own loss. ``zcdp``: as printed in [LZCW21] Algorithm 1.
    ``label``: the price of the released bit alone (binary labels).
    """

    EXACT = "exact"
    ZCDP = "zcdp"
    LABEL = "label"


def gaussian_sigma(
    budget: Budget,
    *,
    answers: int,
    moves: int = 1,
    method: Calibration | str = Calibration.EXACT,
) -> float:
    """Return the least sigma at which ``answers`` Gaussian releases fit the budget.

    Examples
    --------
    >>> round(gaussian_sigma(Budget(1.0, 1e-5), answers=300), 3)
    64.616
    >>> round(gaussian_sigma(Budget(1.0, 1e-5), answers=300, method="zcdp"), 3)
    84.88
    """
    method = validation.choice(Calibration, method=method)
    shifts = validation.positive_integer(answers=answers) * validation.positive_integer(moves=moves)
    _needs_delta(budget, "Gaussian noise")
    if method is Calibration.ZCDP:
        return math.sqrt(shifts / (2 * zcdp.printed_rho_for_budget(budget)))
    if method is Calibration.LABEL:
        if moves != 1:
            raise InvalidArgument('`method` "label" prices a single bit: it needs two classes.')
        return _label_sigma(budget, answers)
    return _exact_sigma(budget, answers, moves)


def _exact_sigma(budget: Budget, answers: int, moves: int) -> float:
    """Start from the continuous solution; pad until the discrete price fits."""
    shifts = answers * moves
    sigma = math.sqrt(shifts) / gaussian.gdp_mu(budget.epsilon, budget.delta)
    # Aimed below the budget by more than the price's own bisection can miss.
    aim = budget.epsilon - 2e-10 * max(1.0, budget.epsilon)
    padding = 1e-10
    while gaussian.discrete_delta(aim, sigma, shifts) > budget.delta:
        sigma *= 1 + padding
        padding *= 2
        if padding > 1e-3:
            # So little noise that the bound is loose: zCDP holds for every sigma.
            sigma = math.sqrt(shifts / (2 * zcdp.rho_for_budget(budget)))
            break
    return _settled(sigma, 1, lambda s: {GaussianCounts(s, moves): answers}, budget)


@lru_cache(maxsize=64)  # a plan asks again for every number of teachers
def _label_sigma(budget: Budget, answers: int) -> float:
    accountant = RenyiAccountant()
    high = _exact_sigma(budget, answers, 1)

    def exceeds(sigma: float) -> bool:
        return accountant.epsilon({GaussianLabel(sigma): answers}, budget.delta) > budget.epsilon

    while exceeds(high):
        high *= 1.1
    return boundary(exceeds, high / 2, high, relative=1e-5)[1]


def laplace_scale(budget: Budget, *, answers: int, moves: int = 2) -> float:
    """Return the least Laplace scale at which ``answers`` releases fit the budget.

    Exact: a unit shift of discrete Laplace noise is randomised response of ``1 / scale``.

    Examples
    --------
    >>> laplace_scale(Budget(1.0), answers=10)
    20.0
    """
    validation.positive_integer(answers=answers)
    validation.positive_integer(moves=moves)
    scale = 1 / _pure_share(budget, answers * moves)
    return _settled(scale, 1, lambda b: {LaplaceCounts(b, moves): answers}, budget)


def exponential_epsilon(budget: Budget, *, answers: int) -> float:
    """Return the largest epsilon per answer at which ``answers`` selections fit the budget.

    The better of optimal pure composition and of bounded range in zCDP (``epsilon^2/8`` each).
    """
    validation.positive_integer(answers=answers)
    best = _pure_share(budget, answers)
    if budget.delta > 0:
        best = max(best, math.sqrt(8 * zcdp.rho_for_budget(budget) / answers))
    return _settled(best, -1, lambda e: {ExponentialSelection(e): answers}, budget)


def vector_sigma(budget: Budget, *, releases: int, sensitivity: float, dimension: int) -> float:
    """Return the sigma at which ``releases`` vectors of ``dimension`` numbers fit the budget.

    ``sensitivity`` is how far one vector can move in L2.
    """
    validation.positive_integer(releases=releases)
    validation.positive(sensitivity=sensitivity)
    validation.positive_integer(dimension=dimension)
    _needs_delta(budget, "Gaussian noise")

    def tally(sigma: float) -> dict[Event, int]:
        return {GaussianCoordinates(sigma, sensitivity, dimension): releases}

    # Fine noise is priced as rounded noise, coarse noise by zCDP: the smaller sigma that fits.
    exact = sensitivity * math.sqrt(releases) / gaussian.gdp_mu(budget.epsilon, budget.delta)
    if price(tally(exact * 1.001), delta=budget.delta).epsilon <= budget.epsilon:
        return _settled(exact, 1, tally, budget)
    concentrated = sensitivity * math.sqrt(releases / (2 * zcdp.rho_for_budget(budget)))
    return _settled(concentrated, 1, tally, budget)


def confident_sigmas(
    budget: Budget, *, questions: int, answers: int, moves: int = 2, ratio: float = 3.75
) -> tuple[float, float]:
    """Return (sigma1, sigma2) for ``questions`` threshold tests and ``answers`` answers.

    Parameters
    ----------
    ratio : float
        sigma1 / sigma2. The default is that of the published MNIST run (150 and 40).
    """
    validation.positive_integer(questions=questions)
    validation.positive_integer(answers=answers)
    validation.positive(ratio=ratio)
    _needs_delta(budget, "Gaussian noise")
    unit = questions / (2 * ratio**2) + answers * moves / 2

    def tally(sigma2: float) -> dict[Event, int]:
        tests, releases = GaussianCounts(ratio * sigma2, 1), GaussianCounts(sigma2, moves)
        if tests == releases:
            return {tests: questions + answers}
        return {tests: questions, releases: answers}

    sigma2 = _settled(math.sqrt(unit / zcdp.rho_for_budget(budget)), 1, tally, budget)
    return ratio * sigma2, sigma2


class SparseConstants(StrEnum):
    """Where the sparse vector's constants come from: ours, [LZCW21] Alg. 2, [BTT18] Alg. 2."""

    TIGHT = "tight"
    PAPER = "paper"
    BTT18 = "btt18"


@dataclass(frozen=True, slots=True)
class SparseSettings:
    """Noise scale lambda, threshold w, cut-off T, and one instance's probability of failure."""

    scale: float
    threshold: float
    cutoff: int
    failure: float


def sparse_vector(
    budget: Budget,
    *,
    cutoff: int,
    questions: int | None = None,
    constants: SparseConstants | str = SparseConstants.TIGHT,
) -> SparseSettings:
    """Return sparse-vector settings for ``cutoff`` refusals within the budget.

    Parameters
    ----------
    cutoff : int
        T: instances, hence refusals, after which the run stops.
    questions : int, optional
        Only the papers' constants depend on the number of questions.
    constants : {"tight", "paper", "btt18"}

    Examples
    --------
    >>> budget = Budget(1.0, 1e-5)
    >>> sparse_vector(budget, cutoff=20).threshold
    943.0
    >>> round(sparse_vector(budget, cutoff=20, questions=1000, constants="paper").threshold)
    2588
    """
    constants = validation.choice(SparseConstants, constants=constants)
    validation.positive_integer(cutoff=cutoff)
    _needs_delta(budget, "The sparse vector's stability test")
    if constants is SparseConstants.TIGHT:
        return _tight_sparse(budget, cutoff)
    if questions is None:
        raise InvalidArgument(f'`questions` must be given with constants="{constants}".')
    validation.positive_integer(questions=questions)
    log_delta = math.log(2 / budget.delta)
    if constants is SparseConstants.PAPER:
        scale = (
            math.sqrt(2 * cutoff * (budget.epsilon + log_delta)) + math.sqrt(2 * cutoff * log_delta)
        ) / budget.epsilon
        threshold = 3 * scale * math.log(2 * (questions + cutoff) / budget.delta)
    else:
        scale = math.sqrt(32 * cutoff * log_delta) / budget.epsilon
        threshold = 2 * scale * math.log(2 * questions / budget.delta)
    return SparseSettings(scale, threshold, cutoff, unstable_probability(scale, threshold))


@lru_cache(maxsize=64)
def _tight_sparse(budget: Budget, cutoff: int) -> SparseSettings:
    """Split delta between composition and stability so that the threshold is lowest."""
    candidates = []
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        stable = budget.delta * share
        scale = 2 / pure.pure_epsilon_for(budget.epsilon, budget.delta - stable, cutoff)
        scale *= 1 + 1e-9  # the price is found by bisection; it must not miss the budget
        threshold = _least_threshold(scale, stable / cutoff)
        candidates.append((threshold, scale))
    threshold, scale = min(candidates)
    return SparseSettings(scale, float(threshold), cutoff, unstable_probability(scale, threshold))


def _least_threshold(scale: float, failure: float) -> int:
    low, high = -1, 1
    while unstable_probability(scale, high) > failure:
        low, high = high, 2 * high
    return 1 + largest_integer(lambda w: unstable_probability(scale, w) > failure, low, high)


@lru_cache(maxsize=64)
def _pure_share(budget: Budget, answers: int) -> float:
    return pure.pure_epsilon_for(budget.epsilon, budget.delta, answers)


def _settled(
    setting: float, direction: int, tally: Callable[[float], dict[Event, int]], budget: Budget
) -> float:
    """Move a setting by the last digits until its price, as computed, is within the budget."""
    padding = 1e-10
    while price(tally(setting), delta=budget.delta).epsilon > budget.epsilon:
        setting *= 1 + direction * padding
        padding *= 2
    return setting


def _needs_delta(budget: Budget, subject: str) -> None:
    validation.instance(Budget, budget=budget)
    if budget.delta == 0:
        raise InvalidArgument(
            f"`delta` must be above 0 for this, got 0.0: {subject} has no pure price."
        )
