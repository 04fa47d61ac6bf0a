"""What scikit-learn asks of an estimator, and what its tools do with this one."""

from __future__ import annotations

import pickle
from contextlib import closing
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from tests.estimators.classifier.label_classes import classes_in

from tacit import Budget, PATEClassifier, PublicPool, Votes
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerError
from tacit.ledger import MemoryLedger, SqliteLedger

ALMOST_EXACT: dict[str, Any] = {"epsilon": 1e5, "random_state": 0, "method": Votes()}
"""Noise is zero almost surely, so that fits repeat, as the checks expect."""


class Checked(PATEClassifier):
    """Reads the classes off the labels: scikit-learn's checks bring labels of their own."""

    def _class_list(self, y: Any) -> Any:
        return classes_in(np.asarray(y))


class Pooled(Checked):
    """Supplies the pool that scikit-learn's checks do not know of: the same points again."""

    def fit(self, X: Any, y: Any, X_public: Any = None, groups: Any = None) -> Any:
        points = X if sparse.issparse(X) else np.asarray(X)
        if X_public is None and points.ndim == 2 and points.shape[0] > 0:
            X_public = PublicPool(X if hasattr(X, "iloc") else points)
        return super().fit(X, y, X_public, groups)


LABELS = Checked(LogisticRegression(), protect="labels", **ALMOST_EXACT)
RECORDS = Pooled(LogisticRegression(), **ALMOST_EXACT)


@parametrize_with_checks([LABELS, RECORDS])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [LABELS, RECORDS], ids=["labels", "records"])
def test_all_checks_are_run(estimator):
    assert len(list(estimator_checks_generator(estimator, legacy=True))) >= 54


# ---- settings -----------------------------------------------------------------------------------


def test_settings_are_kept_as_given(make):
    clf = make(n_teachers=7, student=RidgeClassifier(), mechanism="laplace")
    assert clf.get_params()["n_teachers"] == 7
    assert clf.set_params(n_teachers=9, learner__C=0.5).n_teachers == 9
    assert clf.learner.C == 0.5
    assert clone(clf).get_params()["learner__C"] == 0.5


def test_a_clone_spends_from_the_same_ledger(make):
    ledger = MemoryLedger(Budget(1.0, 1e-5))
    assert clone(clone(make(ledger=ledger))).ledger is ledger


def test_fitting_changes_no_setting(make, task):
    clf = make()
    before = clf.get_params()
    clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.get_params() == before
    assert not hasattr(clf.learner, "coef_")


def test_a_pipeline_passes_the_pool(make, task):
    pipe = make_pipeline(FunctionTransformer(), make())
    pipe.fit(task.X, task.y, pateclassifier__X_public=task.pool)
    assert pipe.score(task.X, task.y) > 0.8
    assert pipe.named_steps["pateclassifier"].privacy_.epsilon <= 100.0


def test_probabilities_only_when_the_student_has_them(make, task):
    assert hasattr(make(), "predict_proba")
    assert not hasattr(make(student=LinearSVC()), "predict_proba")
    clf = make(student=LinearSVC()).fit(task.X, task.y, X_public=task.pool)
    assert not hasattr(clf, "predict_proba")
    proba = make().fit(task.X, task.y, X_public=task.pool).predict_proba(task.X)
    assert np.allclose(proba.sum(axis=1), 1) and proba.shape == (400, 2)


def test_a_class_that_was_never_released_has_probability_zero(make, task):
    clf = make(classes=[0, 1, 2], student=LogisticRegression(), epsilon=200.0)
    clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.predict_proba(task.X)[:, 2].max() == 0


def test_classes_are_sorted_as_probability_columns_are_read(make, task):
    labels = np.where(task.y == 1, "b", "a")
    clf = make(classes=["b", "a"]).fit(task.X, labels, X_public=task.pool)
    assert clf.classes_.tolist() == ["a", "b"]
    assert np.mean(clf.classes_[clf.predict_proba(task.X).argmax(axis=1)] == labels) > 0.8


