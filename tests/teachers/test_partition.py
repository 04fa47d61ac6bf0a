"""One record, and one person, reaches one shard; neighbours differ in one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.teachers.partition import Partition, equal_split, hash_split, votes_moved

KEY = b"0123456789abcdef"
sizes = st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))
seeds = st.integers(0, 2**32 - 1)


@given(sizes, seeds)
def test_an_equal_split_deals_out_every_record_once(size: tuple[int, int], seed: int) -> None:
    n_records, n_teachers = size
    shards = equal_split(n_records, n_teachers, np.random.default_rng(seed))
    assert len(shards) == n_teachers
    assert sorted(np.concatenate(shards).tolist()) == list(range(n_records))
    lengths = [len(shard) for shard in shards]
    assert max(lengths) - min(lengths) <= 1


@given(st.lists(st.integers(0, 20), min_size=1, max_size=100), seeds, st.data())
def test_groups_stay_together_in_equal_numbers(
    groups: list[int], seed: int, data: st.DataObject
) -> None:
    n_groups = len(set(groups))
    n_teachers = data.draw(st.integers(1, n_groups))
    shards = equal_split(len(groups), n_teachers, np.random.default_rng(seed), groups)
    assert sorted(np.concatenate(shards).tolist()) == list(range(len(groups)))
    people = [{groups[position] for position in shard} for shard in shards]
    assert sum(map(len, people)) == n_groups
    assert max(map(len, people)) - min(map(len, people)) <= 1


def test_renaming_a_group_moves_no_other() -> None:
    groups = ["b", "a", "c", "b", "d", "a"]
    renamed = ["zz" if group == "a" else group for group in groups]
    one, two = (equal_split(6, 3, np.random.default_rng(5), names) for names in (groups, renamed))
    assert all(map(np.array_equal, one, two))


def test_the_split_is_random_and_repeatable() -> None:
    first, same, other = (equal_split(100, 4, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(map(np.array_equal, first, same))
    assert not all(map(np.array_equal, first, other))


@given(
    st.lists(st.one_of(st.text(), st.binary(), st.integers()), max_size=50),
    st.integers(1, 30),
    st.data(),
)
def test_a_record_that_leaves_moves_no_other(
    ids: list[object], n_teachers: int, data: st.DataObject
) -> None:
    assigned = hash_split(ids, n_teachers, KEY)  # type: ignore[arg-type]
    assert assigned.shape == (len(ids),)
    assert all(0 <= shard < n_teachers for shard in assigned)
    if ids:
        gone = data.draw(st.integers(0, len(ids) - 1))
        rest = hash_split([*ids[:gone], *ids[gone + 1 :]], n_teachers, KEY)  # type: ignore[list-item]
        assert np.array_equal(rest, np.delete(assigned, gone))


def test_hashed_shards_are_even_and_depend_on_the_key() -> None:
    ids = range(20_000)
    one, two = (hash_split(ids, 10, key) for key in (KEY, KEY[::-1]))
    # Each shard expects 2000 with standard deviation 42; six of them: below 1e-7 in all.
    assert abs(np.bincount(one) - 2000).max() < 260
    assert 0.05 < np.mean(one == two) < 0.15


def test_kinds_of_identifiers_are_told_apart() -> None:
    many = range(200)
    texts = hash_split([str(n) for n in many], 50, KEY)
    numbers = hash_split(many, 50, KEY)
    assert not np.array_equal(texts, numbers)
    assert np.array_equal(numbers, hash_split(np.arange(200), 50, KEY))


@pytest.mark.parametrize("neighbouring", Neighbouring)
@pytest.mark.parametrize("partition", Partition)
def test_only_proven_pairs_are_accepted(partition: Partition, neighbouring: Neighbouring) -> None:
    refused = {
        (Partition.HASH, Neighbouring.REPLACE): "move two votes",
        (Partition.EQUAL, Neighbouring.ADD_REMOVE): "every vote may move",
    }
    if (partition, neighbouring) in refused:
        with pytest.raises(InvalidArgument, match=refused[partition, neighbouring]):
            votes_moved(partition, neighbouring)
    else:
        assert votes_moved(partition.value, neighbouring.value) == 1


def test_bad_arguments_are_named() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidArgument, match="number of records, 3, got 4"):
        equal_split(3, 4, rng)
    with pytest.raises(InvalidArgument, match="number of groups, 1, got 2"):
        equal_split(3, 2, rng, groups=[7, 7, 7])
    with pytest.raises(InvalidArgument, match="one entry per record"):
        equal_split(3, 2, rng, groups=[1, 2])
    with pytest.raises(InvalidArgument, match="`rng`"):
        equal_split(3, 2, 0)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="not shown") as refused:
        hash_split(["a"], 2, b"short")
    assert "short" not in str(refused.value)
    with pytest.raises(InvalidArgument, match="got a float"):
        hash_split([1.5], 2, KEY)  # type: ignore[list-item]
