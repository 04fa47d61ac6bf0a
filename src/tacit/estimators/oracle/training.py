"""Train the teachers of an oracle: in memory or on shards, tested or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import PointReader
from tacit.errors import InvalidArgument
from tacit.estimators.checks import generator, workers
from tacit.estimators.oracle.inputs import OracleInputs
from tacit.teachers.holdout import train_and_test
from tacit.teachers.learner import check_learner
from tacit.teachers.on_shards import train_on_shards
from tacit.teachers.train import Training, train_teachers
from tacit.teachers.vote import TeacherEnsemble


def try_learner(learner: Any, reader: PointReader, inputs: OracleInputs) -> None:
    """Try the learner on public points, or on random numbers without any."""
    if inputs.like is not None:
        check_learner(learner, inputs.like, inputs.classes)
        return
    try:
        check_learner(learner, reader.example_points(np.random.default_rng(0)), inputs.classes)
    except InvalidArgument as error:
        raise InvalidArgument(
            f"{error} Without `X_public` points are taken to be tables of numbers: if they are "
            "not, give a few public ones."
        ) from error


def train_oracle(
    oracle: Any, inputs: OracleInputs, n_teachers: int, *, tested: bool
) -> tuple[TeacherEnsemble, NDArray[np.float64] | None]:
    """Return the teachers and, if they are tested, how often each erred. Private."""
    rng, records, learner = generator(oracle.random_state), inputs.records, oracle.learner
    source, shards = records.shards, []
    if source is None:
        shards = records.split(inputs.protection.neighbouring, n_teachers, rng)
    training = Training(
        classes=inputs.classes,
        seed=int(rng.integers(2**31)),
        n_jobs=workers(oracle.n_jobs),
        progress=oracle.verbose,
    )
    if source is not None:
        schema = source.sharding.schema
        return train_on_shards(learner, source, like=inputs.like, schema=schema, **training), None
    given = learner, records.X, records.y, shards
    if tested:
        return train_and_test(*given, like=inputs.like, **training)
    return train_teachers(*given, like=inputs.like, **training), None
