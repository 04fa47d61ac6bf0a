"""What the strategies that look at margins choose."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

from tacit.errors import InvalidArgument
from tacit.students.active import DiverseMargin, FlipWeight, Margin, check_selection, schedule
from tacit.students.active.diverse_margin import spread
from tacit.students.active.flip_weight import (
    leverages,
    logistic_flip_weights,
    ridge_flip_weights,
)
from tacit.students.active.selector import SELECTOR_PENALTY, fit_selector, margins


def pool(n_classes=2, n=150, width=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return 1.5 * np.eye(n_classes, width)[y] + rng.normal(size=(n, width)), y


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_margin_takes_the_smallest_gap_between_the_two_top_scores(n_classes):
    X, y = pool(n_classes)
    asked = np.arange(60)
    model = LogisticRegression(C=1 / 10, max_iter=1000).fit(X[:60], y[:60])
    scores = model.decision_function(X[60:])
    top = np.sort(scores, axis=1) if n_classes > 2 else np.column_stack([0 * scores, abs(scores)])
    expected = 60 + np.argsort(top[:, -1] - top[:, -2])[:7]
    assert set(Margin().select(X, asked, y[asked], 7, rng())) == set(expected)


def test_diverse_margin_asks_one_of_each_cluster_of_copies():
    X, y = pool()
    asked = np.arange(100)
    model = fit_selector(X[asked], y[asked], SELECTOR_PENALTY)
    near = X[100:][np.argsort(margins(model, X[100:]))[:4]]
    copies = np.repeat(near, 5, axis=0) + 1e-6 * rng().normal(size=(20, 4))
    table = np.vstack([X[:100], copies])
    groups = (DiverseMargin().select(table, asked, y[asked], 4, rng()) - 100) // 5
    assert sorted(groups) == [0, 1, 2, 3]
    crowded = (Margin().select(table, asked, y[asked], 4, rng()) - 100) // 5
    assert len(set(crowded)) < 4


def test_spread_is_distinct_even_among_equal_rows():
    chosen = spread(np.zeros((8, 2)), np.ones(8), 5, rng())
    assert len(set(chosen.tolist())) == 5


@pytest.mark.parametrize("strategy", [Margin(), DiverseMargin(), FlipWeight(), FlipWeight("ridge")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_pools_are_chosen_from_like_dense_ones(strategy, n_classes):
    X, y = pool(n_classes)
    X[np.abs(X) < 0.3] = 0
    asked = np.arange(40)
    dense = strategy.select(X, asked, y[asked], 5, rng())
    sparse = strategy.select(sp.csr_matrix(X), asked, y[asked], 5, rng())
    assert set(dense) == set(sparse)


# ---- flip weights ---------------------------------------------------------------------------


def test_ridge_flip_weight_is_the_weight_that_flips():
    X, y = pool()
    rows, signs, points = X[:40], np.where(y[:40] == 1, 1.0, -1.0), X[40:50]
    weights = ridge_flip_weights(rows, signs, points, 10.0)
    for point, weight in zip(points, weights, strict=True):
        table = np.column_stack([np.vstack([rows, point]), np.ones(41)])
        before = Ridge(10.0, fit_intercept=False).fit(table[:40], signs).predict(table[40:])[0]
        model = Ridge(10.0, fit_intercept=False).fit(
            table, np.append(signs, -np.sign(before)), sample_weight=np.append(np.ones(40), weight)
        )
        assert abs(model.predict(table[40:])[0]) < 1e-9


def test_logistic_flip_weight_is_near_the_weight_that_flips():
    X, y = pool()
    rows, signs = X[:40], np.where(y[:40] == 1, 1.0, -1.0)
    table = np.column_stack([rows, np.ones(40)])
    model = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-10).fit(table, signs)
    points = X[40:70]
    z = np.column_stack([points, np.ones(30)]) @ model.coef_[0]
    weights = logistic_flip_weights(rows, signs, points, 10.0)
    near = np.abs(z) < 0.5  # the curvature is held fixed, so the formula is for small moves
    assert near.sum() > 4
    for point, score, weight in zip(points[near], z[near], weights[near], strict=True):
        flipped = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-10).fit(
            np.vstack([table, np.append(point, 1.0)]),
            np.append(signs, -np.sign(score)),
            sample_weight=np.append(np.ones(40), weight),
        )
        assert abs(flipped.decision_function([np.append(point, 1.0)])[0]) < 0.2 * abs(score) + 0.01


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_leverages_are_the_same_with_few_labels_and_with_many(convert):
    X, _ = pool(width=12)
    for n in (5, 40):
        rows, curvature = X[:n], rng().random(n)
        hessian = rows.T @ (rows * curvature[:, None]) + 3 * np.eye(12)
        expected = np.einsum("ij,ij->i", X[50:], np.linalg.solve(hessian, X[50:].T).T)
        assert np.allclose(leverages(convert(rows), curvature, convert(X[50:]), 3.0), expected)


@pytest.mark.parametrize("learner", ["lasso", 3, Margin])
def test_a_learner_that_cannot_learn_is_refused(learner):
    X, y = pool()
    with pytest.raises(InvalidArgument, match="`learner` must be"):
        FlipWeight(learner).select(X, np.arange(20), y[:20], 5, rng())


# ---- what is shared -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ([1.5], "integer positions"),
        ([[1]], "integer positions"),
        ([True], "integer positions"),
        ([9], "from 0 to 8"),
        ([-1], "from 0 to 8"),
        ([3, 3], "distinct positions, got 3 twice"),
        ([0], "not asked yet, got 0 again"),
        ([3, 4, 5], "at most 2 positions, got 3"),
    ],
)
def test_a_wrong_selection_is_refused_in_words(chosen, complaint):
    with pytest.raises(InvalidArgument, match=complaint):
        check_selection(chosen, 9, [0], 2)


def test_an_empty_selection_is_a_selection():
    assert len(check_selection([], 9, [0], 2)) == 0


@pytest.mark.parametrize("wrong", [["a text"], np.full((30, 2), np.nan), np.zeros(30)])
def test_a_pool_that_is_no_table_of_numbers_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="table of finite numbers"):
        DiverseMargin().select(wrong, np.array([], int), np.array([], int), 1, rng())


@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 49, 293, 5000])
def test_a_schedule_adds_up(n):
    sizes = schedule(n)
    assert sum(sizes) == n
    assert len(sizes) <= 16
    assert all(size > 0 for size in sizes)
