"""Cells of CSV and Parquet files, by column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tacit.data.tables.files import Format, ReadOptions, lines, opened
from tacit.errors import InvalidArgument

Cells = dict[str, list[Any]]


def names_in(path: Path, reading: ReadOptions, *, private: bool) -> list[str]:
    """Return the names of a file's columns, which are public. Unnamed ones are left out."""
    if reading.format_of(path) is Format.PARQUET:
        names = [str(name) for name in _parquet(path).schema_arrow.names]
        if len(set(names)) < len(names):
            raise InvalidArgument(f"The file {str(path)!r} has several columns of the same name.")
        return names
    return [name for name in _csv_header(path, reading, private=private) if name]


def cells_in(path: Path, names: Sequence[str], reading: ReadOptions, *, private: bool) -> Cells:
    """Return the cells of some columns, all of which are there."""
    if reading.format_of(path) is Format.PARQUET:
        return _parquet_cells(path, names)
    return _csv_cells(path, names, reading, private=private)


# ---- CSV ----------------------------------------------------------------------------------------


_NO_CELLS = [""]


def _rows(path: Path, reading: ReadOptions, *, private: bool) -> Iterator[list[str]]:
    """Yield the rows of a CSV file.

    In a private file every line is a row: without cells if it is empty or cannot be parsed. In a
    public one empty lines are left out, and what cannot be parsed is refused.
    """
    text = lines(path, reading.encoding, private=private, header=reading.columns is None)
    if reading.quoted_newlines:
        yield from _rows_over_lines(text, path, reading, private=private)
    elif private:
        for line in text:
            yield _private_row(line, reading.delimiter)
    else:
        yield from _public_rows(text, path, reading.delimiter)


def _private_row(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line, whatever it holds; a quote that is not closed ends with it."""
    if '"' not in line and delimiter != " ":
        return line.split(delimiter)  # what csv would return, but for its limits
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True)) or _NO_CELLS
    except csv.Error:
        return _NO_CELLS


def _public_rows(text: Iterator[str], path: Path, delimiter: str) -> Iterator[list[str]]:
    for number, line in enumerate(text, start=1):
        parser = csv.reader([line, ""], delimiter=delimiter, skipinitialspace=True)
        try:
            row = next(parser)
        except csv.Error:
            raise _not_csv(path, number) from None
        if parser.line_num > 1:
            raise InvalidArgument(
                f"Line {number} of {str(path)!r} has a quote that is not closed. If quoted cells "
                "hold line breaks, add --quoted-newlines: private files are then assumed to be "
                "well formed, which is added to the statement."
            )
        if row:
            yield row


def _rows_over_lines(
    text: Iterator[str], path: Path, reading: ReadOptions, *, private: bool
) -> Iterator[list[str]]:
    """Yield rows of which quoted cells may span several lines, as ``WELL_FORMED`` assumes."""
    parser = csv.reader(
        (line + "\n" for line in text), delimiter=reading.delimiter, skipinitialspace=True
    )
    while True:
        try:
            row = next(parser)
        except StopIteration:
            return
        except csv.Error:
            if not private:
                raise _not_csv(path, parser.line_num) from None
            row = []
        if row or private:
            yield row or _NO_CELLS


def _not_csv(path: Path, number: int) -> InvalidArgument:
    return InvalidArgument(f"Line {number} of {str(path)!r} is not a row of a CSV file.")


def _csv_header(path: Path, reading: ReadOptions, *, private: bool) -> list[str]:
    if reading.columns is not None:
        names = [name.strip() for name in reading.columns]
    else:
        first = next(_rows(path, reading, private=private), None)
        if first is None:
            raise InvalidArgument(f"The file {str(path)!r} is empty: it has no line of names.")
        names = [name.strip() for name in first]
        if any("\ufffd" in name or "\0" in name for name in names):
            raise InvalidArgument(
                f"The line of names of {str(path)!r} is not text in the encoding "
                f"{reading.encoding!r}. Say which it is with --encoding."
            )
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        # Without a header, a private file's names are the values of its first record.
        which = "of the same name" if private else f"named {twice[0]!r}"
        raise InvalidArgument(f"The file {str(path)!r} has several columns {which}.")
    return names


def _csv_cells(path: Path, names: Sequence[str], reading: ReadOptions, *, private: bool) -> Cells:
    cells_by_column: Cells = {name: [] for name in names}
    for part in csv_parts(path, names, reading, private=private, rows=1 << 16):
        for name, cells in part.items():
            cells_by_column[name] += cells
    return cells_by_column


def csv_parts(
    path: Path,
    wanted: Sequence[str],
    reading: ReadOptions,
    *,
    private: bool,
    rows: int,
    skip: int = 0,
) -> Iterator[Cells]:
    """Yield the cells of some columns of a CSV file, so many rows at a time.

    The first ``skip`` rows are left out.
    """
    names = _csv_header(path, reading, private=private)
    places = [names.index(name) for name in wanted]
    rows_read = _rows(path, reading, private=private)
    if reading.columns is None:
        next(rows_read, None)
    numbered = enumerate(rows_read, start=1)
    while part := list(islice(numbered, rows)):
        columns: list[list[Any]] = [[] for _ in wanted]
        for number, row in part:
            if len(row) != len(names) and not private:
                raise InvalidArgument(
                    f"Row {number} of {str(path)!r} has {len(row)} cells, and there are "
                    f"{len(names)} columns."
                )
            if number > skip:
                for column, place in zip(columns, places, strict=True):
                    column.append(row[place].strip() if place < len(row) else "")
        yield dict(zip(wanted, columns, strict=True))


# ---- Parquet ------------------------------------------------------------------------------------


def _parquet(path: Path) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InvalidArgument(
            "Parquet files need pyarrow: pip install '.[parquet]' in the checkout."
        ) from None
    with opened(path) as file:
        content = io.BytesIO(file.read())
    try:
        return ParquetFile(content)
    except (ArrowException, OSError, ValueError):
        raise InvalidArgument(f"The file {str(path)!r} is not a Parquet file.") from None


def _parquet_cells(path: Path, names: Sequence[str]) -> Cells:
    from pyarrow import ArrowException

    try:
        table = _parquet(path).read(columns=list(names))
        return {name: values_in(table.column(name)) for name in names}
    except (ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"The file {str(path)!r} is damaged.") from None


def values_in(column: Any) -> list[Any]:
    """Return one value after the other: a data frame would change type over one missing cell.

    Some values have no counterpart in Python, such as times beyond the year 9999: they are missing,
    in their own record alone.
    """
    try:
        return list(column.to_pylist())
    except Exception:
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:
        return None
