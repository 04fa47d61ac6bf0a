"""Fit any estimator on released labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from tacit.accounting.answer import Answer

UNLABELLED = -1
"""What a semi-supervised student of scikit-learn takes for "no label"; no class index is it."""


def released_labels(answers: Sequence[Answer]) -> NDArray[np.int64]:
    """Return the released class index of every answer; ``UNLABELLED`` for a refusal."""
    return np.array(
        [UNLABELLED if answer.label is None else answer.label for answer in answers],
        dtype=np.int64,
    )


def known_variance(answers: Sequence[Answer]) -> float | NDArray[np.float64]:
    """Return the variance of released shares: one number, or one per answer where they differ."""
    each = np.array([answer.variance for answer in answers])
    return float(each[0]) if (each == each[0]).all() else each


def fit_on_labels(student: Any, points: Any, labels: NDArray[np.int64]) -> Any:
    """Return a fresh copy of ``student`` fitted on released labels (class indices).

    Every argument is public: released labels and public points.
    """
    known = np.unique(labels[labels != UNLABELLED])
    if len(known) < 2:
        # Most learners refuse a single class; what was released is one class, so predict it.
        # Nothing at all: the first class, which is public, is as good as any.
        constant = int(known[0]) if len(known) else 0
        return DummyClassifier(strategy="constant", constant=constant).fit([[0.0]], [constant])
    return clone(student).fit(points, labels)
