"""The whole loop of corrections keeps its price against the worst teacher; planted faults do not.

Seeded noise, so no run differs from another: what passes once passes always. The long run with
secure noise is ``benchmarks/correcting_loop.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.correcting_loop import CorrectingLoop, ReplacedTeacher, audit_corrections

from tacit.accounting.budget import Budget
from tacit.mechanisms import clipped_mean
from tacit.teachers.corrections.metric import Metric

# With a large delta the price is reached by events that are common, not in the tails.
BUDGET = Budget(1.0, 0.12)

pytestmark = pytest.mark.statistical


def measured(loop: CorrectingLoop, samples: int) -> float:
    return audit_corrections(loop, samples=samples, seed=3, jobs=1, progress=False).epsilon_lower


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_worst_teacher_does_not_get_past_the_price(rounds):
    assert measured(CorrectingLoop(BUDGET, rounds), samples=60) <= BUDGET.epsilon


def test_too_little_noise_is_caught():
    faulty = CorrectingLoop(BUDGET, rounds=1, noise_factor=0.25)
    assert measured(faulty, samples=120) > BUDGET.epsilon


def test_contributions_that_are_not_clipped_are_caught(monkeypatch):
    def unclipped(vectors: Any, radius: float, levels: int) -> Any:
        return np.rint(vectors / radius * levels).astype(np.int64)

    monkeypatch.setattr(clipped_mean, "clip_to_grid", unclipped)
    assert measured(CorrectingLoop(BUDGET, rounds=1), samples=100) > BUDGET.epsilon


class RadiusOfRecords(ReplacedTeacher):
    """The fault of choosing the radius by how long private contributions are."""

    def imagined(self, metric: Metric, rng: np.random.Generator) -> Any:
        public = super().imagined(metric, rng)
        return public * (0.2 if self._side > 0 else 0.1)


def test_a_radius_that_follows_the_records_is_caught():
    faulty = CorrectingLoop(BUDGET, rounds=1, teachers=RadiusOfRecords)
    assert measured(faulty, samples=100) > BUDGET.epsilon
