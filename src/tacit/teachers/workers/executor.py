"""Run work on shards in joblib workers, and account for every shard.

Workers come and go: one is killed, a disk fails on one node, another node hangs. Joblib's backend
does the scheduling; here is only what is done about calls that did not come back. They are sent
again, in halves, until what is left is a single shard that fails all by itself: its teacher then
is the one that votes for the first class, because the number of teachers is public. A shard's fate
is decided while it runs alone, under settings that are public: were it decided among others, one
record could change two votes.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import joblib
from sklearn import config_context, get_config

from tacit.errors import TacitError, WorkersFailed
from tacit.teachers.global_random import preserve_global_random
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.batches import Batch, RowBatch, Shard, Shards
from tacit.teachers.workers.retrying import Retrying, in_force
from tacit.teachers.workers.suppress_output import SuppressOutput
from tacit.teachers.workers.versions import differing, refuse_differing

MOST_SHARDS_PER_TASK = 32
TASKS_PER_WORKER = 8

PAUSE_AFTER_UNREAD = 1.0
"""Seconds a worker waits that could not read: a node that fails fast must not draw all the work."""

FIRST_TRIED = 8
"""How many workers at most get a task without shards first. Every task checks its worker anyway."""

SHORTEST_PATIENCE_TO_START = 60.0
"""Seconds a cluster has at least for a call that does nothing."""

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Task(Protocol[_T_co]):
    """What is done with a few shards at a time. Travels to workers: public, but for results."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions a worker must have."""

    @property
    def when_lost(self) -> str:
        """What teachers of shards that nobody could read do, in words."""

    def __call__(self, shards: Batch) -> _T_co:
        """Work through the shards, one at a time."""

    def lost(self, numbers: Sequence[int]) -> _T_co:
        """Return what stands for shards that no worker could finish."""


@dataclass(frozen=True, repr=False)
class _TaskResult(Generic[_T]):
    """What came back from a worker. Private, but for the numbers."""

    numbers: tuple[int, ...]
    unread: tuple[int, ...]
    value: _T


def _work(
    task: Task[_T], numbers: tuple[int, ...], batch: Batch, config: dict[str, Any]
) -> _TaskResult[_T] | dict[str, tuple[str, str]]:
    """Run one task where the worker is, with scikit-learn configured as in the caller.

    A worker of other versions touches nothing and returns what differs.
    """
    differences = differing(task.versions)
    if differences:
        return differences
    with config_context(**config), SuppressOutput(), preserve_global_random():
        try:
            result = task(batch)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # is sent again, as after any other failure
            raise RuntimeError(type(error).__name__) from None
    if batch.unread:
        time.sleep(PAUSE_AFTER_UNREAD)
    return _TaskResult(numbers, tuple(batch.unread), result)


@dataclass
class _Group:
    """Shards that are sent out together, and where they are."""

    numbers: tuple[int, ...]
    per_task: int
    sent: set[int] = field(default_factory=set)
    back: set[int] = field(default_factory=set)

    @property
    def alone(self) -> bool:
        return len(self.numbers) == 1

    def missing(self) -> tuple[list[int], list[int]]:
        """Return those that were under way when the group broke, and those never sent."""
        left = [number for number in self.numbers if number not in self.back]
        away = [number for number in left if number in self.sent]
        if not away:  # it broke before anything was sent
            return left, []
        return away, [number for number in left if number not in self.sent]


