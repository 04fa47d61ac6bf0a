"""How hard a point would have to insist to be put into the other class.

Disagreement-based active learning asks where plausible hypotheses disagree. A learner cannot list
them, but it can be asked what it would take to change its mind: refit with an opposite-label copy
of the point. Where little weight is enough, a plausible hypothesis disagrees.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import special
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tacit import validation
from tacit.data.pool import n_rows, take
from tacit.data.representations.encoding import dense
from tacit.errors import InvalidArgument
from tacit.students.active.base import (
    FloatArray,
    IndexArray,
    answered,
    as_numbers,
    random_unasked,
    smallest,
    unasked,
)
from tacit.students.active.selector import SELECTOR_PENALTY, fit_selector


@dataclass(frozen=True)
class FlipWeight:
    """Ask where an opposite-label copy of the point needs the least weight to flip its prediction.

    Parameters
    ----------
    learner : {"logistic", "ridge"} or estimator, default "logistic"
        Ridge: ``|p| / s``. Logistic: ``(|z| + 1 - exp(-|z|)) / s``. Here s = x' H^-1 x, with H the
        curvature of the penalised loss, held fixed. Any other estimator is fitted again for each
        candidate with the other label forced on it; the weight is how many more mistakes it then
        makes on the released labels.
    penalty : float, default 10
        Strength of the L2 penalty, of the intercept too. Not used with an estimator of your own.
    n_initial : int, default 10
        Points are random until this many were asked and two classes were released.
    n_candidates : int, default 100
        With your own estimator: random candidates tried per batch.

    Notes
    -----
    More than two classes: the two top classes of a point play against each other, in a model of
    their own labels alone; an estimator is forced to each other class in turn and the cheapest
    counts.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> queried, labels = np.array([0, 1, 2, 18, 19, 20]), np.array([0, 0, 0, 1, 1, 1])
    >>> FlipWeight(n_initial=6).select(X, queried, labels, 1, np.random.default_rng(0))
    array([10])
    """

    learner: Any = "logistic"
    penalty: float = SELECTOR_PENALTY
    n_initial: int = 10
    n_candidates: int = 100

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return the ``k`` points that are easiest to flip. See ``Strategy``."""
        points = as_numbers(X_pool)
        known, released = answered(queried, labels)
        left = unasked(n_rows(points), queried)
        if len(queried) < self.n_initial or len(np.unique(released)) < 2 or len(left) == 0:
            return random_unasked(n_rows(points), queried, k, rng)
        rows = take(points, known)
        if not isinstance(self.learner, str):
            left = rng.permutation(left)[: max(k, self.n_candidates)]
            weights = refit_gaps(self.learner, rows, released, take(points, left))
        else:
            weights = self._closed_form(rows, released, take(points, left))
        return left[smallest(weights, k, rng)]

    def _closed_form(self, rows: Any, labels: NDArray[np.int64], points: Any) -> FloatArray:
        validation.one_of(("logistic", "ridge"), learner=self.learner)
        flip = logistic_flip_weights if self.learner == "logistic" else ridge_flip_weights
        classes = np.unique(labels)
        if len(classes) == 2:
            return flip(rows, np.where(labels == classes[1], 1.0, -1.0), points, self.penalty)
        scores = fit_selector(rows, labels, self.penalty).decision_function(points)
        pairs = np.sort(np.argsort(scores, axis=1)[:, -2:], axis=1)
        weights = np.empty(len(pairs))
        for low, high in np.unique(pairs, axis=0):
            here = np.flatnonzero((pairs == (low, high)).all(axis=1))
            two = np.flatnonzero((labels == classes[low]) | (labels == classes[high]))
            signs = np.where(labels[two] == classes[high], 1.0, -1.0)
            weights[here] = flip(take(rows, two), signs, take(points, here), self.penalty)
        return weights


def ridge_flip_weights(rows: Any, signs: FloatArray, points: Any, penalty: float) -> FloatArray:
    """Return the weight of an opposite-label copy that brings a ridge prediction to zero: exact.

    A copy with label y and weight c moves the prediction p to (p + c s y) / (1 + c s); with
    y = -sign(p) it is zero at ``c = |p| / s``.

    Examples
    --------
    >>> rows, signs = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    >>> float(ridge_flip_weights(rows, signs, np.array([[1.0]]), 1.0)[0]) > 0
    True
    """
    rows, points = _with_intercept(rows), _with_intercept(points)
    ones = np.ones(len(signs))
    predictions = points @ _solve(rows, ones, penalty, np.asarray(rows.T @ signs))
    weights: FloatArray = np.abs(predictions) / leverages(rows, ones, points, penalty)
    return weights


