"""A fit in rounds, once its settings are known: teachers correct a student."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tacit.estimators.correction_settings import Correcting
from tacit.estimators.inputs import Inputs
from tacit.estimators.opening import private_records
from tacit.estimators.pipeline import ReleasedCorrections, correct_student, split
from tacit.estimators.vote_settings import Sharding
from tacit.labeling.means import PlannedMeans
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.report import PrivacyStatement
from tacit.teachers.corrections.rounds import Corrected
from tacit.teachers.labels import ClassList
from tacit.teachers.learner import check_learner


def correct(
    inputs: Inputs,
    how: Correcting,
    classes: NDArray[Any],
    sharding: Sharding,
    means: PlannedMeans,
    rng: np.random.Generator,
    *,
    after_round: Callable[[Corrected], None],
    n_jobs: int | None,
    progress: bool | None,
) -> Corrected:
    """Train teachers on disjoint shards and let them correct a student, with a bar."""
    if not how.built_in:
        check_learner(how.learner, how.points.points, classes)
    seen = how.representation if how.teachers_represented else None
    records = private_records(inputs, sharding, seen, how.points.points)
    shards = split(records, how.n_teachers, how.neighbouring, rng)
    labels = ClassList(classes).positions(inputs.y)
    teachers = how.teachers(records.X, labels, shards, rng, n_jobs=n_jobs)
    hidden = None if progress is None else not progress
    with tqdm(total=how.schedule.rounds, desc="corrections", unit="round", disable=hidden) as bar:

        def told(so_far: Corrected) -> None:
            after_round(so_far)
            bar.update(len(so_far.answers) - bar.n)

        return correct_student(
            teachers, how.pool, len(classes), how.schedule, means, rng, after_round=told
        )


def corrections_released(
    corrected: Corrected,
    mechanism: ClippedMean,
    privacy: PrivacyStatement,
    classes: NDArray[Any],
) -> ReleasedCorrections:
    """Return the corrections as numbers."""
    shape = (len(corrected.answers), -1, len(classes) - 1)
    return ReleasedCorrections(
        corrections=np.array([answer.share for answer in corrected.answers]).reshape(shape),
        radii=corrected.radii,
        deviation=mechanism.sigma * mechanism.unit,
        classes=classes,
        privacy=privacy,
    )
