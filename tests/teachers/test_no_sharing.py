"""Nothing one teacher does reaches another: not its input, not a random stream, not a warning."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.data import PointReader, Schema
from tacit.estimators.inputs import identifiers
from tacit.teachers import equal_split, train_and_count, train_teachers
from tacit.teachers.labels import ClassList

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=200) > 0).astype(int)
QUESTIONS = RNG.normal(size=(40, 3))
SHARDS = equal_split(200, 20, np.random.default_rng(1))


def neighbour() -> tuple[Any, Any]:
    """Return the same records with the first of the first shard replaced by an outlier."""
    X_other, y_other = X.copy(), Y.copy()
    X_other[SHARDS[0][0]], y_other[SHARDS[0][0]] = 1e3, 1 - Y[SHARDS[0][0]]
    return X_other, y_other


def largest_move(learner: Any) -> int:
    def votes(records: Any, labels: Any) -> Any:
        found = train_and_count(
            learner, records, labels, SHARDS, QUESTIONS.copy(), classes=[0, 1], seed=0
        )
        return found.private_array()

    return int(np.abs(votes(X, Y) - votes(*neighbour())).max())


class DrawsGlobally:
    """A learner whose number of global draws, and votes, depend on its records."""

    def fit(self, X: Any, y: Any) -> DrawsGlobally:
        for _ in range(int(abs(X).max())):
            np.random.random()
            random.random()
        self.lean = np.random.random() + random.random()
        return self

    def predict(self, X: Any) -> Any:
        return (X[:, 0] + self.lean + np.random.random() > 1.2).astype(int)


@pytest.mark.parametrize(
    "learner",
    [make_pipeline(StandardScaler(copy=False), LogisticRegression()), DrawsGlobally()],
    ids=["changes its input", "draws from global generators"],
)
def test_one_record_moves_one_vote_whatever_teachers_share(learner: Any) -> None:
    assert largest_move(learner) <= 1


def test_the_callers_random_streams_go_on_undisturbed() -> None:
    np.random.seed(5)
    expected = np.random.random()
    np.random.seed(5)
    train_and_count(DrawsGlobally(), X, Y, SHARDS, QUESTIONS, classes=[0, 1], seed=0)
    assert np.random.random() == expected


def test_asking_together_raises_no_warning_that_depends_on_records() -> None:
    X_odd = X.copy()
    X_odd[SHARDS[0]] = 1e-130
    ensemble = train_teachers(
        RidgeClassifier(alpha=1e-300), X_odd, Y, SHARDS, classes=[0, 1], seed=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble.count(np.full((2, 3), 1e200))


def test_one_odd_label_changes_no_other() -> None:
    classes = ClassList([0, 1])
    plain = classes.positions(np.array([0.0, 1.0, 1.0]))
    with_text = classes.positions(np.array([0.0, 1.0, 1.0, "x"]))
    assert with_text[:3].tolist() == plain.tolist() == [0, 1, 1]
    assert with_text[3] == -1


def test_one_odd_identifier_changes_no_other() -> None:
    plain = identifiers(np.array([1, 2, 3]), 3)
    with_text = identifiers(np.array([1, 2, 3, "x"]), 4)
    with_missing = identifiers(np.array([1.0, 2.0, 3.0, np.nan]), 4)
    assert plain is not None and with_text is not None and with_missing is not None
    assert plain == with_text[:3] == with_missing[:3]


def test_a_number_too_large_for_a_float_is_missing_not_an_error() -> None:
    reader = PointReader(Schema.of_numbers(2))
    read = np.asarray(reader.records([[0.5, 1.0], [10**400, 2.0]]))
    assert np.isnan(read[1, 0]) and read[1, 1] == 2.0
