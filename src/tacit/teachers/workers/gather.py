"""Gather what workers make of shards: teachers, or votes added up as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from tqdm import tqdm

from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.labels import IntArray
from tacit.teachers.teacher import Teacher
from tacit.teachers.vote import add_votes
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.batches import Shards
from tacit.teachers.workers.checkpoint import KeptVotes
from tacit.teachers.workers.executor import Carrier, Task
from tacit.teachers.workers.tasks import Counted, Kept, Voted

_T = TypeVar("_T")


def gather_teachers(
    shards: Shards, task: Kept, *, n_jobs: int | None, progress: bool | None
) -> list[Teacher]:
    """Return one teacher per shard, in the order of the shards. Private."""
    teachers = [Teacher(task.classes)] * len(shards)
    for found in gather(task, shards, range(len(shards)), n_jobs=n_jobs, progress=progress):
        for number, teacher in found:
            teachers[number] = teacher
    return teachers


def gather_counts(
    shards: Shards,
    task: Counted,
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


def gather_kept_counts(
    shards: Shards,
    task: Voted,
    kept: KeptVotes,
    mark: Callable[[int], bytes],
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> IntArray:
    """Return the counts of kept votes and new ones; new ones are kept as they come. Private."""
    total = np.zeros(task.shape, dtype=np.int64)
    marks, missing = {}, []
    for number in range(len(shards)):
        marks[number] = mark(number)
        votes = kept.load(number, marks[number])
        if votes is None or votes.shape != (len(total),):
            missing.append(number)
        else:
            add_votes(total, votes)
    for found in gather(task, shards, missing, n_jobs=n_jobs, progress=progress):
        kept.save({number: (marks[number], votes) for number, votes in found.items()})
        for votes in found.values():
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

    A ``backend`` stays open for the next task; without one, workers are let go of at the end.
    """
    hidden = None if progress is None else not progress
    done_before = len(shards) - len(numbers)
    with tqdm(
        total=len(shards), initial=done_before, desc="teachers", unit="shard", disable=hidden
    ) as bar:
        for done, made in Carrier(task, shards, n_jobs=n_jobs, backend=backend).results(numbers):
            bar.update(done)
            yield made
