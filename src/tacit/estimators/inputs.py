"""What ``fit`` is given, read by a public schema: for the classifier and the oracle alike.

Which error is raised, and its message, depends on public facts only: the class of a container, its
dimensions, the names of its columns and, under ``replace``, its number of rows.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from tacit.accounting.budget import Neighbouring
from tacit.data import Column, Layout, PointReader, Schema
from tacit.data.cells import texts
from tacit.data.containers import (
    as_container,
    cells_of,
    columns_in,
    is_frame,
    is_sparse,
    is_table,
)
from tacit.data.identifiers import identifier_bytes
from tacit.data.pool import PublicPool, n_rows, take
from tacit.data.reader import first_names, refuse_scalar
from tacit.data.shards import ShardFolder
from tacit.errors import InvalidArgument
from tacit.estimators.checks import relation_of
from tacit.estimators.protection import ExistingTeachers, InputKind, ShardAssignment, split
from tacit.labeling.external_votes import ExternalVotes
from tacit.mechanisms.counts import VoteCounts
from tacit.planning.rules import pool_part
from tacit.teachers.labels import ClassList
from tacit.teachers.partition import IndexArray, votes_moved


def source_of(X: Any) -> InputKind:
    """Return what kind of private input was given."""
    if isinstance(X, ShardFolder):
        return "shards"
    return "votes" if isinstance(X, ExternalVotes) else "records"


@dataclass(frozen=True)
class PrivateRecords:
    """Records, labels and identifiers, converted by the public schema. Private.

    Records, labels and identifiers are None where ``shards`` in files hold them, or where
    ``votes`` were counted elsewhere. ``assignment`` decides which shard a record goes to.
    """

    X: Any = None
    y: NDArray[Any] | None = None
    people: list[bytes] | None = None
    shards: ShardFolder | None = None
    votes: VoteCounts | None = None
    assignment: ShardAssignment = ShardAssignment()

    @property
    def n_records(self) -> int:
        """The number of records in the memory of this process."""
        return 0 if self.X is None else n_rows(self.X)

    @property
    def existing_teachers(self) -> ExistingTeachers | None:
        """Teachers that exist before the fit, if any."""
        if self.shards is not None:
            return ExistingTeachers.of_shards(self.shards.n_shards)
        if self.votes is not None:
            return ExistingTeachers.elsewhere(self.votes.n_teachers)
        return None

    def split(
        self, neighbouring: Neighbouring, n_teachers: int, rng: np.random.Generator
    ) -> list[IndexArray]:
        """Return the positions of the records of each shard."""
        return split(self.n_records, self.assignment, neighbouring, n_teachers, rng)

    def __repr__(self) -> str:
        return "PrivateRecords(<private>)"


@dataclass(frozen=True)
class Inputs:
    """What a classifier is fitted on. ``rows`` are the rows that the pool was made of, if any.

    These are rows of the records where their own features are the pool, or rows of ``X_public``
    that were voted on elsewhere; None when the whole of ``X_public`` is the pool.
    """

    records: PrivateRecords
    pool: PublicPool
    rows: NDArray[Any] | None = None


# ---- a classifier's fit --------------------------------------------------------------------------


def read_inputs(
    estimator: Any, X: Any, y: Any, X_public: Any, groups: Any, rng: np.random.Generator
) -> Inputs:
    """Read what a fit was given: records, shards of them in files, or votes counted elsewhere.

    Sets ``schema_``, ``classes_`` and scikit-learn's own attributes.
    """
    if isinstance(X, ShardFolder | ExternalVotes):
        refuse_beside(X, y, X_public, groups)
        points = PublicPool(X_public).points
        if isinstance(X, ShardFolder):
            return _of_shards(estimator, X, points)
        return _of_votes(estimator, X, points)
    return _of_records(estimator, X, y, X_public, groups, rng)


def _of_records(
    estimator: Any, X: Any, y: Any, X_public: Any, groups: Any, rng: np.random.Generator
) -> Inputs:
    refuse_scalar(X, "X")
    X, y = as_container(X), as_container(y)
    points = None
    if X_public is not None:
        points = PublicPool(X_public).points
        _refuse_sliced(estimator, X, X_public, groups)
    # Where labels alone are protected, the features of the records are public.
    if points is None:
        estimator.schema_ = public_schema(estimator.schema, X, "X")
    else:
        estimator.schema_ = public_schema(estimator.schema, points)
        _check_same_kind(X, points, estimator.schema_)
    X = checked_points(estimator, X, reset=True)
    labels = private_labels(y, n_rows(X))
    estimator.classes_ = estimator._class_list(y)
    people = identifiers(groups, n_rows(X))
    if points is not None:
        pool = _pool(estimator, points, reset=False)
        return Inputs(PrivateRecords(X, labels, people), pool)
    order, part = rng.permutation(n_rows(X)), pool_part(n_rows(X))
    questions, others = np.sort(order[:part]), np.sort(order[part:])
    people = None if people is None else [people[position] for position in others]
    records = PrivateRecords(take(X, others), take(labels, others), people)
    return Inputs(records, PublicPool(take(X, questions)), questions)


def _of_shards(estimator: Any, shards: ShardFolder, points: Any) -> Inputs:
    check_shards(estimator, shards)
    estimator.schema_ = shards.sharding.schema
    check_features(points, shards)
    estimator.classes_ = class_list(estimator.classes)
    return Inputs(PrivateRecords(shards=shards), _pool(estimator, points, reset=True))


def _of_votes(estimator: Any, votes: ExternalVotes, points: Any) -> Inputs:
    check_teachers(estimator.n_teachers, votes.counts.n_teachers, "those who voted")
    rows = votes.rows_in(points)
    estimator.schema_ = public_schema(estimator.schema, points)
    pool = _pool(estimator, points, reset=True)
    estimator.classes_ = class_list(estimator.classes)
    counts = votes.counts_of(estimator.classes_.tolist())
    return Inputs(PrivateRecords(votes=counts), PublicPool(take(pool.points, rows)), rows)


def _pool(estimator: Any, points: Any, *, reset: bool) -> PublicPool:
    """Return the public points given, whose values may be checked and shown."""
    if estimator.schema_.layout is Layout.NUMBERS:
        _refuse_infinite(points)
    return PublicPool(checked_points(estimator, points, reset=reset, name="X_public"))


def checked_points(estimator: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return points converted by the schema; only what is public about them is checked."""
    if not reset and getattr(X, "ndim", None) == 2:
        validate_data(estimator, X, reset=False, skip_check_array=True)  # its words for widths
    reader = PointReader(estimator.schema_)
    table = reader.records(X, name)
    if reader.schema.layout is Layout.NUMBERS:
        return validate_data(
            estimator,
            table,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,  # how many there are may be private; too few are refused later
        )
    validate_data(estimator, table, reset=reset, skip_check_array=True)
    return table


