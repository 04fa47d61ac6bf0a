"""Teachers that keep part of their own shard aside, and how often they err on it.

[BTT18] Remark 1 sets aside part of the data to find out how often teachers err. Here every teacher
sets aside part of *its own shard*: a changed record then changes one teacher's rate and nobody
else's. One model tested on held-out records would not do: a changed record could change the model,
and with it every prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.teachers.global_random import preserve_global_random
from tacit.teachers.labels import UNKNOWN, ClassList
from tacit.teachers.rows import IndexArray, row_access, take
from tacit.teachers.train import train_teachers
from tacit.teachers.vote import TeacherEnsemble
from tacit.teachers.workers.suppress_output import SuppressOutput

RATE_WITHOUT_RECORDS = 1.0
"""What a teacher with nothing to be tested on contributes: fixed, so that no error reveals it."""


def train_and_test(
    learner: Any,
    X: Any,
    y: Any,
    shards: Sequence[IndexArray],
    *,
    classes: ArrayLike | Sequence[Any] | ClassList,
    seed: int,
    holdout: float = 0.2,
    like: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[TeacherEnsemble, NDArray[np.float64]]:
    """Train a teacher on most of every shard and test it on the rest.

    Parameters
    ----------
    learner, X, y, shards, classes, seed, like, n_jobs, progress
        As for ``train_teachers``.
    holdout : float
        Part of every shard that is kept aside. Public.

    Returns
    -------
    teachers : TeacherEnsemble
        Private.
    rates : array of shape (n_teachers,)
        How often each erred on what it had kept aside, in [0, 1]. Private.

    Privacy
    -------
    Teacher k and rate k depend on shard k, ``seed`` and k only.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tacit.teachers import equal_split
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)); y = (X[:, 0] > 0).astype(int)
    >>> shards = equal_split(500, 10, rng)
    >>> teachers, rates = train_and_test(
    ...     LogisticRegression(), X, y, shards, classes=[0, 1], seed=1
    ... )
    >>> rates.shape
    (10,)
    """
    validation.probability(holdout=holdout)
    seed = validation.integer(0, seed=seed)
    parts = [_parted(shard, seed, number, holdout) for number, shard in enumerate(shards)]
    teachers = train_teachers(
        learner, X, y, [train for train, _ in parts], classes=classes, seed=seed, like=like,
        n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    return teachers, _rates(teachers, row_access(X), y, [test for _, test in parts])


def _parted(
    shard: IndexArray, seed: int, number: int, holdout: float
) -> tuple[IndexArray, IndexArray]:
    """Return the records to train on and those to test on: from the shard's size alone."""
    order = np.random.default_rng([seed, number, 1]).permutation(len(shard))
    aside = min(len(shard) - 1, max(1, round(holdout * len(shard)))) if len(shard) > 1 else 0
    return np.sort(shard[order[aside:]]), np.sort(shard[order[:aside]])


def _rates(
    teachers: TeacherEnsemble, X: Any, y: Any, tests: Sequence[IndexArray]
) -> NDArray[np.float64]:
    labels = y.to_numpy() if hasattr(y, "iloc") else y
    rates = np.empty(len(tests))
    with SuppressOutput(), preserve_global_random():
        for number, (teacher, test) in enumerate(
            zip(teachers.private_teachers(), tests, strict=True)
        ):
            rates[number] = RATE_WITHOUT_RECORDS
            truth = teachers.classes.positions(take(labels, test))
            has_class = truth != UNKNOWN
            if has_class.any():
                points = teachers._form.conform(take(X, test[has_class]))
                rates[number] = float(np.mean(teacher.votes(points) != truth[has_class]))
    return rates
