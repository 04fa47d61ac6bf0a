"""Teachers of any learner that takes sample weights, as corrections of the current student.

A teacher is the learner fitted on its shard and on public points that belong to every class alike.
Each record counts by how far the student is from its label: where the student is right there is
nothing to say. To first order the fit then moves along the gradient of the shard's loss at the
student, whatever the learner makes of it, and the student stands still only where that is zero:
boosting, in which every round is released with noise.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.teachers.corrections.coordinates import FloatArray, as_contrasts
from tacit.teachers.corrections.metric import PRIOR_WEIGHT, Metric, probabilities
from tacit.teachers.corrections.records import CorrectionRecords
from tacit.teachers.global_random import preserve_global_random, restart
from tacit.teachers.labels import DEFAULT, UNKNOWN
from tacit.teachers.learner import Recipe, final_step, learner_name, recipe, shard_seed
from tacit.teachers.rows import IndexArray, own_copy, row_access, take
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.batches import Batch, RowBatch
from tacit.teachers.workers.gather import gather
from tacit.teachers.workers.suppress_output import SuppressOutput
from tacit.teachers.workers.versions import versions_behind

_POOL_ROWS = 1200
"""About how many weighted rows the pool adds to every shard: more cost time and tell little."""

_IMAGINED = 60
_SURE = 1e-3
"""Probabilities nearer to 0 or 1 than this are cut: a tree that is sure would be infinitely so."""


class LearnerCorrections:
    """Contributions of one copy of a learner per shard. Private.

    Parameters
    ----------
    learner : object with ``fit(X, y, sample_weight=...)`` and scores
        Scores are ``decision_function`` or ``predict_proba``.
    records : CorrectionRecords
        Private.
    points : table
        The pool, in the same form as the records that teachers see. Public.
    n_classes, shard_size, seed : int
        Public.
    n_jobs : int, optional

    Privacy
    -------
    Teacher k depends on shard k, the student and public settings. One that fails, or whose scores
    are of no use, contributes the zero vector; nothing tells.
    """

    curved = False

    def __init__(
        self,
        learner: Any,
        records: CorrectionRecords,
        points: Any,
        *,
        n_classes: int,
        shard_size: int,
        seed: int,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ) -> None:
        self.n_teachers, self.shard_size, self._n_classes = len(records), shard_size, n_classes
        self._records, self._points = records, row_access(points)
        self._backend = Backend(n_jobs)
        wanted = max(100, _POOL_ROWS // n_classes)
        some = np.sort(rng.permutation(n_rows(points))[:wanted])
        self._fitting = _Fitting(recipe(learner), take(self._points, some), n_classes, seed)
        self._reference = self._unmoved()

    def _unmoved(self) -> FloatArray:
        """Return the contrasts of the learner that has seen no record, near zero. Public."""
        try:
            with SuppressOutput(), preserve_global_random():
                model = self._fitting(self.n_teachers, None)
                return as_contrasts(class_scores(model, self._points, self._n_classes))
        except InvalidArgument:
            raise
        except Exception as error:  # all of it is public
            raise InvalidArgument(
                "`learner` must be able to fit public points, each once for every class, with "
                f"`sample_weight`; {learner_name(self._fitting.recipe.learner)} failed: "
                f"{type(error).__name__}: {error} Choose another learner, or "
                "the method Votes."
            ) from error

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield blocks of one whitened correction per teacher, one row each. Private."""
        with SuppressOutput():
            shards = self._records.weighted(ResidualWeights(metric.weights, self._n_classes))
        numbers = range(self.n_teachers)
        yield from gather(
            self._task(metric), shards, numbers, progress=False, backend=self._backend
        )

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return the contributions of teachers of public points labelled by the student. Public."""
        points, labels = metric.imagined_labels(rng, _IMAGINED, self.shard_size)
        shards = [
            (k, take(self._points, chosen), residual_weights(given, metric.probabilities[chosen]))
            for k, (chosen, given) in enumerate(zip(points, labels, strict=True))
        ]
        with SuppressOutput(), preserve_global_random():
            return self._task(metric)(RowBatch(shards))

    def _task(self, metric: Metric) -> _Correct:
        return _Correct(self._fitting, self._points, self._reference, metric)

    def close(self) -> None:
        """Shut down the workers."""
        self._backend.close()

    def __repr__(self) -> str:
        return (
            f"LearnerCorrections(n_teachers={self.n_teachers}, "
            f"learner={learner_name(self._fitting.recipe.learner)})"
        )


class ResidualWeights:
    """Weighs the records of a shard by how wrong the student is about them. Public."""

    def __init__(self, weights: FloatArray, n_classes: int) -> None:
        self._weights, self._n_classes = weights, n_classes

    def __call__(self, rows: FloatArray, labels: NDArray[np.int64]) -> FloatArray:
        with np.errstate(all="ignore"):
            proba = probabilities(rows @ self._weights, self._n_classes)
        return residual_weights(labels, proba)


def residual_weights(labels: NDArray[np.int64], proba: FloatArray) -> FloatArray:
    """Return what each record weighs as a member of each class, given the student's probabilities.

    A record of class y with weights w moves a model that gives all C classes alike by
    sum_c w_c (e_c - 1/C). The weights, none negative and one of them zero, are those for which
    that is e_y - proba: the slope of the record's loss at the student. -1 stands for no class.

    Examples
    --------
    >>> residual_weights(np.array([1, 1, -1]), np.array([[0.25, 0.75], [0.9, 0.1], [0.5, 0.5]]))
    array([[0. , 0.5],
           [0. , 1.8],
           [0. , 0. ]])
    >>> w = residual_weights(np.array([0]), np.array([[0.2, 0.5, 0.3]]))
    >>> (w - w.sum() / 3).round(6).tolist()
    [[0.8, -0.5, -0.3]]
    """
    labelled = np.flatnonzero(labels != UNKNOWN)
    own = labels[labelled]
    # A student that overflowed is sure of nothing.
    there = np.nan_to_num(proba[labelled], nan=1 / proba.shape[1])
    others = there.copy()
    others[np.arange(len(labelled)), own] = 0.0
    weights = np.zeros_like(proba)
    weights[labelled] = others.max(axis=1, keepdims=True) - others
    weights[labelled, own] += 1 - there[np.arange(len(labelled)), own]
    return weights


class _Fitting:
    """Fits copies of a learner on public points that belong to every class alike, and a shard."""

    def __init__(self, ready: Recipe, points: Any, n_classes: int, seed: int) -> None:
        n_points = n_rows(points)
        self.recipe, self._seed = ready, seed
        self._points = take(row_access(points), np.tile(np.arange(n_points), n_classes))
        self._labels = np.repeat(np.arange(n_classes), n_points)
        self._weights = np.full(len(self._labels), PRIOR_WEIGHT / len(self._labels))

    def __call__(self, number: int, shard: tuple[Any, IndexArray, FloatArray] | None) -> Any:
        """Return a fitted copy, with the rows, labels and weights of a shard or without."""
        # Copies in any case: a learner that works in place would change it for all others.
        if shard is None:
            rows, labels, weights = map(own_copy, (self._points, self._labels, self._weights))
        else:
            rows = _stack(self._points, shard[0])
            labels = np.concatenate([self._labels, shard[1]])
            weights = np.concatenate([self._weights, shard[2]])
        seed = shard_seed(self._seed, number)
        model = self.recipe.fresh(seed)
        restart(seed)
        model.fit(rows, labels, **{weight_name(model): weights})
        return model


class _Correct:
    """Fits the teachers of a few shards and returns their corrections, one row each. Private."""

    when_lost = "contribute nothing"

    def __init__(
        self, fitting: _Fitting, points: Any, reference: FloatArray, metric: Metric
    ) -> None:
        self._fitting, self._points = fitting, points
        self.versions = versions_behind(fitting.recipe.learner)
        self._reference, self._metric = reference, metric

    def __call__(self, shards: Batch) -> FloatArray:
        rows = [self._one(number, X, weights) for number, X, weights in shards]
        return np.array(rows).reshape(len(rows), self._metric.weights.size)

    def lost(self, numbers: Sequence[int]) -> FloatArray:
        """Return zero corrections for shards that no worker could finish; raise nothing."""
        return np.zeros((len(numbers), self._metric.weights.size))

    def _one(self, number: int, X: Any, weights: FloatArray) -> FloatArray:
        width, contrasts = self._metric.weights.shape
        try:
            records, classes = np.nonzero(weights)
            if len(records) == 0:
                return np.zeros(width * contrasts)
            own = take(row_access(X), records), classes, weights[records, classes]
            model = self._fitting(number, own)
            scores = class_scores(model, self._points, contrasts + 1)
            with np.errstate(all="ignore"):
                return self._metric.of_scores(as_contrasts(scores) - self._reference).ravel()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return np.zeros(width * contrasts)


def class_scores(model: Any, points: Any, n_classes: int) -> FloatArray:
    """Return one score per class of a fitted model, whose labels are class positions."""
    # As for votes: nothing of one teacher's records may reach the next, neither through the points
    # (a scaler with copy=False changes them in place) nor through process-wide random numbers.
    restart(DEFAULT)
    seen = own_copy(points)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(seen), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([-scores / 2, scores / 2])
    else:
        proba = np.asarray(model.predict_proba(seen), dtype=np.float64)
        scores = np.log(np.clip(proba, _SURE, 1.0))
    if scores.shape != (n_rows(points), n_classes):
        raise InvalidArgument(
            f"`learner` must give one score per class and point, {n_classes} columns, got an "
            f"array of shape {scores.shape}."
        )
    centred: FloatArray = scores - scores.mean(axis=1, keepdims=True)
    return centred


def weight_name(learner: Any) -> str:
    """Return by what name the learner's ``fit`` takes weights; pipelines pass them on."""
    name = ""
    while isinstance(learner, Pipeline):
        name += f"{learner.steps[-1][0]}__"
        learner = learner.steps[-1][1]
    return f"{name}sample_weight"