def _refuse_sliced(estimator: Any, X: Any, X_public: Any, groups: Any) -> None:
    if isinstance(X_public, PublicPool):
        return
    if groups is None and estimator.neighbouring != Neighbouring.ADD_REMOVE:
        if n_rows(X_public) == n_rows(X):
            raise InvalidArgument(
                "`X_public` has as many rows as X: cross-validation would cut it along with "
                "the records. If that is meant, pass PublicPool(X_public)."
            )
    # How many records people have is private, so here lengths are not compared.
    elif estimator.get_metadata_routing().fit.requests.get("X_public"):
        raise InvalidArgument(
            "`X_public` must be a PublicPool when records have groups and cross-validation "
            "passes it on: it could be cut along with the records. "
            "Pass PublicPool(X_public)."
        )


# ---- shared with the oracle ----------------------------------------------------------------------


def public_schema(schema: Any, points: Any, name: str = "X_public") -> Schema:
    """Return the schema given by the caller, or the one that public points show."""
    if schema is None:
        return Schema.infer(points, name)
    if not isinstance(schema, Schema):
        raise InvalidArgument(f"`schema` must be a tacit.Schema, got a {type(schema).__name__}.")
    return schema


def record_schema(schema: Any, X: Any, X_public: Any) -> Schema:
    """Return the schema of records that may come without public points.

    Then every column holds numbers, whatever the records hold: kinds and categories read off
    private records would be shared by all teachers. Column names and their number are public.
    """
    refuse_scalar(X, "X")
    if schema is not None or X_public is not None:
        public = public_schema(schema, X_public)
        if X_public is not None:
            _check_same_kind(X, X_public, public)
        return public
    if is_frame(X):
        return Schema(tuple(Column(name) for name in _names(X)), Layout.NUMBERS)
    if isinstance(X, list | tuple):
        raise InvalidArgument(
            "`X` must be an array, a sparse matrix or a data frame when there are no public points "
            "(`X_public`) and no `schema`: how long a row of a list is, is private."
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidArgument(
            "`X` must be a table with one row per point. Reshape your data: "
            "array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one point. Texts "
            "and other objects need public points of their kind: fit(X, y, X_public=...)."
        )
    return Schema.of_numbers(X.shape[1], sparse=hasattr(X, "tocsr"))


def _names(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _check_same_kind(X: Any, points: Any, schema: Schema) -> None:
    """Check that records and public points are containers of one kind."""
    if schema.layout is Layout.TEXTS:
        if getattr(X, "ndim", 1) != 1:
            raise InvalidArgument(
                "`X_public` must be points like the records of `X`: it holds texts, and `X` is a "
                "table."
            )
        return
    if schema.layout is Layout.FRAME and not is_frame(X):
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a data frame with columns "
            f"other than numbers, and `X` is a {type(X).__name__}. Give both as data frames."
        )
    if getattr(X, "ndim", 2) == 1 and is_table(points):
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a table, and `X` "
            "has one dimension. Reshape your data, or give texts in both."
        )
    names = _names(X) if is_frame(X) and is_frame(points) else None
    if names is not None and _names(points) != names:
        missing = [one for one in names if one not in _names(points)]
        extra = [one for one in _names(points) if one not in names]
        raise InvalidArgument(
            "`X_public` must have the columns of `X`, in the same order: feature names should "
            f"match. Missing: {first_names(missing)}. Not in `X`: {first_names(extra)}."
        )
    shapes: list[Any] = [getattr(one, "shape", ()) for one in (X, points)]
    if all(len(one) == 2 for one in shapes) and shapes[0][1] != shapes[1][1]:
        raise InvalidArgument(
            f"`X_public` must have as many columns as `X`, {shapes[0][1]}, got {shapes[1][1]}."
        )


