"""Cells of shards as Arrow columns, and back: each cell by itself, as ``tacit.tables`` reads it.

Columns are looked at value by value, but only once for every different value of a batch. One that
does not fit its column is missing, and nothing is raised over it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidArgument
from tacit.shards.header import Sharding
from tacit.tables import Column, Columns
from tacit.tables.cells import values_in
from tacit.tables.layout import MISSING, number, word

MISSING_ID = ""
"""Records without an identifier count as one person's."""


def arrow() -> Any:
    """Return pyarrow, which is needed for everything here."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise InvalidArgument(
            "Shards in files need pyarrow: pip install 'tacit[frames]'."
        ) from None
    return pyarrow


# ---- into storage --------------------------------------------------------------------------------


def schema(sharding: Sharding, narrow: frozenset[str] = frozenset()) -> Any:
    """Return the columns of shards: features, label, identifier. ``narrow`` ones are float32."""
    pa = arrow()
    fields = [(one.name, _type(one, narrow=one.name in narrow)) for one in sharding.layout.columns]
    label = (sharding.label, pa.int64() if sharding.whole_labels else pa.large_string())
    return pa.schema([*fields, label, (sharding.identifier, pa.large_string())])


def _type(column: Column, *, narrow: bool) -> Any:
    pa = arrow()
    if column.categories is not None:
        return pa.dictionary(pa.int16(), pa.string())
    return pa.float32() if narrow else pa.float64()


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
    columns = [
        _numbers(cells[one.name], into.field(one.name).type)
        if one.categories is None
        else _categories(cells[one.name], one.categories)
        for one in sharding.layout.columns
    ]
    given = cells[sharding.label]
    label = given.cast(pa.int64()) if sharding.whole_labels else _texts(*_words(given))
    return pa.RecordBatch.from_arrays([*columns, label, ids], schema=into)


def identifiers(column: Any) -> tuple[NDArray[np.intp], list[str], Any]:
    """Return identifiers as positions in a list of different ones, the list, and an Arrow array."""
    codes, words = _words(column)
    return codes, [MISSING_ID if one is None else one for one in words], _texts(codes, words)


def whole_numbers(kind: Any) -> bool:
    """Whether an Arrow type holds whole numbers that are stored as such."""
    types = arrow().types
    return bool(types.is_integer(kind)) and not types.is_uint64(kind)


def plain_numbers(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    types = arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def short_numbers(kind: Any) -> bool:
    """Whether float32 holds all numbers of an Arrow type."""
    types = arrow().types
    return bool(
        types.is_float16(kind) or types.is_float32(kind) or types.is_int8(kind)
        or types.is_uint8(kind) or types.is_int16(kind) or types.is_uint16(kind)
        or types.is_boolean(kind)
    )  # fmt: skip


def _numbers(column: Any, kind: Any) -> Any:
    pa = arrow()
    numbers = column if plain_numbers(column.type) else _parsed(column)
    if numbers is not None:
        found = numbers.cast(kind, safe=False).to_numpy(zero_copy_only=False)
    else:
        codes, read = _distinct(column, number)
        found = np.array([*read, np.nan], dtype=np.float64)[codes]
    if not np.isfinite(found).all():
        found = np.where(np.isfinite(found), found, np.nan)
    return pa.array(found, type=kind)


def _parsed(column: Any) -> Any:
    """Return texts as numbers, where Arrow can read all of them: the same ones, but faster."""
    pa = arrow()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    missing = pa.compute.is_in(column, pa.array(sorted(MISSING), type=column.type))
    try:
        return pa.compute.if_else(missing, None, column).cast(pa.float64())
    except pa.ArrowException:
        return None


def _categories(column: Any, categories: tuple[str, ...]) -> Any:
    pa = arrow()
    place = {text: code for code, text in enumerate(categories)}
    codes, read = _distinct(column, lambda cell: place.get(word(cell) or "", -1))
    found = np.array([*read, -1], dtype=np.int16)[codes]
    listed = pa.array(categories, type=pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(found, mask=found < 0), listed)


def _words(column: Any) -> tuple[NDArray[np.intp], list[str | None]]:
    pa = arrow()
    if pa.types.is_integer(column.type):  # their words are their digits
        column = column.cast(pa.string())
        codes, words = _distinct(column, str)
    else:
        codes, words = _distinct(column, word)
    return codes, [*words, None]


def _texts(codes: NDArray[np.intp], words: list[str | None]) -> Any:
    pa = arrow()
    # Large ones, here and in the files: Arrow cuts a column of 2 GiB of other texts in two.
    listed = pa.array([one or "" for one in words], type=pa.large_string())
    return listed.take(pa.array(np.where(codes < 0, len(words) - 1, codes)))


def _distinct(column: Any, read: Callable[[Any], Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the place of each cell among the different ones, -1 when missing, and these, read."""
    pa = arrow()
    try:
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
        return codes, [read(one) for one in values_in(coded.dictionary)]
    except pa.ArrowException:  # a type without a comparison: every cell is one of its own
        cells = [read(one) for one in values_in(column)]
        return np.arange(len(cells), dtype=np.intp), cells


# ---- out of storage ------------------------------------------------------------------------------


def parquet_table(content: bytes, columns: list[str]) -> Any:
    """Return some columns of a shard's file; ValueError when it is damaged."""
    pa = arrow()
    from pyarrow.parquet import ParquetFile

    try:
        found = ParquetFile(pa.BufferReader(content)).read(columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError("damaged") from error
    if not set(columns) <= set(found.column_names):
        raise ValueError("columns are missing")
    return found


def features(table: Any, layout: Columns) -> Any:
    """Return features as an array when all are numbers, else as a data frame."""
    if all(one.categories is None for one in layout.columns):
        array = np.empty((table.num_rows, len(layout.columns)))
        for at, name in enumerate(layout.names):
            array[:, at] = table.column(name).to_numpy()
        return array
    import pandas as pd

    return pd.DataFrame(
        {
            one.name: table.column(one.name).to_numpy().astype(np.float64)
            if one.categories is None
            else _listed(table.column(one.name), one.categories)
            for one in layout.columns
        }
    )


def _listed(column: Any, categories: tuple[str, ...]) -> Any:
    import pandas as pd

    place = {text: code for code, text in enumerate(categories)}
    codes = [
        np.array([*(place.get(text, -1) for text in chunk.dictionary.to_pylist()), -1])[
            chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        ]
        for chunk in column.chunks
    ]
    joined = np.concatenate([np.empty(0, dtype=np.intp), *codes])
    return pd.Categorical.from_codes(joined, categories=list(categories))


def labels(column: Any) -> NDArray[Any]:
    """Return labels: whole numbers, or objects where they are texts or some are missing."""
    if arrow().types.is_integer(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found
