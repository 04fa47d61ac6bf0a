"""Shards to teachers: kept as an ensemble, or asked at once and thrown away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context, get_config
from tqdm import tqdm

from tacit import _validate
from tacit.datasets.records import n_rows
from tacit.errors import InvalidArgument
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.global_random import kept
from tacit.teachers.kept import KeptVotes
from tacit.teachers.labels import ClassList, IntArray
from tacit.teachers.learner import Recipe, recipe, shard_seed
from tacit.teachers.quiet import Quiet
from tacit.teachers.rows import IndexArray, RowForm, row_access, take
from tacit.teachers.teacher import Teacher, fit_recipe
from tacit.teachers.vote import TeacherEnsemble, add_votes

MOST_SHARDS_PER_TASK = 32
TASKS_PER_WORKER = 8

Shard = tuple[int, Any, Any]
"""Number, records and labels of one shard. Private, but for the number."""

_T = TypeVar("_T")


def train_teachers(
    learner: Any,
    X: Any,
    y: Any,
    shards: Sequence[IndexArray],
    *,
    classes: ArrayLike | Sequence[Any] | ClassList,
    seed: int,
    like: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> TeacherEnsemble:
    """Train one teacher per shard and keep them, for questions that are not known yet.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``
        Copied for every shard, never changed. Try it with ``check_learner`` first.
    X : table
        Records: an array, a sparse matrix, a data frame, a list of texts. Private.
    y : sequence of labels
        One per record, of any type; those not in ``classes`` drop their record. Private.
    shards : sequence of index arrays
        Disjoint, from ``equal_split`` or ``shard_positions``. Their number is public.
    classes : sequence of labels
        Public.
    seed : int
        For the learner's ``random_state``: each shard has an integer seed of its own. Public.
    like : table, optional
        Public points. Data frames with categorical columns need it: the public lists of
        categories replace those of ``X``.
    n_jobs : int, optional
        Workers, through the active joblib backend. Public.
    progress : bool, optional
        Whether to show a bar; by default on a terminal only. It shows how many shards are done.

    Returns
    -------
    TeacherEnsemble
        Private.

    Raises
    ------
    InvalidArgument
        When sizes or forms do not agree or shards overlap; never because of what records hold.

    Privacy
    -------
    Teacher k depends on shard k, ``seed`` and k only. What is said, raised or shown depends on
    public settings. While a learner works inside this process everything printed or logged in
    it is dropped.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tacit.teachers import equal_split
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    >>> shards = equal_split(60, 5, rng)
    >>> teachers = train_teachers(DecisionTreeClassifier(), X, y, shards, classes=[0, 1], seed=1)
    >>> teachers
    TeacherEnsemble(n_teachers=5, learner=DecisionTreeClassifier)
    >>> teachers.count(X[:3])
    VoteCounts(n_questions=3, n_classes=2, n_teachers=5, counts=<private>)
    """
    form = _form(X, like, name="like")
    teachers: list[Teacher | None] = [None] * len(shards)
    task = _Kept(recipe(learner), ClassList(classes), _validate.integer(0, seed=seed))
    for found in over_shards(task, X, y, shards, form, n_jobs=n_jobs, progress=progress):
        for number, teacher in found:
            teachers[number] = teacher
    trained = [teacher for teacher in teachers if teacher is not None]
    return TeacherEnsemble(trained, learner=task.recipe.learner, form=form)


def train_and_count(
    learner: Any,
    X: Any,
    y: Any,
    shards: Sequence[IndexArray],
    questions: Any,
    *,
    classes: ArrayLike | Sequence[Any] | ClassList,
    seed: int,
    n_jobs: int | None = None,
    progress: bool | None = None,
    diagnostics: Diagnostics | None = None,
    kept: KeptVotes | None = None,
) -> VoteCounts:
    """Train one teacher per shard, let it vote on known questions, and forget it.

    Memory does not grow with the number of teachers: votes are added up as they come.

    Parameters
    ----------
    learner, X, y, shards, classes, seed, n_jobs, progress
        As for ``train_teachers``.
    questions : table
        Public points, of the same form as the records.
    diagnostics : Diagnostics, optional
        Receives how often teachers failed. Private.
    kept : KeptVotes, optional
        Where the votes of every teacher are kept, so that a run that was stopped trains only
        the shards it had not come to, or that have changed. Private.

    Returns
    -------
    VoteCounts
        One row per question. Private.

    Raises
    ------
    InvalidArgument
        When sizes or forms do not agree or shards overlap; never because of what records hold.

    Privacy
    -------
    As for ``train_teachers``; every teacher votes once on every question, so one record moves at
    most one vote per question.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tacit.teachers import equal_split
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    >>> shards = equal_split(60, 5, rng)
    >>> train_and_count(LogisticRegression(), X, y, shards, X[:3], classes=[0, 1], seed=1)
    VoteCounts(n_questions=3, n_classes=2, n_teachers=5, counts=<private>)
    """
    form = _form(X, questions, name="questions")
    public = ClassList(classes)
    asked = form.conform(row_access(questions))
    total = np.zeros((n_rows(asked), len(public)), dtype=np.int64)
    if kept is not None:
        voting = _Voted(recipe(learner), public, _validate.integer(0, seed=seed), asked)
        _count_kept(total, voting, X, y, shards, form, kept, n_jobs=n_jobs, progress=progress)
        return VoteCounts(total, len(shards))
    task = _Counted(recipe(learner), public, _validate.integer(0, seed=seed), asked)
    for counts, events in over_shards(task, X, y, shards, form, n_jobs=n_jobs, progress=progress):
        total += counts
        if diagnostics is not None:
            diagnostics.add(events)
    return VoteCounts(total, len(shards))


class _Kept:
    """Trains a few shards and returns their teachers."""

    def __init__(self, ready: Recipe, classes: ClassList, seed: int) -> None:
        self.recipe, self.classes, self.seed = ready, classes, seed

    def __call__(self, shards: Sequence[Shard]) -> list[tuple[int, Teacher]]:
        return [(number, self.fit(number, X, y)) for number, X, y in shards]

    def fit(self, number: int, X: Any, y: Any) -> Teacher:
        return fit_recipe(self.recipe, X, y, self.classes, shard_seed(self.seed, number))


class _Counted:
    """Trains a few shards, one at a time, and returns what they voted together."""

    def __init__(self, ready: Recipe, classes: ClassList, seed: int, questions: Any) -> None:
        self._kept, self._questions = _Kept(ready, classes, seed), questions

    def __call__(self, shards: Sequence[Shard]) -> tuple[IntArray, Counter[str]]:
        counts = np.zeros((n_rows(self._questions), len(self._kept.classes)), dtype=np.int64)
        events: Counter[str] = Counter()
        for number, X, y in shards:
            teacher = self._kept.fit(number, X, y)
            add_votes(counts, teacher.votes(self._questions))
            events.update(teacher.events)
        return counts, events


class _Voted:
    """Trains a few shards, one at a time, and returns what each of them voted."""

    def __init__(self, ready: Recipe, classes: ClassList, seed: int, questions: Any) -> None:
        self._kept, self.questions, self.seed = _Kept(ready, classes, seed), questions, seed

    def __call__(self, shards: Sequence[Shard]) -> dict[int, IntArray]:
        return {n: self._kept.fit(n, X, y).votes(self.questions) for n, X, y in shards}


def _count_kept(
    total: IntArray,
    task: _Voted,
    X: Any,
    y: Any,
    shards: Sequence[IndexArray],
    form: RowForm,
    kept: KeptVotes,
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    """Add up votes, kept ones and new ones; new ones are kept as they come."""
    _check(X, y, shards)
    rows, labels = row_access(X), _labels(y)
    asked = joblib.hash(task.questions)
    marks, missing = {}, []
    for number, shard in enumerate(shards):
        content = joblib.hash((asked, number, task.seed, take(rows, shard), take(labels, shard)))
        marks[number] = str(content).encode()
        votes = kept.load(number, marks[number])
        if votes is None or votes.shape != (len(total),):
            missing.append(number)
        else:
            add_votes(total, votes)
    for found in over_shards(
        task, X, y, shards, form, n_jobs=n_jobs, progress=progress, only=missing
    ):
        kept.save({number: (marks[number], votes) for number, votes in found.items()})
        for votes in found.values():
            add_votes(total, votes)


def _in_silence(
    task: Callable[[Sequence[Shard]], _T], shards: Sequence[Shard], config: dict[str, Any]
) -> tuple[int, _T]:
    """Run one task where the worker is, with scikit-learn configured as in the caller."""
    with config_context(**config), Quiet(), kept():
        return len(shards), task(shards)


def over_shards(
    task: Callable[[Sequence[Shard]], _T],
    X: Any,
    y: Any,
    shards: Sequence[IndexArray],
    form: RowForm,
    *,
    n_jobs: int | None = None,
    progress: bool | None = False,
    only: Sequence[int] | None = None,
) -> Iterator[_T]:
    """Yield what the task makes of batches of shards, in the order in which they finish."""
    _check(X, y, shards)
    X, y, config = row_access(X), _labels(y), get_config()
    numbers = range(len(shards)) if only is None else only
    size = shards_per_task(len(shards), joblib.effective_n_jobs(n_jobs))
    # Workers get the rows of their shards only, cut out when their turn comes.
    tasks = (
        joblib.delayed(_in_silence)(
            task,
            [
                (number, form.conform(take(X, shards[number])), take(y, shards[number]))
                for number in numbers[start : start + size]
            ],
            config,
        )
        for start in range(0, len(numbers), size)
    )
    hidden = None if progress is None else not progress
    done_before = len(shards) - len(numbers)
    with tqdm(
        total=len(shards), initial=done_before, desc="teachers", unit="shard", disable=hidden
    ) as bar:
        # Shards are in batches already: larger ones would leave workers idle at the end.
        parallel = joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
        for done, made in parallel(tasks):
            bar.update(done)
            yield made


def shards_per_task(n_shards: int, n_workers: int) -> int:
    """Return how many shards go in one task: enough to drown overhead, few enough to share."""
    fair = -(-n_shards // (TASKS_PER_WORKER * n_workers))
    return max(1, min(MOST_SHARDS_PER_TASK, fair))


def _form(X: Any, like: Any, *, name: str) -> RowForm:
    if like is None:
        return RowForm(X, public=False)
    form = RowForm(X, public=False)
    form.check(**{name: like})
    return RowForm(like, public=True)


def _labels(y: Any) -> Any:
    """Return labels that can be picked by position, each as it was given."""
    return y.to_numpy() if hasattr(y, "iloc") else y


def _check(X: Any, y: Any, shards: Sequence[IndexArray]) -> None:
    """Refuse arguments that do not fit together; how many records there are is not said."""
    if getattr(y, "ndim", 1) != 1 or n_rows(y) != n_rows(X):
        raise InvalidArgument("`y` must hold one label per record of `X`, in one column.")
    if len(shards) == 0:
        raise InvalidArgument("`shards` must hold at least one shard.")
    # One byte per record, and a stream of shards: no copy of all positions is made.
    seen = np.zeros(n_rows(X), dtype=bool)
    for shard in shards:
        if getattr(shard, "ndim", 0) != 1 or shard.dtype.kind not in "iu":
            raise InvalidArgument("`shards` must be arrays of positions, one per teacher.")
        if len(shard) and (shard.min() < 0 or shard.max() >= len(seen)):
            raise InvalidArgument("`shards` must hold positions of records in `X`.")
        if seen[shard].any():
            raise InvalidArgument(
                "`shards` must be disjoint: a record in two shards would move two votes."
            )
        seen[shard] = True
