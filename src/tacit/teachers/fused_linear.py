"""Linear teachers as one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from tacit.teachers.labels import ClassList, IntArray
from tacit.teachers.score_columns import ScoreColumns
from tacit.teachers.teacher import Teacher
from tacit.teachers.workers.suppress_output import SuppressOutput

FloatArray = NDArray[np.float64]

# Exact types: a subclass may predict in another way.
_LINEAR = {
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
}
_SCALERS = {MaxAbsScaler, MinMaxScaler, StandardScaler}

MOST_WEIGHTS = 2**26
"""Beyond this many (512 MiB) the stacked copy of the weights is not worth its memory."""

SMALL_PRODUCT = 2**18
"""Multiplications up to which BLAS keeps to one thread by itself."""

LEAST_CHUNK = 16
"""Questions in one product at least, where a larger one would take several threads."""

CHUNK_SCORES = 2**20
"""Scores held at a time: 8 MiB whatever the number of questions."""

LARGEST_SHIFT = 1e5
"""A scaler that shifts by more loses, folded into the weights, too many digits for a 1e-9 tie."""


class FusedLinear:
    """Linear models of one learner, stacked; a scaler before them is folded in.

    Parameters
    ----------
    teachers : sequence of Teacher
        Private.
    learner : object
        Public.
    width : int
        Number of features. Public.
    """

    def __init__(self, teachers: Sequence[Teacher], learner: Any, width: int) -> None:
        self._columns = ScoreColumns(teachers[0].classes, len(teachers))
        self._takes_sparse = not _shifts(learner)
        self._weights = np.zeros((width, self._columns.total))
        self._bias = np.empty(self._columns.total)
        alone = []
        for place, teacher in enumerate(teachers):
            if not self._put(place, teacher, width):
                alone.append(place)
        self.alone = tuple(alone)
        self._bars = -self._bias
        self._chunk = _chunk(self._weights.size, self._columns.total)

    @staticmethod
    def stacks(learner: Any, classes: ClassList, n_teachers: int, width: int | None) -> bool:
        """Return whether teachers of this learner can be stacked, and are not too large."""
        if width is None or width * ScoreColumns(classes, n_teachers).total > MOST_WEIGHTS:
            return False
        steps = [step for _, step in learner.steps] if isinstance(learner, Pipeline) else [learner]
        return type(steps[-1]) in _LINEAR and all(_scales(step) for step in steps[:-1])

    def _put(self, place: int, teacher: Teacher, width: int) -> bool:
        """Fill one teacher's columns; False, and a default voter, when it does not fit in."""
        columns = self._columns
        at = columns.of(place)
        if teacher.model is None:
            self._bias[at] = columns.constant(teacher.constant)
            return True
        part = _weights(teacher.model, width)
        if part is None:
            self._bias[at] = columns.constant(0)
            return False
        weights, bias = part
        ranks = columns.ranks(teacher.classes.positions(_classes(teacher.model)))
        offset, own = columns.own(len(bias), ranks)
        offset[own] = bias
        self._bias[at] = offset
        self._weights[:, at.start + own] = weights
        return True

    def count(self, X: Any) -> IntArray | None:
        """Return counts for questions as numbers, or None when they cannot be multiplied.

        Which it is depends on the questions alone, never on a teacher's weights or scores: how one
        teacher's vote is computed must not depend on what another learnt.
        """
        if sparse.issparse(X):
            if not (self._takes_sparse and np.isfinite(X.data).all()):
                return None
        elif not (math.isfinite(np.add.reduce(X, axis=None)) or np.isfinite(X).all()):
            return None  # scikit-learn refuses such questions; a finite sum has finite terms
        n_questions = X.shape[0]
        chunk = self._chunk
        if n_questions <= chunk:
            return self._counted(X)
        parts = [self._counted(X[start : start + chunk]) for start in range(0, n_questions, chunk)]
        return np.concatenate(parts)

    def _counted(self, X: Any) -> IntArray:
        if X.shape[0] * self._weights.size <= SMALL_PRODUCT:
            scores = X @ self._weights
        else:
            with (
                SuppressOutput()
            ):  # for the one thread; entering it costs more than a few questions do
                scores = X @ self._weights
        if self._columns.each == 1:
            # As when the bias is added: a sum is above zero, rounded or not, just when one part is
            # above minus the other.
            return self._columns.of_votes(scores > self._bars)
        scores += self._bias
        return self._columns.count(scores)


def _chunk(weights: int, scores: int) -> int:
    """Return how many questions are multiplied at a time, given the numbers of one."""
    small = SMALL_PRODUCT // weights
    # Several small products cost less than silence around a large one, unless they are many.
    return small if small >= LEAST_CHUNK else max(1, CHUNK_SCORES // scores)


def _scales(step: Any) -> bool:
    return type(step) in _SCALERS and not getattr(step, "clip", False)


def _shifts(learner: Any) -> bool:
    """Return whether a scaler moves zero, which it refuses to do to a sparse matrix."""
    steps = [step for _, step in learner.steps[:-1]] if isinstance(learner, Pipeline) else []
    return any(
        isinstance(step, MinMaxScaler) or getattr(step, "with_mean", False) for step in steps
    )


def _classes(model: Any) -> NDArray[Any]:
    classes: NDArray[Any] = (model.steps[-1][1] if isinstance(model, Pipeline) else model).classes_
    return classes


def _weights(model: Any, width: int) -> tuple[FloatArray, FloatArray] | None:
    """Return weights (width, k) and bias (k,) on raw features, or None when they lose digits."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    coef = np.atleast_2d(steps[-1].coef_)
    if coef.dtype != np.float64 or coef.shape[1] != width:
        return None
    factor, shift = _folded(steps[:-1], width)
    if not (np.isfinite(factor).all() and np.abs(shift).max() <= LARGEST_SHIFT):
        return None
    bias = coef @ shift + steps[-1].intercept_
    return factor[:, np.newaxis] * coef.T, np.broadcast_to(bias, len(coef))


def _folded(scalers: Sequence[Any], width: int) -> tuple[FloatArray, FloatArray]:
    """Return the factor and shift of x -> factor * x + shift that scalers together apply."""
    factor, shift = np.ones(width), np.zeros(width)
    for scaler in scalers:
        if isinstance(scaler, MinMaxScaler):
            factor, shift = factor * scaler.scale_, shift * scaler.scale_ + scaler.min_
            continue
        if getattr(scaler, "with_mean", False):
            shift = shift - scaler.mean_
        if scaler.scale_ is not None:
            factor, shift = factor / scaler.scale_, shift / scaler.scale_
    return factor, shift
