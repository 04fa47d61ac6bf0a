"""How much memory training will need, estimated before it starts from public sizes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from tacit import validation
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.teachers.labels import ClassList
from tacit.teachers.learner import learner_name, recipe, shard_seed
from tacit.teachers.rows import row_access, take
from tacit.teachers.teacher import fit_recipe
from tacit.teachers.workers.executor import shards_per_task
from tacit.teachers.workers.suppress_output import SuppressOutput

_IN_FLIGHT = 3
"""Tasks per worker that hold rows: one at work, two waiting (joblib's default)."""


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that training and counting will need beyond the records. Public.

    Parameters
    ----------
    models : int
        Teachers that exist at a time; all of them when they are kept.
    rows : int
        Rows of shards on their way to workers, and the questions each worker holds.
    counts : int
        Votes counted by each worker and in all.
    """

    models: int
    rows: int
    counts: int

    @property
    def total(self) -> int:
        """All together."""
        return self.models + self.rows + self.counts

    def __str__(self) -> str:
        return f"about {self.total / 2**20:.0f} MiB beyond the records"


def estimate_memory(
    learner: Any,
    X_public: Any,
    *,
    classes: ArrayLike | Sequence[Any] | ClassList,
    n_teachers: int,
    shard_size: int,
    keep: bool,
    n_jobs: int | None = None,
) -> MemoryEstimate:
    """Estimate the memory of ``train_teachers`` or ``train_and_count``.

    One teacher is trained on public points with made-up labels and measured.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``
    X_public : table
        The questions. Public.
    classes : sequence of labels
        Public.
    n_teachers, shard_size : int
        Public; under ``add-remove``, where the number of records is private, a guess.
    keep : bool
        True for ``train_teachers``, False for ``train_and_count``.
    n_jobs : int, optional

    Returns
    -------
    MemoryEstimate

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> points = np.zeros((1000, 10))
    >>> shape = {"classes": [0, 1], "n_teachers": 500, "shard_size": 100}
    >>> few = estimate_memory(GaussianNB(), points, keep=False, **shape)
    >>> all_of_them = estimate_memory(GaussianNB(), points, keep=True, **shape)
    >>> all_of_them.models // few.models
    500
    """
    public = ClassList(classes)
    n_teachers = validation.positive_integer(n_teachers=n_teachers)
    shard_size = validation.positive_integer(shard_size=shard_size)
    n_questions, workers = n_rows(X_public), joblib.effective_n_jobs(n_jobs)
    if n_questions == 0:
        raise InvalidArgument("`X_public` must hold at least one point.")
    points = take(row_access(X_public), np.arange(shard_size) % n_questions)
    row = len(pickle.dumps(points)) / shard_size
    model = _model_bytes(learner, points, public)
    in_flight = shard_size * shards_per_task(n_teachers, workers) * _IN_FLIGHT * workers
    return MemoryEstimate(
        models=model * (n_teachers if keep else workers),
        rows=int(row * (in_flight + n_questions * workers)),
        counts=8 * n_questions * len(public) * (workers + 1),
    )


def _model_bytes(learner: Any, points: Any, classes: ClassList) -> int:
    labels = classes.labels[np.arange(n_rows(points)) % len(classes)]
    with SuppressOutput():
        teacher = fit_recipe(recipe(learner), points, labels, classes, shard_seed(0, 0))
        if teacher.model is None:
            raise InvalidArgument(
                f"`learner` must be able to fit; {learner_name(learner)} failed on public points. "
                "`check_learner` shows why."
            )
        return len(pickle.dumps(teacher.model))
