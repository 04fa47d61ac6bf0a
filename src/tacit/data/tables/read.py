"""Read public points, and private records that must follow their layout.

What is public about a private file: that it is there, that it is intact, its format and the names
of its columns. Every other thing is private. So a row that cannot be parsed, or has too few cells,
too many or none, is a record whose cells are missing where they are; a cell that does not fit
its column is missing; a label that is no class drops its record when teachers are trained. None of
these is raised, counted or shown. A record is a line of a text file, also one that is empty, so
whether it is there depends on its line alone (``ReadOptions.quoted_newlines`` is the exception).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.data import Column, ColumnKind, Layout, PointReader, Schema
from tacit.data.cells import text
from tacit.data.column import MOST_CATEGORIES
from tacit.data.reader import first_names
from tacit.data.tables.columns import Cells, cells_in, names_in
from tacit.data.tables.files import Format, ReadOptions
from tacit.data.tables.libsvm import sparse_rows
from tacit.errors import InvalidArgument


@dataclass(frozen=True, repr=False)
class Pool:
    """Public points, what a row of them is, and their labels where the file has any."""

    points: Any
    schema: Schema
    labels: list[str | None] | None


@dataclass(frozen=True, repr=False)
class PrivateTable:
    """Records, labels and whom they belong to. Private."""

    X: Any
    y: list[Any]
    groups: list[Any] | None

    def __repr__(self) -> str:
        return "PrivateTable(<private>)"


def read_pool(
    path: Path,
    reading: ReadOptions,
    *,
    label: str | None = None,
    leave_out: Sequence[str] = (),
    categories: Sequence[str] = (),
    schema: Schema | None = None,
) -> Pool:
    """Read public points; their columns decide what every file's rows are.

    Parameters
    ----------
    label : str, optional
        A column that is no feature; its texts are returned when the pool has it.
    leave_out : sequence of str
        Further columns that are no features.
    categories : sequence of str
        Columns whose values are names even where they look like numbers.
    schema : Schema, optional
        What the columns hold; by default what the pool shows.
    """
    if reading.format_of(path) is Format.LIBSVM:
        width = None if schema is None else schema.width
        table, _ = sparse_rows(path, reading, width=width, private=False)
        schema = schema or Schema.of_numbers(table.shape[1], sparse=True)
        return Pool(_not_empty(table, table.shape[0], path), schema, None)
    names = names_in(path, reading, private=False)
    for name in categories:
        if name not in names:
            raise InvalidArgument(f"The pool {str(path)!r} has no column {name!r}. {_has(names)}")
    features = [name for name in names if name != label and name not in leave_out]
    if schema is not None:
        features = _columns_of(schema, names, path)
    if not features:
        raise InvalidArgument(f"The pool {str(path)!r} has no column besides the label.")
    columns = [*features, label] if label in names and label is not None else features
    cells = cells_in(path, columns, reading, private=False)
    _not_empty(cells, len(cells[features[0]]), path)
    if schema is None:
        schema = Schema(tuple(_column(name, cells[name], categories) for name in features))
    labels = [text(cell) for cell in cells[label]] if label in cells and label is not None else None
    return Pool(_table(cells, schema), schema, labels)


def _column(name: str, cells: Sequence[Any], categories: Sequence[str]) -> Column:
    column = Column.infer(name, cells, kind=ColumnKind.CATEGORY if name in categories else None)
    if column.kind is ColumnKind.TEXT:
        distinct = len({text(cell) for cell in cells} - {None})
        raise InvalidArgument(
            f"The column {name!r} of the pool looks like names or free text: "
            f"{distinct} different values. Leave it out with --drop {name}, or keep the "
            f"{MOST_CATEGORIES} most frequent with --category {name}."
        )
    return column


def _columns_of(schema: Schema, names: Sequence[str], path: Path) -> list[str]:
    """Return the columns of a schema, all of which a public file must have."""
    if not schema.columns or not schema.named:
        raise InvalidArgument(f"{str(path)!r} has named columns, and the schema has none.")
    missing = [name for name in schema.names if name not in names]
    if missing:
        raise InvalidArgument(
            f"{str(path)!r} lacks columns of the schema: {first_names(missing, 20)}."
        )
    return [str(name) for name in schema.names]


def _table(cells: Cells, schema: Schema) -> Any:
    """Return cells, by column, as rows of a schema."""
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(cells[name], dtype=object) for name in schema.names})
    return PointReader(schema).records(frame)


def read_private(
    path: Path, schema: Schema, reading: ReadOptions, *, label: str | None, group: str | None = None
) -> PrivateTable:
    """Read private records by the schema of the pool.

    Raises
    ------
    InvalidArgument
        When the file is missing, damaged or of another format, or lacks a column. Never because
        of what a row holds.
    """
    if reading.format_of(path) is Format.LIBSVM:
        if schema.columns:
            raise InvalidArgument("Private records in LIBSVM need a pool in LIBSVM.")
        if group is not None:
            raise InvalidArgument("--group needs a table with named columns, not LIBSVM.")
        table, labels = sparse_rows(path, reading, width=schema.width, private=True)
        return PrivateTable(PointReader(schema).records(table), labels, None)
    if not schema.columns:
        raise InvalidArgument("A pool in LIBSVM needs private records in LIBSVM.")
    if label is None:
        raise InvalidArgument("--label must name the column of the labels.")
    extra = [label] if group is None else [label, group]
    cells = _private_cells(
        path, schema, reading, dict(zip(extra, ("label ", "group "), strict=False))
    )
    groups = None if group is None else cells[group]
    return PrivateTable(_table(cells, schema), cells[label], groups)


def _private_cells(
    path: Path, schema: Schema, reading: ReadOptions, extra: dict[str, str]
) -> Cells:
    """Return the cells of the schema's columns and of some more, by name."""
    names = names_in(path, reading, private=True)
    for name, role in extra.items():
        if name not in names:
            raise InvalidArgument(f"{str(path)!r} has no {role}column {name!r}. {_NO_HEADER}")
    missing = [name for name in schema.names if name not in names]
    if missing:
        raise InvalidArgument(
            f"{str(path)!r} has other columns than the pool. Missing: {first_names(missing, 20)}. "
            f"{_NO_HEADER}"
        )
    return cells_in(path, list(dict.fromkeys([*schema.names, *extra])), reading, private=True)


