"""Points and labels as hypothesis classes see them: tables of finite numbers, zeros and ones.

Shapes are checked, values and their types are not: which error is raised, and its message, must
not depend on what a private record holds. One value can decide the type of a whole array, so each
cell is made a number by itself, and is the same number in every container.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import PointReader, Schema
from tacit.data.cells import unrounded
from tacit.data.containers import (
    as_container,
    cells_of,
    columns_in,
    is_sparse,
    n_rows,
    sparse_numbers,
)
from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]

LARGEST = 1e150


def as_points(X: Any, n_features: int) -> FloatArray:
    """Return points as a table with one row per point and ``n_features`` columns.

    One row of numbers is a column of points when there is one feature. Whatever is no finite number
    counts as 0, and one beyond 1e150 as 1e150: no value can stop a run, and a class may square
    them.

    Examples
    --------
    >>> as_points([3, 1, 2], 1).ravel()
    array([3., 1., 2.])
    """
    X = as_container(X)
    if n_features == 1 and getattr(X, "ndim", 1) == 1:
        columns = [_single_cells(cells_of(X))]
    else:
        X = sparse_numbers(X).toarray() if is_sparse(X) else X
        PointReader(Schema.of_numbers(n_features)).check_container(X)
        columns = columns_in(X, n_features)
    # To the last digit: a class may compare points with others that lie between them.
    table = np.column_stack([unrounded(cells) for cells in columns])
    points: FloatArray = np.clip(np.nan_to_num(table), -LARGEST, LARGEST)
    return points + 0.0  # no negative zero: equal points must look equal


def _single_cells(cells: Any) -> Any:
    """Return the cells of points of one feature: 3 and [3] are the same point."""
    if isinstance(cells, np.ndarray):
        return cells
    return [_single(one) for one in cells]


def _single(cell: Any) -> Any:
    try:
        return cell[0] if isinstance(cell, list | tuple | np.ndarray) and len(cell) == 1 else cell
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class of the caller's
        return None


def as_labels(y: Any, n_points: int) -> BoolArray:
    """Return labels as booleans; whatever is not 1 counts as 0, names of classes included.

    Examples
    --------
    >>> as_labels([0, 1, 7], 3)
    array([False,  True, False])
    """
    y = as_container(y)
    shape = tuple(getattr(y, "shape", (n_rows(y),)))
    if shape != (n_points,):
        raise InvalidArgument(
            f"`y` must hold one label for each of {n_points} points, got shape {shape}."
        )
    ones: BoolArray = unrounded(cells_of(y)) == 1
    return ones
