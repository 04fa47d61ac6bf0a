"""The whole adaptive loop keeps its price against an adversary; planted faults do not.

Seeded noise, so no run differs from another: what passes once passes always. The long run with
secure noise is ``benchmarks/adaptive_loop.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from tests.support.adaptive_loop import N_TEACHERS, Loop, PricedOnce, audit_loop

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.labeling import Labeler, PlannedPoolLabeler
from tacit.ledger import MemoryLedger
from tacit.mechanisms import GaussianVote

# With a large delta the price is reached by events that are common, not in the tails.
BUDGET = Budget(1.0, 0.12)
LOOPS = {
    "labels": Loop(BUDGET, questions=6),
    "labels, stopping at will": Loop(BUDGET, questions=6, stop_at=0.8),
    "shares": Loop(BUDGET, questions=6, output=Output.SHARE),
    "shares, noise chosen by a rule": Loop(BUDGET, questions=6, output=Output.SHARE, adaptive=True),
}

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("name", LOOPS)
def test_an_adversary_does_not_get_past_the_price(name):
    # Every round of a rule is priced anew, so fewer of those.
    samples = 40 if LOOPS[name].adaptive else 150
    found = audit_loop(LOOPS[name], samples=samples, seed=3, jobs=1, progress=False)
    assert found.epsilon_lower <= BUDGET.epsilon


@cache
def _single(output: Output) -> GaussianVote:
    return PricedOnce.for_budget(BUDGET, answers=1, output=output)


def too_little_noise(loop: Loop, votes: Any, noise: Any) -> PlannedPoolLabeler:
    """Noise fixed for one answer, and more are given: the fault a per-round price would have."""
    vote = replace(_single(loop.output), answers=loop.questions)
    ledger = MemoryLedger(Budget(100.0, 0.12), allow_insecure=True)
    labeler = Labeler(
        vote, ledger, delta=BUDGET.delta, noise=noise, n_teachers=N_TEACHERS, key="planted fault"
    )
    return PlannedPoolLabeler(votes, [b"%d" % row for row in range(len(votes))], labeler)


def test_noise_for_one_answer_given_to_sixteen_is_caught():
    faulty = Loop(BUDGET, questions=16, output=Output.SHARE, service=too_little_noise)
    found = audit_loop(faulty, samples=500, seed=3, jobs=1, progress=False)
    assert found.epsilon_lower > BUDGET.epsilon
