"""Read what a classifier's fit was given: private records and public points, in one form.

Messages tell what is public about the input (kind, width, names), never a private value, and which
error is raised does not depend on one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from tacit import _validate
from tacit._inputs import (
    Voters,
    check_columns,
    check_same_kind,
    class_list,
    identifiers,
    private_labels,
    refuse_infinite,
    refuse_other_kind,
    refuse_plain,
)
from tacit.datasets.form import Kind, PointForm
from tacit.datasets.records import PublicPool, n_rows, take
from tacit.errors import InvalidArgument
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.budget import Neighbouring
from tacit.shards import ShardFolder
from tacit.theory.rules import pool_part


@dataclass(frozen=True)
class Inputs:
    """Records, labels, identifiers and pool, all in the form of the public points. Private.

    ``rows`` says which records the pool was made of, or which points of it were voted on
    elsewhere; None when the pool was given, and is asked about. Records, labels and identifiers
    are None where ``shards`` hold them, or ``votes`` were counted already.
    """

    X: Any
    y: NDArray[Any] | None
    people: list[bytes] | None
    pool: PublicPool
    rows: NDArray[Any] | None
    shards: ShardFolder | None = None
    votes: VoteCounts | None = None

    @property
    def n_records(self) -> int | None:
        """How many records there are, where this process holds them."""
        return None if self.X is None else n_rows(self.X)

    @property
    def voters(self) -> Voters | None:
        """Teachers that are there already, if any."""
        if self.shards is not None:
            return Voters.of_shards(self.shards.n_shards)
        if self.votes is not None:
            return Voters.elsewhere(self.votes.n_teachers)
        return None

    def __repr__(self) -> str:
        return "Inputs(<private>)"


def read_records(
    estimator: Any, X: Any, y: Any, X_public: Any, groups: Any, rng: np.random.Generator
) -> Inputs:
    """Read what a fit was given; sets ``form_``, ``classes_`` and scikit-learn's own attributes."""
    protect = _validate.one_of(("records", "labels"), protect=estimator.protect)
    if X_public is None and protect == "records":
        raise InvalidArgument(
            "`X_public` must be given to protect records: public points to ask the "
            'teachers about. protect="labels" needs none, but protects labels alone.'
        )
    refuse_plain(X)
    points = None
    if X_public is not None:
        points = PublicPool(X_public).points
        _refuse_sliced(estimator, X, X_public, groups)
    estimator.form_ = PointForm(X if points is None else points)
    if points is not None:
        if estimator.form_.kind is Kind.NUMBERS:
            _refuse_shown(points, "X_public")
        check_same_kind(X, points, estimator.form_.kind)
    X = checked_points(estimator, X, reset=True)
    labels = private_labels(y, n_rows(X))
    estimator.classes_ = class_list(estimator.classes, labels)
    refuse_other_kind(y, estimator.classes_)
    people = identifiers(groups, n_rows(X))
    if points is not None:
        return Inputs(X, labels, people, _pool(estimator, points), None)
    order, part = rng.permutation(n_rows(X)), pool_part(n_rows(X))
    asked, kept = np.sort(order[:part]), np.sort(order[part:])
    people = None if people is None else [people[position] for position in kept]
    return Inputs(take(X, kept), labels[kept], people, PublicPool(take(X, asked)), asked)


def _pool(estimator: Any, points: Any) -> PublicPool:
    """Return the public points given, whose values may be checked and shown."""
    known = vars(estimator)
    check_columns(
        estimator.form_.conform(points),
        known.get("feature_names_in_"),
        known.get("n_features_in_"),
    )
    pool = PublicPool(checked_points(estimator, points, reset=False))
    if estimator.form_.kind is Kind.NUMBERS:
        refuse_infinite(pool.points)
    return pool


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


def checked_points(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check what is public about points: kind, width, names. Never their values."""
    X = estimator.form_.conform(X)
    if estimator.form_.kind is Kind.NUMBERS:
        _refuse_shown(X, "X")
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def _refuse_shown(X: Any, name: str) -> None:
    """Refuse what scikit-learn's own checks would refuse with the values in the message."""
    if getattr(X, "ndim", 2) != 2:
        raise InvalidArgument(
            f"`{name}` must be a table with one row per point, got {X.ndim} dimensions. Reshape "
            "your data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one point."
        )
    if getattr(getattr(X, "dtype", None), "kind", "f") == "c":
        raise InvalidArgument(f"`{name}` must hold real numbers. Complex data not supported.")
