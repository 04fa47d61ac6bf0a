"""Class scores that are linear in some features, fitted to noisy vote shares of known variance.

Squared error of the softmax of the scores, weighed by the known variance; a Gaussian prior on the
weights, whose variance is chosen by the Laplace approximation to the evidence. Sees released shares
and public points only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]

PRIOR_VARIANCES: FloatArray = np.exp2(np.arange(1, 12, dtype=np.float64))
"""Candidates for the prior variance of the weights, on features of mean length one.

The smallest gives the score of a typical point a standard deviation of about 1.4: teachers that
agree by four to one are nothing unusual, unanimity everywhere is.
"""

_INTERCEPT_VARIANCE = 10.0

AS_GOOD = 5.0
"""Evidences this close (in nats) are called equal, and the strongest prior among them is taken.

The Laplace approximation leans towards weak priors when there is much noise. On splits of public
benchmark data set aside for this choice, the strongest of the equals was the best or within half a
point of it at every epsilon tried.
"""

_HOPELESS = 15.0
"""A prior whose evidence is so many nats below the best so far ends the search: the evidence has
one peak in the prior variance."""


@dataclass(frozen=True)
class ShareFit:
    """Weights of shape (n_classes, n_features), their prior variance, and the evidence in nats.

    The evidence that is returned is the largest of all candidates: that of the kind of model.
    """

    evidence: float
    weights: FloatArray
    prior_variance: float


def checked_shares(
    shares: ArrayLike, variance: ArrayLike, n_points: int, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return released shares, and one over the variance of each point's."""
    targets = np.asarray(shares, dtype=np.float64)
    if targets.shape != (n_points, n_classes):
        raise InvalidArgument(
            f"`shares` must have shape {(n_points, n_classes)}, got {targets.shape}."
        )
    given = np.asarray(variance, dtype=np.float64)
    if given.shape not in ((), (n_points,)):
        raise InvalidArgument(
            f"`variance` must be a number or one for each of {n_points} points, got shape "
            f"{given.shape}."
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise InvalidArgument("`variance` must be finite and not negative.")
    return targets, np.broadcast_to(1 / np.maximum(given, 1e-4), (n_points,))


def fit_scores(
    features: FloatArray, shares: FloatArray, precision: FloatArray, candidates: FloatArray
) -> ShareFit:
    """Return the fit whose prior variance, of the candidates, has the largest evidence.

    Parameters
    ----------
    features : array of shape (n_points, n_features)
        The last column is the constant one, whose prior is its own.
    shares : array of shape (n_points, n_classes)
    precision : array of length n_points
        One over the known variance of every point's shares.
    candidates : array
        Prior variances, increasing.
    """
    fit = _two_classes if shares.shape[1] == 2 else _many_classes
    return fit(features, shares, precision, candidates)


def mean_length(points: FloatArray) -> float:
    """Return the mean length of the rows, one where all are zero."""
    return float(np.sqrt((points**2).sum(axis=1)).mean()) or 1.0


def _chosen(fits: list[ShareFit]) -> ShareFit:
    """Return the fit with the strongest prior (the first) whose evidence is as good as the best."""
    best = max(fit.evidence for fit in fits)
    chosen = next(fit for fit in fits if fit.evidence >= best - AS_GOOD)
    return replace(chosen, evidence=best)


def _is_hopeless(fits: list[ShareFit]) -> bool:
    return fits[-1].evidence < max(fit.evidence for fit in fits) - _HOPELESS


def _prior_precision(n_features: int, variance: float) -> FloatArray:
    precision = np.full(n_features, 1 / variance)
    precision[-1] = 1 / _INTERCEPT_VARIANCE
    return precision


def _two_classes(
    features: FloatArray, shares: FloatArray, weigh: FloatArray, candidates: FloatArray
) -> ShareFit:
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
    fits: list[ShareFit] = []
    for prior in candidates:
        precision = _prior_precision(features.shape[1], prior)
        weights, loss = _gauss_newton(features, difference, weigh, precision, weights)
        evidence = -loss - 0.5 * _log_det(features, weights, weigh, precision)
        evidence += 0.5 * float(np.log(precision).sum())
        fits.append(ShareFit(evidence, np.vstack([-weights / 2, weights / 2]), float(prior)))
        if _is_hopeless(fits):
            break
    return _chosen(fits)


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
) -> ShareFit:
    """L-BFGS on softmax scores; the evidence uses one curvature block per class."""
    n_classes = shares.shape[1]
    weights = np.zeros((n_classes, features.shape[1]))
    weights[:, -1] = np.log(np.clip(shares.mean(axis=0), 1e-3, 1.0))
    fits: list[ShareFit] = []
    for prior in candidates:
        precision = _prior_precision(features.shape[1], prior)
        weights, loss = _softmax_fit(features, shares, weigh, precision, weights)
        p = special.softmax(features @ weights.T, axis=1)
        evidence = -loss + 0.5 * n_classes * float(np.log(precision).sum())
        for c in range(n_classes):
            slope = features * (p[:, c] * (1 - p[:, c]))[:, None]
            block = slope.T @ (slope * weigh[:, None]) + np.diag(precision)
            evidence -= 0.5 * float(np.linalg.slogdet(block)[1])
        fits.append(ShareFit(evidence, weights, float(prior)))
        if _is_hopeless(fits):
            break
    return _chosen(fits)


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

    best = optimize.minimize(
        loss, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    return best.x.reshape(shape), float(best.fun)
