"""Teachers correct a student in rounds, and a mechanism releases one clipped mean per round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tacit.data import Schema
from tacit.estimators.correction_settings import CorrectionSettings
from tacit.estimators.inputs import PrivateRecords
from tacit.estimators.releases import ReleasedRounds
from tacit.labeling.means import PlannedMeans
from tacit.teachers.corrections.coordinates import FloatArray
from tacit.teachers.corrections.rounds import (
    Corrected,
    CorrectingTeachers,
    Schedule,
    correct_in_rounds,
)
from tacit.teachers.labels import ClassList
from tacit.teachers.partition import votes_moved


def correcting_teachers(
    records: PrivateRecords,
    settings: CorrectionSettings,
    schema: Schema,
    classes: NDArray[Any],
    rng: np.random.Generator,
    *,
    n_jobs: int | None,
) -> CorrectingTeachers:
    """Return one teacher per shard of the records, in memory or in files. Private."""
    neighbouring = settings.protection.neighbouring
    if records.shards is not None:
        votes_moved(records.shards.sharding.partition, neighbouring)
        seen = settings.on_shards(records.shards, schema, classes)
    else:
        shards = records.split(neighbouring, settings.n_teachers, rng)
        labels = ClassList(classes).positions(records.y)
        seen = settings.in_memory(records.X, labels, shards)
    return settings.teachers(seen, rng, n_jobs=n_jobs)


def release_rounds(
    teachers: CorrectingTeachers,
    pool: FloatArray,
    n_classes: int,
    schedule: Schedule,
    means: PlannedMeans,
    rng: np.random.Generator,
    *,
    after_round: Callable[[ReleasedRounds], None] | None = None,
    progress: bool | None = False,
) -> Corrected:
    """Let teachers correct a student; each round releases one mean.

    Parameters
    ----------
    teachers : CorrectingTeachers
        Trained on disjoint shards. Private.
    pool : array
        Public points in the student's coordinates.
    means : PlannedMeans
        Prices and records what leaves; its plan has room for all rounds.
    after_round : callable, optional
        Called with everything released so far.
    progress : bool, optional
        Progress bar; None: when there is a terminal.

    Privacy
    -------
    Neighbours: one record reaches one shard and one teacher, whose vector of norm one at most may
    become any other. Proof: ``docs/proofs/rounds.md``.
    """
    hidden = None if progress is None else not progress
    with tqdm(total=schedule.rounds, desc="corrections", unit="round", disable=hidden) as bar:

        def publish(corrected: Corrected) -> None:
            if after_round is not None:
                after_round(_released(corrected, means, schedule.rounds))
            bar.update(len(corrected.answers) - bar.n)

        return correct_in_rounds(
            teachers,
            pool,
            n_classes,
            schedule,
            lambda number, blocks: means.release(b"correction %d" % number, blocks),
            rng,
            after_round=publish,
        )


def _released(corrected: Corrected, means: PlannedMeans, planned: int) -> ReleasedRounds:
    plan, mechanism = means.plan, means.mechanism
    return ReleasedRounds(
        answers=corrected.answers,
        guarantee=plan.guarantee,
        accountant=plan.accountant,
        usage=means.usage(),
        planned=planned,
        radii=corrected.radii,
        deviation=mechanism.sigma * mechanism.unit,
        standpoints=corrected.standpoints,
    )
