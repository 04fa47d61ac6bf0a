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

from tacit.errors import InvalidArgument
from tacit.teachers.corrections import LearnerCorrections
from tacit.teachers.corrections.coordinates import contrasts, with_constant
from tacit.teachers.corrections.learners import (
    check_correcting,
    class_scores,
    residual_weights,
    weight_name,
)
from tacit.teachers.corrections.metric import Metric, probabilities
from tacit.teachers.corrections.records import RecordsInMemory
from tacit.teachers.partition import hash_split, shard_positions
from tacit.teachers.rows import RowForm
from tacit.teachers.workers.retrying import retrying


class Same:
    """Coordinates that are the records themselves."""

    def transform(self, X: Any) -> Any:
        return X


def made(
    learner: Any, setting: Any, X: Any, y: Any, shards: Any, *, form: Any = None, **how: Any
) -> LearnerCorrections:
    """Return teachers of records that the student sees as they are, in a form for teachers."""
    there, points = (X, setting.points) if form is None else (form(X), form(setting.points))
    records = RecordsInMemory(
        X, y, shards, setting.coordinates, seen=there, form=RowForm(points, public=True)
    )
    return LearnerCorrections(
        learner, records, points, n_classes=setting.n_classes, shard_size=4, seed=5,
        rng=np.random.default_rng(0), **how,
    )  # fmt: skip


def rows_of(teachers: LearnerCorrections, metric: Metric) -> np.ndarray:
    return np.concatenate(list(teachers.contributions(metric)))


def records(n_classes: int = 2, width: int = 4, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, width)), rng.integers(-1, n_classes, n)


