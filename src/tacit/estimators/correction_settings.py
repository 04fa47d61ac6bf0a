"""Settings of a fit in which teachers correct a student, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.data import PointReader, Schema
from tacit.data.pool import PublicPool, n_rows
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.representations.encoding import is_table
from tacit.estimators.assumptions import fit_assumptions
from tacit.estimators.checks import number_of_teachers
from tacit.estimators.learner_kinds import is_linear
from tacit.estimators.methods import Corrections
from tacit.estimators.protection import Protection
from tacit.estimators.representation import (
    fit_representation,
    is_chosen,
    representation_name,
)
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.planning.rules import coordinates_for, corrections_for
from tacit.students.linear import LinearStudent
from tacit.teachers.corrections.coordinates import (
    LENGTH,
    Coordinates,
    FloatArray,
    contrasts,
    with_constant,
)
from tacit.teachers.corrections.learners import LearnerCorrections
from tacit.teachers.corrections.logistic import LogisticCorrections
from tacit.teachers.corrections.records import (
    CorrectionRecords,
    RecordsInMemory,
    RecordsOnShards,
)
from tacit.teachers.corrections.rounds import Corrected, CorrectingTeachers, Schedule
from tacit.teachers.labels import ClassList
from tacit.teachers.on_shards import ShardReader
from tacit.teachers.represented import RepresentedRows, ShardTransform, represented
from tacit.teachers.rows import IndexArray, RowForm
from tacit.teachers.workers.batches import ShardSource

_CLIP = {True: 0.35, False: 0.25}
"""Radius over the length of a contribution to first order: built-in teachers and others."""

_TYPICAL = {True: 1.0, False: 0.25}
"""Radius over the length of public teachers' contributions, at most."""

_MOST_LINEAR = 150
_FLATTEN = 0.25
"""Steps and kernels of rare values are weak directions of the pool, and tell most."""

_SHARD_UNKNOWN = 10
"""Nominal size of a shard of records in memory, where their number is private."""

_SHARD_IN_FILES = 1000
"""Nominal size of a shard in files. Steps made for smaller shards go astray on larger ones; steps
made for larger ones are short and average more, which costs little."""


@dataclass(frozen=True)
class CorrectionSettings:
    """Settings in force for a fit in rounds of corrections. Public.

    ``points`` is the pool as teachers see it, ``pool`` the same points in the student's
    coordinates. ``representation`` is applied before those coordinates, for the student and, if
    ``teachers_represented``, for teachers; ``represented`` is True when the caller chose it.
    ``together`` says that all records may be transformed at once, rather than shard by shard.
    """

    learner: Any
    n_teachers: int
    shard_size: int
    schedule: Schedule
    mechanism: ClippedMean
    protection: Protection
    representation: Any
    represented: bool
    teachers_represented: bool
    together: bool
    coordinates: Coordinates
    points: PublicPool
    pool: FloatArray
    assumptions: tuple[str, ...]

    @property
    def chosen(self) -> dict[str, Any]:
        """What every "auto" chose, in the form that is shown."""
        return {
            "method": "Corrections",
            "n_teachers": self.n_teachers,
            "rounds": self.schedule.rounds,
            "shard_size": self.shard_size,
            "mechanism": repr(self.mechanism),
            "release": "corrections",
            "representation": representation_name(self.representation, chosen=self.represented),
            "student": "LinearStudent",
            "neighbouring": self.protection.neighbouring.value,
            "protect": self.protection.protect,
        }

    def plan(self, budget: Budget) -> Plan:
        """Return the plan that the ledger must have room for."""
        return self.mechanism.plan(budget.delta)

    @property
    def built_in(self) -> bool:
        """Whether teachers are the built-in ones."""
        return self.learner is None

    def in_memory(
        self, X: Any, labels: NDArray[np.int64], shards: Sequence[IndexArray]
    ) -> CorrectionRecords:
        """Return records of this process as the student and teachers see them. Private."""
        transformed = RepresentedRows(X, self.representation, self._transformed_points)
        seen = None
        if not self.teachers_represented:
            seen = X
        elif self.together and not self.built_in:
            transformed = transformed[np.arange(n_rows(X))]  # once, not in every round
        return RecordsInMemory(
            transformed,
            labels,
            shards,
            self.coordinates,
            seen=seen,
            form=RowForm(self.points.points, public=True),
            together=self.together,
        )

    def on_shards(
        self, source: ShardSource, schema: Schema, classes: NDArray[Any]
    ) -> CorrectionRecords:
        """Return records in files as the student and teachers see them. Private."""
        return RecordsOnShards(
            source,
            ShardReader(PointReader(schema)),
            ClassList(classes),
            self.coordinates,
            ShardTransform(self.representation, self._transformed_points),
            transformed=self.teachers_represented,
        )

    @property
    def _transformed_points(self) -> Any:
        if self.teachers_represented:
            return self.points.points
        return represented(self.representation, self.points.points)

    def teachers(
        self, records: CorrectionRecords, rng: np.random.Generator, *, n_jobs: int | None
    ) -> CorrectingTeachers:
        """Return the teachers of disjoint shards. Private."""
        seed = int(rng.integers(2**31))
        sizes: dict[str, Any] = {
            "n_classes": 1 + self.mechanism.dimension // self.pool.shape[1],
            "shard_size": self.shard_size,
            "n_jobs": n_jobs,
        }
        if self.built_in:
            return LogisticCorrections(records, self.pool, **sizes)
        return LearnerCorrections(
            self.learner, records, self.points.points, seed=seed, rng=rng, **sizes
        )

    def student(self, corrected: Corrected, n_classes: int) -> Any:
        """Return the public model."""
        scores = corrected.weights @ contrasts(n_classes).T
        # Points come represented already where the caller chose the representation.
        steps = [] if self.represented else [self.representation]
        return make_pipeline(
            *steps,
            self.coordinates,
            LinearStudent(scores[:-1].T, scores[-1], np.arange(n_classes)).fit(),
        )

    def __repr__(self) -> str:
        return f"CorrectionSettings({self.chosen})"


