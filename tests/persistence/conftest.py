"""A small fitted classifier and small ensembles, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier, Votes
from tacit.teachers import TeacherEnsemble, equal_split, train_teachers


def table(seed: int, n: int, width: int = 4) -> np.ndarray:
    """Return made-up points."""
    return np.random.default_rng(seed).normal(size=(n, width))


def labels(X: np.ndarray, classes: list[Any]) -> np.ndarray:
    """Return labels that depend on the first two columns."""
    return np.array(classes)[np.digitize(X[:, 0] + X[:, 1], np.linspace(-1, 1, len(classes) - 1))]


def _fitted(**settings: Any) -> PATEClassifier:
    """Return a classifier fitted on made-up records."""
    X = table(0, 3000)
    classes = settings.setdefault("classes", ["no", "yes"])
    settings.setdefault("method", Votes())
    clf = PATEClassifier(LogisticRegression(), epsilon=2.0, delta=1e-5, **settings)
    return clf.fit(X, labels(X, classes), X_public=table(1, 150))


def _trained(
    learner: Any, *, classes: tuple[Any, ...] = ("a", "b", "c"), n_teachers: int = 12
) -> TeacherEnsemble:
    """Return teachers of which two are constant."""
    X = table(2, 20 * n_teachers)
    y = labels(X, list(classes))
    shards = equal_split(len(X), n_teachers, np.random.default_rng(3))
    y[shards[1]] = classes[1]
    y[shards[-1]] = classes[-1]
    return train_teachers(learner, X, y, shards, classes=list(classes), seed=5)


@pytest.fixture(scope="session")
def fitted() -> Callable[..., PATEClassifier]:
    """Return a function that fits a classifier."""
    return _fitted


@pytest.fixture(scope="session")
def trained() -> Callable[..., TeacherEnsemble]:
    """Return a function that trains teachers."""
    return _trained


@pytest.fixture(scope="session")
def clf() -> PATEClassifier:
    """Return a fitted classifier."""
    return _fitted()


@pytest.fixture(scope="session")
def linear() -> TeacherEnsemble:
    """Return linear teachers."""
    return _trained(LogisticRegression())