def read_table(path: str | Path, schema: Schema, *, reading: ReadOptions | None = None) -> Any:
    """Read private records from a file by a public schema, cell by cell.

    The safe way to get a file into memory: no type is inferred from the records. ``fit`` takes the
    result as it takes any data frame; labels and identifiers are columns like others.

    Parameters
    ----------
    path : path
        CSV, Parquet or LIBSVM. Private.
    schema : Schema
        The columns to read, and what they hold; other columns of the file are left out. Public:
        from the caller, or ``Schema.infer`` on public points.
    reading : ReadOptions, optional
        Format, encoding, delimiter, names of the columns.

    Returns
    -------
    DataFrame, or sparse rows for LIBSVM

    Raises
    ------
    InvalidArgument
        When the file is missing, damaged or lacks a column. Never because of what a row holds.
    """
    place, reading = Path(path), reading or ReadOptions()
    if reading.format_of(place) is Format.LIBSVM:
        rows, _ = sparse_rows(place, reading, width=schema.width, private=True)
        return PointReader(schema).records(rows)
    return _table(_private_cells(place, schema, reading, {}), schema)


def read_labelled(
    path: Path, schema: Schema, reading: ReadOptions, *, label: str | None
) -> tuple[Any, list[Any]]:
    """Read public points whose labels are known, and the labels."""
    points = read_points(path, schema, reading)
    if not schema.columns:
        _, labels = sparse_rows(path, reading, width=schema.width, private=False)
        return points, labels
    names = names_in(path, reading, private=False)
    if label not in names or label is None:
        raise InvalidArgument(f"{str(path)!r} has no label column {label!r}. {_has(names)}")
    return points, cells_in(path, [label], reading, private=False)[label]


def read_points(path: Path, schema: Schema, reading: ReadOptions) -> Any:
    """Read points to predict, by the schema of a model."""
    if schema.layout is Layout.TEXTS:
        raise InvalidArgument("This model takes texts, which no file format here holds.")
    if not schema.columns:
        if reading.format_of(path) is not Format.LIBSVM:
            raise InvalidArgument("This model was trained on LIBSVM files: give it one.")
        table, _ = sparse_rows(path, reading, width=schema.width, private=False)
        return _not_empty(table, table.shape[0], path)
    if reading.format_of(path) is Format.LIBSVM:
        raise InvalidArgument("This model was trained on named columns: give it CSV or Parquet.")
    names = names_in(path, reading, private=False)
    missing = [name for name in schema.names if name not in names]
    if missing:
        raise InvalidArgument(
            f"{str(path)!r} lacks columns of the model: {first_names(missing, 20)}."
        )
    frame = _table(cells_in(path, schema.names, reading, private=False), schema)
    return _not_empty(frame, len(frame), path)


def _not_empty(table: Any, rows: int, path: Path) -> Any:
    if rows == 0:
        raise InvalidArgument(f"{str(path)!r} holds no points.")
    return table


# What a private file has instead is not shown: without a header, that is the first record.
_NO_HEADER = "Without a line of names, CSV needs --columns; see --delimiter too."


def _has(names: Sequence[str]) -> str:
    return f"It has: {first_names(list(names), 20)}."
