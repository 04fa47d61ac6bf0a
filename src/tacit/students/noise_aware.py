"""A student for noisy shares of the vote whose noise variance is known.

A released share is the true share of the teachers' votes plus Gaussian noise of known variance.
Rounding it to a label throws most of it away. This student fits the shares themselves: a softmax of
linear scores, squared error weighed by the known variance, a Gaussian prior on the weights whose
variance is chosen by the evidence. Everything it sees is public.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.linear import LinearScores

FloatArray = NDArray[np.float64]

PRIOR_VARIANCES: FloatArray = np.exp2(np.arange(1, 12, dtype=np.float64))
"""Candidates for the prior variance of the weights, on features of mean length one.

The smallest gives the score of a typical point a standard deviation of about 1.4: teachers that
agree by four to one are nothing unusual, unanimity everywhere is.
"""

_INTERCEPT_VARIANCE = 10.0

_LABEL_VARIANCE = 16 / 3
"""Prior variance for plain labels. On splits of public benchmark data set aside for this choice it
was within a tenth of a point of choosing among four by cross-validation."""

_AS_GOOD = 5.0
"""Evidences this close (in nats) are called equal, and the strongest prior among them is taken.

The Laplace approximation leans towards weak priors when there is much noise. On splits of public
benchmark data set aside for this choice, the strongest of the equals was the best or within half a
point of it at every epsilon tried.
"""


class NoiseAwareStudent(LinearScores):
    """Classifier that learns from noisy vote shares of known variance.

    Parameters
    ----------
    prior_variance : float or "evidence", default "evidence"
        Prior variance of the weights, on features divided by their mean length. By default the
        value with the largest Laplace approximation to the evidence: it looks at released shares
        and public points only.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (n_classes, n_features)
        Score weights (for two classes the score of the second against the first).
    intercept_ : ndarray of shape (n_classes,)
    prior_variance_ : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> clean = special.expit(3 * X[:, 0])
    >>> noisy = clean + rng.normal(scale=0.3, size=200)
    >>> student = NoiseAwareStudent().fit_shares(
    ...     X, np.column_stack([1 - noisy, noisy]), variance=0.09, classes=[0, 1]
    ... )
    >>> bool(np.mean(student.predict(X) == (X[:, 0] > 0)) > 0.95)
    True
    """

    def __init__(self, prior_variance: float | str = "evidence") -> None:
        self.prior_variance = prior_variance

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit on plain labels: logistic regression with a Gaussian prior.

        A label says nothing about its own noise, so there is no evidence to weigh: unless a
        ``prior_variance`` is given it is 16/3, a penalty of 3 on features of mean length four.
        """
        points, classes = np.asarray(X, dtype=np.float64), np.unique(np.asarray(y))
        if len(classes) < 2:
            raise InvalidArgument("`y` must hold at least two classes, got one.")
        given = self.prior_variance
        prior = (
            _LABEL_VARIANCE if given == "evidence" else validation.positive(prior_variance=given)
        )
        length = _mean_length(points)
        model = LogisticRegression(C=prior, max_iter=1000)
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            # What is left to gain after a thousand steps is below the noise in the labels.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(points / length, np.asarray(y))
        two = len(classes) == 2
        self.classes_, self.n_features_in_ = classes, points.shape[1]
        weights, intercept = model.coef_ / length, model.intercept_
        self.coef_ = np.vstack([-weights, weights]) / 2 if two else weights
        self.intercept_ = np.concatenate([-intercept, intercept]) / 2 if two else intercept
        self.prior_variance_ = float(prior)
        return self

    def fit_shares(
        self, X: Any, shares: ArrayLike, *, variance: ArrayLike, classes: ArrayLike
    ) -> Self:
        """Fit on released shares.

        Parameters
        ----------
        X : array of shape (n_points, n_features)
            Public points.
        shares : array of shape (n_points, n_classes)
            Released shares of the vote: noisy, so they may leave [0, 1].
        variance : float, or array of length n_points
            Known variance of the noise on each share; one per point where they differ.
        classes : array of length n_classes
        """
        points = np.asarray(X, dtype=np.float64)
        targets = np.asarray(shares, dtype=np.float64)
        self.classes_ = np.asarray(classes)
        if targets.shape != (len(points), len(self.classes_)):
            raise InvalidArgument(
                f"`shares` must have shape {(len(points), len(self.classes_))}, "
                f"got {targets.shape}."
            )
        precision = 1 / _variances(variance, len(points))
        self.n_features_in_ = points.shape[1]
        length = _mean_length(points)
        features = np.column_stack([points / length, np.ones(len(points))])
        fit = _two_classes if len(self.classes_) == 2 else _many_classes
        # The matrices are small: threads of the linear algebra library would wait for each other.
        with threadpool_limits(1, user_api="blas"):
            weights, self.prior_variance_ = fit(features, targets, precision, self._candidates())
        self.coef_ = weights[:, :-1] / length
        self.intercept_ = weights[:, -1]
        return self

    def _candidates(self) -> FloatArray:
        if self.prior_variance == "evidence":
            return PRIOR_VARIANCES
        return np.array([validation.positive(prior_variance=self.prior_variance)])


def _mean_length(points: FloatArray) -> float:
    return float(np.sqrt((points**2).sum(axis=1)).mean()) or 1.0


