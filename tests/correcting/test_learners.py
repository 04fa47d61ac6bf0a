"""Teachers of any learner with weights: from their own shard alone, and silent when they fail."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.correcting import LearnerCorrections, LogisticCorrections
from tacit.correcting.coordinates import with_constant
from tacit.correcting.learners import check_correcting, class_scores, weight_name
from tacit.correcting.metric import Metric
from tacit.errors import InvalidArgument
from tacit.teachers.partition import hash_split, shard_positions
from tacit.teachers.retrying import retrying


def made(
    learner: Any, points: Any, X: Any, y: Any, shards: Any, *, n_classes: int = 2, **how: Any
) -> LearnerCorrections:
    return LearnerCorrections(
        learner, X, y, shards, points,
        n_classes=n_classes, shard_size=4, seed=5, rng=np.random.default_rng(0), **how,
    )  # fmt: skip


def rows_of(teachers: LearnerCorrections, metric: Metric) -> np.ndarray:
    return np.concatenate(list(teachers.contributions(metric)))


def records(n_classes: int = 2, width: int = 4, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, width)), rng.integers(-1, n_classes, n)


LEARNERS = [
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    GaussianNB(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_replaced_record_changes_one_row_and_no_bit_of_another(make_setting, learner, n_classes):
    setting = make_setting(n_classes)
    X, y = records(n_classes)
    shards = np.split(np.random.default_rng(2).permutation(40), 10)
    first = rows_of(made(learner, setting.points, X, y, shards, n_classes=n_classes),
                    setting.metric)  # fmt: skip
    assert first.shape == (10, setting.metric.weights.size)
    for value, label in ((np.nan, 0), (3.0, 1), (1e200, -1)):
        there, labels = X.copy(), y.copy()
        there[shards[4][1]], labels[shards[4][1]] = value, label
        second = rows_of(made(learner, setting.points, there, labels, shards, n_classes=n_classes),
                         setting.metric)  # fmt: skip
        same = np.arange(10) != 4
        assert first[same].tobytes() == second[same].tobytes()
        assert np.isfinite(second[same]).all()


def test_a_record_added_elsewhere_changes_no_bit(make_setting):
    setting = make_setting(2)
    X, y = records()
    everybody, key = np.arange(40), b"k" * 32

    def contributions(kept: Any) -> tuple[np.ndarray, np.ndarray]:
        where = hash_split(kept.tolist(), 8, key)
        shards = shard_positions(where, 8)
        teachers = made(LogisticRegression(), setting.points, X[kept], y[kept], shards)
        return rows_of(teachers, setting.metric), where

    first, where = contributions(everybody)
    for gone in (0, 13, 39):
        second, _ = contributions(np.delete(everybody, gone))
        same = np.arange(8) != where[gone]
        assert first[same].tobytes() == second[same].tobytes()


class Fails(LogisticRegression):
    """Cannot be fitted to a large value, and is loud about everything."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        print("secret 4711")
        warnings.warn("secret 4711", stacklevel=1)
        if np.abs(X).max() > 50:
            raise SystemExit("secret 4711") if X[-1, 0] > 0 else ValueError("secret 4711")
        return super().fit(X, y, sample_weight)


def test_teachers_that_fail_contribute_zeros_and_nothing_is_said(make_setting, capfd):
    setting = make_setting(2)
    X, y = records()
    y[:] = 1
    shards = np.split(np.arange(40), 10)
    X[shards[2][-1]], X[shards[5][-1]] = 100.0, -100.0
    X[shards[7][0]] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rows_of(made(Fails(), setting.points, X, y, shards), setting.metric)
    assert not found[[2, 5, 7]].any()
    assert (np.abs(found).sum(axis=1) > 0).sum() == 7
    assert capfd.readouterr() == ("", "")


def test_an_empty_shard_is_the_reference(make_setting):
    setting = make_setting(2)
    X, y = records()
    y[:4] = -1
    shards = [np.array([], dtype=np.intp), np.arange(4), np.arange(4, 8)]
    found = rows_of(made(LogisticRegression(), setting.points, X, y, shards), setting.metric)
    assert not found[:2].any()
    assert found[2].any()