def test_html_holds_the_statement(make, task):
    clf = make()
    assert "What is protected" not in clf._repr_html_()
    clf.fit(task.X, task.y, X_public=task.pool)
    assert "What is protected" in clf._repr_html_()
    assert "LogisticRegression" in clf._repr_html_()
    # Notebooks ask for this one first.
    assert "What is protected" in clf._repr_mimebundle_()["text/html"]


# ---- kinds of input -----------------------------------------------------------------------------


@pytest.mark.needs("pandas")
def test_feature_names_are_kept_and_checked(make, task):
    import pandas as pd

    frame = pd.DataFrame(task.X, columns=["a", "b", "c"])
    pool = pd.DataFrame(task.pool, columns=["a", "b", "c"])
    clf = make().fit(frame, task.y, X_public=pool)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.n_features_in_ == 3
    assert clf.score(frame, task.y) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["c", "a", "b"]])
    with pytest.raises(ValueError, match="feature names"):
        make().fit(frame, task.y, X_public=pool.rename(columns={"a": "z"}))


@pytest.mark.needs("pandas")
def test_data_frames_with_categories(make, task):
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer

    rng = np.random.default_rng(0)

    def frame(X):
        return pd.DataFrame(
            {
                "number": X[:, 0] + X[:, 1],
                "category": pd.Categorical(rng.choice(["x", "y"], len(X))),
                "text": rng.choice(["u", "v"], len(X)),
                "flag": rng.random(len(X)) > 0.5,
            }
        )

    prepared = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    learner = make_pipeline(prepared, LogisticRegression())
    X, pool = frame(task.X), frame(task.pool)
    clf = make(learner=learner).fit(X, task.y, X_public=pool)
    assert clf.score(X, task.y) > 0.8


def test_sparse_matrices(make, task):
    X = sparse.csr_matrix(task.X)
    clf = make().fit(X, task.y, X_public=sparse.csc_matrix(task.pool))
    assert clf.score(X, task.y) > 0.8


@pytest.mark.parametrize("form", [list, np.array], ids=["list", "array"])
def test_texts_and_text_labels(make, task, form):
    from sklearn.feature_extraction.text import TfidfVectorizer

    def texts(X):
        words = np.where(X[:, 0] + X[:, 1] > 0, "good fine", "bad awful")
        return form([f"{word} " + "cat " * (number % 4) for number, word in enumerate(words)])

    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    labels = ["yes" if label else "no" for label in task.y]
    clf = make(learner=learner, classes=["no", "yes"])
    clf.fit(texts(task.X), labels, X_public=texts(task.pool))
    assert clf.score(texts(task.X), labels) > 0.8


# ---- cross-validation: every fit spends ---------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_cross_validation_spends_once_per_fold(make, task, routing):
    ledger = MemoryLedger(Budget(10.0, 1e-3))
    clf = make(epsilon=2.0, ledger=ledger).set_fit_request(X_public=True)
    found = cross_validate(clf, task.X, task.y, params={"X_public": task.pool}, cv=3)
    assert np.isfinite(found["test_score"]).all()
    assert ledger.reserved().epsilon == pytest.approx(6.0, rel=1e-3)
    assert ledger.reserved().delta == pytest.approx(3e-5)


def test_a_grid_search_spends_for_every_candidate_and_stops_at_the_budget(make, task, routing):
    ledger = MemoryLedger(Budget(10.0, 1e-3))
    clf = make(epsilon=2.0, ledger=ledger).set_fit_request(X_public=True)
    grid = GridSearchCV(clf, {"n_teachers": [8, 12]}, cv=2, error_score="raise")
    grid.fit(task.X, task.y, X_public=task.pool)
    # Two candidates, two folds each, and the last fit.
    assert ledger.reserved().epsilon == pytest.approx(10.0, rel=1e-3)
    with pytest.raises(BudgetExceeded):
        clone(clf).fit(task.X, task.y, X_public=task.pool)


