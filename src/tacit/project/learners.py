"""Learners by name, with what a table needs before them. Everything is fitted per shard."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tacit.data import ColumnKind, Schema
from tacit.errors import InvalidArgument

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "boosting": (
        "sklearn.ensemble.HistGradientBoostingClassifier",
        {"max_iter": 30, "min_samples_leaf": 5, "early_stopping": False},
    ),
    "forest": ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 30}),
    "logistic": ("sklearn.linear_model.LogisticRegression", {"max_iter": 200}),
    "tree": ("sklearn.tree.DecisionTreeClassifier", {"min_samples_leaf": 3}),
}
"""Short names: where the class is, and settings that suit shards of some tens of records."""

BUILT_IN = "built-in"
"""Logistic teachers that are fitted all at once and correct a student: ``None`` in Python."""

_NATIVE = "HistGradientBoostingClassifier"


def learner_for(name: str, params: Mapping[str, Any], schema: Schema) -> Any:
    """Return a learner for rows of this schema.

    Parameters
    ----------
    name : str
        A short name of ``LEARNERS``, "built-in" for teachers that correct a student, or the dotted
        name of a class with ``fit`` and ``predict``.
    params : mapping
        Arguments of the class.
    schema : Schema
        Columns of categories are one-hot encoded from the pool's list, missing numbers are
        filled in and numbers standardised, all inside the learner. Gradient boosting of
        scikit-learn takes categories and missing numbers as they are.

    Examples
    --------
    >>> learner_for("tree", {"max_depth": 3}, Schema.of_numbers(4))
    DecisionTreeClassifier(max_depth=3, min_samples_leaf=3)
    """
    if name == BUILT_IN:
        if params:
            raise InvalidArgument("`learner` built-in takes no arguments.")
        return None
    place, defaults = LEARNERS.get(name, (name, {}))
    learner = _instantiate(_class_at(place), {**defaults, **params}, place)
    if not schema.columns:
        return learner
    if type(learner).__name__ == _NATIVE:
        return make_pipeline(EmptyColumnsFilled(), learner)
    return make_pipeline(_encoder(schema), learner)


class EmptyColumnsFilled(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Puts zeros in columns of numbers that a shard has no number in; nothing else is changed.

    Gradient boosting takes missing numbers, but not a column without any: such a shard's teacher
    would vote for the first class whatever it is asked.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns."""
        if hasattr(X, "select_dtypes"):
            numbers = X.select_dtypes("number")
            self.empty_ = [name for name in numbers.columns if not numbers[name].notna().any()]
        else:  # a table of numbers alone comes as an array
            self.empty_ = np.flatnonzero(np.isnan(X).all(axis=0)).tolist()
        return self

    def transform(self, X: Any) -> Any:
        """Return the table with zeros in them."""
        if hasattr(X, "assign"):
            return X.assign(**dict.fromkeys(self.empty_, 0.0))
        filled = np.array(X, dtype=float)
        filled[:, self.empty_] = 0.0
        return filled


def _encoder(schema: Schema) -> ColumnTransformer:
    # By place: a table of numbers alone comes as an array, without names.
    numbers = [at for at, one in enumerate(schema.columns) if one.kind.is_numeric]
    named = [one for one in schema.columns if one.kind is ColumnKind.CATEGORY]
    places = [at for at, one in enumerate(schema.columns) if one.kind is ColumnKind.CATEGORY]
    # Columns that a shard has no number in keep their place: every teacher has the same width.
    fill = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    hot = OneHotEncoder(
        categories=[list(one.categories) for one in named],
        handle_unknown="ignore",
        sparse_output=False,
    )
    parts = [("numbers", fill, numbers), ("categories", hot, places)]
    return ColumnTransformer([part for part in parts if part[2]])


def _class_at(place: str) -> Any:
    module, _, attribute = place.rpartition(".")
    if not module:
        names = ", ".join([*LEARNERS, BUILT_IN])
        raise InvalidArgument(
            f"`learner` must be one of {names}, or a dotted name such as "
            f"sklearn.svm.LinearSVC, got {place!r}."
        )
    try:
        learner_class = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise InvalidArgument(
            f"`learner` {place!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not (
        callable(learner_class)
        and hasattr(learner_class, "fit")
        and hasattr(learner_class, "predict")
    ):
        raise InvalidArgument(f"`learner` must have fit and predict; {place!r} does not.")
    return learner_class


def _instantiate(learner_class: Any, params: Mapping[str, Any], place: str) -> Any:
    try:
        return learner_class(**params)
    except (Exception, SystemExit) as error:
        raise InvalidArgument(
            f"`learner` {place!r} does not take these arguments: {error}"
        ) from None
