"""A small public pool in coordinates, and made-up records for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.teachers.corrections.coordinates import Coordinates, with_constant
from tacit.teachers.corrections.metric import Metric


class Setting(NamedTuple):
    """Public points, raw and in coordinates, and the metric around a student."""

    points: Any
    coordinates: Coordinates
    pool: Any
    metric: Metric
    n_classes: int


def _setting(n_classes: int = 2, width: int = 4, n: int = 60, seed: int = 0) -> Setting:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, width))
    coordinates = Coordinates().fit(points)
    pool = with_constant(coordinates.transform(points))
    weights = rng.normal(size=(width + 1, n_classes - 1)) / 3
    return Setting(points, coordinates, pool, Metric.of(pool, weights, n_classes), n_classes)


@pytest.fixture(scope="session")
def make_setting() -> Callable[..., Setting]:
    """Return a function that makes a public setting."""
    return _setting