def check_correcting(learner: Any) -> None:
    """Refuse a learner that cannot correct: it needs sample weights and scores.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> check_correcting(KNeighborsClassifier())
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `method` Corrections needs a learner whose `fit` takes \
`sample_weight`; KNeighborsClassifier does not. Use Votes, or choose another learner.
    """
    name = learner_name(learner)
    taken = inspect.signature(final_step(learner).fit).parameters
    # One that takes any keyword is tried: the first fit is on public points, and tells.
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
    if "sample_weight" not in taken and not anything:
        raise InvalidArgument(
            f"`method` Corrections needs a learner whose `fit` takes `sample_weight`; {name} does "
            "not. Use Votes, or choose another learner."
        )
    if not (hasattr(learner, "decision_function") or hasattr(learner, "predict_proba")):
        raise InvalidArgument(
            "`method` Corrections needs a learner with `decision_function` or `predict_proba`; "
            f"{name} has neither. Use Votes, or choose another learner."
        )


def can_correct(learner: Any) -> bool:
    """Return whether ``check_correcting`` accepts a learner.

    Examples
    --------
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from sklearn.linear_model import LogisticRegression
    >>> can_correct(LogisticRegression()), can_correct(LinearDiscriminantAnalysis())
    (True, False)
    """
    try:
        check_correcting(learner)
    except InvalidArgument:
        return False
    return True


def _stack(first: Any, second: Any) -> Any:
    """Return two tables of one form, one above the other."""
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, second], ignore_index=True)
    if hasattr(first, "tocsr"):
        import scipy.sparse as sp

        return sp.vstack([first, second]).tocsr()
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return [*first, *second]
