"""Points and labels as hypothesis classes see them: tables of finite numbers, zeros and ones.

Shapes are checked, values and their types are not: which error is raised, and what it says, must
not depend on what a private record holds. One value can decide the type of a whole array, so each
cell is made a number by itself, and is the same number in every container.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
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
    0, as does everything that is no number, and one beyond 1e150, infinite ones included, as 1e150:
    no value can stop a run, and a class may square them.

    Examples
    --------
    >>> as_points([3, 1, 2], 1).ravel()
    array([3., 1., 2.])
    """
    table = as_numbers(X)
    if table.ndim == 1 and n_features == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] != n_features:
        raise InvalidArgument(
            f"`X` must have {n_features} column(s), one per feature of the hypotheses, "
            f"got shape {table.shape}."
        )
    known = np.nan_to_num(table, posinf=LARGEST, neginf=-LARGEST)
    points: FloatArray = np.clip(known, -LARGEST, LARGEST)
    return points + 0.0  # no negative zero: equal points must look equal


def as_labels(y: Any, n_points: int) -> BoolArray:
    """Return labels as booleans; whatever is not 1 counts as 0, names of classes included.

    Examples
    --------
    >>> as_labels([0, 1, 7], 3)
    array([False,  True, False])
    """
    labels = as_numbers(y)
    if labels.shape != (n_points,):
        raise InvalidArgument(
            f"`y` must hold one label for each of {n_points} points, got shape {labels.shape}."
        )
    ones: BoolArray = labels == 1
    return ones


def as_numbers(values: Any) -> FloatArray:
    """Return an array of the same shape with every cell as a number, or NaN where it is none.

    The number depends on the cell alone: texts are read as numbers, "True" and "False" as 1 and 0,
    because a single text makes texts of a whole array.

    Examples
    --------
    >>> as_numbers(np.array(["2", "True", "x"])), as_numbers([2, True, None])
    (array([ 2.,  1., nan]), array([ 2.,  1., nan]))
    """
    table = _array(values)
    with np.errstate(all="ignore"):
        if table.dtype.kind in "biuf":
            return table.astype(np.float64, copy=False)
        if table.dtype.kind == "c":
            return np.where(table.imag == 0, table.real, np.nan).astype(np.float64)
        if table.dtype.kind not in "OUST":
            return np.full(table.shape, np.nan)
        cells = table.astype(object).ravel().tolist()
        numbers = np.array([_number(cell) for cell in cells], dtype=np.float64)
        return numbers.reshape(table.shape)


def _array(values: Any) -> NDArray[Any]:
    """Return an array, of objects where NumPy would make one type of several."""
    if sp.issparse(values):
        return np.asarray(values.toarray())
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        return np.array(values, dtype=object)
    except ValueError:  # rows of several lengths; which ones is not said
        raise InvalidArgument("`X` and `y` must have as many cells in every row.") from None


def _number(cell: Any) -> float:
    """Return a cell as a number, or NaN."""
    if isinstance(cell, complex | np.complexfloating):
        cell = cell.real if cell.imag == 0 else None
    if isinstance(cell, bytes):
        cell = cell.decode("latin-1")
    if isinstance(cell, str):
        cell = _TRUTH.get(cell.strip().lower(), cell.replace("_", "x"))
    if isinstance(cell, np.timedelta64) or not isinstance(cell, _NUMBERS):
        return np.nan
    try:
        return float(cell)
    except OverflowError:  # a whole number or fraction; texts become infinite by themselves
        whole: Any = cell
        return np.inf if whole > 0 else -np.inf
    except ValueError:
        return np.nan


_TRUTH = {"true": 1.0, "false": 0.0}
_NUMBERS = (int, float, np.bool_, np.integer, np.floating, Decimal, Fraction, str)
