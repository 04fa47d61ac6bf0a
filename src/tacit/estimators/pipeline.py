"""The whole flow on one screen: read this first. ::

    private records -> disjoint shards -> teachers -> votes
                                                       |  the only door: mechanism + ledger
    public points   -> questions ------------------> answers -> student
                           ^---- chosen in batches ------|

Everything above the door is private. Below it there are only answers that were priced before they
were drawn and recorded before they were returned; a student may look at them to choose what to ask
next. Or teachers do not vote but correct the student, round by round, each with one bounded vector
whose noisy mean goes through the same door (``correct_student``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget, Neighbouring
from tacit.accounting.events import Event
from tacit.data.pool import PublicPool, take
from tacit.data.shards import ShardFolder
from tacit.errors import LedgerError
from tacit.labeling import FilteredService, Labeler, LabellingService, PlannedService
from tacit.labeling.means import PlannedMeans
from tacit.labeling.service import NoiseRule, check_rule, even_plan
from tacit.ledger import Ledger
from tacit.ledger.messages import INSECURE_REFUSED
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource
from tacit.report import PrivacyStatement
from tacit.students.active.base import Strategy
from tacit.students.active.batches import NOTHING, Asked, ask_in_batches
from tacit.students.passive import known_variance, released_labels
from tacit.teachers.corrections.rounds import (
    Corrected,
    CorrectingTeachers,
    Schedule,
    correct_in_rounds,
)
from tacit.teachers.on_shards import count_on_shards
from tacit.teachers.partition import (
    IndexArray,
    equal_split,
    hash_split,
    shard_positions,
    votes_moved,
)
from tacit.teachers.train import train_and_count
from tacit.teachers.workers.checkpoint import KeptVotes


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
class ShardedRecords:
    """Labelled records in files, one per shard, that workers read where they are. Private.

    ``conform`` makes records as they are read into points of the pool.
    """

    shards: ShardFolder
    conform: Callable[[Any], Any]

    def __repr__(self) -> str:
        return "ShardedRecords(<private>)"


@dataclass(frozen=True)
class Terms:
    """How answers may leave: what releases them, within which budget, on which account.

    ``rule`` chooses the noise of every batch anew, within ``budget``; the mechanism then says only
    what kind of answer is given.
    """

    mechanism: VoteMechanism
    budget: Budget
    ledger: Ledger
    key: str
    noise: NoiseSource
    rule: NoiseRule | None = None

    def check(self, planned: int, n_teachers: int) -> None:
        """Refuse, before anything is trained, what the ledger would refuse afterwards."""
        if not self.noise.secure and not self.ledger.allow_insecure:
            raise LedgerError(INSECURE_REFUSED)
        if self.ledger.find_plan(self.key) is not None:
            return  # reserved by an earlier attempt of this run
        if self.rule is None:
            plan = self.mechanism.plan(self.budget.delta, n_teachers=n_teachers)
        else:
            check_rule(self.ledger)
            made = self.mechanism
            plan = even_plan(self.budget, planned, made.n_classes, made.output, n_teachers)
        self.ledger.check_plan(plan)

    def open(self, votes: VoteCounts, names: Sequence[bytes], planned: int) -> LabellingService:
        """Return the service that answers from these votes.

        Its guarantee is reserved now; with a rule, that of every batch before the batch is drawn.
        """
        if self.rule is None:
            labeler = Labeler(
                self.mechanism,
                self.ledger,
                delta=self.budget.delta,
                noise=self.noise,
                n_teachers=votes.n_teachers,
                key=self.key,
            )
            return PlannedService(votes, names, labeler)
        return FilteredService(
            votes,
            names,
            self.rule,
            budget=self.budget,
            planned=planned,
            ledger=self.ledger,
            noise=self.noise,
            output=self.mechanism.output,
            key=self.key,
        )


@dataclass(frozen=True)
class OpenPool:
    """The points of a pool that may be asked about, and the service that answers. Private.

    ``positions`` are rows of the pool; the service counts from 0 along them.
    """

    positions: IndexArray
    service: LabellingService

    def __repr__(self) -> str:
        return f"OpenPool(n_points={len(self.positions)}, votes=<private>)"


@dataclass(frozen=True)
class Released:
    """Everything that left through the door, and which points of the pool it is about. Public.

    ``planned`` is the number of questions the noise was fixed for, ``batches`` says how many each
    batch had, and ``stopped`` why there are no more (see ``Asked``; "caller": no more were wanted).
    """

    positions: IndexArray
    answers: Sequence[Answer]
    guarantee: Budget
    accountant: str
    output: Output
    usage: dict[Event, int]
    planned: int
    batches: tuple[int, ...]
    stopped: str


@dataclass(frozen=True)
class ReleasedVotes:
    """What a fit released, in the form a student learns from. Public, and paid for.

    Parameters
    ----------
    positions : array of int
        Rows of ``X_public`` (of ``X`` when the records' own features were the pool), in the order
        in which they were asked about.
    labels : array of int
        Index in ``classes`` of every released label (for shares: of the largest); -1 if refused.
    shares : array of shape (n_answers, n_classes), or None
        Noisy shares of the vote, when those were released.
    variance : float, or array of length n_answers
        Known variance of every share; one per answer where a rule chose the noise; 0 for labels.
    classes : array
    privacy : PrivacyStatement
        The guarantee of this release.
    batches : tuple of int
        How many questions each batch had.
    """

    positions: IndexArray
    labels: NDArray[np.int64]
    shares: NDArray[np.float64] | None
    variance: float | NDArray[np.float64]
    classes: NDArray[Any]
    privacy: PrivacyStatement
    batches: tuple[int, ...] = ()


def votes_released(
    released: Released, rows: IndexArray | None, classes: NDArray[Any], privacy: PrivacyStatement
) -> ReleasedVotes:
    """Return what was released; ``rows`` says which rows of the records are the pool, if any."""
    answers = released.answers
    shares = released.output is Output.SHARE and len(answers) > 0
    return ReleasedVotes(
        positions=released.positions if rows is None else rows[released.positions],
        labels=released_labels(answers),
        shares=np.array([answer.share for answer in answers]) if shares else None,
        variance=known_variance(answers) if shares else 0.0,
        classes=classes,
        privacy=privacy,
        batches=released.batches,
    )


def ask_teachers(
    records: PrivateRecords | ShardedRecords | VoteCounts,
    pool: PublicPool,
    asked: IndexArray,
    names: Sequence[bytes],
    terms: Terms,
    *,
    learner: Any,
    classes: NDArray[Any],
    n_teachers: int,
    n_questions: int,
    neighbouring: Neighbouring,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    progress: bool | None = None,
    kept: KeptVotes | None = None,
) -> OpenPool:
    """Train teachers on disjoint shards and let them vote on points of the pool.

    Parameters
    ----------
    records : PrivateRecords, ShardedRecords or VoteCounts
        Records in memory, in files, or what teachers elsewhere voted on every point of the pool.
    asked : array of positions
        Which points of the pool may be asked about: all different.
    names : sequence of bytes
        The public names of all points of the pool (``question_keys``).
    n_questions : int
        How many of them will be asked at most.
    kept : KeptVotes, optional
        Votes of teachers that an earlier attempt trained on the same shards. Private.

    Privacy
    -------
    Neighbours: as ``neighbouring`` says; one record (or person) reaches one shard, one teacher and
    at most one vote of every question. Price: what ``terms`` say, which is fixed, and refused
    when it does not fit the ledger, before anything is trained. It is reserved once the teachers
    have voted (with a noise rule: batch by batch), before any noise is drawn: training that was
    interrupted has cost nothing. Nothing is released here.
    """
    terms.check(n_questions, n_teachers)
    if isinstance(records, VoteCounts):
        votes = records[asked]
    else:
        votes = _counted(
            records,
            n_teachers,
            neighbouring,
            rng,
            learner=learner,
            questions=take(pool.points, asked),
            classes=classes,
            n_jobs=n_jobs,
            progress=progress,
            kept=kept,
        )
    return OpenPool(asked, terms.open(votes, [names[place] for place in asked], n_questions))


@dataclass(frozen=True)
class ReleasedCorrections:
    """What a fit in rounds released: one noisy mean correction per round. Public, and paid for.

    Parameters
    ----------
    corrections : array of shape (n_rounds, n_coordinates, n_contrasts)
        In the metric of each round, in units of its radius.
    radii : tuple of float
        What one unit is worth, round by round.
    deviation : float
        Standard deviation of the noise on every number, in the same unit.
    classes : array
    privacy : PrivacyStatement
    """

    corrections: NDArray[np.float64]
    radii: tuple[float, ...]
    deviation: float
    classes: NDArray[Any]
    privacy: PrivacyStatement


def correct_student(
    teachers: CorrectingTeachers,
    pool: NDArray[np.float64],
    n_classes: int,
    schedule: Schedule,
    means: PlannedMeans,
    rng: np.random.Generator,
    *,
    after_round: Callable[[Corrected], None] | None = None,
) -> Corrected:
    """Let teachers correct a student in rounds: each releases one mean through the same door.

    Parameters
    ----------
    teachers : CorrectingTeachers
        Trained on disjoint shards (``split``). Private.
    pool : array
        Public points in the student's coordinates.
    means : PlannedMeans
        Prices and records what leaves; its plan has room for all rounds.

    Privacy
    -------
    Neighbours: one record reaches one shard and one teacher, whose vector of norm one at most may
    become any other. Proof: ``docs/proofs/rounds.md``.
    """
    return correct_in_rounds(
        teachers,
        pool,
        n_classes,
        schedule,
        lambda number, blocks: means.release(b"correction %d" % number, blocks),
        rng,
        after_round=after_round,
    )


def _counted(
    records: PrivateRecords | ShardedRecords,
    n_teachers: int,
    neighbouring: Neighbouring,
    rng: np.random.Generator,
    **how: Any,
) -> VoteCounts:
    """Train a teacher per shard, in memory or where the files are, and count their votes."""
    if isinstance(records, ShardedRecords):
        votes_moved(records.shards.sharding.partition, neighbouring)
        seed = int(rng.integers(2**31))
        return count_on_shards(source=records.shards, conform=records.conform, seed=seed, **how)
    shards = split(records, n_teachers, neighbouring, rng)
    seed = int(rng.integers(2**31))
    return train_and_count(X=records.X, y=records.y, shards=shards, seed=seed, **how)


def release_all(pool: OpenPool) -> Released:
    """Ask about every point at once: PATE-PSQ, [LZCW21] Algorithm 3."""
    answers = pool.service.ask(np.arange(len(pool.positions)))
    # A run that stopped on the way (sparse vector) has answered the first questions.
    reached = len(answers)
    why = "budget" if reached == len(pool.positions) else "service"
    return _released(pool, pool.positions[:reached], answers, len(pool.positions), (reached,), why)


def release_in_batches(
    pool: OpenPool,
    strategy: Strategy,
    coordinates: Any,
    n_questions: int,
    rng: np.random.Generator,
    *,
    planned: int,
    n_batches: int,
    n_classes: int,
    before: Released | None = None,
    after_batch: Callable[[Released], None] | None = None,
) -> Released:
    """Let a student choose what to ask: PATE-ASQ, [LZCW21] Algorithm 5.

    Parameters
    ----------
    strategy : Strategy
        Sees ``coordinates`` (one row per point of the open pool), what was asked and the labels
        that were released. Never the service.
    n_questions, planned : int
        How many are asked in all by the end of this call, and how many the noise was fixed for.
    before : Released, optional
        What was asked earlier; the run goes on from there.
    after_batch : callable, optional
        Called with everything released so far.

    Privacy
    -------
    Which question is asked next is post-processing of released answers; the price of
    ``planned`` answers was fixed before the first (``docs/proofs/active.md``).
    """
    answers: list[Answer] = [] if before is None else list(before.answers)
    start = NOTHING if before is None else _asked(pool, before)

    def ask(positions: IndexArray) -> NDArray[np.int64]:
        given = pool.service.ask(positions)
        answers.extend(given)
        return released_labels(given)

    def so_far(asked: Asked, why: str) -> Released:
        where = pool.positions[asked.positions]
        return _released(pool, where, list(answers), planned, asked.batches, why)

    def told(asked: Asked) -> None:
        if after_batch is not None:
            after_batch(so_far(asked, "caller"))

    found = ask_in_batches(
        strategy,
        coordinates,
        ask,
        n_questions,
        rng,
        n_batches=n_batches,
        n_classes=n_classes,
        start=start,
        after_batch=told,
    )
    unfinished = found.stopped == "budget" and n_questions < planned
    return so_far(found, "caller" if unfinished else found.stopped)


def _asked(pool: OpenPool, before: Released) -> Asked:
    """Return an earlier release in the numbering of the open pool."""
    place = {int(position): number for number, position in enumerate(pool.positions)}
    positions = np.array([place[int(p)] for p in before.positions], dtype=np.intp)
    return Asked(positions, released_labels(before.answers), before.batches, before.stopped)


def _released(
    pool: OpenPool,
    positions: IndexArray,
    answers: Sequence[Answer],
    planned: int,
    batches: tuple[int, ...],
    stopped: str,
) -> Released:
    service = pool.service
    return Released(
        positions,
        answers,
        service.guarantee,
        service.accountant,
        service.output,
        service.usage(),
        planned,
        batches,
        stopped,
    )


def split(
    records: PrivateRecords, n_teachers: int, neighbouring: Neighbouring, rng: np.random.Generator
) -> list[IndexArray]:
    """Return the shards, by the one way of sharding that is proven for the relation."""
    if records.hash_key is not None and records.people is not None:
        votes_moved("hash", neighbouring)
        return shard_positions(hash_split(records.people, n_teachers, records.hash_key), n_teachers)
    votes_moved("equal", neighbouring)
    return equal_split(records.n_records, n_teachers, rng, groups=records.people)


def distinct_points(names: Sequence[bytes]) -> IndexArray:
    """Return where each name occurs first: equal points are one question."""
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    return np.array(sorted(first.values()), dtype=np.intp)


def random_points(names: Sequence[bytes], n_questions: int, rng: np.random.Generator) -> IndexArray:
    """Return positions of distinct points, chosen at random where there are more."""
    distinct = distinct_points(names)
    if n_questions < len(distinct):
        distinct = np.sort(rng.choice(distinct, n_questions, replace=False))
    return distinct
