"""Means on a ledger: priced before they leave, never twice, never before the work is done."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.accounting.budget import Budget
from tacit.accounting.price import price
from tacit.audit import SeededNoise
from tacit.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerError,
    LedgerUnavailable,
    NoiseError,
)
from tacit.labeling.means import PlannedMeans, release_mean
from tacit.ledger import Ledger, MemoryLedger, PostgresLedger, SqliteLedger
from tacit.mechanisms import ClippedMean
from tacit.noise import SecureNoise

BUDGET = Budget(2.0, 1e-4)
DELTA = 1e-5
MEAN = ClippedMean.for_budget(
    Budget(1.0, DELTA), radius=1.0, dimension=3, n_teachers=50, releases=3
)
ROWS = np.full((50, 3), 0.25)


@pytest.fixture(
    params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]
)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    if request.param == "memory":
        yield MemoryLedger(BUDGET)
        return
    made: Any = (
        SqliteLedger(tmp_path / "ledger.sqlite", budget=BUDGET)
        if request.param == "sqlite"
        else PostgresLedger(request.getfixturevalue("postgres_url"), budget=BUDGET)
    )
    with closing(made):
        yield made


def make(ledger: Ledger, mean: ClippedMean = MEAN, *, key: str = "run", noise: Any = None) -> Any:
    return PlannedMeans(mean, ledger, delta=DELTA, noise=noise or SecureNoise(), key=key)


def reserved(ledger: Ledger) -> float:
    return ledger.reserved().epsilon


def never() -> Any:
    raise AssertionError("contributions were made again")


def test_rounds_are_released_priced_and_recorded(ledger):
    means = make(ledger)
    assert means.usage() == {}
    answers = [means.release(b"%d" % number, lambda: ROWS) for number in range(3)]
    assert len({answer.share for answer in answers}) == 3
    assert means.usage() == {MEAN.event: 3}
    assert means.plan.guarantee.epsilon <= 1.0
    assert price(means.usage(), delta=DELTA).epsilon == pytest.approx(means.plan.guarantee.epsilon)
    assert ledger.reserved().epsilon == pytest.approx(means.plan.guarantee.epsilon)
    with pytest.raises(BudgetExceeded):
        means.release(b"more", lambda: ROWS)
    assert means.usage() == {MEAN.event: 3}


def test_the_same_name_gives_the_same_answer_and_nothing_is_computed(ledger):
    means = make(ledger)
    first = means.release(b"0", lambda: ROWS)
    assert means.release(b"0", never).share == first.share
    again = make(ledger)  # another process with the same key
    assert again.release(b"0", never).share == first.share
    assert again.usage() == {MEAN.event: 1}
    assert again.release(b"1", lambda: ROWS).share != first.share
    assert means.usage() == {MEAN.event: 2}


def test_nothing_is_reserved_before_the_first_contributions_are_made(ledger):
    means = make(ledger)
    seen = []

    def contributions() -> Any:
        seen.append(reserved(ledger))
        return iter([ROWS[:20], ROWS[20:]])

    assert reserved(ledger) == 0
    means.release(b"0", contributions)
    assert seen == [0.0]
    assert reserved(ledger) > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_work_that_stops_on_the_way_has_cost_nothing(ledger, error):
    means = make(ledger)

    def blocks() -> Iterator[Any]:
        yield ROWS[:20]
        raise error

    with pytest.raises(error):
        means.release(b"0", blocks)
    assert reserved(ledger) == 0
    means.release(b"0", lambda: ROWS)
    with pytest.raises(error):
        means.release(b"1", blocks)
    assert means.usage() == {MEAN.event: 1}


def test_a_plan_that_does_not_fit_is_refused_at_once(ledger):
    for key in ("first", "second"):
        make(ledger, key=key).release(b"0", lambda: ROWS)
    with pytest.raises(BudgetExceeded):
        make(ledger, key="third")


def test_two_runs_add_up_and_a_plan_that_lost_its_room_is_refused(ledger):
    early = make(ledger, key="early")
    for key in ("first", "second"):
        make(ledger, key=key).release(b"0", lambda: ROWS)
    # Contributions are made, and then there is no room: nothing is released.
    with pytest.raises(BudgetExceeded):
        early.release(b"0", lambda: ROWS)
    assert early.usage() == {}


def test_another_plan_under_the_same_key_is_refused(ledger):
    make(ledger).release(b"0", lambda: ROWS)
    other = ClippedMean(1.0, 2 * MEAN.sigma, 3, 50, releases=3)
    with pytest.raises(InvalidArgument, match="key"):
        make(ledger, other)  # at once: an answer given again would be read by another scale
    assert make(ledger).release(b"0", never).share


def test_wrong_shapes_reserve_nothing(ledger):
    means = make(ledger)
    for wrong in (ROWS[:49], ROWS[:, :2], np.vstack([ROWS, ROWS])):
        with pytest.raises(InvalidArgument, match="`contributions`"):
            means.release(b"0", lambda wrong=wrong: wrong)
    assert reserved(ledger) == 0


def test_wide_answers_come_back_from_the_ledger_bit_for_bit(ledger):
    wide = ClippedMean.for_budget(
        Budget(1.0, DELTA), radius=1.0, dimension=3000, n_teachers=7, releases=2
    )
    first = make(ledger, wide).release(b"0", lambda: np.ones((7, 3000)))
    again = make(ledger, wide).release(b"0", never)
    assert (again.values, again.unit) == (first.values, first.unit)
    assert len(again.values) == 3000


def test_predictable_noise_is_refused():
    with pytest.raises(LedgerError, match="noise"):
        make(MemoryLedger(BUDGET, allow_insecure=False), noise=SeededNoise(0))
    tests_only = MemoryLedger(BUDGET, allow_insecure=True)
    answer = make(tests_only, noise=SeededNoise(0)).release(b"0", lambda: ROWS)
    assert not answer.secure


def test_a_run_is_not_copied():
    means = make(MemoryLedger(BUDGET))
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises((NoiseError, TypeError)):
            way(means)


def test_a_ledger_that_fails_lets_nothing_out(monkeypatch):
    ledger = MemoryLedger(BUDGET)
    means = make(ledger)

    def fail(*args: Any, **settings: Any) -> Any:
        raise LedgerUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "answer", fail)
        with pytest.raises(LedgerUnavailable):
            means.release(b"0", lambda: ROWS)
    assert sum(means.usage().values()) == 0
    assert means.release(b"0", lambda: ROWS).secure


def test_one_mean_alone():
    mean = ClippedMean.for_budget(Budget(1.0, DELTA), radius=1.0, dimension=3, n_teachers=50)
    ledger = MemoryLedger(BUDGET)
    how: dict[str, Any] = {"delta": DELTA, "noise": SecureNoise(), "key": "one", "name": b"mean"}
    first = release_mean(mean, ROWS, ledger, **how)
    assert release_mean(mean, 0 * ROWS, ledger, **how).share == first.share
