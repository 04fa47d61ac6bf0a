"""The whole flow on one screen: read this first. ::

    private records -> disjoint shards -> teachers -> votes
                                                       |  the only door: mechanism + ledger
    public points   -> questions ------------------> answers -> student

Everything above the door is private. Below it there are only answers that were priced before they
were drawn and recorded before they were returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.datasets.records import PublicPool, take
from tacit.labeling import Labeler, question_keys
from tacit.mechanisms.base import VoteMechanism
from tacit.privacy.answer import Answer
from tacit.privacy.budget import Neighbouring
from tacit.privacy.events import Event
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import NoiseSource
from tacit.privacy.plan import Plan
from tacit.teachers.partition import (
    IndexArray,
    equal_split,
    hash_split,
    shard_positions,
    votes_moved,
)
from tacit.teachers.train import train_and_count


@dataclass(frozen=True)
class PrivateRecords:
    """Labelled records, and who they belong to. Private.

    ``people`` has one entry per record: records with the same entry are protected together.
    ``hash_key`` is set when shards are assigned by a keyed hash of ``people`` (add-remove).
    """

    X: Any
    y: Any
    n_records: int
    people: Any | None = None
    hash_key: bytes | None = None

    def __repr__(self) -> str:
        return "PrivateRecords(<private>)"


@dataclass(frozen=True)
class Released:
    """Everything that left through the door, and which points of the pool it is about. Public."""

    positions: IndexArray
    answers: Sequence[Answer]
    plan: Plan
    usage: dict[Event, int]


def release_labels(
    records: PrivateRecords,
    pool: PublicPool,
    *,
    learner: Any,
    classes: NDArray[Any],
    n_teachers: int,
    n_questions: int,
    mechanism: VoteMechanism,
    neighbouring: Neighbouring,
    delta: float,
    ledger: Ledger,
    key: str,
    noise: NoiseSource,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Released:
    """Train teachers on disjoint shards and release their votes on points of the pool.

    Privacy
    -------
    Neighbours: as ``neighbouring`` says; one record (or person) reaches one shard, one teacher and
    at most one vote of every question. Price: the mechanism's plan, reserved on the ledger before
    anything is trained.
    """
    asked, names = _choose(pool, n_questions, rng)
    labeler = Labeler(mechanism, ledger, delta=delta, noise=noise, n_teachers=n_teachers, key=key)
    shards = split(records, n_teachers, neighbouring, rng)
    votes = train_and_count(
        learner,
        records.X,
        records.y,
        shards,
        take(pool.points, asked),
        classes=classes,
        seed=int(rng.integers(2**31)),
        n_jobs=n_jobs,
        progress=progress,
    )
    answers = labeler.ask(votes, names)
    # A run that stopped on the way (sparse vector) has answered the first questions.
    reached = asked[: len(answers)]
    return Released(reached, answers, labeler.plan, ledger.usage(labeler.plan_id))


def split(
    records: PrivateRecords, n_teachers: int, neighbouring: Neighbouring, rng: np.random.Generator
) -> list[IndexArray]:
    """Return the shards, by the one way of sharding that is proven for the relation."""
    if records.hash_key is not None and records.people is not None:
        votes_moved("hash", neighbouring)
        return shard_positions(hash_split(records.people, n_teachers, records.hash_key), n_teachers)
    votes_moved("equal", neighbouring)
    return equal_split(records.n_records, n_teachers, rng, groups=records.people)


def _choose(
    pool: PublicPool, n_questions: int, rng: np.random.Generator
) -> tuple[IndexArray, list[bytes]]:
    """Return positions of distinct points at random, with their names: equal points are one."""
    names = question_keys(pool.points)
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    distinct = np.array(sorted(first.values()), dtype=np.intp)
    if n_questions < len(distinct):
        distinct = np.sort(rng.choice(distinct, n_questions, replace=False))
    return distinct, [names[position] for position in distinct]
