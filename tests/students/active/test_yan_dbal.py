"""The linear learner that [LZCW21] ran."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.data.sets import load_mushrooms
from tacit.errors import InvalidArgument
from tacit.students.active import YanDBAL, ask_in_batches
from tacit.students.active.yan_dbal import one_pass

NONE = np.array([], dtype=int)


def separable(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def test_one_pass_follows_the_printed_step():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(20, 3)), rng.choice([-1.0, 1.0], 20)
    w = np.zeros(3)
    for k, (x, sign) in enumerate(zip(X, y, strict=True), start=1):
        eta = np.sqrt(0.1 / (0.1 + k))
        w -= (np.clip(w @ x, -1, 1) - sign) * (1 - np.exp(-2 * eta * x @ x)) / (x @ x) * x
    assert np.allclose(one_pass(sp.csr_matrix(X), y, 0.1)[0], w)


def test_the_first_batch_is_asked_whole():
    X, _ = separable()
    assert len(YanDBAL().select(X, NONE, NONE, 200, None)) == 10


@pytest.mark.parametrize("train_on", ["seen", "queried"])
def test_rounds_of_any_size_ask_the_same_points(train_on):
    X, y = separable()
    learner = YanDBAL(train_on=train_on, seed=3)
    runs = [
        ask_in_batches(learner, X, lambda at: y[at], 200, None, n_batches=n).positions.tolist()
        for n in (1, 15, 200)
    ]
    assert runs[0] == runs[1] == runs[2]
    assert 10 < len(runs[0]) < 200


def test_sparse_and_dense_pools_give_the_same_run():
    X, y = separable()
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        ask_in_batches(YanDBAL(), pool, lambda at: y[at], 60, None).positions
        for pool in (X, sp.csr_matrix(X))
    )
    assert np.array_equal(dense, sparse)


def test_its_own_model_learns():
    X, y = separable(1000)
    found = ask_in_batches(YanDBAL(), X, lambda at: y[at], 300, None)
    w = YanDBAL().coefficients(X, found.positions, found.labels)
    assert np.mean((X @ w >= 0) == y) > 0.85


def test_constant_and_empty_columns_and_rows_do_no_harm():
    X, y = separable()
    X[:, 2] = 0.0
    X[:5] = 0.0
    found = ask_in_batches(YanDBAL(), X, lambda at: y[at], 60, None)
    assert np.isfinite(YanDBAL().coefficients(X, found.positions, found.labels)).all()


def test_labels_that_others_asked_for_are_used():
    X, y = separable()
    rng = np.random.default_rng(0)
    asked = rng.permutation(200)[:50]
    chosen = YanDBAL().select(X, asked, y[asked], 10, rng)
    assert not set(chosen) & set(asked)


def test_a_third_class_is_refused():
    X, _ = separable()
    with pytest.raises(InvalidArgument, match="supports 2 classes, got 3"):
        YanDBAL().select(X, np.arange(3), np.array([0, 1, 2]), 5, None)
    with pytest.raises(InvalidArgument, match="supports 2 classes, got 3"):
        ask_in_batches(YanDBAL(), X, None, 5, None, n_classes=3)


@pytest.mark.parametrize("wrong", [{"train_on": "all"}, {"mistakes": "ever"}, {"c0": 0.0}])
def test_settings_are_checked(wrong):
    X, _ = separable()
    with pytest.raises(InvalidArgument, match=f"`{next(iter(wrong))}` must be"):
        YanDBAL(**wrong).select(X, NONE, NONE, 5, None)


@pytest.mark.needs("data")
def test_mushrooms_take_about_as_many_questions_as_published():
    # [LZCW21] Table 4, without noise: 47.3 questions of at most 49, accuracy 0.915.
    data = load_mushrooms()
    y = (data.y == 2).astype(int)
    asked, accuracy = [], []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(y))
        pool, test = order[6499 : 6499 + 162], order[6661:]
        learner, truth = YanDBAL(seed=seed), y[pool]
        found = ask_in_batches(
            learner, data.X[pool], lambda at, truth=truth: truth[at], 49, None, n_batches=1
        )
        w = learner.coefficients(data.X[pool], found.positions, found.labels)
        asked.append(len(found.positions))
        accuracy.append(np.mean((data.X[test] @ w >= 0) == y[test]))
    assert 44 <= np.mean(asked) <= 49
    assert 0.88 <= np.mean(accuracy) <= 0.96
