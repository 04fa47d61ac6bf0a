"""Teachers vote on points of the pool, and a mechanism releases the votes question by question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.data import PointReader, Schema
from tacit.data.pool import take
from tacit.estimators.inputs import PrivateRecords
from tacit.estimators.releases import Released
from tacit.estimators.vote_settings import VoteSettings
from tacit.labeling import FilteredPoolLabeler, Labeler, PlannedPoolLabeler, PoolLabeler
from tacit.labeling.pool import NoiseRule, check_rule
from tacit.ledger import Ledger
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource
from tacit.students.active.base import Strategy
from tacit.students.active.batches import NOTHING, QueryHistory, ask_in_batches
from tacit.students.passive import released_labels
from tacit.teachers.on_shards import ShardReader, count_on_shards
from tacit.teachers.partition import IndexArray, votes_moved
from tacit.teachers.represented import RepresentedRows, represented
from tacit.teachers.train import Training, train_and_count
from tacit.teachers.workers.checkpoint import VoteCheckpoint


@dataclass(frozen=True)
class ReleaseTerms:
    """How answers may leave: which mechanism, within which budget, on which ledger.

    ``rule`` chooses the noise of each batch within ``budget``; the mechanism then decides only
    what kind of answer is given.
    """

    mechanism: VoteMechanism
    budget: Budget
    ledger: Ledger
    key: str
    noise: NoiseSource
    rule: NoiseRule | None = None

    def check(self, plan: Plan) -> None:
        """Refuse, before anything is trained, what the ledger would refuse afterwards."""
        self.ledger.check_noise(self.noise)
        if self.ledger.find_plan(self.key) is not None:
            return  # reserved by an earlier attempt of this run
        if self.rule is not None:
            check_rule(self.ledger)
        self.ledger.check_plan(plan)

    def open(self, votes: VoteCounts, names: Sequence[bytes], planned: int) -> PoolLabeler:
        """Return the service that answers from these votes.

        Its guarantee is reserved now; with a rule, that of each batch before the batch is drawn.
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
            return PlannedPoolLabeler(votes, names, labeler)
        return FilteredPoolLabeler(
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
    service: PoolLabeler

    def __repr__(self) -> str:
        return f"OpenPool(n_points={len(self.positions)}, votes=<private>)"


def count_votes(
    records: PrivateRecords,
    positions: IndexArray,
    settings: VoteSettings,
    schema: Schema,
    classes: NDArray[Any],
    rng: np.random.Generator,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: VoteCheckpoint | None = None,
) -> VoteCounts:
    """Train one teacher per shard and count their votes on points of the pool. Private.

    Parameters
    ----------
    records : PrivateRecords
        In memory, in files, or what teachers elsewhere voted on every point of the pool.
    positions : array
        Which points of the pool they vote on: all different.
    checkpoint : VoteCheckpoint, optional
        Votes of teachers that an earlier attempt trained on the same shards. Private.

    Privacy
    -------
    One record, or person, reaches one shard, one teacher and at most one vote of every question.
    Nothing is released here.
    """
    if records.votes is not None:
        return records.votes[positions]
    neighbouring, representation = settings.protection.neighbouring, settings.representation
    source, shards = records.shards, []
    if source is None:
        shards = records.split(neighbouring, settings.n_teachers, rng)
    else:
        votes_moved(source.sharding.partition, neighbouring)
    questions = take(settings.points.points, positions)
    training = Training(
        classes=classes, seed=int(rng.integers(2**31)), n_jobs=n_jobs, progress=progress
    )
    if source is not None:
        transform = None if representation is None else partial(represented, representation)
        reader = ShardReader(PointReader(schema), transform)
        return count_on_shards(
            settings.learner, source, questions, conform=reader, checkpoint=checkpoint, **training
        )
    X = records.X
    if representation is not None:
        X = RepresentedRows(X, representation, settings.points.points)
    return train_and_count(
        settings.learner, X, records.y, shards, questions, checkpoint=checkpoint, **training
    )


def release_all(pool: OpenPool) -> Released:
    """Ask about every point at once: PATE-PSQ, [LZCW21] Algorithm 3."""
    answers = pool.service.ask(np.arange(len(pool.positions)))
    # A mechanism that stopped early (sparse vector) has answered the first questions.
    n_answers = len(answers)
    stopped = "budget" if n_answers == len(pool.positions) else "service"
    positions = pool.positions[:n_answers]
    return _released(pool, positions, answers, len(pool.positions), (n_answers,), stopped)


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
        Sees ``coordinates`` (one row per point of the open pool), the questions asked so far and
        the labels that were released. Never the service.
    n_questions, planned : int
        The total number of questions by the end of this call, and the number the noise was fixed
        for.
    before : Released, optional
        Answers of an earlier call; the run continues from there.
    after_batch : callable, optional
        Called with everything released so far.

    Privacy
    -------
    Which question is asked next is post-processing of released answers; the price of
    ``planned`` answers was fixed before the first (``docs/proofs/active.md``).
    """
    answers: list[Answer] = [] if before is None else list(before.answers)

    def ask(positions: IndexArray) -> NDArray[np.int64]:
        batch = pool.service.ask(positions)
        answers.extend(batch)
        return released_labels(batch)

    def release(state: QueryHistory, stopped: str) -> Released:
        positions = pool.positions[state.positions]
        return _released(pool, positions, list(answers), planned, state.batches, stopped)

    state = ask_in_batches(
        strategy,
        coordinates,
        ask,
        n_questions,
        rng,
        n_batches=n_batches,
        n_classes=n_classes,
        start=NOTHING if before is None else _renumbered(pool, before),
        after_batch=None
        if after_batch is None
        else lambda so_far: after_batch(release(so_far, "caller")),
    )
    unfinished = state.stopped == "budget" and n_questions < planned
    return release(state, "caller" if unfinished else state.stopped)


def _renumbered(pool: OpenPool, release: Released) -> QueryHistory:
    """Return an earlier release in the numbering of the open pool."""
    number = {int(position): index for index, position in enumerate(pool.positions)}
    positions = np.array([number[int(position)] for position in release.positions], dtype=np.intp)
    return QueryHistory(
        positions, released_labels(release.answers), release.batches, release.stopped
    )


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
        answers=answers,
        guarantee=service.guarantee,
        accountant=service.accountant,
        usage=service.usage(),
        planned=planned,
        positions=positions,
        output=service.output,
        batches=batches,
        stopped=stopped,
    )
