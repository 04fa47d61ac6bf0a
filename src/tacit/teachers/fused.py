"""Many teachers asked at once, where their kind allows it.

The votes are those of asking them one by one, except where a score is within 1e-9 of a tie.

Whether teachers are asked together is decided by the learner and the questions, which are public,
and every teacher keeps its own place in the arrays whatever it learnt. One teacher's records thus
cannot move another's vote, not even through rounding. A teacher that does not fit in (its scaler
shifts by too much, say) is asked alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from tacit.teachers.fused_linear import FusedLinear
from tacit.teachers.fused_trees import FusedBoosters, FusedForests, FusedTrees
from tacit.teachers.labels import IntArray
from tacit.teachers.teacher import Teacher

# Exact types: a subclass may predict in another way.
_FAMILIES: dict[type, type[FusedTrees] | type[FusedForests] | type[FusedBoosters]] = {
    DecisionTreeClassifier: FusedTrees,
    ExtraTreeClassifier: FusedTrees,
    ExtraTreesClassifier: FusedForests,
    HistGradientBoostingClassifier: FusedBoosters,
    RandomForestClassifier: FusedForests,
}


class Fused(Protocol):
    """Teachers that can be asked together. Private."""

    alone: tuple[int, ...]
    """Teachers that do not fit in: counted as voters for the default class, to be asked alone."""

    def count(self, X: Any) -> IntArray | None:
        """Return counts for questions as numbers, or None when they are not for this way."""


def fuse(teachers: Sequence[Teacher], learner: Any, width: int | None) -> Fused | None:
    """Return the teachers as one, or None when their kind has no such form.

    Parameters
    ----------
    teachers : sequence of Teacher
        All trained from the same learner. Private.
    learner : object
        Public.
    width : int or None
        Number of features, when questions are rows of a table. Public.
    """
    if width is None:
        return None
    if FusedLinear.stacks(learner, teachers[0].classes, len(teachers), width):
        return FusedLinear(teachers, learner, width)
    family = _FAMILIES.get(type(learner))
    return None if family is None else family(teachers, learner)


def as_numbers(table: Any) -> Any:
    """Return a table as float64, dense or sparse by rows; None when it does not hold numbers."""
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            return None
        return table.astype(np.float64, order="C", copy=False)
    if sparse.issparse(table):
        return table.tocsr().astype(np.float64, copy=False)
    dtypes = getattr(table, "dtypes", None)
    if dtypes is None or not hasattr(table, "to_numpy"):
        return None
    if not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in dtypes):
        return None
    return np.ascontiguousarray(table.to_numpy(dtype=np.float64))