def test_a_logistic_learner_points_where_the_built_in_teachers_point(make_setting):
    """Two ways to the same correction: a fit on shard and pool, and the prior of the pool."""
    setting = make_setting(2, n=400)
    X, y = records(n=200)
    y = np.abs(y)
    shards = np.split(np.arange(200), 20)
    rows = setting.coordinates.transform(X)
    points = setting.pool[:, :-1]
    theirs = rows_of(made(LogisticRegression(C=1.0), points, rows, y, shards), setting.metric)
    ours = np.concatenate(
        list(
            LogisticCorrections(
                X, y, shards, setting.coordinates, setting.pool, n_classes=2, shard_size=10
            ).contributions(setting.metric)
        )
    )
    cosines = (theirs * ours).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    cosines /= np.linalg.norm(ours, axis=1)
    assert np.median(cosines) > 0.9


def test_imagined_teachers_do_not_look_at_records(make_setting):
    setting = make_setting(2)
    found = []
    for scale in (1.0, 3.0):
        X, y = records()
        teachers = made(LogisticRegression(), setting.points, scale * X, y, [np.arange(40)])
        found.append(teachers.imagined(setting.metric, np.random.default_rng(0)))
    assert found[0].tobytes() == found[1].tobytes()


def test_two_workers_find_the_same_contributions(make_setting):
    setting = make_setting(2)
    X, y = records()
    shards = np.split(np.arange(40), 10)
    one, two = (
        rows_of(made(LogisticRegression(), setting.points, X, y, shards, n_jobs=jobs),
                setting.metric)
        for jobs in (1, 2)
    )  # fmt: skip
    # Blocks come as they finish; their sum, in integers, does not depend on that.
    assert sorted(map(bytes, one)) == sorted(map(bytes, two))


@pytest.mark.needs("pandas")
def test_frames_sparse_tables_and_texts_are_stacked_on_the_pool(make_setting):
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

    setting = make_setting(2)
    X, y = records()
    shards = np.split(np.arange(40), 10)
    dense = rows_of(made(LogisticRegression(), setting.points, X, y, shards), setting.metric)
    for form in (sparse.csr_matrix, pd.DataFrame):
        teachers = made(LogisticRegression(), form(setting.points), form(X), y, shards)
        np.testing.assert_allclose(rows_of(teachers, setting.metric), dense, atol=1e-4)
    words = np.array(["red", "green", "blue", "dark"])
    texts = [" ".join(words[row > 0]) + " word" for row in X]
    pool = [" ".join(words[row > 0]) + " word" for row in setting.points]
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    assert rows_of(made(learner, pool, texts, y, shards), setting.metric).any(axis=1).all()


# ---- which learners can -------------------------------------------------------------------------


def test_learners_without_weights_or_scores_are_refused():
    with pytest.raises(InvalidArgument, match="takes `sample_weight`; KNeighborsClassifier"):
        check_correcting(KNeighborsClassifier())
    with pytest.raises(InvalidArgument, match="takes `sample_weight`"):
        check_correcting(make_pipeline(StandardScaler(), KNeighborsClassifier()))

    class Mute:
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return self

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

    with pytest.raises(InvalidArgument, match="`decision_function` or `predict_proba`; Mute"):
        check_correcting(Mute())
    for learner in LEARNERS:
        check_correcting(learner)
    assert weight_name(LEARNERS[1]) == "logisticregression__sample_weight"


def test_scores_of_another_width_are_refused():
    X, y = records(3)
    y = np.abs(y)
    model = Perceptron().fit(X, y)
    assert class_scores(model, X, 3).shape == (40, 3)
    with pytest.raises(InvalidArgument, match="one score per class and point, 4 columns"):
        class_scores(model, X, 4)


class Deadly(LogisticRegression):
    """Takes its worker down when it sees a certain record."""

    def fit(self, X, y, sample_weight=None):
        if (np.asarray(X) == 777.0).any():
            os._exit(3)
        return super().fit(X, y, sample_weight=sample_weight)


def test_a_shard_that_kills_its_workers_counts_as_no_correction():
    """Which shard it was, or that there was one, must not be told: no error, a row of zeros."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(12, 2)), rng.integers(2, size=12)
    X[0, 0] = 777.0
    pool = rng.normal(size=(30, 2))
    teachers = LearnerCorrections(
        Deadly(), X, labels, np.split(np.arange(12), 4), pool,
        n_classes=2, shard_size=3, seed=1, rng=rng, n_jobs=2,
    )  # fmt: skip
    metric = Metric.of(with_constant(pool), np.zeros((3, 1)), 2)
    with retrying(attempts=1):
        rows = np.concatenate(list(teachers.contributions(metric)))
    assert rows.shape == (4, 3)
    assert (np.abs(rows).sum(axis=1) == 0).sum() == 1
