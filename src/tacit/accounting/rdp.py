"""Renyi accounting: events' own curves, added order by order, converted by dp-accounting."""

from __future__ import annotations

import math

import numpy as np

from tacit.accounting.accountant import Tally, _Base, left_of
from tacit.accounting.events import Event, FloatArray

# Dense where the best order of budgets between epsilon 0.01 and 20 falls. Any set is safe.
ORDERS: FloatArray = np.unique(
    np.concatenate(
        [
            1 + np.geomspace(0.05, 1, 16),
            np.linspace(2, 12, 41),
            np.geomspace(12, 100, 48),
            np.geomspace(100, 2000, 24),
        ]
    )
)


class RenyiAccountant(_Base):
    """Adds up Renyi curves [M17, Proposition 1] over a fixed set of orders.

    Parameters
    ----------
    orders : array of float, all above 1
    """

    name = "Renyi composition"

    def __init__(self, orders: FloatArray = ORDERS) -> None:
        self.orders = np.asarray(orders, dtype=np.float64)

    def _supports(self, event: Event) -> bool:
        return math.isfinite(event.rho)

    def curve(self, tally: Tally) -> FloatArray:
        """Return the total Renyi cost at each order."""
        total: FloatArray = np.zeros_like(self.orders)
        for event, count in self._require(tally).items():
            total = total + count * event.renyi(self.orders)
        return total

    def epsilon(self, tally: Tally, delta: float) -> float:
        """Return the converted epsilon [CKS20], by ``dp_accounting``."""
        checked = self._require(tally)
        if not checked:
            return 0.0
        rest = left_of(delta, checked)
        if rest <= 0:
            return math.inf
        # Imported on use: dp-accounting takes more than a second to load.
        from dp_accounting.rdp import compute_epsilon

        epsilon, _ = compute_epsilon(self.orders, self.curve(checked), rest)
        return float(epsilon)
