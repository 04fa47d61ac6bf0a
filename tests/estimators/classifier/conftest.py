"""A small task that every test of the classifier can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.support.method_settings import with_method

from tacit import PATEClassifier
from tacit.audit import SeededNoise
from tacit.noise import NoiseSource


class Task(NamedTuple):
    """Private records, their labels, and public points."""

    X: Any
    y: Any
    pool: Any


class SeededClassifier(PATEClassifier):
    """The classifier with predictable noise: what it says must say so."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


@pytest.fixture(scope="session")
def task() -> Task:
    rng = np.random.default_rng(1)
    X, pool = rng.normal(size=(400, 3)), rng.normal(size=(60, 3))
    return Task(X, (X[:, 0] + X[:, 1] > 0).astype(int), pool)


Make = Callable[..., PATEClassifier]


def _make(kind: type[PATEClassifier], settings: dict[str, Any]) -> PATEClassifier:
    learner = settings.pop("learner", None) or LogisticRegression()
    defaults = {"epsilon": 100.0, "delta": 1e-5, "classes": [0, 1], "random_state": 3}
    return kind(learner, **{**defaults, **with_method(settings)})


@pytest.fixture
def make() -> Make:
    """Return a classifier with secure noise, and a generous budget unless one is given."""
    return lambda **settings: _make(PATEClassifier, settings)


@pytest.fixture
def make_seeded() -> Make:
    """Return a classifier with predictable noise."""
    return lambda **settings: _make(SeededClassifier, settings)
