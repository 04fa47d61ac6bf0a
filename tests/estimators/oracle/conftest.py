"""A small task whose votes are clear, and oracles on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit import PrivateOracle
from tacit.audit import SeededNoise
from tacit.noise import NoiseSource

Make = Callable[..., PrivateOracle]


class Task(NamedTuple):
    """Private records and their labels."""

    X: Any
    y: Any


class Between:
    """The plane between the means of two classes: any object will do, and this one is quick."""

    def fit(self, X: Any, y: Any) -> Between:
        self.labels = np.unique(y)
        low, high = (X[y == label].mean(axis=0) for label in self.labels)
        self.normal, self.middle = high - low, (high + low) / 2
        return self

    def predict(self, X: Any) -> Any:
        return self.labels[((X - self.middle) @ self.normal > 0).astype(int)]


class SeededOracle(PrivateOracle):
    """An oracle with predictable noise: what it says must say so."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


@pytest.fixture(scope="session")
def task() -> Task:
    """Return records that a line through the origin separates."""
    X = np.random.default_rng(1).normal(size=(1500, 2))
    return Task(X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no"))


def _make(kind: type[PrivateOracle], settings: dict[str, Any]) -> PrivateOracle:
    learner = settings.pop("learner", None) or Between()
    defaults = {
        "epsilon": 20.0,
        "delta": 1e-9,
        "classes": ["no", "yes"],
        "n_teachers": 150,
        "random_state": 3,
    }
    return kind(learner, **{**defaults, **settings})


@pytest.fixture
def make() -> Make:
    """Return an oracle with secure noise, and a generous budget unless one is given."""
    return lambda **settings: _make(PrivateOracle, settings)


@pytest.fixture
def make_seeded() -> Make:
    """Return an oracle with predictable noise."""
    return lambda **settings: _make(SeededOracle, settings)


@pytest.fixture
def fitted(make: Make, task: Task) -> Make:
    """Return a function that fits an oracle on the task."""
    return lambda **settings: make(**settings).fit(task.X, task.y)
