"""Linear teachers as a few arrays: smaller and faster than one object each.

Only what a vote needs is kept: coefficients, intercepts, classes. A teacher that does not fit (a
class of coefficients of its own, a type that predicts in another way) is saved as a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

from tacit.teachers.labels import UNKNOWN, ClassList

Arrays = dict[str, NDArray[Any]]

# Exact types, whose votes are those of ``coef_``, ``intercept_`` and ``classes_`` alone.
_TYPES = (LinearSVC, LogisticRegression, Perceptron, SGDClassifier)


def stackable(model: Any, learner: Any, classes: ClassList, width: int | None) -> bool:
    """Return whether a fitted model can be made again from its arrays, exactly."""
    if type(model) not in _TYPES or type(model) is not type(learner) or width is None:
        return False
    coef, intercept = model.coef_, model.intercept_
    if not (isinstance(coef, np.ndarray) and isinstance(intercept, np.ndarray)):
        return False
    positions = classes.positions(model.classes_)
    return (
        coef.dtype == intercept.dtype == np.float64
        and coef.shape == (len(intercept), width)
        and intercept.ndim == 1
        and not (positions == UNKNOWN).any()
        and model.classes_.dtype == classes.labels.dtype
        and model.n_features_in_ == width
    )


def stack(models: Sequence[Any], classes: ClassList, width: int) -> Arrays:
    """Return the arrays of models that are stackable, one after another. Private."""
    positions = [classes.positions(model.classes_) for model in models]
    return {
        "coef": _joined([model.coef_ for model in models], np.zeros((0, width))),
        "intercept": _joined([model.intercept_ for model in models], np.zeros(0)),
        "n_scores": np.array([len(model.intercept_) for model in models], dtype=np.int64),
        "classes": _joined(positions, np.zeros(0, dtype=np.int64)),
        "n_classes": np.array([len(own_positions) for own_positions in positions], dtype=np.int64),
        "named": np.array([hasattr(model, "feature_names_in_") for model in models], dtype=bool),
    }


def unstack(
    arrays: Mapping[str, NDArray[Any]],
    learner: Any,
    classes: ClassList,
    columns: tuple[Any, ...] | None,
) -> list[Any]:
    """Return the models again: copies of the learner that predict as before. Private."""
    scores = np.split(arrays["intercept"], np.cumsum(arrays["n_scores"])[:-1])
    coefs = np.split(arrays["coef"], np.cumsum(arrays["n_scores"])[:-1])
    positions = np.split(arrays["classes"], np.cumsum(arrays["n_classes"])[:-1])
    models = []
    for coef, intercept, own, named in zip(
        coefs, scores, positions, arrays["named"].tolist(), strict=True
    ):
        model = clone(learner)
        model.coef_, model.intercept_ = coef, intercept
        model.classes_ = classes.labels[own]
        model.n_features_in_ = coef.shape[1]
        if named:
            model.feature_names_in_ = np.array(columns, dtype=object)
        models.append(model)
    return models


def _joined(parts: Sequence[NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([empty, *parts])
