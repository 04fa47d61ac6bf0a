"""Small CSV files of public points for the command line: numbers, and perhaps labels."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidArgument


def read_labelled(
    path: Path, label: str | None = None
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return points and labels of a CSV file of public points.

    Parameters
    ----------
    path : Path
        One point per row. The first row holds names when it is not all numbers.
    label : str, optional
        Name of the column of labels; the last one by default.
    """
    names, rows = _rows(path)
    place = -1
    if label is not None:
        if names is None or label not in names:
            columns_text = "it has no header" if names is None else f"it has {', '.join(names)}"
            raise InvalidArgument(
                f"`label` must name a column of {path.name}, got {label!r}: {columns_text}."
            )
        place = names.index(label)
    first = 1 if names is None else 2
    labels = [row.pop(place).strip() for row in rows]
    if "" in labels:
        raise InvalidArgument(
            f"{path.name} must have a label in every row, got none in row "
            f"{labels.index('') + first}. Leave out rows without one."
        )
    if not all(rows):
        raise InvalidArgument(f"{path.name} must have a column besides the labels, got none.")
    return _numbers(path, rows, first), np.array(labels, dtype=np.str_)


def read_points(path: Path) -> NDArray[np.float64]:
    """Return the points of a CSV file of numbers."""
    names, rows = _rows(path)
    return _numbers(path, rows, 1 if names is None else 2)


def _rows(path: Path) -> tuple[list[str] | None, list[list[str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path.name} cannot be read as text: {error}.") from None
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows:
        raise InvalidArgument(f"{path.name} must hold at least one row, got none.")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise InvalidArgument(
            f"{path.name} must have as many cells in every row, got {sorted(widths)}."
        )
    # Labels may be words: a header is a row none of whose cells is a number.
    if any(_is_number(cell) for cell in rows[0]):
        return None, rows
    return [cell.strip() for cell in rows[0]], rows[1:]


def _numbers(path: Path, rows: list[list[str]], first: int) -> NDArray[np.float64]:
    for number, row in enumerate(rows, start=first):
        for cell in row:
            if not _is_number(cell):
                raise InvalidArgument(
                    f"{path.name} must hold numbers besides the label, got {cell!r} in row "
                    f"{number}. Encode categories as columns of 0 and 1."
                )
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False
