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
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.linear import LinearScores
from tacit.students.share_fit import PRIOR_VARIANCES, checked_shares, fit_scores, mean_length

FloatArray = NDArray[np.float64]

_LABEL_VARIANCE = 16 / 3
"""Prior variance for plain labels. On splits of public benchmark data set aside for this choice it
was within a tenth of a point of choosing among four by cross-validation."""


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
    evidence_ : float
        Logarithm of the evidence, in nats, after ``fit_shares``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> clean = 1 / (1 + np.exp(-3 * X[:, 0]))
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
        length = mean_length(points)
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
        self.classes_ = np.asarray(classes)
        targets, precision = checked_shares(shares, variance, len(points), len(self.classes_))
        self.n_features_in_ = points.shape[1]
        length = mean_length(points)
        features = np.column_stack([points / length, np.ones(len(points))])
        # The matrices are small: threads of the linear algebra library would wait for each other.
        with threadpool_limits(1, user_api="blas"):
            fit = fit_scores(features, targets, precision, self._candidates())
        self.coef_ = fit.weights[:, :-1] / length
        self.intercept_ = fit.weights[:, -1]
        self.prior_variance_, self.evidence_ = fit.prior_variance, fit.evidence
        return self

    def _candidates(self) -> FloatArray:
        if self.prior_variance == "evidence":
            return PRIOR_VARIANCES
        return np.array([validation.positive(prior_variance=self.prior_variance)])
