"""Records, shards and toy teachers: one record reaches one shard and moves one vote.

The toy records are rows of labels, one per question. A toy teacher votes for the most common label
of its shard, so that changing one record can change its vote on every question at once: the most a
record may do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Neighbouring
from tacit.audit.checks.findings import (
    Findings,
    voting,
)
from tacit.audit.reference_laws import (
    Counts,
)
from tacit.audit.subjects import Subject, questionnaire
from tacit.errors import InvalidArgument
from tacit.mechanisms import (
    VoteCounts,
)
from tacit.teachers import partition
from tacit.teachers.partition import Partition

__all__ = [
    "Records",
    "check_shards",
    "disjoint",
    "neighbour_of",
    "records_for",
    "shards_of",
    "vote",
]

IntArray = NDArray[np.int64]
Records = IntArray
_PER_SHARD = 3


def vote(records: Records, shards: Sequence[Any], n_classes: int) -> VoteCounts:
    """Return the votes of toy teachers: the most common label of each shard, question by question.

    An empty shard votes for class 0: its teacher is counted all the same.
    """
    n_questions = records.shape[1]
    counts = np.zeros((n_questions, n_classes), dtype=np.int64)
    for shard in shards:
        for question in range(n_questions):
            labels = np.bincount(records[shard, question], minlength=n_classes)
            counts[question, int(labels.argmax())] += 1
    return VoteCounts(counts, n_teachers=len(shards))


def records_for(rows: Sequence[Counts], shards: Sequence[Any]) -> Records:
    """Return records whose shards vote as ``rows`` say, each vote hanging on one record."""
    n_records = sum(len(shard) for shard in shards)
    records = np.zeros((n_records, len(rows)), dtype=np.int64)
    for question, row in enumerate(rows):
        votes = np.repeat(np.arange(len(row)), row)
        for shard, label in zip(shards, votes.tolist(), strict=True):
            majority = len(shard) // 2 + 1
            records[shard, question] = (label + 1) % len(row)
            records[shard[:majority], question] = label
    return records


def neighbour_of(records: Records, shards: Sequence[Any], rows: Sequence[Counts]) -> Records:
    """Return the records after one of them, on which the vote of its shard hangs, was replaced."""
    target = int(shards[-1][0])
    changed = records.copy()
    for question, row in enumerate(rows):
        changed[target, question] = (records[target, question] + 1) % len(row)
    return changed


def shards_of(subject: Subject, seed: int) -> list[Any]:
    """Return equal shards of the toy records, by the shipped partition."""
    rng = np.random.default_rng(seed)
    return list(partition.equal_split(_PER_SHARD * subject.n_teachers, subject.n_teachers, rng))


def check_shards(subject: Subject, findings: Findings, seed: int) -> None:
    """Shards are disjoint, cover the records, and one record moves one vote of every question."""
    mechanism = voting(subject)
    n_records = _PER_SHARD * subject.n_teachers
    shards = shards_of(subject, seed)
    _check_disjoint(shards, n_records, subject.n_teachers, findings, "equal split")
    sizes = [len(shard) for shard in shards]
    findings.require("shards", max(sizes) - min(sizes) <= 1, "equal shards are not equal")
    _check_groups(subject.n_teachers, findings, seed)
    _check_hash(n_records, subject.n_teachers, findings, seed)
    rng = np.random.default_rng(seed)
    rows = questionnaire(subject)
    records = (
        records_for(rows, shards) if disjoint(shards) else np.zeros((n_records, len(rows)), int)
    )
    before = vote(records, shards, mechanism.n_classes).private_array()
    for record in rng.choice(n_records, size=min(n_records, 40), replace=False).tolist():
        other = records.copy()
        other[record] = rng.integers(mechanism.n_classes, size=len(rows))
        after = vote(other, shards, mechanism.n_classes).private_array()
        _check_moves(before, after, findings, "replacing a record")
    for way, relation in (
        (Partition.HASH, Neighbouring.REPLACE),
        (Partition.EQUAL, Neighbouring.ADD_REMOVE),
    ):
        try:
            partition.votes_moved(way, relation)
        except InvalidArgument:
            continue
        findings.require("shards", False, f"{way} shards are allowed with {relation}")


def _check_disjoint(
    shards: Sequence[Any], n_records: int, n_teachers: int, findings: Findings, name: str
) -> None:
    together = np.concatenate([np.asarray(shard) for shard in shards])
    findings.require(
        "shards",
        len(shards) == n_teachers and sorted(together.tolist()) == list(range(n_records)),
        f"{name}: the shards overlap, or leave records out",
    )


def disjoint(shards: Sequence[Any]) -> bool:
    """Whether no record is in two shards."""
    together = np.concatenate([np.asarray(shard) for shard in shards]).tolist()
    return len(set(together)) == len(together)


def _check_groups(n_teachers: int, findings: Findings, seed: int) -> None:
    """A person's records share a shard, and sizes of groups do not steer the dealing."""
    groups = np.repeat(np.arange(2 * n_teachers), 2)
    rng = np.random.default_rng(seed)
    shards = partition.equal_split(len(groups), n_teachers, rng, groups=groups)
    _check_disjoint(shards, len(groups), n_teachers, findings, "split by groups")
    owners = [set(groups[shard].tolist()) for shard in shards]
    shared = sum(len(owner) for owner in owners) != len(set().union(*owners))
    findings.require("shards", not shared, "one person's records reached two shards")
    # The last group grows at the end of the table: no other group may change shards.
    grown = np.concatenate([groups, np.full(7, groups[-1])])
    again = partition.equal_split(len(grown), n_teachers, np.random.default_rng(seed), groups=grown)
    moved_others = any(
        set(groups[groups != groups[-1]][_others(a, groups)].tolist())
        != set(groups[groups != groups[-1]][_others(b[b < len(groups)], groups)].tolist())
        for a, b in zip(shards, again, strict=True)
    )
    findings.require("shards", not moved_others, "a group's size changed other groups' shards")


