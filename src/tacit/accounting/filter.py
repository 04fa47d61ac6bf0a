"""Fully adaptive composition: a filter that refuses in time.

Accountants price what was fixed beforehand. When the *next event itself* (its noise, its kind,
whether there is one at all) depends on earlier answers, composition needs a filter: it admits an
event only while the total stays within a limit fixed at the start. Filters run on zero-concentrated
prices and a separate allowance for failures ([FZ21]; [WRRW23]); never on
loss distributions, for which no such theorem holds.
"""

from __future__ import annotations

import math
from collections import Counter

from tacit import validation
from tacit.accounting.accountant import Tally, checked_tally, failure
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.zcdp import rho_for_budget
from tacit.errors import BudgetExceeded


class PrivacyFilter:
    """Admits adaptively chosen events while they stay within a budget.

    Parameters
    ----------
    budget : Budget
        What holds for everything admitted together, however it was chosen. Delta above zero.
    failure_share : float, default 0
        Part of delta set aside for events that carry a failure of their own (sparse vector,
        stable release). Fixed at the start: the theorem needs both limits before the first event.

    Examples
    --------
    >>> from tacit.accounting.events import GaussianCounts
    >>> limit = PrivacyFilter(Budget(1.0, 1e-5))
    >>> limit.spend(GaussianCounts(sigma=20.0))
    >>> limit.admits(GaussianCounts(sigma=0.1))
    False
    """

    def __init__(self, budget: Budget, *, failure_share: float = 0.0) -> None:
        validation.instance(Budget, budget=budget)
        validation.fraction(failure_share=failure_share)
        self.budget = budget
        self.failure_limit = budget.delta * failure_share
        self.rho_limit = rho_for_budget(Budget(budget.epsilon, budget.delta - self.failure_limit))
        self._admitted: Counter[Event] = Counter()

    @property
    def admitted(self) -> Tally:
        """What has been spent so far."""
        return dict(self._admitted)

    @property
    def rho(self) -> float:
        """Total zero-concentrated price admitted so far."""
        return _rho(self._admitted)

    def admits(self, event: Event, count: int = 1) -> bool:
        """Whether ``count`` more of this event would fit."""
        return self.fits({event: count})

    def fits(self, tally: Tally) -> bool:
        """Whether all the events of a tally would fit together."""
        together = self._admitted + Counter(checked_tally(tally))
        return _rho(together) <= self.rho_limit and failure(together) <= self.failure_limit

    def spend(self, event: Event, count: int = 1) -> None:
        """Admit events, or raise ``BudgetExceeded`` and change nothing."""
        if not self.admits(event, count):
            raise BudgetExceeded(
                f"{count} more {event.kind!r} event(s) would not fit: rho {self.rho:.4g} of "
                f"{self.rho_limit:.4g} and failure {failure(self._admitted):.3g} of "
                f"{self.failure_limit:.3g} are spent. Use more noise, or stop here."
            )
        self._admitted[event] += count


def _rho(tally: Tally) -> float:
    return math.fsum(event.rho * count for event, count in tally.items())