def _variances(variance: ArrayLike, n_points: int) -> FloatArray:
    given = np.asarray(variance, dtype=np.float64)
    if given.shape not in ((), (n_points,)):
        raise InvalidArgument(
            f"`variance` must be a number or one for each of {n_points} points, got shape "
            f"{given.shape}."
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise InvalidArgument("`variance` must be finite and not negative.")
    return np.broadcast_to(np.maximum(given, 1e-4), (n_points,))


_Fit = tuple[float, FloatArray, float]
"""Evidence, weights, prior variance."""


def _chosen(fits: list[_Fit]) -> _Fit:
    """Return the fit with the strongest prior (the first) whose evidence is as good as the best."""
    best = max(evidence for evidence, _, _ in fits)
    return next(fit for fit in fits if fit[0] >= best - _AS_GOOD)


def _prior_precision(n_features: int, variance: float) -> FloatArray:
    precision = np.full(n_features, 1 / variance)
    precision[-1] = 1 / _INTERCEPT_VARIANCE
    return precision


def _two_classes(
    features: FloatArray, shares: FloatArray, weigh: FloatArray, candidates: FloatArray
) -> tuple[FloatArray, float]:
    """Damped Gauss-Newton for each prior variance, warm-started; keep the best evidence.

    ``weigh`` is one over the known variance of every point's share.
    """
    # Both columns carry the same information when noise is on one count (their sum is one), and
    # twice the information when it is on both: then half the difference has half the variance.
    difference = (shares[:, 1] - shares[:, 0] + 1) / 2
    independent = not np.allclose(shares.sum(axis=1), 1.0, atol=1e-9)
    weigh = 2 * weigh if independent else weigh
    weights = np.zeros(features.shape[1])
    start = float(np.clip(difference.mean(), 0.02, 0.98))
    weights[-1] = special.logit(start)
    fits: list[_Fit] = []
    for prior in candidates:
        precision = _prior_precision(features.shape[1], prior)
        weights, loss = _gauss_newton(features, difference, weigh, precision, weights)
        evidence = -loss - 0.5 * _log_det(features, weights, weigh, precision)
        evidence += 0.5 * float(np.log(precision).sum())
        fits.append((evidence, weights, float(prior)))
    _, weights, prior = _chosen(fits)
    return np.vstack([-weights / 2, weights / 2]), prior


def _gauss_newton(
    features: FloatArray,
    target: FloatArray,
    weigh: FloatArray,
    precision: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, float]:
    def loss(w: FloatArray) -> float:
        miss = target - special.expit(features @ w)
        return float(weigh @ miss**2 + precision @ w**2) / 2

    damping, current = 1e-3, loss(weights)
    for _ in range(80):
        p = special.expit(features @ weights)
        slope = features * (p * (1 - p))[:, None]
        curvature = slope.T @ (slope * weigh[:, None]) + np.diag(precision)
        gradient = -slope.T @ (weigh * (target - p)) + precision * weights
        for _ in range(12):
            step = np.linalg.solve(curvature + damping * np.diag(curvature.diagonal()), gradient)
            trial = loss(weights - step)
            if trial < current:
                break
            damping *= 4
        else:
            return weights, current
        gained, current = current - trial, trial
        weights, damping = weights - step, max(damping / 4, 1e-9)
        if gained < 1e-7 * (1 + abs(current)):
            break
    return weights, current


def _log_det(
    features: FloatArray, weights: FloatArray, weigh: FloatArray, precision: FloatArray
) -> float:
    p = special.expit(features @ weights)
    slope = features * (p * (1 - p))[:, None]
    curvature = slope.T @ (slope * weigh[:, None]) + np.diag(precision)
    return float(np.linalg.slogdet(curvature)[1])


def _many_classes(
    features: FloatArray, shares: FloatArray, weigh: FloatArray, candidates: FloatArray
) -> tuple[FloatArray, float]:
    """L-BFGS on softmax scores; the evidence uses one curvature block per class."""
    n_classes = shares.shape[1]
    weights = np.zeros((n_classes, features.shape[1]))
    weights[:, -1] = np.log(np.clip(shares.mean(axis=0), 1e-3, 1.0))
    fits: list[_Fit] = []
    for prior in candidates:
        precision = _prior_precision(features.shape[1], prior)
        weights, loss = _softmax_fit(features, shares, weigh, precision, weights)
        p = special.softmax(features @ weights.T, axis=1)
        evidence = -loss + 0.5 * n_classes * float(np.log(precision).sum())
        for c in range(n_classes):
            slope = features * (p[:, c] * (1 - p[:, c]))[:, None]
            block = slope.T @ (slope * weigh[:, None]) + np.diag(precision)
            evidence -= 0.5 * float(np.linalg.slogdet(block)[1])
        fits.append((evidence, weights, float(prior)))
    _, weights, prior = _chosen(fits)
    return weights, prior


def _softmax_fit(
    features: FloatArray,
    shares: FloatArray,
    weigh: FloatArray,
    precision: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, float]:
    shape = weights.shape

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        w = flat.reshape(shape)
        p = special.softmax(features @ w.T, axis=1)
        miss = p - shares
        inner = p * (miss - (miss * p).sum(axis=1, keepdims=True))
        value = float(weigh @ (miss**2).sum(axis=1) + (precision * w**2).sum()) / 2
        gradient = inner.T @ (features * weigh[:, None]) + precision * w
        return value, gradient.ravel()

    found = optimize.minimize(
        loss, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    return found.x.reshape(shape), float(found.fun)