def check_features(points: Any, shards: ShardFolder) -> None:
    """Check that public points have the features of shards in files."""
    expected = list(shards.feature_names)
    width = len(_names(points)) if is_frame(points) else getattr(points, "shape", (0, 0))[-1]
    if is_frame(points) and _names(points) != expected:
        missing = [one for one in expected if one not in _names(points)]
        extra = [one for one in _names(points) if one not in expected]
        raise InvalidArgument(
            "`X_public` must have the columns of `X`, in the same order: feature names should "
            f"match. Missing: {first_names(missing)}. Not in `X`: {first_names(extra)}."
        )
    if width != len(expected):
        raise InvalidArgument(
            f"`X_public` must have as many columns as `X`, {len(expected)}, got {width}."
        )


def refuse_beside(X: ShardFolder | ExternalVotes, y: Any, X_public: Any, groups: Any) -> None:
    """Refuse labels and identifiers beside shards or votes, and demand public points."""
    source = "shards, which hold labels and identifiers"
    if isinstance(X, ExternalVotes):
        source = "votes, which were counted already"
    for name, value in (("y", y), ("groups", groups)):
        if value is not None:
            raise InvalidArgument(f"`{name}` must be left out with {source}.")
    if X_public is None:
        raise InvalidArgument("`X_public` must be given: public points like the records.")


