"""The cut-off from a private estimate of the error: own plan, own price, one teacher, one rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tacit import Budget
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.estimators.oracle.estimate import ESTIMATE, mean_error
from tacit.ledger import MemoryLedger
from tacit.mechanisms.clipped_mean import clip_to_grid
from tacit.planning.cutoff import hard_questions, largest_cutoff
from tacit.teachers.holdout import RATE_WITHOUT_RECORDS, train_and_test
from tacit.teachers.partition import equal_split

GIVEN: dict[str, Any] = {"classes": [0, 1], "seed": 4}


def rates_of(X: Any, y: Any, shards: Any) -> Any:
    return train_and_test(LogisticRegression(), X, y, shards, **GIVEN)[1]


def test_one_record_moves_one_rate() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    shards = equal_split(200, 10, rng)
    before = rates_of(X, y, shards)
    for record in (shards[4][0], shards[4][7]):
        other_X, other_y = X.copy(), y.copy()
        other_X[record], other_y[record] = [50.0, -50.0], 1 - y[record]
        after = rates_of(other_X, other_y, shards)
        assert (np.delete(after, 4) == np.delete(before, 4)).all()


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_sum_moves_by_at_most_one_rate(first: float, second: float) -> None:
    """On the grid, a rate replaced by any other moves the sum by at most what is priced."""
    test = mean_error(Budget(0.2, 1e-6), 100)
    grid = clip_to_grid(np.array([[first - 0.5], [second - 0.5]]), test.radius, test.levels)
    assert abs(int(grid[0, 0]) - int(grid[1, 0])) <= test.event.sensitivity
    assert test.event.sensitivity * test.unit == pytest.approx(1 / 100)


def test_teachers_are_tested_on_records_they_did_not_see() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(4000, 3)), rng.integers(2, size=4000)  # labels are coin flips
    shards = equal_split(4000, 40, rng)
    _, rates = train_and_test(DecisionTreeClassifier(), X, y, shards, **GIVEN)
    # A tree knows its own records by heart; on 800 others it errs like a coin.
    # False alarm below 1e-8: six standard deviations of a mean of 800 flips.
    assert abs(rates.mean() - 0.5) < 6 * 0.5 / np.sqrt(800)


def test_a_shard_with_nothing_to_test_on_has_a_fixed_rate() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 7, 7])
    shards = [np.array([0]), np.array([], dtype=int), np.array([2, 3]), np.array([1])]
    assert rates_of(X, y, shards).tolist() == [RATE_WITHOUT_RECORDS] * 4


def test_the_estimate_has_a_plan_and_a_price_of_its_own(make: Any, task: Any) -> None:
    ledger = MemoryLedger(Budget(20.0, 1e-9))
    oracle = make(cutoff="estimate", ledger=ledger).fit(task.X, task.y)
    found = oracle.terms_.estimate
    assert found.guarantee.epsilon == 4.0
    assert found.guarantee.delta == pytest.approx(2e-10)
    assert abs(found.error) < 0.5 and 0 < found.deviation < 0.1
    assert 19 < ledger.reserved().epsilon <= 20.0
    assert oracle.privacy_.epsilon <= 20.0 and oracle.privacy_.delta == pytest.approx(1e-9)
    most = largest_cutoff(Budget(16.0, 8e-10), n_teachers=150, n_questions=1000)
    assert oracle.terms_.mechanism.cutoff == min(most, hard_questions(found.cautious, 1000))


def test_the_same_key_gives_the_same_estimate_at_no_cost(make: Any, task: Any) -> None:
    ledger = MemoryLedger(Budget(20.0, 1e-9))
    settings = {"cutoff": "estimate", "ledger": ledger, "key": "study"}
    first = make(**settings).fit(task.X, task.y)
    again = make(**{**settings, "random_state": 99}).fit(task.X, task.y)
    assert again.terms_.estimate == first.terms_.estimate
    assert ledger.reserved().epsilon <= 20.0


def test_both_plans_must_fit_before_anything_is_trained(make: Any, task: Any) -> None:
    ledger = MemoryLedger(Budget(19.0, 1e-9))
    with pytest.raises(BudgetExceeded):
        make(cutoff="estimate", ledger=ledger).fit(task.X, task.y)
    assert ledger.reserved().epsilon == 0


def test_the_name_of_the_estimate_is_no_question() -> None:
    assert len(ESTIMATE) != 32  # names of points are 32 bytes


@pytest.mark.parametrize("error, questions", [(0.0, 50), (0.01, 400), (0.1, 1000), (0.4, 30)])
def test_hard_questions_is_a_binomial_quantile(error: float, questions: int) -> None:
    chance = min(1.0, 3 * error)
    found = hard_questions(error, questions)
    assert stats.binom.cdf(found, questions, chance) >= 0.95
    assert found == 1 or stats.binom.cdf(found - 1, questions, chance) < 0.95


def test_markov_a_third_of_the_teachers_err_on_few_questions() -> None:
    """Brute force: whatever teachers err on, at most 3 times the mean error is hard."""
    rng = np.random.default_rng(3)
    for spread in (0.1, 1.0, 10.0):
        wrong = rng.random((60, 500)) < rng.beta(spread, 9 * spread, size=500)
        hard = (3 * wrong.sum(axis=0) >= 60).mean()
        assert hard <= 3 * wrong.mean()


def test_too_few_teachers_are_told_how_many_are_needed() -> None:
    with pytest.raises(InvalidArgument, match="at least"):
        largest_cutoff(Budget(1.0, 1e-5), n_teachers=10, n_questions=100)
