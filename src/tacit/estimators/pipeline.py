"""From private records to a public student: the flow of every ``fit``. Read this first. ::

    private records -> disjoint shards -> teachers -> votes, or corrections of the student
                                                       |  the only door: mechanism and ledger
    public points   -> questions ------------------> answers -> student
                           ^---- chosen in batches ------|

Everything above the door is private. Below it there are only answers that were priced before they
were drawn and recorded before they were returned; a student may use them to choose what to ask
next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Budget
from tacit.data import Schema
from tacit.data.pool import PublicPool
from tacit.estimators.correction_settings import CorrectionSettings
from tacit.estimators.corrections import correcting_teachers, release_rounds
from tacit.estimators.inputs import PrivateRecords
from tacit.estimators.query_loop import QueryLoop
from tacit.estimators.releases import Released, ReleasedRounds
from tacit.estimators.resolve import FitSettings
from tacit.estimators.vote_settings import VoteSettings
from tacit.estimators.voting import OpenPool, ReleaseTerms, count_votes, release_all
from tacit.labeling.means import PlannedMeans
from tacit.ledger import Ledger
from tacit.noise import NoiseSource
from tacit.students.fitting import FittedStudent, check_student, fit_student
from tacit.teachers.learner import check_learner
from tacit.teachers.workers.checkpoint import VoteCheckpoint

Publish = Callable[[Released | ReleasedRounds], None]
"""Receives everything released so far, whenever there is more. A failure later keeps it."""


@dataclass(frozen=True, repr=False)
class RunState:
    """What another process needs to resume a run. Private, but for ``key``.

    ``key`` names its plan on the ledger, ``hash_key`` assigns people to shards (add-remove),
    ``votes`` holds the votes of teachers that were trained before, and ``assumptions`` (public)
    what the guarantee rests on for how records were read.
    """

    key: str
    hash_key: bytes | None = None
    votes: VoteCheckpoint | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class RunContext:
    """Where a run takes place: budget and ledger, randomness, workers.

    ``noise`` is privacy noise; ``rng`` drives sharding and training.
    """

    schema: Schema
    classes: NDArray[Any]
    budget: Budget
    ledger: Ledger
    noise: NoiseSource
    rng: np.random.Generator
    state: RunState
    n_jobs: int | None = None
    progress: bool | None = None


@dataclass(frozen=True, repr=False)
class RunResult:
    """The student, and the votes while planned questions are left. The votes are private."""

    student: FittedStudent
    open_questions: QueryLoop | None = None


def run(
    records: PrivateRecords,
    pool: PublicPool,
    settings: FitSettings,
    context: RunContext,
    publish: Publish,
) -> RunResult:
    """Train teachers on disjoint shards, release what they say, fit a student on the release.

    Privacy
    -------
    Neighbours: as in ``settings.protection``. One record (or person) reaches one shard and one
    teacher, so at most one vote of each question, or one bounded vector of each round. Price: that
    of the mechanism's plan, which is fixed, and refused when it does not fit the ledger, before
    anything is trained. It is reserved after training and before any noise is drawn: training that
    was interrupted has cost nothing.
    """
    records = _resumed(records, context.state)
    _check_models(records, pool, settings, context)
    if isinstance(settings, CorrectionSettings):
        return _run_corrections(records, settings, context, publish)
    return _run_votes(records, pool, settings, context, publish)


def _run_votes(
    records: PrivateRecords,
    pool: PublicPool,
    settings: VoteSettings,
    context: RunContext,
    publish: Publish,
) -> RunResult:
    rng, classes, state = context.rng, context.classes, context.state
    positions = settings.candidates(rng)
    terms = ReleaseTerms(
        settings.mechanism,
        context.budget,
        context.ledger,
        key=state.key,
        noise=context.noise,
        rule=settings.noise_rule,
    )
    terms.check(settings.plan(context.budget))
    votes = count_votes(
        records,
        positions,
        settings,
        context.schema,
        classes,
        rng,
        n_jobs=context.n_jobs,
        progress=context.progress,
        checkpoint=state.votes,
    )
    names = [settings.names[position] for position in positions]
    open_pool = OpenPool(positions, terms.open(votes, names, settings.n_questions))
    loop = None
    if settings.strategy is None:
        release = release_all(open_pool)
    else:
        loop = QueryLoop(
            open_pool, settings, pool, len(classes), rng=rng, progress=context.progress
        )
        release = loop.release(publish=publish)
    publish(release)
    return RunResult(student_of(release, pool, settings, len(classes), rng), loop)


def _run_corrections(
    records: PrivateRecords, settings: CorrectionSettings, context: RunContext, publish: Publish
) -> RunResult:
    n_classes, rng = len(context.classes), context.rng
    means = PlannedMeans(
        settings.mechanism,
        context.ledger,
        delta=context.budget.delta,
        noise=context.noise,
        key=context.state.key,
    )
    teachers = correcting_teachers(
        records, settings, context.schema, context.classes, rng, n_jobs=context.n_jobs
    )
    with closing(teachers):
        corrected = release_rounds(
            teachers,
            settings.pool,
            n_classes,
            settings.schedule,
            means,
            rng,
            after_round=publish,
            progress=context.progress,
        )
    return RunResult(FittedStudent(settings.student(corrected, n_classes), n_classes))


def student_of(
    release: Released,
    pool: PublicPool,
    settings: VoteSettings,
    n_classes: int,
    rng: np.random.Generator,
    student: Any = None,
) -> FittedStudent:
    """Return a student of what was released: that of the settings, or another. Free of charge."""
    return fit_student(
        settings.student if student is None else student,
        settings.student_points(pool),
        release,
        n_classes,
        settings.refusals,
        rng,
        represented=settings.represented,
    )


def _check_models(
    records: PrivateRecords,
    pool: PublicPool,
    settings: FitSettings,
    context: RunContext,
) -> None:
    """Try learner and student on public points before anything is spent."""
    if settings.learner is not None and records.votes is None:
        check_learner(settings.learner, settings.points.points, context.classes)
    if isinstance(settings, VoteSettings):
        check_student(settings.student, settings.student_points(pool), len(context.classes))


def _resumed(records: PrivateRecords, state: RunState) -> PrivateRecords:
    """Return records that are assigned to the shards of the earlier attempts of this run."""
    if state.hash_key is None or records.assignment.hash_key is None:
        return records
    return replace(records, assignment=replace(records.assignment, hash_key=state.hash_key))