def check_shards(estimator: Any, shards: ShardFolder) -> Neighbouring:
    """Return the relation of shards in files; another, or another number, is refused."""
    relation = relation_of(
        estimator.protect, estimator.neighbouring, grouped=True, n_teachers=shards.n_shards
    )
    votes_moved(shards.sharding.partition, relation)
    check_teachers(estimator.n_teachers, shards.n_shards, "the number of shards")
    return relation


def check_teachers(setting: Any, n_teachers: int, source: str) -> None:
    """Refuse another number of teachers than there are."""
    if setting not in ("auto", n_teachers):
        raise InvalidArgument(
            f'`n_teachers` must be "auto" or {n_teachers}, {source}, got {setting!r}.'
        )


# ---- labels, classes, identifiers ----------------------------------------------------------------


def private_labels(y: Any, n_records: int) -> Any:
    """Return the canonical text of private labels, one per record; None where there is none."""
    if y is None:
        raise InvalidArgument(
            "`y` must be given: it requires y to be passed, but the target y is None."
        )
    if is_sparse(y):
        raise InvalidArgument("`y` must hold one label per record of `X`, and is a sparse matrix.")
    shape = tuple(getattr(y, "shape", (len(y),) if hasattr(type(y), "__len__") else ()))
    if len(shape) == 2 and shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the "
            "shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y, shape = columns_in(y)[0], shape[:1]
    if shape != (n_records,):
        raise InvalidArgument("`y` must hold one label per record of `X`, in one column.")
    return np.array([*texts(cells_of(y)), None], dtype=object)[:-1]


def class_list(classes: Any) -> NDArray[Any]:
    """Return the sorted list of classes, which must be public."""
    if classes is None:
        raise InvalidArgument(
            "`classes` must list the possible labels, got None. They must be public: reading "
            "them from private labels could reveal a record."
        )
    # Sorted, as everything in scikit-learn that reads a column of probabilities expects.
    return np.sort(ClassList(classes).labels)


def identifiers(groups: Any, n_records: int) -> list[bytes] | None:
    """Return the identifier of each record as bytes; equal identifiers give equal bytes."""
    if groups is None:
        return None
    if len(getattr(groups, "shape", (0,))) != 1 or n_rows(groups) != n_records:
        raise InvalidArgument("`groups` must hold one identifier per record of `X`.")
    return [identifier_bytes(one) for one in texts(cells_of(groups))]


# ---- public points and settings ------------------------------------------------------------------


def _refuse_infinite(points: Any) -> None:
    """Refuse an infinite number among public points."""
    if hasattr(points, "tocoo"):
        table = points.tocoo()
        bad = np.isinf(table.data) if table.dtype.kind == "f" else np.zeros(0, dtype=bool)
        rows, columns = table.row[: len(bad)][bad], table.col[: len(bad)][bad]
    else:
        array = points.to_numpy() if hasattr(points, "to_numpy") else np.asarray(points)
        if array.dtype.kind != "f":
            return
        rows, columns = np.nonzero(np.isinf(array))
    if len(rows):
        raise InvalidArgument(
            "`X_public` must hold finite or missing numbers, got an infinite one in row "
            f"{rows[0]}, column {columns[0]} (counted from 0). Remove the point or mark it "
            "missing (NaN)."
        )


def workers(n_jobs: Any) -> int | None:
    """Return a number of workers as joblib takes it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InvalidArgument(
            f"`n_jobs` must be None or an integer other than 0 (-1: all cores), got {n_jobs!r}."
        )
    return int(n_jobs)


def generator(random_state: Any) -> np.random.Generator:
    """Return what drives sharding and training."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"`random_state` must be None or an integer, 0 or more, got {random_state!r}."
        ) from None
