"""Settings of a fit in which teachers correct a student, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from tacit import validation
from tacit.accounting.budget import Budget, Neighbouring
from tacit.data.pool import PublicPool, n_rows
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.estimators.methods import Corrections
from tacit.estimators.rules import auto_or_number, number_of_teachers
from tacit.estimators.vote_settings import (
    Sharding,
    are_numbers,
    assumptions_of,
    check_representation,
    is_linear,
    pool_coordinates,
    protected,
)
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.noise import NoiseSource
from tacit.planning.rules import corrections_for
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
from tacit.teachers.corrections.records import ShardRows, shard_rows
from tacit.teachers.corrections.rounds import Corrected, CorrectingTeachers, Schedule
from tacit.teachers.represented import RepresentedRows, represented
from tacit.teachers.rows import IndexArray

_CLIP = {True: 0.35, False: 0.25}
"""Radius over the length of a contribution to first order: built-in teachers and others."""

_TYPICAL = {True: 1.0, False: 0.25}
"""Radius over the length of public teachers' contributions, at most."""

_SHARD_UNKNOWN = 10
"""Nominal size of a shard where the number of records is private."""


@dataclass(frozen=True)
class Correcting:
    """Settings in force. Public.

    ``points`` is the pool as teachers see it, ``pool`` the same points in the student's
    coordinates; ``representation`` comes before those, for the student and, if
    ``teachers_represented``, for teachers.
    """

    learner: Any
    n_teachers: int
    shard_size: int
    schedule: Schedule
    mechanism: ClippedMean
    neighbouring: Neighbouring
    representation: Any
    teachers_represented: bool
    together: bool
    coordinates: Coordinates
    points: PublicPool
    pool: FloatArray
    unit: str
    assumptions: tuple[str, ...]
    chosen: dict[str, Any]
    n_units: int | None

    @property
    def built_in(self) -> bool:
        """Whether teachers are the built-in ones."""
        return self.learner is None

    def teachers(
        self,
        X: Any,
        labels: NDArray[np.int64],
        shards: Sequence[IndexArray],
        rng: np.random.Generator,
        *,
        n_jobs: int | None,
    ) -> CorrectingTeachers:
        """Return the teachers of disjoint shards. Private."""
        n_classes = 1 + self.mechanism.dimension // self.pool.shape[1]
        seed = int(rng.integers(2**31))
        if self.built_in:
            return LogisticCorrections(
                X,
                labels,
                shards,
                self.coordinates,
                self.pool,
                n_classes=n_classes,
                shard_size=self.shard_size,
                together=self.together,
            )
        if self.together and self.teachers_represented:
            X = X[np.arange(n_rows(X))]  # represented once, not in every round
        return LearnerCorrections(
            self.learner,
            X,
            labels,
            shards,
            self.points.points,
            self._rows(X, shards),
            n_classes=n_classes,
            shard_size=self.shard_size,
            seed=seed,
            rng=rng,
            n_jobs=n_jobs,
        )

    def _rows(self, X: Any, shards: Sequence[IndexArray]) -> ShardRows:
        """Return what puts the records of a shard in the student's coordinates. Private."""
        if not self.teachers_represented:
            like = represented(self.representation, self.points.points)
            X = RepresentedRows(X, self.representation, like)
        return shard_rows(X, shards, self.coordinates, together=self.together)

    def student(self, corrected: Corrected, n_classes: int, *, represented: bool) -> Any:
        """Return the public model; ``represented`` says that points come represented already."""
        scores = corrected.weights @ contrasts(n_classes).T
        steps = [] if represented else [self.representation]
        return make_pipeline(
            *steps,
            self.coordinates,
            LinearStudent(scores[:-1].T, scores[-1], np.arange(n_classes)).fit(),
        )

    def __repr__(self) -> str:
        return f"Correcting({self.chosen})"


def resolve_corrections(
    settings: Any,
    corrections: Corrections,
    pool: PublicPool,
    n_records: int,
    names: list[bytes] | None,
    budget: Budget,
    n_classes: int,
    noise: NoiseSource,
    *,
    own_features: bool = False,
) -> tuple[Correcting, Sharding]:
    """Return what is in force. Sees sizes, the pool and the budget; no label, no private value."""
    built_in = settings.learner is None
    neighbouring, n_units, sharding = protected(settings, n_records, names, noise)
    n_teachers = number_of_teachers(
        settings.n_teachers, n_units, lambda n: corrections_for(n, built_in=built_in)[0]
    )
    rounds = _rounds(corrections.rounds, built_in)
    representation, representation_name = _representation(settings, pool)
    in_front = represented(representation, pool.points)
    coordinates = Coordinates().fit(in_front)
    in_coordinates = with_constant(coordinates.transform(in_front))
    see = built_in or _teachers_see_it(settings, pool)
    mechanism = ClippedMean.for_budget(
        budget,
        radius=1.0,
        dimension=in_coordinates.shape[1] * (n_classes - 1),
        n_teachers=n_teachers,
        releases=rounds,
    )
    unit = "record" if names is None else "person"
    size = _SHARD_UNKNOWN if n_units is None else max(1, round(n_units / n_teachers))
    correcting = Correcting(
        learner=settings.learner,
        n_teachers=n_teachers,
        shard_size=size,
        schedule=Schedule(rounds, _CLIP[built_in], _TYPICAL[built_in]),
        mechanism=mechanism,
        neighbouring=neighbouring,
        representation=representation,
        teachers_represented=see,
        together=names is None
        and representation_name.startswith("PoolRepresentation")
        and are_numbers(pool.points),
        coordinates=coordinates,
        points=PublicPool(in_front) if see else pool,
        pool=in_coordinates,
        unit=unit,
        assumptions=assumptions_of(settings, neighbouring, unit, representation, own_features),
        chosen={
            "method": "Corrections",
            "n_teachers": n_teachers,
            "rounds": rounds,
            "mechanism": repr(mechanism),
            "release": "corrections",
            "representation": representation_name,
            "student": "LinearStudent",
            "neighbouring": neighbouring.value,
            "protect": settings.protect,
        },
        n_units=n_units,
    )
    return correcting, sharding


def _rounds(given: Any, built_in: bool) -> int:
    if isinstance(given, str):
        auto_or_number(rounds=given)
        return corrections_for(2, built_in=built_in)[1]
    return validation.positive_integer(rounds=given)


def _representation(settings: Any, pool: PublicPool) -> tuple[Any, str]:
    """Return the transformer in front of the student's coordinates, and its name."""
    given = settings.representation
    check_representation(given)
    if given is not None and not isinstance(given, str):
        return clone(given).fit(pool.points), repr(given)
    return pool_coordinates(pool, PoolRepresentation(scale=LENGTH))


def _teachers_see_it(settings: Any, pool: PublicPool) -> bool:
    """Whether teachers are trained on represented records: linear ones, or if it was chosen."""
    given = settings.representation
    if given is None or not isinstance(given, str):
        return given is not None
    return is_linear(settings.learner) and are_numbers(pool.points)
