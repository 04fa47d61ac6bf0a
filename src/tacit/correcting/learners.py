"""Teachers of any learner that takes sample weights, as corrections of the current student.

A teacher is the learner fitted on its shard and on public points that the student has labelled. A
reference, the same without the shard, is taken off its scores: what is left is what the shard has
to say about the student.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tacit.correcting.coordinates import FloatArray, as_contrasts
from tacit.correcting.metric import PRIOR_WEIGHT, Metric, probabilities
from tacit.datasets.records import n_rows
from tacit.errors import InvalidArgument
from tacit.teachers.global_random import kept
from tacit.teachers.handed import Batch, RowBatch
from tacit.teachers.labels import UNKNOWN
from tacit.teachers.learner import Recipe, final_step, learner_name, recipe, shard_seed
from tacit.teachers.quiet import Quiet
from tacit.teachers.rows import IndexArray, RowForm, row_access, take
from tacit.teachers.train import over_shards
from tacit.teachers.versions import versions_behind

_ANCHOR_ROWS = 600
"""About how many weighted rows the pool adds to every shard: more cost time and tell little."""

_SHARPENED = 3
_MOST_SHARPENED = 8.0
_LEAST_REACH = 0.1
_IMAGINED = 60
_SURE = 1e-3
"""Probabilities nearer to 0 or 1 than this are cut: a tree that is sure would be infinitely so."""

_FAILURES = (Exception, SystemExit)


class LearnerCorrections:
    """Contributions of one copy of a learner per shard. Private.

    Parameters
    ----------
    learner : object with ``fit(X, y, sample_weight=...)`` and scores
        Scores are ``decision_function`` or ``predict_proba``.
    X : table
        Records as teachers see them. Private.
    labels : array of int
        Position of every record's class; -1 where there is none. Private.
    shards : sequence of index arrays
    points : table
        The pool, in the same form as ``X``. Public.
    n_classes, shard_size, seed : int
        Public.
    n_jobs : int, optional

    Privacy
    -------
    Teacher k depends on shard k, the student and public settings. One that fails, or whose scores
    are of no use, contributes the zero vector; nothing tells.
    """

    def __init__(
        self,
        learner: Any,
        X: Any,
        labels: NDArray[np.int64],
        shards: Sequence[IndexArray],
        points: Any,
        *,
        n_classes: int,
        shard_size: int,
        seed: int,
        rng: np.random.Generator,
        n_jobs: int | None = None,
    ) -> None:
        self.n_teachers, self.shard_size, self._n_classes = len(shards), shard_size, n_classes
        self._X, self._labels, self._shards = X, labels, shards
        self._points, self._n_jobs = row_access(points), n_jobs
        self._recipe, self._seed = recipe(learner), seed
        self._form = RowForm(points, public=True)
        wanted = max(100, _ANCHOR_ROWS // n_classes)
        self._anchors = np.sort(rng.permutation(n_rows(points))[:wanted])
        self._sharpness = 1.0

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield blocks of one whitened correction per teacher, one row each. Private."""
        task = self._task(metric)
        yield from over_shards(
            task, self._X, self._labels, self._shards, self._form, n_jobs=self._n_jobs
        )

    def reach(self, metric: Metric) -> float:
        """Return which part of the student's scores the learner can have at all. Public.

        A regularised learner, told by a few points, is only so sure. A student beyond that would
        be told by every teacher to be less sure, and by nothing else.
        """
        scores = metric.pool @ metric.weights
        size = float((scores**2).sum())
        if size == 0:
            return 1.0
        reference, _ = self._reference(scores, _MOST_SHARPENED)
        return float(np.clip((scores * reference).sum() / size, _LEAST_REACH, 1.0))

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return the contributions of teachers of public points labelled by the student. Public."""
        points, labels = metric.imagined_labels(rng, _IMAGINED, self.shard_size)
        task = self._task(metric)
        shards = [(k, take(self._points, points[k]), labels[k]) for k in range(_IMAGINED)]
        with Quiet(), kept():
            return task(RowBatch(shards))

    def _task(self, metric: Metric) -> _Correct:
        """Return what fits a teacher: found once per round, since finding the reference takes fits.

        The reference is sharpened until its scores are as large as the student's: a regularised
        learner does not believe all it is told.
        """
        found = self.__dict__.get("_ready")
        if found is not None and found[0] is metric:
            ready: _Correct = found[1]
            return ready
        scores = metric.pool @ metric.weights
        for _ in range(_SHARPENED):
            reference, anchored = self._reference(scores, self._sharpness)
            size, overlap = float((scores**2).sum()), float((scores * reference).sum())
            if size == 0 or overlap <= 0:
                break
            wanted = self._sharpness * size / overlap
            if abs(wanted / self._sharpness - 1) < 0.02:
                break
            self._sharpness = float(np.clip(wanted, 1 / _MOST_SHARPENED, _MOST_SHARPENED))
        task = _Correct(self._recipe, anchored, self._points, reference, metric, self._seed)
        self._ready = (metric, task)
        return task

    def _reference(self, scores: FloatArray, sharpness: float) -> tuple[FloatArray, _Anchored]:
        """Return the contrasts of the learner fitted on the pool labelled by sharpened scores."""
        anchored = _Anchored(
            take(self._points, self._anchors),
            probabilities(sharpness * scores[self._anchors], self._n_classes),
        )
        with Quiet(), kept():
            model = anchored.fit(self._recipe, shard_seed(self._seed, self.n_teachers), None)
            return as_contrasts(class_scores(model, self._points, self._n_classes)), anchored

    def __repr__(self) -> str:
        return (
            f"LearnerCorrections(n_teachers={self.n_teachers}, "
            f"learner={learner_name(self._recipe.learner)})"
        )


class _Anchored:
    """Public points that the student has labelled, as weighted rows of a training set."""

    def __init__(self, points: Any, proba: FloatArray) -> None:
        n_points, n_classes = proba.shape
        # Every point once for every class, weighed by the student's belief in it.
        self._points = take(row_access(points), np.tile(np.arange(n_points), n_classes))
        self._labels = np.repeat(np.arange(n_classes), n_points)
        self._weights = proba.T.ravel() * (PRIOR_WEIGHT / n_points)

    def fit(self, ready: Recipe, seed: int, shard: tuple[Any, NDArray[np.int64]] | None) -> Any:
        """Return a fitted copy of the learner, with a shard's records of weight one or without."""
        rows, labels, weights = self._points, self._labels, self._weights
        if shard is not None:
            rows = _stack(rows, shard[0])
            labels = np.concatenate([labels, shard[1]])
            weights = np.concatenate([weights, np.ones(len(shard[1]))])
        model = ready.fresh(seed)
        model.fit(rows, labels, **{weight_name(model): weights})
        return model


