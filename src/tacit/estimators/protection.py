"""What a guarantee is about: records or people, how many there are, and who goes to which shard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.noise import NoiseSource
from tacit.teachers.partition import (
    IndexArray,
    equal_split,
    hash_split,
    shard_positions,
    votes_moved,
)

InputKind = Literal["records", "shards", "votes"]
"""What ``X`` of a fit is: records, shards of them in files, or votes counted elsewhere."""


@dataclass(frozen=True)
class ExistingTeachers:
    """Teachers that exist before a fit: one per shard in files, or those who voted elsewhere.

    ``unit`` is what the guarantee is about, ``assumption`` what it relies on. Public.
    """

    source: InputKind
    n_teachers: int
    unit: str
    assumption: str

    @classmethod
    def of_shards(cls, n_shards: int) -> ExistingTeachers:
        """Return the teachers of shards in files."""
        assumption = (
            "All records of a person are in one shard, and the key of the shards is secret."
        )
        return cls("shards", n_shards, "person", assumption)

    @classmethod
    def elsewhere(cls, n_teachers: int) -> ExistingTeachers:
        """Return teachers whose votes were counted elsewhere."""
        assumption = (
            "Votes were counted elsewhere: whoever counted them is responsible that each record "
            "reached one teacher, and that each teacher voted once on every question."
        )
        return cls("votes", n_teachers, "record", assumption)


@dataclass(frozen=True)
class ShardAssignment:
    """What decides which shard a record goes to. Private.

    Under ``replace`` records are split evenly by row or, with ``people`` (the number of each
    record's person), by person. With ``hash_key``, under ``add-remove``, the shard is a keyed hash
    of ``people`` (the identifier of each record's person).
    """

    people: Any = None
    hash_key: bytes | None = None

    def __repr__(self) -> str:
        return "ShardAssignment(<private>)"


@dataclass(frozen=True)
class Protection:
    """Which data sets are neighbours, and how many units there are. Public.

    ``n_units`` is the number of records or people; None where that number is private.
    """

    neighbouring: Neighbouring
    unit: str
    n_units: int | None
    existing: ExistingTeachers | None = None

    @property
    def protect(self) -> str:
        """The parameter ``protect`` of an estimator."""
        return "labels" if self.neighbouring is Neighbouring.LABELS else "records"


def resolve_protection(
    neighbouring: Neighbouring,
    n_records: int | None,
    people: list[bytes] | None,
    noise: NoiseSource,
    existing: ExistingTeachers | None = None,
) -> tuple[Protection, ShardAssignment]:
    """Return what is protected and how records are assigned to shards.

    Parameters
    ----------
    neighbouring : Neighbouring
        Checked against the other settings (``combinations``).
    people : list of bytes, optional
        The identifier of each record's person. Private.
    noise : NoiseSource
        Draws the key of a keyed hash.
    existing : ExistingTeachers, optional
        Then neither the number of records nor people are known here.
    """
    if existing is not None:
        return Protection(neighbouring, existing.unit, None, existing), ShardAssignment()
    if people is None:
        return Protection(neighbouring, "record", n_records), ShardAssignment()
    if neighbouring is Neighbouring.ADD_REMOVE:
        # The key is secret and of this fit alone: an identifier cannot be aimed at a shard.
        hash_key = noise.bits(256).to_bytes(32)
        return Protection(neighbouring, "person", None), ShardAssignment(people, hash_key)
    numbers = number_people(people)
    n_people = len(np.unique(numbers))
    if n_people < 2:
        raise InvalidArgument(
            f"`groups` must name at least 2 people, got {n_people}: all records belong to one. "
            "Give one identifier per person."
        )
    return Protection(neighbouring, "person", n_people), ShardAssignment(numbers)


def number_people(people: list[bytes]) -> NDArray[np.intp]:
    """Return the number of each record's person, in order of appearance."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in people], dtype=np.intp)


def split(
    n_records: int,
    assignment: ShardAssignment,
    neighbouring: Neighbouring,
    n_teachers: int,
    rng: np.random.Generator,
) -> list[IndexArray]:
    """Return the positions of the records of each shard.

    Privacy
    -------
    One record, or one person, reaches one shard: each relation has the one way of sharding that is
    proven for it (``docs/proofs/sharding.md``).
    """
    if assignment.hash_key is not None:
        votes_moved("hash", neighbouring)
        shard_of = hash_split(assignment.people, n_teachers, assignment.hash_key)
        return shard_positions(shard_of, n_teachers)
    votes_moved("equal", neighbouring)
    return equal_split(n_records, n_teachers, rng, groups=assignment.people)
