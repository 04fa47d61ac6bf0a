"""Classes read off labels, which no estimator does: for scikit-learn's checks alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from tacit.errors import InvalidArgument


def classes_in(labels: Any) -> Any:
    """Return the labels that occur, checked as scikit-learn's own classifiers check them."""
    if labels.dtype == object:
        labels = np.asarray(labels.tolist())
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InvalidArgument(f"`y` must hold at least two classes, got {len(classes)} class.")
    return classes
