"""From records to disjoint shards: one record, or one person, reaches one teacher.

Two ways, each with the neighbours its guarantee is about. An *equal split* deals positions out at
random and looks at nothing else: replacing a record changes one shard. A *keyed hash* sends each
identifier to a shard by itself: a record that comes or goes moves no other. The other two pairings
are refused by ``votes_moved``, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.accounting.budget import Neighbouring
from tacit.data.identifiers import keyed_shards
from tacit.errors import InvalidArgument

IndexArray = NDArray[np.intp]


class Partition(StrEnum):
    """How records become shards.

    ``equal``
        Positions are dealt out at random in equal parts (``equal_split``).
    ``hash``
        A keyed hash of the record's, or person's, identifier (``hash_split``).
    """

    EQUAL = "equal"
    HASH = "hash"


def votes_moved(partition: Partition | str, neighbouring: Neighbouring | str) -> int:
    """Return how many votes of one question a record can move: one, or the pair is refused.

    Examples
    --------
    >>> votes_moved("equal", "replace")
    1
    """
    way = validation.choice(Partition, partition=partition)
    relation = validation.choice(Neighbouring, neighbouring=neighbouring)
    if relation is Neighbouring.LABELS:
        return 1  # neither way looks at labels
    if (way, relation) == (Partition.HASH, Neighbouring.REPLACE):
        raise InvalidArgument(
            "`partition` 'hash' goes with 'add-remove': a replaced record may change its "
            "identifier, leave one shard and enter another, and move two votes. Use 'equal' for "
            "'replace'."
        )
    if (way, relation) == (Partition.EQUAL, Neighbouring.ADD_REMOVE):
        raise InvalidArgument(
            "`partition` 'equal' goes with 'replace': a record that comes or goes shifts others "
            "between shards, and every vote may move. Use 'hash' for 'add-remove'."
        )
    return 1


def equal_split(
    n_records: int,
    n_teachers: int,
    rng: np.random.Generator,
    groups: ArrayLike | None = None,
) -> list[IndexArray]:
    """Deal records out at random into shards of equal size.

    Parameters
    ----------
    n_records : int
        Public under ``replace``.
    n_teachers : int
        Public; at most the number of records (or groups).
    rng : numpy.random.Generator
        Modelling randomness: the guarantee holds for every way of dealing.
    groups : array of shape (n_records,), optional
        Whose record each one is. All records of a group go to one shard, and shards get equal
        numbers of *groups*: packing by size would let one group decide where others go. Private,
        but for the number of different groups.

    Returns
    -------
    list of index arrays
        One sorted array of positions per teacher; sizes (or numbers of groups) differ by one at
        most.

    Privacy
    -------
    Neighbours: ``replace``. Which shard a position (or the i-th group to appear) belongs to does
    not depend on any record, so replacing one record or group changes one shard. A replaced group
    takes the other's place in the order in which groups appear, with as many records as it likes.

    Examples
    --------
    >>> shards = equal_split(10, 3, np.random.default_rng(0))
    >>> [len(shard) for shard in shards]
    [4, 3, 3]
    """
    n_records = validation.positive_integer(n_records=n_records)
    n_teachers = validation.positive_integer(n_teachers=n_teachers)
    validation.instance(np.random.Generator, rng=rng)
    if groups is None:
        _check_enough("records", n_records, n_teachers)
        return [np.sort(part) for part in np.array_split(rng.permutation(n_records), n_teachers)]
    member, n_groups = _numbered(groups, n_records)
    _check_enough("groups", n_groups, n_teachers)
    shard_of_group = np.empty(n_groups, dtype=np.intp)
    for shard, part in enumerate(np.array_split(rng.permutation(n_groups), n_teachers)):
        shard_of_group[part] = shard
    return shard_positions(shard_of_group[member], n_teachers)


def hash_split(ids: Iterable[bytes | str | int], n_teachers: int, key: bytes) -> IndexArray:
    """Assign each record to a shard by a keyed hash of its identifier.

    Parameters
    ----------
    ids : iterable of bytes, text or int
        One identifier per record: the record's own or, to protect people, the person's. Records
        with the same identifier share a shard. Private.
    n_teachers : int
        Public.
    key : bytes
        At least 16 random bytes, kept secret: without it, an attacker who chooses identifiers could
        crowd one shard.

    Returns
    -------
    array of int
        The shard of each record. Shards may be empty; their teachers vote all the same.

    Privacy
    -------
    Neighbours: ``add-remove``. A record's shard depends on its own identifier and the key only.

    Examples
    --------
    >>> hash_split(["ann", "bob", "ann"], 4, key=b"sixteen or more!").shape
    (3,)
    """
    n_teachers = validation.positive_integer(n_teachers=n_teachers)
    return keyed_shards(ids, n_teachers, key)


def _numbered(groups: ArrayLike, n_records: int) -> tuple[IndexArray, int]:
    """Return the number of each record's group, in order of appearance, and how many there are."""
    names = np.asarray(groups)
    if names.shape != (n_records,):
        raise InvalidArgument(
            f"`groups` must have one entry per record, ({n_records},), got shape {names.shape}."
        )
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    # By appearance, not by name: a name that sorts elsewhere must not renumber the others.
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], len(first)


def shard_positions(shard_of: IndexArray, n_teachers: int) -> list[IndexArray]:
    """Return the positions of the records of every shard, empty ones included."""
    order = np.argsort(shard_of, kind="stable")
    edges = np.searchsorted(shard_of[order], np.arange(1, n_teachers))
    return list(np.split(order, edges))


def _check_enough(units: str, available: int, n_teachers: int) -> None:
    if n_teachers > available:
        raise InvalidArgument(
            f"`n_teachers` must be at most the number of {units}, {available}, got {n_teachers}."
        )
