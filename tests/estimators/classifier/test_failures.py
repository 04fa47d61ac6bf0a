"""What goes wrong goes wrong before anything is spent, and takes nothing down with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

import tacit.estimators.voting
from tacit import Budget
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.ledger import Amount, MemoryLedger


class FailsLate(LogisticRegression):
    """Passes the check, then fails on what was released."""

    fits = 0

    def fit(self, X: Any, y: Any) -> Any:
        FailsLate.fits += 1
        if FailsLate.fits > 1:
            raise RuntimeError("too late")
        return super().fit(X, y)


class Broken(LogisticRegression):
    def fit(self, X: Any, y: Any) -> Any:
        raise RuntimeError("no such luck")


class Scores(LogisticRegression):
    def predict(self, X: Any) -> Any:
        return self.predict_proba(X)[:, 1]


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger(Budget(300.0, 1e-3))


def nothing_reserved(ledger: MemoryLedger) -> bool:
    return bool(ledger.reserved() == Amount(0.0, 0.0))


@pytest.mark.parametrize(
    ("student", "words"),
    [
        (LogisticRegression, r"`student` must be an object, got the class.*LogisticRegression\(\)"),
        (Broken(), "`student` must be able to fit and predict; Broken failed.*no such luck"),
        (Ridge(), "`student` must be a classifier"),
        (Scores(), "`student` must predict one of the labels"),
        (object(), "`student` must have `fit` and `predict`"),
    ],
    ids=["class", "fails", "regressor", "scores", "object"],
)
def test_a_bad_student_is_found_before_anything_is_reserved(make, task, ledger, student, words):
    with pytest.raises(InvalidArgument, match=words):
        make(student=student, ledger=ledger).fit(task.X, task.y, X_public=task.pool)
    assert nothing_reserved(ledger)


def test_a_student_that_cannot_read_texts_is_found_first(make, task, ledger):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["good fine" if label else "bad awful" for label in task.y]
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    clf = make(learner=learner, student=LogisticRegression(), ledger=ledger)
    with pytest.raises(InvalidArgument, match="`student`"):
        clf.fit(texts, task.y, X_public=[f"{texts[k]} {k}" for k in range(60)])
    assert nothing_reserved(ledger)


def test_a_semi_supervised_student_passes_the_check(make, task):
    student = SelfTrainingClassifier(LogisticRegression())
    clf = make(student=student).fit(task.X, task.y, X_public=task.pool)
    assert clf.score(task.X, task.y) > 0.7


def test_a_late_failure_keeps_what_was_released(make, task):
    FailsLate.fits = 0
    clf = make(student=FailsLate())
    with pytest.raises(RuntimeError, match="too late"):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert not hasattr(clf, "student_") and not hasattr(clf, "classes_")
    released = clf.released_
    assert released.shares is None and released.privacy.epsilon <= 100.0
    second = DecisionTreeClassifier().fit(task.pool[released.positions], released.labels)
    assert np.mean(released.classes[second.predict(task.X)] == task.y) > 0.7


def test_released_shares_come_with_their_variance(make, task):
    released = make(query=None).fit(task.X, task.y, X_public=task.pool).released_
    assert released.shares.shape == (60, 2) and released.variance > 0
    assert np.array_equal(released.positions, np.arange(60))


def test_released_positions_are_rows_of_the_records_without_a_pool(make, task):
    clf = make(protect="labels", student=LogisticRegression()).fit(task.X, task.y)
    rows = clf.released_.positions
    assert rows.max() >= 160 and np.mean(task.y[rows] == clf.released_.labels) > 0.8


@pytest.mark.parametrize("n_jobs", [0, "a", 1.5, True])
def test_a_mistyped_number_of_workers_reserves_nothing(make, task, ledger, n_jobs):
    with pytest.raises(InvalidArgument, match="`n_jobs` must be None or an integer"):
        make(ledger=ledger, n_jobs=n_jobs).fit(task.X, task.y, X_public=task.pool)
    assert nothing_reserved(ledger)


def test_interrupted_training_reserves_nothing(make, task, ledger, monkeypatch):
    def interrupted(*args: Any, **settings: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tacit.estimators.voting, "train_and_count", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(ledger=ledger).fit(task.X, task.y, X_public=task.pool)
    assert nothing_reserved(ledger)


def late(clf: Any, task: Any) -> None:
    FailsLate.fits = 0
    clf.set_params(student=FailsLate()).fit(task.X[:, :2], task.y, X_public=task.pool[:, :2])


def over_budget(clf: Any, task: Any) -> None:
    clf.set_params(ledger=MemoryLedger(Budget(1.0, 1e-5)), classes=[0, 1, 2])
    clf.fit(task.X[:, :2], task.y, X_public=task.pool[:, :2])


def refused(clf: Any, task: Any) -> None:
    clf.set_params(n_teachers=401).fit(task.X[:, :2], task.y, X_public=task.pool[:, :2])


@pytest.mark.parametrize(
    ("again", "error"),
    [(late, RuntimeError), (over_budget, BudgetExceeded), (refused, InvalidArgument)],
)
def test_a_failed_second_fit_leaves_the_first_alone(make, task, again, error):
    clf = make().fit(task.X, task.y, X_public=task.pool)
    names = ("classes_", "schema_", "representation_", "privacy_", "student_", "n_features_in_")
    before, predicted = {name: getattr(clf, name) for name in names}, clf.predict_proba(task.X)
    with pytest.raises(error):
        again(clf, task)
    assert all(getattr(clf, name) is before[name] for name in names)
    assert np.array_equal(clf.predict_proba(task.X), predicted)
