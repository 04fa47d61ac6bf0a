"""Plans of learners, opened on a ledger under a key."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tacit.accounting.answer import Answer
from tacit.accounting.plan import Plan
from tacit.hypotheses.points import FloatArray, as_points
from tacit.ledger import Analyst, FixedPriceRelease, Ledger
from tacit.noise import NoiseSource, Uncopyable


class OpenedPlan(Uncopyable, ABC):
    """A plan opened on a ledger, with what answers questions within it."""

    def __init__(
        self, plan: Plan, ledger: Ledger, *, n_features: int, noise: NoiseSource, key: str
    ) -> None:
        ledger.check_noise(noise)
        self.ledger = ledger
        self.plan_id = ledger.open_plan(plan, key)
        self.plan = ledger.plan(self.plan_id)
        self._n_features, self._noise = n_features, noise
        self._lock = threading.Lock()

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost."""
        release = self._release(as_points(points, self._n_features))
        with self._lock:
            return self.ledger.answer(self.plan_id, list(questions), release, on_behalf=on_behalf)

    @abstractmethod
    def _release(self, table: FloatArray) -> FixedPriceRelease:
        """Return what draws the answers about these points."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ledger!r})"
