"""Open a pool to questions: train the teachers of a fit, or take the votes counted elsewhere."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import PointReader, Schema
from tacit.data.pool import n_rows
from tacit.estimators.inputs import Inputs
from tacit.estimators.pipeline import (
    OpenPool,
    PrivateRecords,
    ShardedRecords,
    Terms,
    ask_teachers,
    distinct_points,
    random_points,
)
from tacit.estimators.vote_settings import Resolved, Sharding
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.on_shards import ShardReader
from tacit.teachers.represented import RepresentedRows, represented
from tacit.teachers.workers.memory import estimate_memory


def open_pool(
    inputs: Inputs,
    how: Resolved,
    schema: Schema,
    classes: NDArray[Any],
    sharding: Sharding,
    terms: Terms,
    rng: np.random.Generator,
    **training: Any,
) -> OpenPool:
    """Train the teachers and count their votes on the points that may be asked about.

    ``training`` is handed on to ``ask_teachers``: ``n_jobs``, ``progress``, ``kept``.
    """
    # Drawn in any case, so that the same seed trains the same teachers whoever asks.
    asked = random_points(how.names, how.n_questions, rng)
    if how.strategy is not None:
        asked = distinct_points(how.names)
    return ask_teachers(
        _voters(inputs, how, schema, sharding),
        how.points,
        asked,
        how.names,
        terms,
        learner=how.learner,
        classes=classes,
        n_teachers=how.n_teachers,
        n_questions=how.n_questions,
        neighbouring=how.neighbouring,
        rng=rng,
        **training,
    )


def _voters(
    inputs: Inputs, how: Resolved, schema: Schema, sharding: Sharding
) -> PrivateRecords | ShardedRecords | VoteCounts:
    """Return who votes: teachers of records here or in files, or those who voted elsewhere."""
    if inputs.votes is not None:
        return inputs.votes
    found = how.representation
    if inputs.shards is not None:
        then = None if found is None else partial(represented, found)
        return ShardedRecords(inputs.shards, ShardReader(PointReader(schema), then))
    return private_records(inputs, sharding, found, how.points.points)


def private_records(
    inputs: Inputs, sharding: Sharding, representation: Any, like: Any
) -> PrivateRecords:
    """Return the records as teachers see them; ``like`` are public points, represented alike."""
    X = inputs.X
    if representation is not None:
        X = RepresentedRows(X, representation, like)
    return PrivateRecords(X, inputs.y, n_rows(X), sharding.people, sharding.hash_key)


def tell_memory(how: Resolved, classes: NDArray[Any], n_jobs: int | None) -> None:
    """Say how much memory training will need."""
    # Under add-remove the number of records, and so the size of a shard, is private.
    if how.n_units is None:
        return
    need = estimate_memory(
        how.learner,
        how.points.points,
        classes=classes,
        n_teachers=how.n_teachers,
        shard_size=-(-how.n_units // how.n_teachers),
        keep=False,
        n_jobs=n_jobs,
    )
    print(f"{how.n_teachers} teachers need {need}.", file=sys.stderr)
