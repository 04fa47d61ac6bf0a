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
from tacit.errors import LedgerError
from tacit.labeling import Labeler, question_keys
from tacit.mechanisms.base import VoteMechanism
from tacit.privacy.answer import Answer, Output
from tacit.privacy.budget import Neighbouring
from tacit.privacy.events import Event
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.words import INSECURE_REFUSED
from tacit.privacy.noise import NoiseSource
from tacit.privacy.plan import Plan
from tacit.report import PrivacyStatement
from tacit.students.passive import released_labels
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


@dataclass(frozen=True)
class ReleasedVotes:
    """What a fit released, in the form a student learns from. Public, and paid for.

    Parameters
    ----------
    positions : array of int
        Rows of ``X_public`` (of ``X`` when the records' own features were the pool).
    labels : array of int
        Index in ``classes`` of every released label (for shares: of the largest); -1 if refused.
    shares : array of shape (n_answers, n_classes), or None
        Noisy shares of the vote, when those were released.
    variance : float
        Known variance of every share; 0 for labels.
    classes : array
    privacy : PrivacyStatement
        The guarantee of this release.
    """

    positions: IndexArray
    labels: NDArray[np.int64]
    shares: NDArray[np.float64] | None
    variance: float
    classes: NDArray[Any]
    privacy: PrivacyStatement


def votes_released(
    released: Released, rows: IndexArray | None, classes: NDArray[Any], privacy: PrivacyStatement
) -> ReleasedVotes:
    """Return what was released; ``rows`` says which rows of the records are the pool, if any."""
    answers = released.answers
    shares = released.plan.output is Output.SHARE and len(answers) > 0
    return ReleasedVotes(
        positions=released.positions if rows is None else rows[released.positions],
        labels=released_labels(answers),
        shares=np.array([answer.share for answer in answers]) if shares else None,
        variance=answers[0].variance if shares else 0.0,
        classes=classes,
        privacy=privacy,
    )


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
    names: Sequence[bytes] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Released:
    """Train teachers on disjoint shards and release their votes on points of the pool.

    Privacy
    -------
    Neighbours: as ``neighbouring`` says; one record (or person) reaches one shard, one teacher and
    at most one vote of every question. Price: the mechanism's plan, which is fixed, and refused
    when it does not fit the ledger, before anything is trained. It is reserved once the teachers
    have voted, before any noise is drawn: training that was interrupted has cost nothing.

    ``names`` are the public names of the points (``question_keys``) where they are known already.
    """
    asked, questions = _choose(names or question_keys(pool.points), n_questions, rng)
    _check_affordable(ledger, mechanism.plan(delta, n_teachers=n_teachers), noise)
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
    labeler = Labeler(mechanism, ledger, delta=delta, noise=noise, n_teachers=n_teachers, key=key)
    answers = labeler.ask(votes, questions)
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


def _check_affordable(ledger: Ledger, plan: Plan, noise: NoiseSource) -> None:
    """Refuse, before anything is trained, what the ledger would refuse afterwards."""
    if not noise.secure and not ledger.allow_insecure:
        raise LedgerError(INSECURE_REFUSED)
    ledger.check_plan(plan)


def distinct_points(names: Sequence[bytes]) -> IndexArray:
    """Return where each name occurs first: equal points are one question."""
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    return np.array(sorted(first.values()), dtype=np.intp)


def _choose(
    names: Sequence[bytes], n_questions: int, rng: np.random.Generator
) -> tuple[IndexArray, list[bytes]]:
    """Return positions of distinct points at random, with their names."""
    distinct = distinct_points(names)
    if n_questions < len(distinct):
        distinct = np.sort(rng.choice(distinct, n_questions, replace=False))
    return distinct, [names[position] for position in distinct]