def test_a_wrapped_pool_is_not_sliced(make, task, routing, monkeypatch):
    seen = []
    true = PATEClassifier.fit

    def spy(self, X, y, X_public=None, groups=None):
        seen.append(X_public)
        return true(self, X, y, X_public, groups)

    pool = PublicPool(np.random.default_rng(0).normal(size=(400, 3)))
    clf = make().set_fit_request(X_public=True)
    monkeypatch.setattr(PATEClassifier, "fit", spy)
    cross_validate(clf, task.X, task.y, params={"X_public": pool}, cv=2, error_score="raise")
    assert [one is pool for one in seen] == [True, True]


def test_a_pool_that_would_be_sliced_is_refused(make, task, routing):
    clf = make().set_fit_request(X_public=True)
    pool = np.random.default_rng(0).normal(size=(400, 3))
    with pytest.raises(InvalidArgument, match="PublicPool"):
        cross_validate(clf, task.X, task.y, params={"X_public": pool}, cv=2, error_score="raise")


def test_with_groups_a_routed_pool_must_be_wrapped_whatever_its_length(make, task, routing):
    clf = make(n_teachers=10).set_fit_request(X_public=True, groups=True)
    people = np.arange(400) // 2
    with pytest.raises(InvalidArgument, match="PublicPool"):
        clf.fit(task.X, task.y, X_public=task.pool, groups=people)
    clf.fit(task.X, task.y, X_public=PublicPool(task.pool), groups=people)


def test_fits_in_other_processes_refuse_a_ledger_in_memory(make, task):
    clf = make(ledger=MemoryLedger(Budget(10.0, 1e-3)))
    with pytest.raises(Exception) as caught:  # the backend wraps what pickling raised
        joblib.Parallel(n_jobs=2)(
            joblib.delayed(clone(clf).fit)(task.X, task.y, task.pool) for _ in range(2)
        )
    chain = [caught.value]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    assert any("cannot be shared" in str(one) for one in chain), chain
    with pytest.raises(LedgerError, match="cannot be shared"):
        pickle.dumps(clf)


def test_fits_in_other_processes_add_up_on_a_file(make, task, tmp_path):
    path = tmp_path / "ledger.sqlite"
    with _open(path) as ledger:
        clf = make(epsilon=2.0, ledger=str(path))
        joblib.Parallel(n_jobs=2)(
            joblib.delayed(clone(clf).fit)(task.X, task.y, task.pool) for _ in range(4)
        )
        assert ledger.reserved().epsilon == pytest.approx(8.0, rel=1e-3)
        assert ledger.reserved().delta == pytest.approx(4e-5)


def _open(path):
    return closing(SqliteLedger(path, budget=Budget(10.0, 1e-3)))


# ---- pickles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_pickled_model_predicts_without_its_ledger(make, task, protocol):
    ledger = MemoryLedger(Budget(200.0, 1e-3))
    clf = make(ledger=ledger).fit(task.X, task.y, X_public=task.pool)
    loaded = pickle.loads(pickle.dumps(clf, protocol))
    assert np.array_equal(loaded.predict(task.X), clf.predict(task.X))
    assert loaded.privacy_ == clf.privacy_
    assert loaded.report().to_json() == clf.report().to_json()
    assert clf.ledger is ledger
    with pytest.raises(LedgerError, match="stayed behind"):
        loaded.fit(task.X, task.y, X_public=task.pool)
    loaded.set_params(ledger=None).fit(task.X, task.y, X_public=task.pool)


def test_test_noise_is_marked_everywhere(make_seeded, task):
    clf = make_seeded().fit(task.X, task.y, X_public=task.pool)
    assert not clf.privacy_.secure
    for text in (str(clf.privacy_), clf._repr_html_(), str(clf.report())):
        assert "INSECURE" in text
    again = make_seeded().fit(task.X, task.y, X_public=task.pool)
    assert np.array_equal(clf.predict_proba(task.X), again.predict_proba(task.X))


def test_a_ledger_file_takes_no_test_noise(make_seeded, task, tmp_path):
    with _open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(LedgerError, match="test noise"):
            make_seeded(epsilon=2.0, ledger=ledger).fit(task.X, task.y, X_public=task.pool)
        assert ledger.reserved().epsilon == 0
