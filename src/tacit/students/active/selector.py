"""The model that strategies look through: a strongly regularised logistic regression.

It only ranks points. The student that is kept at the end is another model, usually less
regularised: after ten noisy labels a confident selector would look in the wrong place.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from tacit import validation
from tacit.data.pool import take
from tacit.students.active.base import FloatArray, answered

SELECTOR_PENALTY = 10.0
"""The lambda of the selector: its loss is the sum of log losses plus ``lambda / 2 * |w|^2``."""


def fit_selector(points: Any, labels: NDArray[np.int64], penalty: float = SELECTOR_PENALTY) -> Any:
    """Return the selector fitted on released labels, at least two classes of them."""
    model = LogisticRegression(C=1 / validation.positive(penalty=penalty), max_iter=1000)
    with warnings.catch_warnings():
        # Ranking needs no exact optimum, and the caller cannot act on this warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, labels)


def margins(model: Any, points: Any) -> FloatArray:
    """Return how far each point is from being put into another class.

    Two classes: the absolute decision value. More: the gap between the two top scores.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> margins(fit_selector(X, np.array([0, 0, 1, 1])), np.array([[1.5], [3.0]])).argmin()
    np.int64(0)
    """
    scores = np.asarray(model.decision_function(points), dtype=np.float64)
    if scores.ndim == 1:
        return np.abs(scores)
    top = np.partition(scores, -2, axis=1)[:, -2:]
    gap: FloatArray = top[:, 1] - top[:, 0]
    return gap


def selector_margins(X_pool: Any, queried: Any, labels: Any, penalty: float) -> FloatArray | None:
    """Return the margin of every point of the pool, or None before two classes are known."""
    known, released = answered(queried, labels)
    if len(np.unique(released)) < 2:
        return None
    return margins(fit_selector(take(X_pool, known), released, penalty), X_pool)
