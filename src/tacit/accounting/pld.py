"""Loss-distribution accounting on dp-accounting: the tightest, and the slowest.

Every event names independent factors of a pair of laws that dominates it; each factor becomes a
``PrivacyLossDistribution`` with pessimistic rounding, and composition is convolution. Loss
distributions price what was planned beforehand; they are never used to decide when to stop.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from tacit.accounting.accountant import Tally, _Base, left_of
from tacit.accounting.events import (
    Event,
    GaussianShift,
    LossFactor,
    RandomisedResponse,
)
from tacit.errors import UnsupportedEvent

_ROUNDING = 1e-12
_GRID = 1e-4
"""Width of the grid of losses; results are rounded up to it."""


class LossAccountant(_Base):
    """Composes privacy loss distributions."""

    name = "loss-distribution composition"

    def _supports(self, event: Event) -> bool:
        try:
            event.loss_factors()
        except UnsupportedEvent:
            return False
        return True

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the composed epsilon at what the events' own failures leave of delta."""
        checked = self._require(tally)
        if not checked:
            return 0.0
        # Fast Fourier transforms are good to about 1e-14 in absolute terms: that much of delta,
        # and room to spare, is left out.
        rest = left_of(delta, checked) - _ROUNDING
        if rest <= 0:
            return math.inf
        factors: Counter[LossFactor] = Counter()
        for event, count in checked.items():
            for factor in event.loss_factors():
                factors[factor] += count
        total: Any = None
        for factor, count in factors.items():
            part = self._distribution(factor).self_compose(count)
            total = part if total is None else total.compose(part)
        return float(total.get_epsilon_for_delta(rest))

    def _distribution(self, factor: LossFactor) -> Any:
        from dp_accounting.pld import privacy_loss_distribution as pld

        # ADD_OR_REMOVE is dp-accounting's plain shift by one: REPLACE would double it.
        settings = {"value_discretization_interval": _GRID}
        # Connect-the-dots rounds the curve, not every loss: still pessimistic, far tighter
        # [DGKKM22].
        dots = {**settings, "use_connect_dots": True}
        match factor:
            case GaussianShift(sigma):
                return pld.from_discrete_gaussian_mechanism(sigma, sensitivity=1, **dots)
            case RandomisedResponse(epsilon):
                # Randomised response, true with probability p/(p+q): noise = 2/(1 + e^eps).
                return pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, **settings)
