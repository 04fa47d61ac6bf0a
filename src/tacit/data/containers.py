"""Columns of any container: what NumPy, pandas, polars, Arrow, SciPy and lists have in common.

Only a container's class, its column names and its number of rows are public. Its types are not:
they follow from the values. So there is no branch on a type here but to take cells out faster,
and a cell that cannot be taken out is missing.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data.cells import unrounded
from tacit.errors import InvalidArgument


def is_pandas(X: Any) -> bool:
    """Whether a container is a pandas frame."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _is_polars(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "polars"


def _is_arrow(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pyarrow"


def is_frame(X: Any) -> bool:
    """Whether a container has named columns."""
    return is_pandas(X) or ((_is_polars(X) or _is_arrow(X)) and hasattr(X, "columns"))


def is_sparse(X: Any) -> bool:
    """Whether a container is a sparse matrix."""
    return bool(sp.issparse(X))


def is_table(X: Any) -> bool:
    """Whether a container has rows and columns: a list has if its first element is a row."""
    if is_frame(X) or is_sparse(X):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], list | tuple | np.ndarray)
    return getattr(X, "ndim", 1) == 2


def column_names(frame: Any) -> list[Any]:
    """Return the names of a frame's columns."""
    if _is_arrow(frame):
        return [str(name) for name in frame.column_names]
    return [name.item() if isinstance(name, np.generic) else name for name in frame.columns]


def columns_in(X: Any, width: int | None = None) -> list[Any]:
    """Return the cells of every column: an array of numbers, or a list of cells.

    Parameters
    ----------
    width : int, optional
        Number of columns of a list of rows. A row that is shorter has missing cells, a longer one
        loses the rest: its length is its own.
    """
    if _is_arrow(X):
        return [cells_of(X.column(at)) for at in range(X.num_columns)]
    if _is_polars(X):
        return [cells_of(X[name]) for name in X.columns]
    if is_pandas(X):
        return [cells_of(X.iloc[:, at]) for at in range(X.shape[1])]
    if isinstance(X, list | tuple):
        return _columns_of_rows(X, width)
    table = as_array(X)
    return [cells_of(table[:, at]) for at in range(table.shape[1])]


def as_array(X: Any) -> Any:
    """Return a container as an array; which values it holds does not decide whether it is one."""
    if isinstance(X, np.ma.MaskedArray):
        objects = np.empty(X.shape, dtype=object)
        # One by one: as objects, times would be Python's or numbers, depending on their unit, and
        # NumPy looks into objects that it is given together, such as those with an `__array__`.
        flat, cells = objects.ravel(), X.data.ravel()
        for at, cell in enumerate(cells.tolist() if cells.dtype.kind in "biuf" else cells):
            flat[at] = cell
        objects[np.ma.getmaskarray(X)] = None
        return objects
    try:
        return np.asarray(X)
    except Exception:
        raise InvalidArgument(
            f"`X` must be an array, a data frame, a sparse matrix or a list, got a "
            f"{type(X).__name__} that is no table."
        ) from None


def _columns_of_rows(rows: Any, width: int | None) -> list[Any]:
    if width is None:
        width = max((len(row) for row in rows if _is_row(row)), default=0)
    columns: list[list[Any]] = [[] for _ in range(width)]
    for row in rows:
        cells = _cells_of_row(row, width)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    return columns


def _cells_of_row(row: Any, width: int) -> list[Any]:
    try:
        cells = list(islice(row, width)) if _is_row(row) else []
    except KeyboardInterrupt:
        raise
    except BaseException:  # a class of the caller's: what it does is its own record's
        cells = []
    return cells + [None] * (width - len(cells))


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)


def cells_of(column: Any) -> Any:
    """Return the cells of one column: an array of booleans or numbers, or a list of any cells."""
    if isinstance(column, list | tuple):
        return list(column)
    if isinstance(column, np.ma.MaskedArray):
        return as_array(column).tolist()
    if isinstance(column, np.ndarray):
        return column if column.dtype.kind in "biuf" else list(column)
    if _is_arrow(column):
        return _listed(column, column.to_pylist)
    if _is_polars(column):
        # Over times that Python has no value for polars panics, and says so on standard error.
        if column.dtype.is_nested():
            return [None] * len(column)
        if not column.dtype.is_temporal():
            return _listed(column, column.to_list)
        column = column.to_arrow()
        return _listed(column, column.to_pylist)
    if hasattr(column, "dtype") and hasattr(column, "iloc"):
        return _pandas_cells(column)
    return _listed(column, lambda: list(column))


def _pandas_cells(column: Any) -> Any:
    if getattr(column.dtype, "kind", "O") in "biuf":
        if isinstance(column.dtype, np.dtype):
            return column.to_numpy()
        try:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        except Exception:  # a type of another library
            return _one_by_one(column.iloc)
    return _listed(column.iloc, column.tolist, len(column))


def _listed(column: Any, take: Any, length: int | None = None) -> list[Any]:
    """Return all cells at once or, when one of them has no Python value, one by one."""
    try:
        return list(take())
    except KeyboardInterrupt:
        raise
    except BaseException:  # polars panics with one that is no Exception
        return _one_by_one(column, length)


def _one_by_one(column: Any, length: int | None = None) -> list[Any]:
    cells = []
    for at in range(len(column) if length is None else length):
        try:
            cell = column[at]
            cells.append(cell.as_py() if hasattr(cell, "as_py") else cell)
        except KeyboardInterrupt:
            raise
        except BaseException:
            cells.append(None)
    return cells


def sparse_numbers(X: Any) -> Any:
    """Return a sparse matrix of any type as sparse rows of floats, to the last digit.

    Entries become floats before those of one cell are added up: the sum would be of the matrix's
    type, which follows from all of them.
    """
    table = X.tocoo()
    values = unrounded(table.data if table.dtype.kind in "biuf" else list(table.data))
    rows = sp.coo_matrix((values, (table.row, table.col)), shape=table.shape).tocsr()
    rows.sum_duplicates()
    return rows


def as_container(X: Any) -> Any:
    """Return an object that NumPy can read as an array as one; other containers as they are."""
    supported = is_frame(X) or is_sparse(X) or isinstance(X, list | tuple | np.ndarray)
    if not supported and hasattr(X, "__array__") and not hasattr(X, "shape"):
        return as_array(X)
    return X


def n_rows(points: Any) -> int:
    """Return the number of rows of an array, sparse matrix, data frame or list."""
    shape = getattr(points, "shape", None)
    return int(shape[0]) if shape else len(points)
