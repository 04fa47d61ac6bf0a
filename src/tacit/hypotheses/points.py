"""Points and labels as hypothesis classes see them: tables of finite numbers, zeros and ones.

Shapes and kinds are checked, values are not: which error is raised, and what it says, must not
depend on what a private record holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]

LARGEST = 1e150


def as_points(X: Any, n_features: int) -> FloatArray:
    """Return points as a table with one row per point and ``n_features`` columns.

    One row of numbers is a column of points when there is one feature. A missing number counts as
    0, and one beyond 1e150, infinite ones included, as 1e150: no value can stop a run, and a class
    may square them.

    Examples
    --------
    >>> as_points([3, 1, 2], 1).ravel()
    array([3., 1., 2.])
    """
    table = np.asarray(X.toarray() if sp.issparse(X) else X)
    if table.dtype.kind not in "biuf":
        raise InvalidArgument(f"`X` must be a table of numbers, got {table.dtype}.")
    if table.ndim == 1 and n_features == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != n_features:
        raise InvalidArgument(
            f"`X` must have {n_features} column(s), one per feature of the hypotheses, "
            f"got shape {table.shape}."
        )
    known = np.nan_to_num(table.astype(np.float64, copy=False), posinf=LARGEST, neginf=-LARGEST)
    points: FloatArray = np.clip(known, -LARGEST, LARGEST)
    return points + 0.0  # no negative zero: equal points must look equal


def as_labels(y: Any, n_points: int) -> BoolArray:
    """Return labels as booleans; whatever is not 1 counts as 0.

    Examples
    --------
    >>> as_labels([0, 1, 7], 3)
    array([False,  True, False])
    """
    labels = np.asarray(y)
    if labels.shape != (n_points,):
        raise InvalidArgument(
            f"`y` must hold one label for each of {n_points} points, got shape {labels.shape}."
        )
    check_label_kind(labels)
    found: BoolArray = np.asarray(labels == 1, dtype=np.bool_)
    return found


def check_label_kind(labels: NDArray[Any]) -> None:
    """Refuse labels that are no numbers: names of classes would all count as 0."""
    if labels.dtype.kind not in "biuf":
        raise InvalidArgument(f"`y` must hold numbers, 0 or 1, got {labels.dtype}.")
