"""Students with one score per class, and those whose scores are linear in their coordinates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

FloatArray = NDArray[np.float64]


class ScoreClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts from one score per class (``_scores``) and ``classes_``."""

    classes_: NDArray[Any]

    def _scores(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores: one column per class, or for two classes the difference."""
        check_is_fitted(self)
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the student's probability of every class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = special.expit(scores)
            return np.column_stack([1 - second, second])
        proba: FloatArray = special.softmax(scores, axis=1)
        return proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest score."""
        scores = self.decision_function(X)
        index = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[index]
        return labels


class LinearScores(ScoreClassifier):
    """Scores from ``coef_`` (one row per class) and ``intercept_``."""

    coef_: FloatArray
    intercept_: FloatArray

    def _scores(self, X: Any) -> FloatArray:
        scores: FloatArray = np.asarray(X, dtype=np.float64) @ self.coef_.T + self.intercept_
        return scores


class LinearStudent(LinearScores):
    """A linear model whose weights were found elsewhere: ``fit`` takes them over. Public.

    Parameters
    ----------
    coef : array of shape (n_classes, n_features)
    intercept, classes : array of shape (n_classes,)

    Examples
    --------
    >>> student = LinearStudent([[-1.0], [1.0]], [0.0, 0.0], [0, 1]).fit()
    >>> student.predict([[3.0], [-3.0]]).tolist()
    [1, 0]
    """

    def __init__(self, coef: Any, intercept: Any, classes: Any) -> None:
        self.coef = coef
        self.intercept = intercept
        self.classes = classes

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Take over the weights; nothing is learnt here."""
        self.coef_ = np.asarray(self.coef, dtype=np.float64)
        self.intercept_ = np.asarray(self.intercept, dtype=np.float64)
        self.classes_ = np.asarray(self.classes)
        self.n_features_in_ = self.coef_.shape[1]
        return self
