"""The form of a point, read off public points: numbers, a data frame, objects or texts.

Private records are made to follow it cell by cell. A table's types are shared by all of its rows:
one text among the ages turns the whole column into text, and every teacher with it. Here such a
cell becomes a missing value of its own record and the other records stay as they are. Nothing is
raised over a value, because which error is raised would tell.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class Kind(StrEnum):
    """What a point is."""

    NUMBERS = "numbers"
    FRAME = "frame"
    OBJECTS = "objects"
    TEXTS = "texts"


class PointForm:
    """The public form of points.

    Parameters
    ----------
    like : table
        Public points.

    Examples
    --------
    >>> PointForm([[0.0, 1.0], [2.0, 3.0]]).conform([[5, "not a number"]])
    array([[ 5., nan]])
    """

    sparse: bool | None = None
    """Whether points are kept as sparse rows; None (a form read from a file): as they come."""

    def __init__(self, like: Any) -> None:
        self.kind = _kind(like)
        self.sparse = bool(sp.issparse(like))
        # No row is kept: names, types and categories of the columns only.
        self.columns: Any = like.iloc[:0] if self.kind is Kind.FRAME else None

    def conform(self, X: Any) -> Any:
        """Return points of this form; a cell that does not fit it is missing."""
        if self.kind is Kind.TEXTS:
            return _items(X)
        if self.kind is Kind.NUMBERS:
            return _contained(_numbers(X), self.sparse)
        if self.kind is Kind.FRAME and _is_frame(X) and len(X.columns) == len(self.columns.columns):
            return _framed(X, self.columns)
        return X

    def __repr__(self) -> str:
        return f"PointForm({self.kind.value!r})"


def _kind(like: Any) -> Kind:
    if _is_frame(like):
        plain = all(_letter(dtype) in "biuf" for dtype in like.dtypes)
        return Kind.NUMBERS if plain else Kind.FRAME
    if sp.issparse(like):
        return Kind.NUMBERS
    if getattr(like, "ndim", None) == 1 or isinstance(like, list | tuple):
        return Kind.TEXTS if len(like) and isinstance(_items(like)[0], str) else Kind.NUMBERS
    if _holds_objects(like):
        return Kind.NUMBERS if _readable(like) else Kind.OBJECTS
    return Kind.NUMBERS


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _holds_objects(X: Any) -> bool:
    return _letter(getattr(X, "dtype", np.dtype(np.float64))) == "O"


def _letter(dtype: Any) -> str:
    return str(getattr(dtype, "kind", "O"))


def _items(X: Any) -> list[Any]:
    return list(X.tolist() if hasattr(X, "tolist") else X)


def _readable(table: Any) -> bool:
    try:
        np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _numbers(X: Any) -> Any:
    if _is_frame(X):
        return _framed_numbers(X)
    if isinstance(X, list | tuple) or _letter(getattr(X, "dtype", np.dtype(float))) in "OUS":
        return _read_cells(X)
    return X


def _contained(X: Any, sparse: bool | None) -> Any:
    """Return numbers in the container of the public points: learners tell the two apart."""
    if sparse is False and sp.issparse(X):
        return X.toarray()
    if sparse and not sp.issparse(X) and getattr(X, "ndim", None) == 2:
        return sp.csr_matrix(np.asarray(X))
    return X


def _read_cells(X: Any) -> Any:
    """Return nested lists or objects as numbers; one that cannot be read is missing."""
    try:
        return np.array(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if getattr(X, "ndim", 2) != 2:
            return X
        rows = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in X]
    if len({len(row) for row in rows}) != 1:
        return X  # not a table: whoever checks its shape refuses it
    return np.array([[_number(cell) for cell in row] for row in rows], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float(np.float64(cell))
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _number_column(column: Any) -> NDArray[np.float64]:
    if _letter(column.dtype) in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array([_number(cell) for cell in column], dtype=np.float64)


def _framed_numbers(frame: Any) -> Any:
    cells = [_number_column(frame.iloc[:, at]) for at in range(len(frame.columns))]
    table = np.column_stack(cells) if cells else np.empty((len(frame), 0))
    return type(frame)(table, columns=frame.columns, index=frame.index)


def _framed(frame: Any, like: Any) -> Any:
    found = frame.copy()
    for at, dtype in enumerate(like.dtypes):
        column = frame.iloc[:, at]
        found.isetitem(at, _column(column, dtype))
    return found


def _column(column: Any, dtype: Any) -> Any:
    if _letter(dtype) in "biuf":
        # All kinds of numbers are one: a single missing value turns whole numbers into floats.
        return _number_column(column)
    if column.dtype == dtype:
        return column
    if str(dtype) == "category":
        return _categories(column, dtype)
    if _letter(dtype) == "M":
        return _times(column, dtype)
    if str(dtype) == "object":
        return column.astype(object)
    return column.astype(object).map(_word).astype(dtype)


def _categories(column: Any, dtype: Any) -> Any:
    import pandas as pd

    # Not pandas' own conversion: it warns, one day raises, over a value outside the list.
    at = {category: code for code, category in enumerate(dtype.categories)}
    codes = [_code(cell, at) for cell in column.astype(object)]
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=column.index)


def _code(cell: Any, at: dict[Any, int]) -> int:
    try:
        return at.get(cell, -1)
    except TypeError:  # a cell that cannot be a category
        return -1


def _times(column: Any, dtype: Any) -> Any:
    import pandas as pd

    def time(cell: Any) -> Any:
        try:
            stamp = pd.Timestamp(cell).as_unit(dtype.unit if hasattr(dtype, "unit") else unit)
            zone = getattr(dtype, "tz", None)
            return stamp if (stamp.tz is None) == (zone is None) else pd.NaT
        except Exception:
            return pd.NaT

    unit = np.datetime_data(dtype)[0] if isinstance(dtype, np.dtype) else "ns"
    return pd.Series([time(cell) for cell in column.astype(object)], column.index, dtype)


def _word(cell: Any) -> Any:
    """Return the text of a cell, the same for 12 and 12.0; missing stays missing."""
    try:
        if cell is None or cell != cell:
            return None
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        return str(cell)
    except Exception:  # a cell that has no text
        return None
