"""What ``fit`` is given, read by a public schema: for the classifier and the oracle alike.

Which error is raised, and its message, depends on public facts only: the class of a container, its
dimensions, the names of its columns and, under ``replace``, its number of rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from tacit.accounting.budget import Neighbouring
from tacit.data import Layout
from tacit.data.cells import texts
from tacit.data.containers import as_container, cells_of, columns_in, is_sparse
from tacit.data.identifiers import identifier_bytes
from tacit.data.pool import PublicPool, n_rows, take
from tacit.data.reader import refuse_scalar
from tacit.data.shards import ShardFolder
from tacit.errors import InvalidArgument
from tacit.estimators.checks import check_teachers, class_list
from tacit.estimators.protection import ExistingTeachers, InputKind, ShardAssignment, split
from tacit.estimators.schema_checks import (
    check_same_kind,
    checked_points,
    public_schema,
    refuse_infinite,
)
from tacit.labeling.external_votes import ExternalVotes
from tacit.mechanisms.counts import VoteCounts
from tacit.planning.rules import pool_part
from tacit.teachers.on_shards import check_features
from tacit.teachers.partition import IndexArray


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
        check_same_kind(X, points, estimator.schema_)
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
    check_teachers(estimator.n_teachers, shards.n_shards, "the number of shards")
    estimator.schema_ = shards.sharding.schema
    check_features(shards, X_public=points)
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
        refuse_infinite(points)
    return PublicPool(checked_points(estimator, points, reset=reset, name="X_public"))


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


def identifiers(groups: Any, n_records: int) -> list[bytes] | None:
    """Return the identifier of each record as bytes; equal identifiers give equal bytes."""
    if groups is None:
        return None
    if len(getattr(groups, "shape", (0,))) != 1 or n_rows(groups) != n_records:
        raise InvalidArgument("`groups` must hold one identifier per record of `X`.")
    return [identifier_bytes(one) for one in texts(cells_of(groups))]
