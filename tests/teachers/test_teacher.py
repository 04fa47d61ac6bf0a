"""A teacher always votes, and nothing but its votes depends on its shard."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.support.one_teacher import fit_teacher

from tacit.errors import InvalidArgument, PrivateValueError
from tacit.teachers import Diagnostics, Teacher
from tacit.teachers.labels import ClassList

CLASSES = ["ham", "spam", "eggs"]
X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, "spam", "eggs")
QUESTIONS = np.random.default_rng(1).normal(size=(8, 3))


class Scripted:
    """A learner that does what it is told; a plain class."""

    def __init__(self, predict: Any = None, fit: Any = None) -> None:
        self.on_predict, self.on_fit = predict, fit

    def fit(self, X: Any, y: Any) -> None:
        if self.on_fit is not None:
            self.on_fit(X, y)

    def predict(self, X: Any) -> Any:
        return self.on_predict(X)


def fitted(learner: Any, X: Any = X, y: Any = Y) -> Teacher:
    return fit_teacher(learner, X, y, classes=CLASSES, seed=3)


def raising(error: BaseException) -> Any:
    def raise_it(*args: Any) -> None:
        raise error

    return raise_it


def test_votes_are_positions_in_the_public_list() -> None:
    teacher = fitted(LogisticRegression())
    votes = teacher.votes(QUESTIONS)
    assert votes.dtype == np.int64
    assert set(votes) == {1, 2}  # "spam" and "eggs", in the caller's order


def test_a_shard_with_one_class_votes_for_it() -> None:
    teacher = fitted(LogisticRegression(), X[:5], ["eggs"] * 5)
    assert (teacher.votes(QUESTIONS) == 2).all()
    assert teacher.events == {"one-class": 1}


@pytest.mark.parametrize("n_records", [0, 1])
def test_an_empty_or_tiny_shard_votes_all_the_same(n_records: int) -> None:
    teacher = fitted(LogisticRegression(), X[:n_records], Y[:n_records])
    expected = 0 if n_records == 0 else CLASSES.index(Y[0])
    assert (teacher.votes(QUESTIONS) == expected).all()


def test_an_empty_shard_never_reaches_the_learner() -> None:
    teacher = fitted(Scripted(lambda X: ["spam"] * len(X)), X[:0], Y[:0])
    assert (teacher.votes(QUESTIONS) == 0).all()
    assert teacher.events == {"empty": 1}


def test_too_few_records_for_the_learner_give_the_default_class() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    teacher = fitted(KNeighborsClassifier(n_neighbors=5), X[:3], ["eggs", "spam", "eggs"])
    assert (teacher.votes(QUESTIONS) == 0).all()


NO_EXCEPTIONS = [
    SystemExit(7),
    BaseException("record 7"),
    GeneratorExit(),
    asyncio.CancelledError(),
]


@pytest.mark.parametrize(
    "error", [ValueError("record 7"), MemoryError(), ZeroDivisionError(), *NO_EXCEPTIONS]
)
def test_a_learner_that_fails_to_fit_votes_for_the_default_class(error: BaseException) -> None:
    teacher = fitted(Scripted(fit=raising(error)))
    assert (teacher.votes(QUESTIONS) == 0).all()
    assert teacher.events == {"fit-failed": 1}


def test_an_interrupt_is_the_users_and_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(Scripted(fit=raising(KeyboardInterrupt())))


@pytest.mark.parametrize("error", [ValueError("record 7"), RuntimeError(), *NO_EXCEPTIONS])
def test_a_learner_that_fails_to_predict_votes_for_the_default_class(error: BaseException) -> None:
    teacher = fitted(Scripted(raising(error)))
    assert (teacher.votes(QUESTIONS) == 0).all()
    assert teacher.events == {"predict-failed": 1}


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: ["spam"] * (len(X) - 1),
        lambda X: np.full((len(X), 2), "spam"),
        lambda X: "spam",
        lambda X: None,
        lambda X: [["spam"], ["spam", "spam"]],
    ],
)
def test_answers_of_a_wrong_shape_become_default_votes(answer: Any) -> None:
    assert (fitted(Scripted(answer)).votes(QUESTIONS) == 0).all()


@pytest.mark.parametrize("odd", [np.nan, None, "rye", 1, 1.5, b"rye", np.inf, ["spam"]])
def test_only_the_points_without_a_usable_label_get_the_default(odd: Any) -> None:
    def answer(X: Any) -> Any:
        labels = np.empty(len(X), dtype=object)
        labels[:] = "spam"
        labels[2] = odd
        return labels

    teacher = fitted(Scripted(answer))
    votes = teacher.votes(QUESTIONS)
    assert votes[2] == 0 and (np.delete(votes, 2) == 1).all()
    assert teacher.events == {"unknown-label": 1}


def test_numbers_that_are_not_labels_become_default_votes() -> None:
    given = {"classes": [0, 1], "seed": 0}
    learner = Scripted(lambda X: np.array([0.0, 1.0, np.nan, 0.5, np.inf]))
    teacher = fit_teacher(learner, X, [0, 1] * 15, **given)
    assert teacher.votes(QUESTIONS[:5]).tolist() == [0, 1, 0, 0, 0]


class Diverging(ClassifierMixin, BaseEstimator):
    """Fits without complaint to coefficients that mean nothing."""

    def fit(self, X: Any, y: Any) -> Diverging:
        self.classes_ = np.unique(y)
        self.coef_ = np.full((1, X.shape[1]), np.nan)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(X @ self.coef_[0] > 0).astype(int)]


@pytest.mark.parametrize("learner", [Diverging(), make_pipeline(StandardScaler(), Diverging())])
def test_scores_that_are_not_numbers_become_default_votes(learner: Any) -> None:
    teacher = fitted(learner)
    assert (teacher.votes(QUESTIONS) == 0).all()
    assert teacher.events == {"diverged": 1}


@pytest.mark.parametrize("odd", ["rye", None, np.nan, 7, ("a",), [1], "ham ham"])
def test_a_label_outside_the_list_adds_no_class_and_changes_no_other(odd: Any) -> None:
    seen: list[Any] = []
    learner = Scripted(lambda X: ["spam"] * len(X), fit=lambda X, y: seen.append((X, y)))
    learner.__deepcopy__ = lambda memo: learner  # type: ignore[attr-defined]
    labels: list[Any] = list(Y)
    labels[4] = odd
    teacher = fitted(learner, X, labels)
    ((given_X, given_y),) = seen
    assert np.array_equal(given_X, np.delete(X, 4, axis=0))
    assert given_y.tolist() == np.delete(Y, 4).tolist()
    assert teacher.events == {"dropped-records": 1}


def test_labels_are_read_one_by_one() -> None:
    classes = ClassList([0, 1])
    assert classes.positions([0, 1, "x", 1]).tolist() == [0, 1, -1, 1]
    # One text turns a whole array into texts; the others must still find their class.
    assert classes.positions(np.array([0, 1, "x", 1])).tolist() == [0, 1, -1, 1]
    assert classes.positions(np.array([0, 1, np.nan])).tolist() == [0, 1, -1]
    assert classes.positions(np.array([True, False])).tolist() == [1, 0]
    assert ClassList(["b", "a"]).positions(np.array(["a", "b", "zz"])).tolist() == [1, 0, -1]


@pytest.mark.parametrize("classes", [[1], [1, 1], "ab", 5, [0, "a"], [[0, 1]], []])
def test_the_list_of_classes_is_checked(classes: Any) -> None:
    with pytest.raises(InvalidArgument, match="`classes`"):
        ClassList(classes)


class Talkative(Scripted):
    """Says what it sees in every way there is."""

    def fit(self, X: Any, y: Any) -> None:
        print("secret", y)
        print("secret", y, file=sys.stderr)
        warnings.warn(f"secret {y}", stacklevel=1)
        logging.getLogger("learner").critical("secret %s", y)
        logging.getLogger("learner").log(sys.maxsize, "secret %s", y)
        print("secret", y, file=sys.__stdout__)
        for descriptor in (1, 2):
            os.write(descriptor, b"secret")
        if sys.platform == "linux":
            ctypes.CDLL(None).printf(b"secret")

    predict = lambda self, X: self.fit(X, "") or ["spam"] * len(X)  # noqa: E731


def test_nothing_a_learner_says_gets_out(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print("before", end="")
        assert (fitted(Talkative()).votes(QUESTIONS) == 1).all()
    assert not caught
    print("after", end="")
    assert capfd.readouterr() == ("beforeafter", "")
    assert not caplog.records
    logging.getLogger("learner").warning("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]


def test_a_warning_turned_into_an_error_does_not_change_the_vote() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        teacher = fitted(LogisticRegression(max_iter=1))
    assert teacher.events == {}


def test_a_fit_has_one_thread() -> None:
    from threadpoolctl import threadpool_info

    seen: list[int] = []

    def look(X: Any, y: Any) -> None:
        seen.extend(pool["num_threads"] for pool in threadpool_info())

    learner = Scripted(lambda X: ["spam"] * len(X), fit=look)
    learner.__deepcopy__ = lambda memo: learner  # type: ignore[attr-defined]
    fitted(learner)
    assert seen and set(seen) == {1}


def test_the_learner_given_is_not_touched() -> None:
    learner = SVC(random_state=5)
    fitted(learner)
    assert learner.random_state == 5 and not hasattr(learner, "classes_")


def test_representations_hold_nothing_private() -> None:
    assert repr(fitted(LogisticRegression())) == "Teacher(<private>)"
    diagnostics = Diagnostics()
    diagnostics.add({"fit-failed": 3})
    assert repr(diagnostics) == str(diagnostics) == "Diagnostics(<private>)"
    assert diagnostics.reveal_unsafe() == {"fit-failed": 3}
    import copy

    with pytest.raises(PrivateValueError):
        copy.copy(diagnostics)