def resolve_corrections(
    settings: Any,
    corrections: Corrections,
    pool: PublicPool,
    protection: Protection,
    budget: Budget,
    n_classes: int,
    own_features: bool,
    input_assumptions: tuple[str, ...],
) -> CorrectionSettings:
    """Return the settings in force. Uses sizes, the pool and the budget; no private value."""
    built_in = settings.learner is None
    n_units, existing = protection.n_units, protection.existing
    n_teachers = number_of_teachers(
        settings.n_teachers if existing is None else existing.n_teachers,
        n_units,
        lambda n: corrections_for(n, built_in=built_in)[0],
    )
    rounds = _rounds(corrections.rounds, built_in)
    shard_size = _shard_size(corrections.shard_size, protection, n_teachers)
    representation = fit_representation(
        settings.representation,
        pool,
        _automatic(
            coordinates_for(n_teachers, budget.epsilon),
            curved=built_in and settings.representation is not None and is_table(pool.points),
        ),
    )
    transformed = represented(representation, pool.points)
    coordinates = Coordinates().fit(transformed)
    in_coordinates = with_constant(coordinates.transform(transformed))
    teachers_represented = built_in or _teachers_see_it(settings)
    mechanism = ClippedMean.for_budget(
        budget,
        radius=1.0,
        dimension=in_coordinates.shape[1] * (n_classes - 1),
        n_teachers=n_teachers,
        releases=rounds,
    )
    return CorrectionSettings(
        learner=settings.learner,
        n_teachers=n_teachers,
        shard_size=shard_size,
        schedule=Schedule(rounds, _CLIP[built_in], _TYPICAL[built_in]),
        mechanism=mechanism,
        protection=protection,
        representation=representation,
        represented=is_chosen(settings.representation),
        teachers_represented=teachers_represented,
        together=protection.unit == "record" and isinstance(representation, PoolRepresentation),
        coordinates=coordinates,
        points=PublicPool(transformed) if teachers_represented else pool,
        pool=in_coordinates,
        assumptions=fit_assumptions(
            settings.ledger, protection, representation, own_features, input_assumptions
        ),
    )


def _automatic(n_coordinates: int, *, curved: bool) -> PoolRepresentation:
    """Return a representation in which a student bends, or one in which it is linear."""
    if curved:
        return PoolRepresentation(n_coordinates, scale=LENGTH, flatten=_FLATTEN, curved=True)
    return PoolRepresentation(min(n_coordinates, _MOST_LINEAR), scale=LENGTH)


def _rounds(rounds: Any, built_in: bool) -> int:
    if isinstance(rounds, str):
        validation.auto_or_number(rounds=rounds)
        return corrections_for(2, built_in=built_in)[1]
    return validation.positive_integer(rounds=rounds)


def _shard_size(shard_size: Any, protection: Protection, n_teachers: int) -> int:
    """Return about how many records a teacher has, from public facts alone."""
    if not isinstance(shard_size, str):
        return validation.positive_integer(shard_size=shard_size)
    validation.auto_or_number(shard_size=shard_size)
    if protection.n_units is not None:
        return max(1, round(protection.n_units / n_teachers))
    return _SHARD_UNKNOWN if protection.existing is None else _SHARD_IN_FILES


def _teachers_see_it(settings: Any) -> bool:
    """Whether teachers are trained on represented records: linear ones, or if it was chosen."""
    if settings.representation is None:
        return False
    return is_chosen(settings.representation) or is_linear(settings.learner)
