"""Steps of numbers: learnt from public points, total on private ones, each row by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tacit import Corrections, PATEClassifier, PoolRepresentation, StepFeatures
from tacit.errors import InvalidArgument

RNG = np.random.default_rng(0)
POOL = np.column_stack([RNG.normal(size=60), RNG.integers(0, 2, 60), np.zeros(60)])


def test_a_step_counts_the_pools_values_below():
    found = StepFeatures(n_steps=100).fit(POOL).transform(POOL)
    assert found.shape[1] == 59 + 1
    ranks = np.argsort(np.argsort(POOL[:, 0]))
    assert np.array_equal(found[:, :59].sum(axis=1), ranks)
    assert np.array_equal(found[:, 59], POOL[:, 1])


def test_a_mostly_constant_column_is_resolved_where_it_is_not():
    column = np.concatenate([np.zeros(90), np.arange(1, 11)])[:, None]
    found = StepFeatures(n_steps=5).fit(column)
    assert found.steps_[0].tolist() == [0, 2, 4, 7, 9]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e308])
def test_a_private_row_changes_no_other_and_raises_nothing(odd):
    found = StepFeatures().fit(POOL)
    private = RNG.normal(size=(6, 3))
    changed = private.copy()
    changed[2, 0] = odd
    one, other = found.transform(private), found.transform(changed)
    assert np.isfinite(other).all()
    kept = [0, 1, 3, 4, 5]
    assert np.array_equal(one[kept], other[kept])


def test_frames_and_their_missing_values():
    pd = pytest.importorskip("pandas")
    pool = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0], "c": ["x", "y", "x", "y"]})
    found = StepFeatures().fit(pool)
    private = pd.DataFrame({"n": [np.nan, 3.0], "c": ["z", "x"]})
    assert found.transform(private).tolist() == [[0, 0, 0, 0], [1, 1, 1, 0]]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (sparse.csr_matrix(POOL), "sparse"),
        (POOL[:, 0], "two dimensions"),
        (POOL[:1], "at least two"),
    ],
)
def test_what_has_no_steps_is_refused(points, message):
    with pytest.raises(InvalidArgument, match=message):
        StepFeatures().fit(points)


def test_a_linear_student_bends():
    """A band is no half-line: only the student on steps can learn it."""
    X = RNG.uniform(-1, 1, size=(4000, 2))
    y = (np.abs(X[:, 0]) < 0.5).astype(int)
    accuracy = []
    for representation in (
        PoolRepresentation(),
        make_pipeline(StepFeatures(20), PoolRepresentation()),
    ):
        model = PATEClassifier(
            epsilon=2.0,
            delta=1e-4,
            classes=[0, 1],
            method=Corrections(6),
            representation=representation,
            random_state=0,
            verbose=False,
        )
        model.fit(X[:3000], y[:3000], X_public=X[3000:3200])
        accuracy.append(model.score(X[3200:], y[3200:]))
    assert accuracy[0] < 0.7 < 0.85 < accuracy[1]


def test_steps_alone_are_what_a_sum_of_functions_needs():
    X = RNG.uniform(size=(2000, 1))
    y = (np.sin(20 * X[:, 0]) > 0).astype(int)
    model = make_pipeline(StepFeatures(), LogisticRegression(C=100)).fit(X, y)
    assert model.score(X, y) > 0.95
