"""Every strategy keeps the contract, and so does one that a user writes in ten lines."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.support.strategy_contract import STRATEGY_CHECKS, check_strategy

from tacit.errors import InvalidArgument
from tacit.students.active import (
    DiverseMargin,
    ExactCAL,
    FlipWeight,
    Margin,
    Random,
    YanDBAL,
    strategy_named,
)
from tacit.students.active.named import STRATEGIES


class Farthest:
    """Ask about the point farthest from all that were asked: ten lines of a user's own."""

    def select(self, X_pool, queried, labels, k, rng):
        chosen = list(queried)
        while len(chosen) < min(len(queried) + k, len(X_pool)):
            gaps = np.linalg.norm(X_pool[:, None] - X_pool[chosen][None], axis=2)
            near = gaps.min(axis=1, initial=np.inf)
            near[chosen] = -1
            chosen.append(int(near.argmax()))
        return np.array(chosen[len(queried) :], dtype=int)


def nearest_centre_class(X_pool, n_classes):
    """Hypotheses of the form: a coordinate decides between two classes."""
    rows = []
    for column in range(X_pool.shape[1]):
        for cut in np.quantile(X_pool[:, column], np.linspace(0, 1, 7)):
            for inside in range(n_classes):
                other = (inside + 1) % n_classes
                rows.append(np.where(X_pool[:, column] >= cut, inside, other))
    return ExactCAL(np.array(rows))


SUBJECTS = {
    "random": Random(),
    "margin": Margin(),
    "diverse margin": DiverseMargin(),
    "flip weight, logistic": FlipWeight(),
    "flip weight, ridge": FlipWeight("ridge"),
    "flip weight, tree": FlipWeight(
        DecisionTreeClassifier(max_depth=2, random_state=0), n_candidates=4
    ),
    "yan, seen": YanDBAL(),
    "yan, queried": YanDBAL(train_on="queried", mistakes="after", seed=5),
    "exact": nearest_centre_class,
    "a user's": Farthest(),
}


@pytest.mark.parametrize("check", STRATEGY_CHECKS.values(), ids=STRATEGY_CHECKS.keys())
@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS.keys())
def test_every_strategy_keeps_the_contract(subject, check):
    made = subject if callable(subject) else lambda X_pool, n_classes: subject
    check(made)


@pytest.mark.parametrize("name", STRATEGIES)
def test_names_give_strategies(name):
    assert hasattr(strategy_named(name), "select")


@pytest.mark.parametrize("wrong", ["nearest", 3, Margin, None])
def test_what_is_no_strategy_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="`query` must be"):
        strategy_named(wrong)


# ---- the contract notices what it is for ------------------------------------------------------


class Stateful(Random):
    calls = 0

    def select(self, X_pool, queried, labels, k, rng):
        type(self).calls += 1
        left = np.setdiff1d(np.arange(len(X_pool)), queried)
        return np.roll(left, type(self).calls)[:k]


class Greedy(Random):
    def select(self, X_pool, queried, labels, k, rng):
        return np.setdiff1d(np.arange(len(X_pool)), queried)[: k + 1]


class Global(Random):
    def select(self, X_pool, queried, labels, k, rng):
        np.random.random()  # noqa: NPY002, TID251
        return np.setdiff1d(np.arange(len(X_pool)), queried)[:k]


class Curious(Random):
    def select(self, X_pool, queried, labels, k, rng, votes=None):
        return super().select(X_pool, queried, labels, k, rng)


class Scribbler(Random):
    def select(self, X_pool, queried, labels, k, rng):
        chosen = super().select(X_pool, queried, labels, k, rng)
        labels[:] = 0
        return chosen


class Repeater(Random):
    def select(self, X_pool, queried, labels, k, rng):
        return np.arange(min(k, len(X_pool)))


class Endless(Random):
    def select(self, X_pool, queried, labels, k, rng):
        return np.array([], dtype=int)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (Stateful(), "depends on the runs before"),
        (Greedy(), "at most"),
        (Global(), "global generator"),
        (Curious(), "select must take"),
        (Scribbler(), "changed its arguments"),
        (Repeater(), "not asked yet"),
        (Endless(), "asked nothing"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Random) else "",
)
def test_a_broken_strategy_fails_the_contract(broken, complaint):
    with pytest.raises((AssertionError, InvalidArgument), match=complaint):
        check_strategy(broken)


def test_strategies_can_be_copied_and_shown():
    for strategy in SUBJECTS.values():
        if isinstance(strategy, Random | Margin | DiverseMargin | YanDBAL):
            assert copy.deepcopy(strategy) == strategy
            assert " at 0x" not in repr(strategy)
