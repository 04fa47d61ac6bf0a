"""Brute force of the sensitivity: every replacement of one record on a small grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from tacit.mechanisms import ClippedMean
from tacit.mechanisms.clipped_mean import clip_to_grid
from tacit.teachers.corrections import LearnerCorrections, LogisticCorrections
from tacit.teachers.corrections.records import RecordsInMemory

LEVELS = 2**10
GRID = (-50.0, -1.0, 0.0, 1.0, np.inf, np.nan)
SHARDS = [np.array([0, 1]), np.array([2]), np.array([3, 4])]
X = np.array([[0.3, -1.0], [1.0, 0.2], [-0.4, 0.1], [2.0, 2.0], [0.0, -0.7]])
Y = np.array([0, 1, 0, 2, 1])


def built_in(setting: Any, X: Any, y: Any) -> Any:
    records = RecordsInMemory(X, y, SHARDS, setting.coordinates)
    return LogisticCorrections(records, setting.pool, n_classes=3, shard_size=2)


def bayes(setting: Any, X: Any, y: Any) -> Any:
    records = RecordsInMemory(X, y, SHARDS, setting.coordinates)
    return LearnerCorrections(
        GaussianNB(), records, setting.points,
        n_classes=3, shard_size=2, seed=1, rng=np.random.default_rng(0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "labels"), [(built_in, (-1, 0, 1, 2)), (bayes, (0, 2))], ids=["built-in", "learner"]
)
def test_one_record_moves_one_teacher_and_the_sum_by_two_radii_at_most(
    make_setting: Callable[..., Any], make: Any, labels: tuple[int, ...]
) -> None:
    setting = make_setting(3, width=2, n=6)
    victim, owner = 3, 2
    # A radius that nearly every contribution passes, as in a fit.
    radius = 0.05
    mean = ClippedMean(1.0, 1.0, setting.metric.weights.size, len(SHARDS), levels=LEVELS)
    totals = set()
    others = set()
    for a, b, label in itertools.product(GRID, GRID, labels):
        there, y = X.copy(), Y.copy()
        there[victim], y[victim] = (a, b), label
        blocks = list(make(setting, there, y).contributions(setting.metric))
        sizes = [len(block) for block in blocks]
        rows = np.concatenate(blocks) / radius
        if make is built_in:  # shards of one size come together
            assert sizes == [2, 1]
            rows = rows[[0, 2, 1]]
        grid = clip_to_grid(rows, 1.0, LEVELS)
        assert max(int(row @ row) for row in grid.astype(object)) <= LEVELS**2
        others.add(np.delete(rows, owner, axis=0).tobytes())
        totals.add(tuple(mean.gather(rows).values.tolist()))
    assert len(others) == 1  # bit for bit
    assert len(totals) > 20
    furthest = max(
        sum((p - q) ** 2 for p, q in zip(one, two, strict=True))
        for one, two in itertools.combinations(totals, 2)
    )
    assert furthest <= mean.event.sensitivity**2 == (2 * LEVELS) ** 2
    # Not by much less: two sides of the ball are reached.
    assert furthest > LEVELS**2