class ShardExecutor(Generic[_T]):
    """Runs a task on shards with the active joblib backend.

    Parameters
    ----------
    task : Task
    shards : Shards
    n_jobs : int, optional
        As in joblib.
    backend : Backend, optional
        Workers that stay for the next task; the caller closes it.

    Privacy
    -------
    What a teacher votes depends on its shard alone, also when faults happen, provided they are not
    caused by other shards' records; a shard is given up only when it failed by itself. Nothing
    that a worker raised is shown: it may quote records. How many shards cannot be *read* is
    public, as with every private file, and is said; how many failed otherwise is not.
    """

    def __init__(
        self,
        task: Task[_T],
        shards: Shards,
        *,
        n_jobs: int | None = None,
        backend: Backend | None = None,
    ) -> None:
        self._task, self._shards = task, shards
        self._closes = backend is None
        self._backend = Backend(n_jobs) if backend is None else backend
        self._how: Retrying = in_force()
        self._patience = self._how.patience
        self._tries: Counter[int] = Counter()
        self._reads: Counter[int] = Counter()

    def results(self, numbers: Sequence[int]) -> Iterator[tuple[int, _T]]:
        """Yield how many shards were finished, and what was made of them, as they come."""
        try:
            with closing(self._results(numbers)) as results:
                yield from results
        finally:
            if self._closes:
                self._backend.close()

    def _results(self, numbers: Sequence[int]) -> Generator[tuple[int, _T], None, None]:
        if self._backend.remote and not self._backend.tried:
            self._try_without_shards()
            self._backend.tried = True
        groups = deque([_Group(tuple(numbers), self._per_task())] if numbers else [])
        unreadable: list[int] = []
        while groups:
            group = groups.popleft()
            unread: list[int] = []
            try:
                with closing(self._sent(group)) as sent:
                    for completed in sent:
                        group.back.update(completed.numbers)
                        unread += completed.unread
                        yield len(completed.numbers) - len(completed.unread), completed.value
            except TacitError:
                raise
            except Exception as error:
                self._try_without_shards()
                away, unsent = group.missing()
                groups.extend(self._resend(group, away, unsent, timed_out=_is_timeout(error)))
                yield from self._lost([n for n in away if self._spent(self._tries[n])])
            self._reads.update(unread)
            unreadable += [number for number in unread if self._spent(self._reads[number])]
            later = tuple(number for number in unread if not self._spent(self._reads[number]))
            if later:
                groups.append(_Group(later, 1))
        self._warn_unreadable(unreadable, len(numbers))
        yield from self._lost(unreadable)

    def _per_task(self) -> int:
        return shards_per_task(len(self._shards), self._backend.n_workers)

    def _sent(self, group: _Group) -> Generator[_TaskResult[_T], None, None]:
        config = get_config()
        # What alone decides over a shard must not depend on how long others took.
        patience = self._patience
        if group.alone:
            patience = self._how.patience * 2 ** self._tries[group.numbers[0]]

        other: dict[str, tuple[str, str]] = {}

        def calls() -> Iterator[Any]:
            for start in range(0, len(group.numbers), group.per_task):
                if other:
                    return
                some = group.numbers[start : start + group.per_task]
                group.sent.update(some)
                yield joblib.delayed(_work)(self._task, some, self._shards.batch(some), config)

        try:
            with closing(self._backend.results(calls(), patience=patience)) as results:
                for result in results:
                    if isinstance(result, _TaskResult):
                        yield result
                    else:
                        # What is under way is waited for: joblib's own workers may print the
                        # traceback of a thread (a KeyError in loky) where work is thrown away.
                        other.update(result)
        except Exception:
            if not other:
                raise
        if other:
            refuse_differing(other)

    def _resend(
        self, group: _Group, away: list[int], unsent: list[int], *, timed_out: bool
    ) -> Iterator[_Group]:
        """Yield what to send again after a group broke: those never sent, the others in halves."""
        if unsent:
            yield _Group(tuple(unsent), group.per_task)
        if group.alone:
            self._tries.update(away)
            if not self._spent(self._tries[away[0]]):
                yield _Group(tuple(away), 1)
            return
        if timed_out:
            self._patience *= 2
        middle = (len(away) + 1) // 2
        for half in (away[:middle], away[middle:]):
            if half:
                yield _Group(tuple(half), 1)

    def _spent(self, tries: int) -> bool:
        return tries >= self._how.attempts

    def _lost(self, numbers: list[int]) -> Iterator[tuple[int, _T]]:
        if numbers:
            yield len(numbers), self._task.lost(numbers)

    def _try_without_shards(self) -> None:
        """Send the task without any shard: whatever fails now is public, and is raised."""
        nothing: list[Shard] = []
        call = joblib.delayed(_work)(self._task, (), RowBatch(nothing), get_config())
        patience = max(SHORTEST_PATIENCE_TO_START, self._how.patience)
        n_trial_tasks = min(FIRST_TRIED, self._backend.n_workers)
        try:
            results = list(self._backend.results(iter([call] * n_trial_tasks), patience=patience))
        except Exception as error:
            raise WorkersFailed(
                "Workers of the active joblib backend cannot do a task without any records: "
                f"{type(error).__name__}: {error} They need the packages of this process, and "
                "the learner must be one that can be sent (pickled)."
            ) from error
        for one in results:
            if not isinstance(one, _TaskResult):
                refuse_differing(one)

    def _warn_unreadable(self, unreadable: list[int], n_shards: int) -> None:
        if not unreadable:
            return
        if len(unreadable) == n_shards:
            raise WorkersFailed(
                f"None of {n_shards} shards could be read where the workers are. The folder must "
                "be at the same place on every node, unchanged, and belong to the user who runs "
                "them."
            )
        warnings.warn(
            f"{len(unreadable)} of {n_shards} shards could not be read by any worker that tried, "
            f"{self._how.attempts} times each: their teachers {self._task.when_lost}.",
            UserWarning,
            stacklevel=2,
        )


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError | multiprocessing.TimeoutError)


def shards_per_task(n_shards: int, n_workers: int) -> int:
    """Return how many shards go in one task: enough to drown overhead, few enough to share."""
    fair = -(-n_shards // (TASKS_PER_WORKER * n_workers))
    return max(1, min(MOST_SHARDS_PER_TASK, fair))
