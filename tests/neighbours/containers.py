"""Raw cells to containers, the way a user would: the same steps for both neighbours.

Nothing here is careful. ``pd.read_csv`` guesses types, ``np.array`` finds a common one, polars
infers a schema: one odd cell may change what becomes of all others, which is what is tested.
"""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.neighbours.hostile import Cell, text_of

Columns = Mapping[str, Sequence[Cell]]


class NotBuilt(Exception):
    """The container's own library refused the cells, or made another number of rows of them."""


def csv_text(columns: Columns) -> str:
    """Return cells as a well-formed CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([text_of(cell) for cell in row] for row in zip(*columns.values(), strict=True))
    return out.getvalue()


# ---- pandas -------------------------------------------------------------------------------------


def _read_csv(columns: Columns, **how: Any) -> Any:
    import pandas as pd

    return pd.read_csv(io.StringIO(csv_text(columns)), skip_blank_lines=False, **how)


def _frame(columns: Columns) -> Any:
    import pandas as pd

    return pd.DataFrame({name: list(cells) for name, cells in columns.items()})


def _per_column(frame: Any, convert: Callable[[Any], Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({name: convert(frame[name]) for name in frame.columns})


def _categories(column: Any) -> Any:
    return column if column.dtype.kind in "biuf" else column.astype("category")


def _downcast(column: Any) -> Any:
    import pandas as pd

    try:
        return pd.to_numeric(column, downcast="integer")
    except (ValueError, TypeError):
        return column


def _dates(column: Any) -> Any:
    import pandas as pd

    if column.dtype.kind in "biuf":
        return column
    try:
        return pd.to_datetime(column, format="ISO8601")
    except (ValueError, TypeError, OverflowError):
        return column


def _arrow_typed(columns: Columns) -> Any:
    import pandas as pd
    import pyarrow as pa

    def typed(cells: Sequence[Cell]) -> Any:
        try:
            array = pa.array(list(cells))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            return pd.Series(list(cells))
        return pd.Series(pd.arrays.ArrowExtensionArray(array))

    return pd.DataFrame({name: typed(cells) for name, cells in columns.items()})


def _nullable(columns: Columns) -> Any:
    return _frame(columns).convert_dtypes()


def _indexed(columns: Columns) -> Any:
    frame = _read_csv(columns)
    return frame.set_index(frame.columns[0], drop=False).rename_axis(index=None)


def _mostly_zero(columns: Columns) -> Any:
    import pandas as pd

    def convert(column: Any) -> Any:
        return column.astype(pd.SparseDtype(column.dtype)) if column.dtype.kind in "if" else column

    return _per_column(_frame(columns), convert)


def pd_from_rows(rows: list[list[Cell]], names: list[str]) -> Any:
    """Return a data frame from one row after the other."""
    import pandas as pd

    return pd.DataFrame.from_records(rows, columns=names)


def _iso_columns(columns: Columns) -> list[str]:
    """Return the columns that somebody would have read as dates, as their second cell shows."""
    return [name for name, cells in columns.items() if text_of(cells[1])[4:5] == "-"]


PANDAS: Mapping[str, Callable[[Columns], Any]] = {
    "read_csv": _read_csv,
    "frame": _frame,
    "convert_dtypes": _nullable,
    "csv_nullable": lambda columns: _read_csv(columns, dtype_backend="numpy_nullable"),
    "csv_arrow": lambda columns: _read_csv(columns, dtype_backend="pyarrow"),
    "arrow": _arrow_typed,
    "category": lambda columns: _per_column(_read_csv(columns), _categories),
    "all_category": lambda columns: _per_column(_read_csv(columns), lambda c: c.astype("category")),
    "object": lambda columns: _frame(columns).astype(object),
    "str": lambda columns: _read_csv(columns, dtype=str),
    "downcast": lambda columns: _per_column(_read_csv(columns), _downcast),
    "dates": lambda columns: _per_column(_read_csv(columns), _dates),
    "indexed": _indexed,
    "sparse_frame": _mostly_zero,
    "rows": lambda columns: pd_from_rows(_rows(columns), list(columns)),
    "python_engine": lambda columns: _read_csv(columns, engine="python"),
    "parsed_dates": lambda columns: _read_csv(columns, parse_dates=_iso_columns(columns)),
}

# ---- others -------------------------------------------------------------------------------------


def _polars_csv(columns: Columns) -> Any:
    import polars as pl

    return pl.read_csv(csv_text(columns).encode(), infer_schema_length=None)


def _polars_dates(columns: Columns) -> Any:
    import polars as pl

    content = csv_text(columns).encode()
    return pl.read_csv(content, infer_schema_length=None, try_parse_dates=True)


def _polars(columns: Columns) -> Any:
    import polars as pl

    return pl.DataFrame([_polars_series(cells, name) for name, cells in columns.items()])


def _rows(columns: Columns) -> list[list[Cell]]:
    return [list(row) for row in zip(*columns.values(), strict=True)]


def _objects(columns: Columns) -> Any:
    rows = _rows(columns)
    table = np.empty((len(rows), len(columns)), dtype=object)
    for at, row in enumerate(rows):
        for place, cell in enumerate(row):
            table[at, place] = cell
    return table


def _array(columns: Columns) -> Any:
    return _numpy(_rows(columns))


def _numpy(values: Any) -> Any:
    """Return what NumPy makes of values, unless it makes times of numbers and texts.

    ``docs/proofs/reading.md`` leaves that to the caller: no function of a cell undoes it.
    """
    array = np.array(values)
    if array.dtype.kind in "mM":
        raise NotBuilt("NumPy turned values of several kinds into times")
    return array


def _fortran(columns: Columns) -> Any:
    return _numpy([list(cells) for cells in columns.values()]).T


def _masked(columns: Columns) -> Any:
    return np.ma.array(_array(columns), mask=False)


def _sparse(columns: Columns) -> Any:
    return sp.csr_matrix(np.array(_rows(columns)))


def _blocks(columns: Columns) -> Any:
    """Return a matrix of blocks of two rows: a zero is stored if its block holds another number."""
    table = _sparse(columns)
    rows = 2 - table.shape[0] % 2
    return sp.bsr_matrix(table, blocksize=(rows, 1))


def _entries(columns: Columns) -> Any:
    """Return a matrix that names every cell once more, with a zero."""
    table = _sparse(columns).tocoo()
    return sp.coo_array(
        (
            np.concatenate([table.data, np.zeros_like(table.data)]),
            (np.tile(table.row, 2), np.tile(table.col, 2)),
        ),
        shape=table.shape,
    )


# ---- Arrow --------------------------------------------------------------------------------------


def _arrow_array(cells: Sequence[Cell]) -> Any:
    """Return an Arrow array, unless Arrow drops part of a time: that is left to the caller."""
    import pyarrow as pa

    array = pa.array(list(cells))
    if pa.types.is_temporal(array.type) and len({type(one) for one in cells if one == one}) > 1:
        raise NotBuilt("Arrow turned values of several kinds into times")
    return array


def _arrow_table(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table({name: _arrow_array(cells) for name, cells in columns.items()})


def _arrow_dictionaries(columns: Columns) -> Any:
    import pyarrow as pa

    table = _arrow_table(columns)
    return pa.table({name: table[name].dictionary_encode() for name in table.column_names})


def _arrow_csv(columns: Columns) -> Any:
    import pyarrow.csv

    return pyarrow.csv.read_csv(io.BytesIO(csv_text(columns).encode("utf-8", "replace")))


POLARS: Mapping[str, Callable[[Columns], Any]] = {
    "polars_csv": _polars_csv,
    "polars_dates": _polars_dates,
    "polars": _polars,
}
ARRAYS: Mapping[str, Callable[[Columns], Any]] = {
    "array": _array,
    "fortran": _fortran,
    "object_array": _objects,
    "lists": _rows,
    "tuples": lambda columns: [tuple(row) for row in _rows(columns)],
    "row_arrays": lambda columns: [_object_vector(row) for row in _rows(columns)],
    "masked": _masked,
    "masked_objects": lambda columns: np.ma.array(_objects(columns), mask=False),
}
SPARSE: Mapping[str, Callable[[Columns], Any]] = {
    "csr": _sparse,
    "csc": lambda columns: _sparse(columns).tocsc(),
    "bsr": _blocks,
    "coo": _entries,
    "dok": lambda columns: _sparse(columns).todok(),
}
ARROW: Mapping[str, Callable[[Columns], Any]] = {
    "arrow_table": _arrow_table,
    "arrow_dictionaries": _arrow_dictionaries,
    "arrow_csv": _arrow_csv,
}

TABLES = {**PANDAS, **POLARS, **ARRAYS, **SPARSE, **ARROW}


def families() -> dict[str, tuple[str, ...]]:
    """Return the containers of tables that this environment has, by family."""
    found = {"pandas": tuple(PANDAS), "arrays": tuple(ARRAYS), "sparse": tuple(SPARSE)}
    found["arrow"] = tuple(ARROW)
    if importlib.util.find_spec("polars"):
        found["polars"] = tuple(POLARS)
    return found


def build(container: str, columns: Columns) -> Any:
    """Return a container of a table, or raise ``NotBuilt``."""
    made = _attempt(lambda: TABLES[container](columns))
    wanted = (len(next(iter(columns.values()))), len(columns))
    shape = made.shape if hasattr(made, "shape") else (len(made), wanted[1])
    if shape != wanted:
        raise NotBuilt(f"{container}: other rows or columns")
    return made


# ---- one column: labels, identifiers, texts -----------------------------------------------------


def _object_vector(cells: Sequence[Cell]) -> Any:
    made = np.empty(len(cells), dtype=object)
    for at, cell in enumerate(cells):
        made[at] = cell
    return made


def _series(cells: Sequence[Cell]) -> Any:
    import pandas as pd

    return pd.Series(list(cells))


def _polars_series(cells: Sequence[Cell], name: str = "label") -> Any:
    """Return a column of one kind, or of objects: ``strict=False`` would turn kinds into others."""
    import polars as pl

    try:
        return pl.Series(name, list(cells))
    except Exception:
        return pl.Series(name, list(cells), dtype=pl.Object)


VECTORS: Mapping[str, Callable[[Sequence[Cell]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": lambda cells: _numpy(list(cells)),
    "object": _object_vector,
    "series": _series,
    "category": lambda cells: _series(cells).astype("category"),
    "nullable": lambda cells: _series(cells).convert_dtypes(),
    "arrow": lambda cells: _arrow_typed({"label": cells})["label"],
    "read_csv": lambda cells: _read_csv({"label": cells, "end": [0] * len(cells)})["label"],
    "csv_arrow": lambda cells: _read_csv(
        {"label": cells, "end": [0] * len(cells)}, dtype_backend="pyarrow"
    )["label"],
    "polars": _polars_series,
    "masked": lambda cells: np.ma.array(_numpy(list(cells)), mask=False),
    "masked_objects": lambda cells: np.ma.array(_object_vector(cells), mask=False),
    "polars_dates": lambda cells: _polars_dates({"label": cells, "end": [0] * len(cells)})["label"],
    "index": lambda cells: _series(cells).array,
    "arrow_array": _arrow_array,
    "arrow_dictionary": lambda cells: _arrow_array(cells).dictionary_encode(),
}


def vectors() -> tuple[str, ...]:
    """Return the containers of one column that this environment has."""
    has_polars = importlib.util.find_spec("polars") is not None
    return tuple(name for name in VECTORS if has_polars or not name.startswith("polars"))


def build_vector(container: str, cells: Sequence[Cell]) -> Any:
    """Return a container of one column, or raise ``NotBuilt``."""
    made = _attempt(lambda: VECTORS[container](cells))
    if len(made) != len(cells) or getattr(made, "ndim", 1) != 1:
        raise NotBuilt(f"{container}: another number of rows")
    return made


def _attempt(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # polars panics with one that is no Exception
        raise NotBuilt(type(error).__name__) from None
