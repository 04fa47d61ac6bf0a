"""Shards of a table to teachers: kept as an ensemble, or asked at once and thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from tacit import validation
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.labels import ClassList
from tacit.teachers.rows import IndexArray, RowForm, row_access, take
from tacit.teachers.vote import TeacherEnsemble
from tacit.teachers.workers.batches import Shard as Shard
from tacit.teachers.workers.batches import TableShards
from tacit.teachers.workers.checkpoint import VoteCheckpoint
from tacit.teachers.workers.gather import gather_teachers, gather_votes
from tacit.teachers.workers.tasks import TrainTask


class Training(TypedDict):
    """What every way of training takes besides learner and records; see ``train_teachers``."""

    classes: ArrayLike | Sequence[Any] | ClassList
    seed: int
    n_jobs: int | None
    progress: bool | None


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
    Teacher k depends on shard k, ``seed`` and k only. Messages, errors and progress depend on
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
    task = TrainTask(learner, ClassList(classes), validation.integer(0, seed=seed))
    teachers = gather_teachers(_table(X, y, shards, form), task, n_jobs=n_jobs, progress=progress)
    return TeacherEnsemble(teachers, learner=task.recipe.learner, form=form)


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
    checkpoint: VoteCheckpoint | None = None,
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
    checkpoint : VoteCheckpoint, optional
        Stores the votes of every teacher, so that an interrupted run trains only the shards
        that are missing or have changed. Private.

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
    public, points = ClassList(classes), form.conform(row_access(questions))
    seed = validation.integer(0, seed=seed)
    table, rows, labels = _table(X, y, shards, form), row_access(X), _labels(y)
    total = gather_votes(
        table,
        learner,
        public,
        seed,
        points,
        checkpoint=checkpoint,
        content=lambda number: (take(rows, shards[number]), take(labels, shards[number])),
        n_jobs=n_jobs,
        progress=progress,
        diagnostics=diagnostics,
    )
    return VoteCounts(total, len(shards))


def _table(X: Any, y: Any, shards: Sequence[IndexArray], form: RowForm) -> TableShards:
    _check(X, y, shards)
    return TableShards(row_access(X), _labels(y), shards, form)


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
    """Refuse arguments that do not fit together; the number of records is not shown."""
    if getattr(y, "ndim", 1) != 1 or n_rows(y) != n_rows(X):
        raise InvalidArgument("`y` must hold one label per record of `X`, in one column.")
    check_shards(X, shards)


def check_shards(X: Any, shards: Sequence[IndexArray]) -> None:
    """Refuse shards that overlap, or that are not positions of records in ``X``."""
    if len(shards) == 0:
        raise InvalidArgument("`shards` must hold at least one shard.")
    # One byte per record, and a stream of shards: no copy of all positions is made.
    in_a_shard = np.zeros(n_rows(X), dtype=bool)
    for shard in shards:
        if getattr(shard, "ndim", 0) != 1 or shard.dtype.kind not in "iu":
            raise InvalidArgument("`shards` must be arrays of positions, one per teacher.")
        if len(shard) and (shard.min() < 0 or shard.max() >= len(in_a_shard)):
            raise InvalidArgument("`shards` must hold positions of records in `X`.")
        if in_a_shard[shard].any():
            raise InvalidArgument(
                "`shards` must be disjoint: a record in two shards would move two votes."
            )
        in_a_shard[shard] = True