class _Correct:
    """Fits the teachers of a few shards and returns their corrections, one row each. Private."""

    def __init__(
        self,
        ready: Recipe,
        anchored: _Anchored,
        points: Any,
        reference: FloatArray,
        metric: Metric,
        seed: int,
    ) -> None:
        self._recipe, self._anchored, self._points = ready, anchored, points
        self.versions = versions_behind(ready.learner)
        self._reference, self._metric, self._seed = reference, metric, seed

    def __call__(self, shards: Batch) -> FloatArray:
        return np.array([self._one(number, X, labels) for number, X, labels in shards])

    def lost(self, numbers: Sequence[int]) -> FloatArray:
        """Return zero corrections for shards that no worker could finish: an error would tell."""
        return np.zeros((len(numbers), self._metric.weights.size))

    def _one(self, number: int, X: Any, labels: Any) -> FloatArray:
        width, contrasts = self._metric.weights.shape
        try:
            labels = np.asarray(labels)
            known = np.flatnonzero(labels != UNKNOWN)
            own = (take(row_access(X), known), labels[known]) if len(known) else None
            model = self._anchored.fit(self._recipe, shard_seed(self._seed, number), own)
            scores = class_scores(model, self._points, contrasts + 1)
            with np.errstate(all="ignore"):
                return self._metric.of_scores(as_contrasts(scores) - self._reference).ravel()
        except _FAILURES:
            return np.zeros(width * contrasts)


def class_scores(model: Any, points: Any, n_classes: int) -> FloatArray:
    """Return one score per class of a fitted model, whose labels are class positions."""
    if hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(points), dtype=np.float64)
        if found.ndim == 1:
            found = np.column_stack([-found / 2, found / 2])
    else:
        proba = np.asarray(model.predict_proba(points), dtype=np.float64)
        found = np.log(np.clip(proba, _SURE, 1.0))
    if found.shape != (n_rows(points), n_classes):
        raise InvalidArgument(
            f"`learner` must give one score per class and point, {n_classes} columns, got an "
            f"array of shape {found.shape}."
        )
    centred: FloatArray = found - found.mean(axis=1, keepdims=True)
    return centred


def weight_name(learner: Any) -> str:
    """Return by what name the learner's ``fit`` takes weights; pipelines pass them on."""
    if isinstance(learner, Pipeline):
        return f"{learner.steps[-1][0]}__sample_weight"
    return "sample_weight"


def check_correcting(learner: Any) -> None:
    """Refuse a learner that cannot correct: it needs sample weights and scores.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> check_correcting(KNeighborsClassifier())
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `rounds` needs a learner whose `fit` takes `sample_weight`; \
KNeighborsClassifier does not. Leave `rounds` out, or choose another learner.
    """
    name = learner_name(learner)
    if "sample_weight" not in inspect.signature(final_step(learner).fit).parameters:
        raise InvalidArgument(
            f"`rounds` needs a learner whose `fit` takes `sample_weight`; {name} does not. Leave "
            "`rounds` out, or choose another learner."
        )
    if not (hasattr(learner, "decision_function") or hasattr(learner, "predict_proba")):
        raise InvalidArgument(
            f"`rounds` needs a learner with `decision_function` or `predict_proba`; {name} has "
            "neither. Leave `rounds` out, or choose another learner."
        )


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
