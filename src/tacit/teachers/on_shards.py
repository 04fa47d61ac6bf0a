"""Shards in files to teachers: every worker reads its own, and only votes or models come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from tacit import validation
from tacit.data import Layout, PointReader, Schema
from tacit.data.reader import check_columns
from tacit.errors import InvalidArgument
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.labels import ClassList
from tacit.teachers.rows import RowForm, row_access
from tacit.teachers.vote import TeacherEnsemble
from tacit.teachers.workers.batches import ShardSource, SourceShards
from tacit.teachers.workers.checkpoint import VoteCheckpoint
from tacit.teachers.workers.gather import gather_teachers, gather_votes
from tacit.teachers.workers.tasks import TrainTask


class ShardReader:
    """Converts records of a shard into points of a public schema.

    Parameters
    ----------
    reader : PointReader
    then : callable, optional
        Applied to points of the schema, such as the ``transform`` of a public representation.
    """

    def __init__(self, reader: PointReader, then: Callable[[Any], Any] | None = None) -> None:
        self._reader, self._then = reader, then

    def __call__(self, X: Any) -> Any:
        points = self._reader.records(X)
        if self._reader.schema.layout is Layout.NUMBERS and hasattr(points, "to_numpy"):
            points = points.to_numpy()
        return points if self._then is None else self._then(points)


def count_on_shards(
    learner: Any,
    source: ShardSource,
    questions: Any,
    *,
    classes: ArrayLike | Sequence[Any] | ClassList,
    seed: int,
    conform: Callable[[Any], Any] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    diagnostics: Diagnostics | None = None,
    checkpoint: VoteCheckpoint | None = None,
) -> VoteCounts:
    """Train one teacher per shard where the shard is, let it vote on questions, and forget it.

    Work goes to the active joblib backend: processes of this machine, or a Dask or Ray cluster
    (``joblib.parallel_config``). Every task reads its own shards, one at a time, and returns
    counts, which are added up as they come: the memory of this process grows neither with the
    number of records nor with that of shards.

    Parameters
    ----------
    learner, classes, seed, progress
        As for ``train_teachers``.
    source : ShardSource
        Such as ``tacit.data.shards.open_shards(path)``; at the same place for every worker.
    questions : table
        Public points, with the features of the shards.
    conform : callable, optional
        Makes records as they are read into points like ``questions``. By default both have the
        features of the shards, and records follow the form of ``questions``.
    n_jobs : int, optional
        As in joblib; without one, a cluster is used as a whole.
    diagnostics, checkpoint
        As for ``train_and_count``.

    Returns
    -------
    VoteCounts
        One row per question. Private.

    Raises
    ------
    InvalidArgument
        When the questions have other features than the shards.
    WorkersFailed
        When workers cannot be reached, have other versions, or find no shards at all.

    Privacy
    -------
    Teacher k depends on shard k, ``seed`` and k only. Work that a worker did not finish is sent
    again, with the same seeds; a shard that fails by itself, ``retrying`` times, gets the teacher
    that votes for the first class.
    """
    if conform is None:
        check_features(source, questions=questions)
        conform = ShardReader(PointReader(Schema.infer(questions)))
        questions = conform(questions)
    points = row_access(questions)
    public, seed = ClassList(classes), validation.integer(0, seed=seed)
    shards = SourceShards(source, conform)
    total = gather_votes(
        shards,
        learner,
        public,
        seed,
        points,
        checkpoint=checkpoint,
        content=lambda number: (source.state(number),),
        n_jobs=n_jobs,
        progress=progress,
        diagnostics=diagnostics,
    )
    return VoteCounts(total, len(shards))


def train_on_shards(
    learner: Any,
    source: ShardSource,
    *,
    like: Any,
    classes: ArrayLike | Sequence[Any] | ClassList,
    seed: int,
    schema: Schema | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> TeacherEnsemble:
    """Train one teacher per shard where the shard is, and bring the models back.

    Only for questions that are not known yet, such as those of an oracle: models are larger than
    votes, and this process has to hold them all.

    Parameters
    ----------
    like : table
        Public points, with the features of the shards.
    schema : Schema, optional
        Of records and points; by default what ``like`` shows.
    learner, source, classes, seed, n_jobs, progress
        As for ``count_on_shards``.

    Returns
    -------
    TeacherEnsemble
        Private.

    Privacy
    -------
    As for ``count_on_shards``.
    """
    check_features(source, like=like)
    read = ShardReader(PointReader(schema or Schema.infer(like)))
    task = TrainTask(learner, ClassList(classes), validation.integer(0, seed=seed))
    teachers = gather_teachers(SourceShards(source, read), task, n_jobs=n_jobs, progress=progress)
    return TeacherEnsemble(
        teachers, learner=task.recipe.learner, form=RowForm(read(like), public=True)
    )


def check_features(source: ShardSource, **named: Any) -> None:
    """Refuse points that have other features than the shards."""
    ((name, points),) = named.items()
    names = list(source.feature_names)
    if len(getattr(points, "shape", ())) != 2:
        raise InvalidArgument(
            f"`{name}` must be a table with the {len(names)} features of the shards."
        )
    check_columns(points, names, len(names), name=name, like="the shards")
