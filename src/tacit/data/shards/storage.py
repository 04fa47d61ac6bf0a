"""Cells of shards as Arrow columns, and back: each cell by itself (``tacit.data.cells``).

Columns are looked at value by value, but only once for every different value of a batch. One that
does not fit its column is missing, and nothing is raised over it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Column, ColumnKind, Schema
from tacit.data.cells import number, text
from tacit.data.containers import cells_of
from tacit.data.shards.header import Sharding
from tacit.errors import InvalidArgument

MISSING_ID = ""
"""Records without an identifier count as one person's."""


def arrow() -> Any:
    """Return pyarrow, which is needed for everything here."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise InvalidArgument(
            "Shards in files need pyarrow: pip install '.[parquet]' in the checkout."
        ) from None
    return pyarrow


# ---- into storage --------------------------------------------------------------------------------


def storage_types(sharding: Sharding) -> Any:
    """Return the Arrow columns of shards: features, label, identifier."""
    pa = arrow()
    fields = [(str(one.name), _type(one)) for one in sharding.schema.columns]
    words = pa.large_string()
    return pa.schema([*fields, (sharding.label, words), (sharding.identifier, words)])


def _type(column: Column) -> Any:
    pa = arrow()
    match column.kind:
        case ColumnKind.NUMBER | ColumnKind.BOOLEAN:
            return pa.float64()
        case ColumnKind.CATEGORY:
            return pa.dictionary(pa.int16(), pa.string())
        case ColumnKind.DATE:
            return pa.timestamp("us")
        case ColumnKind.TEXT:
            return pa.large_string()


def stored(cells: Any, sharding: Sharding, ids: Any, into: Any) -> Any:
    """Return a batch of records as they are stored.

    Parameters
    ----------
    cells : dict of name to Arrow array
        As they were read. Private.
    ids : Arrow array
        Identifiers, as ``identifiers`` returns them.
    into : Arrow schema
    """
    pa = arrow()
    columns = [_feature(one, cells[one.name]) for one in sharding.schema.columns]
    label = _texts(*_distinct(cells[sharding.label], text))
    return pa.RecordBatch.from_arrays([*columns, label, ids], schema=into)


def _feature(column: Column, cells: Any) -> Any:
    pa = arrow()
    match column.kind:
        case ColumnKind.NUMBER | ColumnKind.BOOLEAN:
            return pa.array(column.read(_numbers(cells)))
        case ColumnKind.CATEGORY:
            codes, values = _distinct(cells, lambda cell: column.read([cell])[0])
            places = np.array([*values, -1], dtype=np.int16)[codes]
            listed = pa.array(column.categories, type=pa.string())
            return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), listed)
        case ColumnKind.DATE:
            codes, words = _distinct(cells, text)
            return pa.array(column.read([*words, None])[codes])
        case ColumnKind.TEXT:
            return _texts(*_distinct(cells, lambda cell: column.read([cell])[0]))


def identifiers(column: Any) -> tuple[NDArray[np.intp], list[str], Any]:
    """Return identifiers as positions in a list of different ones, the list, and an Arrow array."""
    codes, words = _distinct(column, text)
    words = [*words, None]
    return codes, [MISSING_ID if one is None else one for one in words], _texts(codes, words)


def plain_numbers(kind: Any) -> bool:
    """Whether an Arrow type holds numbers that NumPy has a type for."""
    types = arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _numbers(column: Any) -> NDArray[np.float64]:
    if plain_numbers(column.type):
        cells = column.cast(arrow().float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.asarray(cells, dtype=np.float64)
    codes, values = _distinct(column, number)
    return np.array([*values, np.nan], dtype=np.float64)[codes]


def _texts(codes: NDArray[np.intp], words: list[str | None]) -> Any:
    pa = arrow()
    # Large ones, here and in the files: Arrow cuts a column of 2 GiB of other texts in two.
    whole = [(one or "").encode("utf-8", "replace").decode() for one in (*words, None)]
    listed = pa.array(whole, type=pa.large_string())
    return listed.take(pa.array(np.where(codes < 0, len(whole) - 1, codes)))


def _distinct(column: Any, read: Callable[[Any], Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the place of each cell among the different ones, -1 when missing, and these, read."""
    pa = arrow()
    try:
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return codes.astype(np.intp), [read(one) for one in cells_of(coded.dictionary)]
    except Exception:  # a type without a comparison: every cell is one of its own
        cells = [read(one) for one in cells_of(column)]
        return np.arange(len(cells), dtype=np.intp), cells


# ---- out of storage ------------------------------------------------------------------------------


def parquet_table(content: bytes, columns: list[str]) -> Any:
    """Return some columns of a shard's file; ValueError when it is damaged."""
    pa = arrow()
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(pa.BufferReader(content)).read(columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError("damaged") from error
    if not set(columns) <= set(table.column_names):
        raise ValueError("columns are missing")
    return table


def features(table: Any, schema: Schema) -> Any:
    """Return features as an array when all are numbers, else as a data frame."""
    if all(one.kind.is_numeric for one in schema.columns):
        array = np.empty((table.num_rows, len(schema.columns)))
        for at, name in enumerate(schema.names):
            array[:, at] = table.column(name).to_numpy()
        return array
    import pandas as pd

    frame = pd.concat([_series(one, table.column(one.name)) for one in schema.columns], axis=1)
    frame.columns = pd.Index(schema.names)
    return frame


def _series(column: Column, cells: Any) -> Any:
    if column.kind in (ColumnKind.CATEGORY, ColumnKind.TEXT):
        return column.series(cells_of(cells))
    return column.series(cells.to_numpy())


def labels(column: Any) -> NDArray[Any]:
    """Return the canonical texts of labels."""
    words = np.empty(len(column), dtype=object)
    words[:] = column.to_pylist()
    return words
