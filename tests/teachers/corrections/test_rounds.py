"""The loop: what a round may depend on, and that it leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tacit.audit import ScriptedNoise
from tacit.mechanisms import ClippedMean
from tacit.teachers.corrections import LogisticCorrections, Schedule, correct_in_rounds
from tacit.teachers.corrections.metric import Metric
from tacit.teachers.corrections.records import RecordsInMemory


class Silent:
    """Teachers whose public side is as usual and whose records say nothing."""

    n_teachers, shard_size, curved = 3, 2, False

    def __init__(self, imagined: float = 1.0) -> None:
        self._imagined = imagined

    def contributions(self, metric: Metric) -> Iterator[Any]:
        yield np.zeros((3, metric.weights.size))

    def imagined(self, metric: Metric, rng: np.random.Generator) -> Any:
        return np.full((9, metric.weights.size), self._imagined)


def without_noise(teachers: Any, pool: Any, n_classes: int, rounds: int, **how: Any) -> Any:
    mean = ClippedMean(
        1.0, 1.0, pool.shape[1] * (n_classes - 1), teachers.n_teachers, releases=rounds
    )
    none = ScriptedNoise(gaussian=[0] * (mean.dimension * rounds))
    return correct_in_rounds(
        teachers, pool, n_classes, Schedule(rounds, 0.4),
        lambda number, blocks: mean.release(blocks(), noise=none),
        np.random.default_rng(0), **how,
    )  # fmt: skip


def test_a_student_that_nobody_corrects_stays_where_it_is(make_setting):
    pool = make_setting(3).pool
    for imagined in (1.0, 0.0, np.nan):
        found = without_noise(Silent(imagined), pool, 3, 4)
        assert not found.weights.any()
        assert len(found.answers) == len(found.radii) == 4
        assert all(np.isfinite(radius) and radius > 0 for radius in found.radii)


def test_without_noise_the_student_learns_what_the_records_hold(make_setting):
    setting = make_setting(2)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] > 0.3).astype(int)
    shards = np.split(np.arange(1000), 200)
    records = RecordsInMemory(X, y, shards, setting.coordinates)
    teachers = LogisticCorrections(records, setting.pool, n_classes=2, shard_size=5)
    seen = []
    found = without_noise(teachers, setting.pool, 2, 12, after_round=seen.append)
    scores = np.column_stack([setting.coordinates.transform(X), np.ones(1000)]) @ found.weights
    assert ((scores[:, 0] > 0) == y).mean() > 0.9
    assert [len(so_far.answers) for so_far in seen] == list(range(1, 13))
    assert seen[4].answers == found.answers[:5]
    assert seen[-1].radii == found.radii


def test_a_radius_is_a_function_of_what_was_released_before(make_setting):
    """The first radius is the same for any records; the second only follows the first answer."""
    setting = make_setting(2)
    radii = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 4)), rng.integers(0, 2, 40)
        records = RecordsInMemory(X, y, np.split(np.arange(40), 10), setting.coordinates)
        teachers = LogisticCorrections(records, setting.pool, n_classes=2, shard_size=4)
        answer = ClippedMean(1.0, 1.0, 5, 1).release(
            np.full((1, 5), 0.2), noise=ScriptedNoise(gaussian=[0] * 5)
        )

        def release(number: int, blocks: Any, answer: Any = answer) -> Any:
            return answer

        found = correct_in_rounds(
            teachers, setting.pool, 2, Schedule(3, 0.4), release, np.random.default_rng(0)
        )
        radii.append((found.radii, found.weights.tobytes()))
    assert radii[0] == radii[1]


def test_only_teachers_that_start_elsewhere_make_haste(make_setting):
    pool = make_setting(3).pool
    weights = np.random.default_rng(0).normal(size=(pool.shape[1], 2))
    for size in (0.0, 0.3, 10.0):
        assert Metric.of(pool, size * weights, 3).haste == 1.0
    hastes = [Metric.of(pool, size * weights, 3, curved=False).haste for size in (0.0, 0.3, 1.0)]
    assert hastes[0] == pytest.approx(1.0)
    assert hastes == sorted(hastes)
    # The floor of curvature bounds it: 1/6 is the curvature of three even classes.
    most = Metric.of(pool, 1e6 * weights, 3, curved=False).haste
    assert most == pytest.approx(np.sqrt(1 / 6 / 0.02), rel=0.02)
