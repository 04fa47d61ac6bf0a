"""Read what a fit was given: records, shards of them in files, or votes counted elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._inputs import check_columns, class_list, refuse_infinite
from tacit._reading import Inputs, checked_points, read_records
from tacit._settings import relation_of
from tacit.datasets.form import Kind, PointForm
from tacit.datasets.records import PublicPool, take
from tacit.errors import InvalidArgument
from tacit.labeling.elsewhere import VotesElsewhere
from tacit.privacy.budget import Neighbouring
from tacit.shards import ShardFolder
from tacit.teachers.partition import votes_moved


def read_given(
    estimator: Any, X: Any, y: Any, X_public: Any, groups: Any, rng: np.random.Generator
) -> Inputs:
    """Read what a fit was given; sets ``form_``, ``classes_`` and scikit-learn's own attributes."""
    if not isinstance(X, ShardFolder | VotesElsewhere):
        return read_records(estimator, X, y, X_public, groups, rng)
    refuse_beside(X, y, X_public, groups)
    if isinstance(X, ShardFolder):
        return _of_shards(estimator, X, PublicPool(X_public).points)
    return _of_votes(estimator, X, PublicPool(X_public).points)


def refuse_beside(X: ShardFolder | VotesElsewhere, y: Any, X_public: Any, groups: Any) -> None:
    """Refuse labels and identifiers beside shards or votes, and demand public points."""
    what = "shards, which hold labels and identifiers"
    if isinstance(X, VotesElsewhere):
        what = "votes, which were counted already"
    for name, given in (("y", y), ("groups", groups)):
        if given is not None:
            raise InvalidArgument(f"`{name}` must be left out with {what}.")
    if X_public is None:
        raise InvalidArgument("`X_public` must be given: public points like the records.")


def _of_shards(estimator: Any, shards: ShardFolder, points: Any) -> Inputs:
    check_shards(estimator, shards)
    estimator.form_ = PointForm(points)
    check_columns(points, shards.feature_names, len(shards.feature_names))
    pool = _pool(estimator, points)
    estimator.classes_ = public_classes(estimator.classes, "shards")
    return Inputs(None, None, None, pool, None, shards=shards)


def check_shards(estimator: Any, shards: ShardFolder) -> Neighbouring:
    """Return the relation of shards in files; another, or another number, is refused."""
    relation = relation_of(
        estimator.protect, estimator.neighbouring, grouped=True, n_teachers=shards.n_shards
    )
    votes_moved(shards.sharding.partition, relation)
    check_teachers(estimator.n_teachers, shards.n_shards, "the number of shards")
    return relation


def _of_votes(estimator: Any, votes: VotesElsewhere, points: Any) -> Inputs:
    if estimator.protect != "records":
        raise InvalidArgument('`protect` must be "records" with votes counted elsewhere.')
    relation_of("records", estimator.neighbouring, grouped=True, n_teachers=2)
    check_teachers(estimator.n_teachers, votes.counts.n_teachers, "those who voted")
    rows = votes.rows_in(points)
    estimator.form_ = PointForm(points)
    pool = _pool(estimator, points)
    estimator.classes_ = public_classes(estimator.classes, "votes counted elsewhere")
    counts = votes.counts_of(estimator.classes_.tolist())
    return Inputs(None, None, None, PublicPool(take(pool.points, rows)), rows, votes=counts)


def _pool(estimator: Any, points: Any) -> PublicPool:
    pool = PublicPool(checked_points(estimator, points, reset=True))
    if estimator.form_.kind is Kind.NUMBERS:
        refuse_infinite(pool.points)
    return pool


def check_teachers(given: Any, there_are: int, what: str) -> None:
    """Refuse another number of teachers than there are."""
    if given not in ("auto", there_are):
        raise InvalidArgument(f'`n_teachers` must be "auto" or {there_are}, {what}, got {given!r}.')


def public_classes(classes: Any, what: str) -> Any:
    """Return the classes given, where they cannot be looked up in labels."""
    if isinstance(classes, str):
        raise InvalidArgument(
            f"`classes` must list the possible labels with {what}, got {classes!r}."
        )
    return class_list(classes, None)
