"""Gather what workers make of shards: teachers, or votes added up as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import joblib
import numpy as np
from tqdm import tqdm

from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.labels import ClassList, IntArray
from tacit.teachers.teacher import Teacher
from tacit.teachers.vote import add_votes
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.batches import Shards
from tacit.teachers.workers.checkpoint import VoteCheckpoint
from tacit.teachers.workers.executor import ShardExecutor, Task
from tacit.teachers.workers.tasks import CountTask, TrainTask, VoteTask

_T = TypeVar("_T")


def gather_teachers(
    shards: Shards, task: TrainTask, *, n_jobs: int | None, progress: bool | None
) -> list[Teacher]:
    """Return one teacher per shard, in the order of the shards. Private."""
    teachers = [Teacher(task.classes)] * len(shards)
    for batch in gather(task, shards, range(len(shards)), n_jobs=n_jobs, progress=progress):
        for number, teacher in batch:
            teachers[number] = teacher
    return teachers


def gather_votes(
    shards: Shards,
    learner: Any,
    classes: ClassList,
    seed: int,
    questions: Any,
    *,
    checkpoint: VoteCheckpoint | None,
    content: Callable[[int], tuple[Any, ...]],
    n_jobs: int | None,
    progress: bool | None,
    diagnostics: Diagnostics | None,
) -> IntArray:
    """Return the votes of one teacher per shard, counted. Private.

    Votes that the checkpoint holds are not computed again: ``content`` returns what the votes of
    one shard depend on besides the other arguments.
    """
    if checkpoint is None:
        counting = CountTask(learner, classes, seed, questions)
        return gather_counts(
            shards, counting, n_jobs=n_jobs, progress=progress, diagnostics=diagnostics
        )
    questions_hash = joblib.hash(questions)

    def mark(number: int) -> bytes:
        return str(joblib.hash((questions_hash, number, seed, *content(number)))).encode()

    voting = VoteTask(learner, classes, seed, questions)
    return gather_with_checkpoint(
        shards, voting, checkpoint, mark, n_jobs=n_jobs, progress=progress
    )


def gather_counts(
    shards: Shards,
    task: CountTask,
    *,
    n_jobs: int | None,
    progress: bool | None,
    diagnostics: Diagnostics | None = None,
) -> IntArray:
    """Return the counts of all shards. Private."""
    total = np.zeros(task.shape, dtype=np.int64)
    for counts, events in gather(
        task, shards, range(len(shards)), n_jobs=n_jobs, progress=progress
    ):
        total += counts
        if diagnostics is not None:
            diagnostics.add(events)
    return total


def gather_with_checkpoint(
    shards: Shards,
    task: VoteTask,
    checkpoint: VoteCheckpoint,
    mark: Callable[[int], bytes],
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> IntArray:
    """Return the counts of stored votes and new ones; new ones are stored as they come. Private."""
    total = np.zeros(task.shape, dtype=np.int64)
    marks, missing = {}, []
    for number in range(len(shards)):
        marks[number] = mark(number)
        votes = checkpoint.load(number, marks[number])
        if votes is None or votes.shape != (len(total),):
            missing.append(number)
        else:
            add_votes(total, votes)
    for batch in gather(task, shards, missing, n_jobs=n_jobs, progress=progress):
        checkpoint.save({number: (marks[number], votes) for number, votes in batch.items()})
        for votes in batch.values():
            add_votes(total, votes)
    return total


def gather(
    task: Task[_T],
    shards: Shards,
    numbers: Sequence[int],
    *,
    n_jobs: int | None = None,
    progress: bool | None,
    backend: Backend | None = None,
) -> Iterator[_T]:
    """Yield what the task makes of batches of shards, in the order in which they finish.

    A ``backend`` stays open for the next task; without one, workers are shut down at the end.
    """
    hidden = None if progress is None else not progress
    done_before = len(shards) - len(numbers)
    with tqdm(
        total=len(shards), initial=done_before, desc="teachers", unit="shard", disable=hidden
    ) as bar:
        for n_done, result in ShardExecutor(task, shards, n_jobs=n_jobs, backend=backend).results(
            numbers
        ):
            bar.update(n_done)
            yield result
