"""Records as teachers see them: from memory and from files, each shard by itself."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tacit.teachers.corrections import LogisticCorrections
from tacit.teachers.corrections.learners import ResidualWeights
from tacit.teachers.corrections.records import (
    CorrectionRecords,
    RecordsInMemory,
    RecordsOnShards,
    drawn,
)
from tacit.teachers.labels import ClassList
from tacit.teachers.represented import ShardTransform

N_SHARDS = 5


class Kept:
    """A source of shards that are kept in memory; ``n_shards`` of them."""

    def __init__(self, shards: list[tuple[Any, Any]]) -> None:
        self.shards, self.n_shards = shards, len(shards)
        self.feature_names = ["a", "b", "c", "d"]

    def check(self) -> None:
        pass

    def read(self, number: int) -> tuple[Any, Any]:
        return self.shards[number]

    def state(self, number: int) -> tuple[int, ...]:
        return ()


class Refuses:
    """A representation that will not have some values."""

    def transform(self, X: Any) -> Any:
        if not np.isfinite(X).all():
            raise BaseException("secret 4711")
        return X


def same(X: Any) -> Any:
    return X


def shards(sizes: tuple[int, ...] = (4, 0, 9, 30, 4)) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(3)
    return [
        (rng.normal(size=(size, 4)), rng.choice(["no", "yes", "perhaps"], size).astype(object))
        for size in sizes
    ]


def in_files(setting: Any, kept: list[tuple[Any, Any]], *, transformed: bool = True) -> Any:
    transform = ShardTransform(Refuses(), setting.points)
    classes = ClassList(["no", "yes"])
    return RecordsOnShards(
        Kept(kept), same, classes, setting.coordinates, transform, transformed=transformed
    )


def in_memory(setting: Any, kept: list[tuple[Any, Any]]) -> RecordsInMemory:
    ends = np.cumsum([len(X) for X, _ in kept])
    positions = np.split(np.arange(ends[-1]), ends[:-1])
    X = np.concatenate([X for X, _ in kept])
    labels = ClassList(["no", "yes"]).positions(np.concatenate([y for _, y in kept]))
    return RecordsInMemory(X, labels, positions, setting.coordinates)


def listed(found: Any) -> list[tuple[int, Any, Any]]:
    return list(found.batch(range(len(found))))


def contributions(setting: Any, records: CorrectionRecords) -> Any:
    teachers = LogisticCorrections(records, setting.pool, n_classes=2, shard_size=4)
    rows = np.concatenate(list(teachers.contributions(setting.metric)))
    teachers.close()
    return rows[np.lexsort(rows.T)]


def test_files_and_memory_give_the_same_shards(make_setting: Any) -> None:
    setting = make_setting(2)
    kept = shards()
    for ours, theirs in (
        (in_files(setting, kept).in_coordinates(), in_memory(setting, kept).in_coordinates()),
        *[
            (in_files(setting, kept).weighted(weigh), in_memory(setting, kept).weighted(weigh))
            for weigh in [ResidualWeights(setting.metric.weights, 2)]
        ],
    ):
        assert len(ours) == len(theirs) == N_SHARDS
        for one, other in zip(listed(ours), listed(theirs), strict=True):
            assert one[0] == other[0]
            np.testing.assert_array_equal(one[1], other[1])
            np.testing.assert_array_equal(one[2], other[2])


def test_contributions_are_the_same_bit_for_bit(make_setting: Any) -> None:
    setting = make_setting(2)
    ours = contributions(setting, in_files(setting, shards()))
    assert ours.shape == (N_SHARDS, setting.metric.weights.size)
    assert ours.tobytes() == contributions(setting, in_memory(setting, shards())).tobytes()


def test_a_shard_that_cannot_be_transformed_changes_no_other(make_setting: Any) -> None:
    setting, kept = make_setting(2), shards()
    kept[2][0][0, 0] = np.nan
    found = listed(in_files(setting, kept).in_coordinates())
    zeros = setting.coordinates.transform(np.zeros((1, 4)))
    assert (found[2][1][:, :-1] == zeros).all()
    whole = listed(in_files(setting, shards()).in_coordinates())
    for number in (0, 1, 3, 4):
        assert found[number][1].tobytes() == whole[number][1].tobytes()


def test_of_a_large_shard_the_same_records_are_drawn_in_files_and_in_memory(
    make_setting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = make_setting(2)
    everything = contributions(setting, in_memory(setting, shards()))
    monkeypatch.setattr("tacit.teachers.corrections.logistic._LARGEST", 12 * 5)
    ours = contributions(setting, in_files(setting, shards()))
    assert ours.tobytes() == contributions(setting, in_memory(setting, shards())).tobytes()
    assert ours.tobytes() != everything.tobytes()
    sizes = [len(X) for _, X, _ in listed(in_files(setting, shards()).in_coordinates(12))]
    assert sizes == [4, 0, 9, 12, 4]


def test_what_is_drawn_is_decided_by_the_shard_alone() -> None:
    shard = np.arange(100, 150)
    first = drawn(shard, 3, 20)
    assert len(set(first.tolist())) == 20 and set(first.tolist()) <= set(shard.tolist())
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(drawn(shard + 7, 3, 20), first + 7)
    assert drawn(shard, 4, 20).tolist() != first.tolist()
    assert drawn(shard, 3, 50) is shard and drawn(shard, 3, None) is shard


def test_nothing_private_is_shown_or_sent(make_setting: Any) -> None:
    setting = make_setting(2)
    kept = shards()
    records = in_files(setting, kept)
    for there in (records, in_memory(setting, kept), records.in_coordinates().batch([0])):
        assert "private" in repr(there) and "perhaps" not in repr(there)
    task = ResidualWeights(setting.metric.weights, 2)
    assert len(pickle.dumps(task)) < 1000