def logistic_flip_weights(rows: Any, signs: FloatArray, points: Any, penalty: float) -> FloatArray:
    """Return the weight that flips a logistic prediction, with the curvature at the fit.

    On the way from z to 0 the copy pulls with force ``sigmoid(|z|)`` at first; integrating the
    change of z per unit of weight, s times that force, gives ``(|z| + 1 - exp(-|z|)) / s``.
    """
    rows, points = _with_intercept(rows), _with_intercept(points)
    model = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coefficients = model.fit(rows, signs).coef_[0]
    share = special.expit(rows @ coefficients)
    z = np.abs(points @ coefficients)
    weights: FloatArray = (z - np.expm1(-z)) / leverages(rows, share * (1 - share), points, penalty)
    return weights


def leverages(rows: Any, curvature: FloatArray, points: Any, penalty: float) -> FloatArray:
    """Return s = x' H^-1 x for each point, H = rows' diag(curvature) rows + penalty I.

    Examples
    --------
    >>> leverages(np.eye(2), np.ones(2), np.array([[1.0, 1.0]]), 1.0)
    array([1.])
    """
    if rows.shape[1] <= rows.shape[0]:
        table = dense(points)
        solved = np.linalg.solve(_hessian(rows, curvature, penalty), table.T)
        s = (table * solved.T).sum(axis=1)
    else:
        # More columns than labels: work with the labels' Gram matrix, never columns squared.
        scaled = _scaled(rows, np.sqrt(curvature))
        gram = _penalised_gram(scaled.T, penalty)
        cross = dense(scaled @ points.T)
        norms = np.asarray(_square(points).sum(axis=1)).ravel()
        s = (norms - (cross * np.linalg.solve(gram, cross)).sum(axis=0)) / penalty
    return np.asarray(np.maximum(s, 1e-12), dtype=np.float64)


def _solve(rows: Any, curvature: FloatArray, penalty: float, right: FloatArray) -> FloatArray:
    if rows.shape[1] <= rows.shape[0]:
        return np.asarray(np.linalg.solve(_hessian(rows, curvature, penalty), right), np.float64)
    scaled = _scaled(rows, np.sqrt(curvature))
    inner = np.linalg.solve(_penalised_gram(scaled.T, penalty), np.asarray(scaled @ right))
    return np.asarray((right - scaled.T @ inner) / penalty, dtype=np.float64)


def _hessian(rows: Any, curvature: FloatArray, penalty: float) -> FloatArray:
    return _penalised_gram(_scaled(rows, np.sqrt(curvature)), penalty)


def _penalised_gram(table: Any, penalty: float) -> FloatArray:
    return dense(table.T @ table) + penalty * np.eye(table.shape[1])


def _scaled(rows: Any, by: FloatArray) -> Any:
    return sp.diags(by) @ rows if sp.issparse(rows) else rows * by[:, None]


def _square(points: Any) -> Any:
    return points.multiply(points) if sp.issparse(points) else points**2


def _with_intercept(points: Any) -> Any:
    ones = np.ones((points.shape[0], 1))
    return sp.hstack([points, ones], "csr") if sp.issparse(points) else np.hstack([points, ones])


def refit_gaps(learner: Any, rows: Any, labels: NDArray[np.int64], points: Any) -> FloatArray:
    """Return how many more mistakes the learner makes when the other label is forced on a point.

    The label is forced by as many copies of the point as there are labels, so that any learner can
    be asked, with sample weights or without. A learner that still does not give in has no plausible
    hypothesis that disagrees: infinity.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    >>> refit_gaps(stump, rows, np.array([0, 0, 1, 1]), np.array([[1.4], [-1.0]]))
    array([0., 2.])
    """
    if not (hasattr(learner, "fit") and hasattr(learner, "predict")):
        raise InvalidArgument(
            f"`learner` must be 'logistic', 'ridge' or an estimator, got {type(learner).__name__}."
        )
    model = clone(learner).fit(rows, labels)
    base = _mistakes(model, rows, labels)
    predicted = np.asarray(model.predict(points))
    gaps = np.full(len(predicted), np.inf)
    for position, own in enumerate(predicted):
        point = take(points, [position])
        for other in np.unique(labels[labels != own]):
            model = clone(learner).fit(*_forced(rows, labels, point, other))
            if model.predict(point)[0] == other:
                gaps[position] = min(gaps[position], _mistakes(model, rows, labels) - base)
    return gaps


def _forced(
    rows: Any, labels: NDArray[np.int64], point: Any, other: int
) -> tuple[Any, NDArray[np.int64]]:
    n = len(labels)
    stack = sp.vstack if sp.issparse(rows) else np.vstack
    copies = [point] * n
    table: Any = stack([rows, *copies])
    return (table.tocsr() if sp.issparse(table) else table), np.append(labels, np.full(n, other))


def _mistakes(model: Any, rows: Any, labels: NDArray[np.int64]) -> int:
    return int((np.asarray(model.predict(rows)) != labels).sum())