def _others(shard: Any, groups: IntArray) -> Any:
    return shard[groups[shard] != groups[-1]]


def _check_hash(n_records: int, n_teachers: int, findings: Findings, seed: int) -> None:
    """Each identifier's shard depends on itself and the key alone."""
    ids = [f"record {number}" for number in range(n_records)]
    key, other = bytes(range(16)), bytes(range(1, 17))
    all_of_them = partition.hash_split(ids, n_teachers, key)
    without = partition.hash_split(ids[:5] + ids[6:], n_teachers, key)
    stays = bool((np.delete(all_of_them, 5) == without).all())
    findings.require("shards", stays, "removing a record moved another record's shard")
    alone = [int(partition.hash_split([name], n_teachers, key)[0]) for name in reversed(ids)]
    findings.require(
        "shards", alone[::-1] == all_of_them.tolist(), "a record's shard depends on other records"
    )
    in_range = bool(((all_of_them >= 0) & (all_of_them < n_teachers)).all())
    findings.require("shards", in_range, "a hashed shard does not exist")
    keyed = bool((partition.hash_split(ids, n_teachers, other) != all_of_them).any())
    findings.require("shards", keyed or n_teachers == 1, "the key plays no part in the hash")
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=(n_records, 3))
    before = _hashed_votes(labels, all_of_them, n_teachers)
    after = _hashed_votes(np.delete(labels, 5, axis=0), without, n_teachers)
    _check_moves(before, after, findings, "removing a record")


def _hashed_votes(labels: Records, shard_of: Any, n_teachers: int) -> IntArray:
    shards = [np.flatnonzero(shard_of == shard) for shard in range(n_teachers)]
    return vote(labels, shards, 2).private_array()


def _check_moves(before: IntArray, after: IntArray, findings: Findings, change: str) -> None:
    distance = int(np.abs(before - after).sum(axis=1).max())
    findings.require("shards", distance <= 2, f"{change} moved more than one vote of a question")
