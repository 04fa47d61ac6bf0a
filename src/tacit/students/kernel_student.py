"""A student for noisy vote shares that need not be linear: a Gaussian process on public points.

Scores are the sum of a linear function and one of a squared-exponential kernel, with one length
scale or one for each column. Everything is chosen by the evidence on released shares, which the
variance of their noise is known for: free of charge.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from threadpoolctl import threadpool_limits

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.kernel_evidence import (
    Kernel,
    centre_root,
    kernels_by_evidence,
    squared_exponential,
)
from tacit.students.linear import ScoreClassifier
from tacit.students.share_fit import ShareFit, checked_shares, fit_scores, mean_length

FloatArray = NDArray[np.float64]

PRIOR_VARIANCES: FloatArray = np.exp2(np.arange(-4, 10, 2, dtype=np.float64))
"""Candidates for the prior variance of a score. Shares of many classes need small ones."""

_SEARCH_CENTRES = 100
"""Centres while lengths are chosen; the fit that is kept has all."""

_LABEL_VARIANCE = 1 / 8

_LENGTH_COSTS = 0.5
"""Nats that every chosen length has to gain: what one that does not matter gains on average."""


class KernelStudent(ScoreClassifier):
    """Classifier that learns from noisy vote shares of known variance, along any boundary.

    Parameters
    ----------
    n_centres : int, default 200
        Public points that carry the kernel, at most: those asked about, or some of them.
    each_column : bool, default True
        Whether columns may have length scales of their own, where the evidence says so.

    Attributes
    ----------
    classes_ : ndarray
    kernel_ : str
    centres_ : ndarray of shape (n_centres, n_features)
    inverse_lengths_ : ndarray of shape (n_features,)
        One over the length scale of every column; near zero where a column does not matter.
    coef_, kernel_coef_, intercept_ : ndarray
        One row per class: weights of columns, of centres, and of the constant.
    prior_variance_, evidence_ : float
        The evidence in nats, less what the lengths that were chosen cost.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> inside = (X**2).sum(axis=1) < 1.4
    >>> noisy = np.where(inside, 0.9, 0.1) + rng.normal(scale=0.3, size=300)
    >>> student = KernelStudent(n_centres=50).fit_shares(
    ...     X, np.column_stack([1 - noisy, noisy]), variance=0.09, classes=[0, 1]
    ... )
    >>> bool(np.mean(student.predict(X) == inside) > 0.9)
    True
    """

    def __init__(self, n_centres: int = 200, each_column: bool = True) -> None:
        self.n_centres = n_centres
        self.each_column = each_column

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit on plain labels, each as a share of 0 or 1 that is wrong about one time in seven."""
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise InvalidArgument("`y` must hold at least two classes, got one.")
        shares = np.eye(len(classes))[labels]
        return self.fit_shares(X, shares, variance=_LABEL_VARIANCE, classes=classes)

    def fit_shares(
        self, X: Any, shares: ArrayLike, *, variance: ArrayLike, classes: ArrayLike
    ) -> Self:
        """Fit on released shares. The arguments are those of ``NoiseAwareStudent.fit_shares``."""
        points = np.asarray(X, dtype=np.float64)
        n_centres = validation.positive_integer(n_centres=self.n_centres)
        self.classes_ = np.asarray(classes)
        targets, precision = checked_shares(shares, variance, len(points), len(self.classes_))
        self.n_features_in_ = points.shape[1]
        length = mean_length(points)
        # Any order of the pool gives centres that are spread over it; public, and not noise.
        some = np.random.default_rng(0).permutation(len(points))[:n_centres]
        with threadpool_limits(1, user_api="blas"):
            self._fit(points / length, targets, precision, points[some] / length)
        self.centres_ = points[some]
        self.inverse_lengths_ /= length
        self.coef_ /= length
        return self

    def _fit(
        self, points: FloatArray, shares: FloatArray, precision: FloatArray, centres: FloatArray
    ) -> None:
        outputs = shares[:, 1:] if shares.shape[1] == 2 else shares
        kernels = kernels_by_evidence(
            points,
            outputs,
            precision,
            centres[:_SEARCH_CENTRES],
            each_column=self.each_column,
        )
        fits = [_fit_with(kernel, points, shares, precision, centres) for kernel in kernels]
        fit, kernel, features = max(fits, key=lambda one: _net_evidence(one[0], one[1]))
        self.kernel_, self.inverse_lengths_ = kernel.name, kernel.inverse_lengths
        self.prior_variance_, self.evidence_ = fit.prior_variance, _net_evidence(fit, kernel)
        self.coef_, self.kernel_coef_, self.intercept_ = features.unfold(fit.weights)

    def _scores(self, X: Any) -> FloatArray:
        points = np.asarray(X, dtype=np.float64)
        kernel = squared_exponential(points, self.centres_, self.inverse_lengths_)
        scores: FloatArray = points @ self.coef_.T + kernel @ self.kernel_coef_.T + self.intercept_
        return scores


def _net_evidence(fit: ShareFit, kernel: Kernel) -> float:
    return fit.evidence - _LENGTH_COSTS * kernel.n_chosen


class _Features:
    """Features whose products are the kernel: columns, whitened kernels of centres, constant."""

    def __init__(self, kernel: Kernel, centres: FloatArray) -> None:
        self._kernel, self._centres = kernel, centres
        self._root = centre_root(centres, kernel.inverse_lengths)
        # The larger of the two parts has variance one, times the prior's.
        self._linear = np.sqrt(min(1.0, kernel.share))
        self._process = np.sqrt(min(1.0, 1 / kernel.share))

    def of(self, points: FloatArray) -> FloatArray:
        cross = squared_exponential(points, self._centres, self._kernel.inverse_lengths)
        whitened = linalg.solve_triangular(self._root, cross.T, lower=True).T
        constant = np.ones((len(points), 1))
        return np.hstack([self._linear * points, self._process * whitened, constant])

    def unfold(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the weights of columns, of centres and of the constant, one row per class."""
        width = self._centres.shape[1]
        whitened = self._process * weights[:, width:-1]
        process = linalg.solve_triangular(self._root.T, whitened.T, lower=False).T
        return self._linear * weights[:, :width], process, weights[:, -1]


def _fit_with(
    kernel: Kernel,
    points: FloatArray,
    shares: FloatArray,
    precision: FloatArray,
    centres: FloatArray,
) -> tuple[ShareFit, Kernel, _Features]:
    features = _Features(kernel, centres)
    return fit_scores(features.of(points), shares, precision, PRIOR_VARIANCES), kernel, features
