"""Zero-concentrated differential privacy: conversions to and from (epsilon, delta).

A release is rho-zCDP when its Renyi cost at every order ``a > 1`` is at most ``a * rho``.
Costs add up, also when each is chosen after seeing earlier answers.
"""

from __future__ import annotations

import math

from scipy import optimize

from tacit import validation
from tacit.accounting.budget import Budget


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return the smallest epsilon this conversion proves for a rho-zCDP release at ``delta``.

    ``epsilon = a rho + log(1/(a delta))/(a - 1) + log(1 - 1/a)`` holds for *every* order a > 1
    [CKS20], so a numerical minimum over a is safe.

    Examples
    --------
    >>> round(epsilon_from_rho(0.05, 1e-5), 4)
    1.3081
    """
    validation.non_negative(rho=rho)
    validation.probability(delta=delta)
    if rho == 0:
        return 0.0

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        order = 1 + excess
        return (
            order * rho
            - (math.log(order) + math.log(delta)) / excess
            + math.log(excess)
            - math.log(order)
        )

    middle = 0.5 * math.log(math.log(1 / delta) / rho)
    optimum = optimize.minimize_scalar(
        at, bounds=(middle - 12, middle + 12), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(optimum.fun))


def rho_for_budget(budget: Budget) -> float:
    """Return the largest rho whose conversion stays within ``budget`` (delta above zero)."""
    validation.probability(delta=budget.delta)
    low, high = 0.0, budget.epsilon
    while epsilon_from_rho(high, budget.delta) < budget.epsilon:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if epsilon_from_rho(middle, budget.delta) <= budget.epsilon:
            low = middle
        else:
            high = middle
    return low


def printed_rho_for_budget(budget: Budget) -> float:
    """Return rho with ``rho + 2 sqrt(rho log(1/delta)) = epsilon``: line 1 of [LZCW21] Alg. 1.

    The conversion of [BS16, Proposition 1.3]: correct, and looser than ``rho_for_budget``.
    """
    validation.probability(delta=budget.delta)
    log_delta = math.log(1 / budget.delta)
    # sqrt(rho) = sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)), without the cancellation.
    root = budget.epsilon / (math.sqrt(log_delta + budget.epsilon) + math.sqrt(log_delta))
    return root**2