LEARNERS = [
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(copy=False), LogisticRegression()),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    GaussianNB(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_replaced_record_changes_one_row_and_no_bit_of_another(make_setting, learner, n_classes):
    setting = make_setting(n_classes)
    X, y = records(n_classes)
    shards = np.split(np.random.default_rng(2).permutation(40), 10)
    first = rows_of(made(learner, setting, X, y, shards), setting.metric)
    assert first.shape == (10, setting.metric.weights.size)
    for value, label in ((np.nan, 0), (3.0, 1), (1e200, -1)):
        there, labels = X.copy(), y.copy()
        there[shards[4][1]], labels[shards[4][1]] = value, label
        second = rows_of(made(learner, setting, there, labels, shards), setting.metric)
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
        teachers = made(LogisticRegression(), setting, X[kept], y[kept], shards)
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
            raise BaseException("secret 4711") if X[-1, 0] > 0 else ValueError("secret 4711")
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
        found = rows_of(made(Fails(), setting, X, y, shards), setting.metric)
    assert not found[[2, 5, 7]].any()
    assert (np.abs(found).sum(axis=1) > 0).sum() == 7
    assert capfd.readouterr() == ("", "")


def test_an_empty_shard_is_the_reference(make_setting):
    setting = make_setting(2)
    X, y = records()
    y[:4] = -1
    shards = [np.array([], dtype=np.intp), np.arange(4), np.arange(4, 8)]
    found = rows_of(made(LogisticRegression(), setting, X, y, shards), setting.metric)
    assert not found[:2].any()
    assert found[2].any()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_weights_of_records_are_the_slope_of_their_loss(n_classes):
    """By hand: the gradient of a flat model's loss over weighted copies is the residual."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(n_classes, 0.3), 50)
    labels = rng.integers(-1, n_classes, 50)
    weights = residual_weights(labels, proba)
    assert (weights >= 0).all()
    assert (weights.min(axis=1) == 0).all()
    for row, label, probability in zip(weights, labels, proba, strict=True):
        slope = sum(row[c] * (np.eye(n_classes)[c] - 1 / n_classes) for c in range(n_classes))
        wanted = np.eye(n_classes)[label] - probability if label >= 0 else 0.0
        np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_a_student_that_is_sure_or_overflowed_is_no_error():
    proba = np.array([[1.0, 0.0], [1.0, 0.0], [np.nan, np.nan]])
    found = residual_weights(np.array([0, 1, 1]), proba)
    np.testing.assert_array_equal(found, [[0, 0], [0, 2], [0, 1]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_logistic_learner_follows_the_gradient_at_the_student(make_setting, n_classes):
    """An independent way to the same vector: A^(-1/2) times the gradient of the shard's loss.

    The learner starts at a model that knows nothing; the gradient is nevertheless the student's.
    """
    setting = make_setting(n_classes, n=400)
    metric = Metric.of(setting.pool, 2 * setting.metric.weights, n_classes, curved=False)
    X, y = records(n_classes, n=200)
    y = np.abs(y)
    shards = np.split(np.arange(200), 20)
    Z = with_constant(setting.coordinates.transform(X))
    seen = setting._replace(points=setting.pool[:, :-1])
    theirs = rows_of(
        LearnerCorrections(
            LogisticRegression(tol=1e-8),
            RecordsInMemory(Z[:, :-1], y, shards, Same()), seen.points,
            n_classes=n_classes, shard_size=10, seed=5, rng=np.random.default_rng(0),
        ),
        metric,
    )  # fmt: skip
    residual = (np.eye(n_classes)[y] - probabilities(Z @ metric.weights, n_classes)) @ contrasts(
        n_classes
    )
    ours = np.array([(metric.whiten @ (Z[s].T @ residual[s])).ravel() for s in shards])
    cosines = (theirs * ours).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    cosines /= np.linalg.norm(ours, axis=1)
    assert np.median(cosines) > 0.97
    assert 0.6 < np.median(np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours, axis=1)) < 1.1


def test_imagined_teachers_do_not_look_at_records(make_setting):
    setting = make_setting(2)
    found = []
    for scale in (1.0, 3.0):
        X, y = records()
        teachers = made(LogisticRegression(), setting, scale * X, y, [np.arange(40)])
        found.append(teachers.imagined(setting.metric, np.random.default_rng(0)))
    assert found[0].tobytes() == found[1].tobytes()


class Random:
    """Draws from numpy's process-wide stream, as much as its records tell."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        np.random.random(1 + int(10 * abs(X[-1, 0])))  # noqa: NPY002, TID251
        self.weights = np.random.normal(size=X.shape[1])  # noqa: NPY002, TID251
        return self

    def predict(self, X: Any) -> Any:
        return (X @ self.weights > 0).astype(int)

    def decision_function(self, X: Any) -> Any:
        return X @ self.weights + np.random.normal(size=len(X))  # noqa: NPY002, TID251


@pytest.mark.parametrize(
    "learner",
    [make_pipeline(StandardScaler(copy=False), LogisticRegression()), Random()],
    ids=["in place", "process-wide numbers"],
)
def test_nothing_goes_from_one_teacher_to_the_next(make_setting, learner):
    setting = make_setting(2)
    X, y = records(n=160)
    shards = np.split(np.arange(160), 40)  # several to a task
    before = setting.points.copy()
    first = rows_of(made(learner, setting, X, y, shards), setting.metric)
    there, labels = X.copy(), y.copy()
    there[shards[3]], labels[shards[9]] = 7.0, -1
    second = rows_of(made(learner, setting, there, labels, shards), setting.metric)
    same = ~np.isin(np.arange(40), [3, 9])
    assert first[same].tobytes() == second[same].tobytes()
    assert first[3].tobytes() != second[3].tobytes()
    np.testing.assert_array_equal(setting.points, before)


class Unweighted(LogisticRegression):
    """Will not have weights, whatever its ``fit`` says."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if sample_weight is not None:
            raise RuntimeError("no weights here")
        return super().fit(X, y)


def test_a_learner_that_fails_on_weighted_public_points_is_refused_in_words(make_setting):
    setting = make_setting(2)
    X, y = records()
    with pytest.raises(InvalidArgument, match="Unweighted failed: RuntimeError: no weights here"):
        made(Unweighted(), setting, X, y, [np.arange(40)])


def test_two_workers_find_the_same_contributions(make_setting):
    setting = make_setting(2)
    X, y = records()
    shards = np.split(np.arange(40), 10)
    one, two = (
        rows_of(made(LogisticRegression(), setting, X, y, shards, n_jobs=jobs),
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
    dense = rows_of(made(LogisticRegression(), setting, X, y, shards), setting.metric)
    for form in (sparse.csr_matrix, pd.DataFrame):
        teachers = made(LogisticRegression(), setting, X, y, shards, form=form)
        np.testing.assert_allclose(rows_of(teachers, setting.metric), dense, atol=1e-4)
    words = np.array(["red", "green", "blue", "dark"])

    def written(rows: Any) -> list[str]:
        return [" ".join(words[row > 0]) + " word" for row in rows]

    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    found = rows_of(made(learner, setting, X, y, shards, form=written), setting.metric)
    assert found.any(axis=1).all()


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
    nested = make_pipeline(StandardScaler(), LEARNERS[1])
    check_correcting(nested)
    assert weight_name(nested) == "pipeline__logisticregression__sample_weight"


class Loose(LogisticRegression):
    """Hands whatever it is given on."""

    def fit(self, X: Any, y: Any, **given: Any) -> Any:
        return super().fit(X, y, **given)


def test_learners_that_take_any_keyword_and_nested_pipelines_are_tried(make_setting):
    setting = make_setting(2)
    X, y = records()
    shards = np.split(np.arange(40), 10)
    plain = rows_of(made(LogisticRegression(), setting, X, y, shards), setting.metric)
    check_correcting(Loose())
    loose = rows_of(made(Loose(), setting, X, y, shards), setting.metric)
    np.testing.assert_array_equal(loose, plain)
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression()))
    assert rows_of(made(nested, setting, X, y, shards), setting.metric).any(axis=1).all()


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
    pool, shards = rng.normal(size=(30, 2)), np.split(np.arange(12), 4)
    teachers = LearnerCorrections(
        Deadly(), RecordsInMemory(X, labels, shards, Same()), pool,
        n_classes=2, shard_size=3, seed=1, rng=rng, n_jobs=2,
    )  # fmt: skip
    metric = Metric.of(with_constant(pool), np.zeros((3, 1)), 2)
    with retrying(attempts=1):
        rows = np.concatenate(list(teachers.contributions(metric)))
    assert rows.shape == (4, 3)
    assert (np.abs(rows).sum(axis=1) == 0).sum() == 1
