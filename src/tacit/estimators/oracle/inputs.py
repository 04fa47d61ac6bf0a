"""What the ``fit`` of an oracle is given, read by a public schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from tacit.accounting.budget import Neighbouring
from tacit.data import PointReader
from tacit.data.pool import n_rows
from tacit.data.shards import ShardFolder
from tacit.estimators.checks import check_teachers, class_list
from tacit.estimators.inputs import PrivateRecords, identifiers, private_labels, refuse_beside
from tacit.estimators.protection import Protection, resolve_protection
from tacit.estimators.schema_checks import record_schema
from tacit.noise import NoiseSource
from tacit.teachers.learner import takes_missing
from tacit.teachers.on_shards import check_features


@dataclass(frozen=True)
class OracleInputs:
    """What ``fit`` was given; ``like`` are public points that show what a point looks like."""

    records: PrivateRecords
    like: Any
    classes: NDArray[Any]
    protection: Protection


def oracle_reader(oracle: Any, X: Any, y: Any, groups: Any, X_public: Any) -> PointReader:
    """Return what converts points: by the schema of the shards, given, or of the records."""
    if isinstance(X, ShardFolder):
        refuse_beside(X, y, X_public, groups)
        schema = X.sharding.schema
    else:
        schema = record_schema(oracle.schema, X, X_public)
    return PointReader(schema, missing=takes_missing(oracle.learner))


def read_oracle_inputs(
    oracle: Any,
    neighbouring: Neighbouring,
    X: Any,
    y: Any,
    groups: Any,
    X_public: Any,
    reader: PointReader,
    noise: NoiseSource,
) -> OracleInputs:
    """Return records, public points, classes and protection of a fit. Private."""
    if isinstance(X, ShardFolder):
        check_teachers(oracle.n_teachers, X.n_shards, "the number of shards")
        check_features(X, X_public=X_public)
        records = PrivateRecords(shards=X)
    else:
        points = reader.records(X)
        labels = private_labels(y, n_rows(points))
        records = PrivateRecords(points, labels, identifiers(groups, n_rows(points)))
    classes = class_list(oracle.classes)
    protection, assignment = resolve_protection(
        neighbouring, records.n_records, records.people, noise, records.existing_teachers
    )
    like = None if X_public is None else reader.questions(X_public)
    return OracleInputs(replace(records, assignment=assignment), like, classes, protection)
