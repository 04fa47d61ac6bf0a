"""tacit's own routes, with their defaults, and the models without privacy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.accuracy.data import Parts, Split
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from tacit import Corrections, PATEClassifier


def boosting() -> Any:
    """Return boosting with its defaults, for tables of numbers and categories."""
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


_LEARNERS: dict[str, Callable[[], Any]] = {
    "boosting": boosting,
    "built-in": lambda: None,
    "logistic": LogisticRegression,
}


def route(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Return the accuracy of ``PATEClassifier`` with its defaults, and what ``settings`` change."""
    given, learner = split.numbers, _LEARNERS[settings.get("learner", "logistic")]()
    if settings.get("learner") == "boosting":
        given = split.given
    model = PATEClassifier(
        learner,
        epsilon=epsilon,
        delta=split.delta,
        classes=[0, 1],
        random_state=split.seed,
        method=Corrections(settings["rounds"]) if "rounds" in settings else "auto",
        verbose=False,
    )
    return _fitted(model, split, given, X_public=given.pool)


def logistic(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Return the accuracy of logistic regression without privacy."""
    model = LogisticRegression(C=settings["C"], max_iter=2000)
    return _fitted(model, split, split.numbers)


def boosted(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Return the accuracy of boosting without privacy, on the table as it comes."""
    return _fitted(boosting(), split, split.given)


def _fitted(model: Any, split: Split, given: Parts, **more: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few answers, or few iterations, are part of the result
        model.fit(given.private, split.labels, **more)
        return split.accuracy(model.predict(given.test))
