"""What kind of model a learner makes: a public fact, from its class alone."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

_KEEPS_LINEAR = (
    CountVectorizer,
    DictVectorizer,
    FeatureHasher,
    HashingVectorizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PCA,
    RobustScaler,
    SelectorMixin,
    SimpleImputer,
    StandardScaler,
    TfidfTransformer,
    TruncatedSVD,
)
"""Preparations behind which a linear model is one of the points, as numbers or indicators."""


def is_linear(learner: Any) -> bool:
    """Whether the learner is a linear classifier of scikit-learn by itself.

    A pipeline brings its own, per-shard preparation.
    """
    return isinstance(learner, LinearClassifierMixin)


def makes_linear_models(learner: Any) -> bool:
    """Whether the learner makes a linear model, also behind preparation that keeps it linear.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> makes_linear_models(make_pipeline(StandardScaler(), LogisticRegression()))
    True
    >>> makes_linear_models(make_pipeline(PolynomialFeatures(), LogisticRegression()))
    False
    """
    if isinstance(learner, Pipeline):
        *before, (_, last) = learner.steps
        return all(_keeps_linear(step) for _, step in before) and makes_linear_models(last)
    return is_linear(learner)


def _keeps_linear(step: Any) -> bool:
    if isinstance(step, str) or step is None:  # "passthrough"
        return True
    if isinstance(step, Pipeline):
        return all(_keeps_linear(part) for _, part in step.steps)
    if isinstance(step, ColumnTransformer):
        return all(_keeps_linear(part) for _, part, _ in step.transformers)
    if isinstance(step, FeatureUnion):
        return all(_keeps_linear(part) for _, part in step.transformer_list)
    return isinstance(step, _KEEPS_LINEAR)
