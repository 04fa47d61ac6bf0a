"""Read public points, and private records that must follow their layout.

What is public about a private file: that it is there, that it is intact, its format and the names
of its columns. Every other thing is private. So a row that cannot be parsed, or has too few cells,
too many or none, is a record whose cells are missing where they are; a cell that does not fit
its column is missing; a label that is no class drops its record when teachers are trained. None of
these is raised, counted or shown. A record is a line of a text file, also one that is empty, so
whether it is there depends on its line alone (``Reading.quoted_newlines`` is the exception).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InvalidArgument
from tacit.tables.cells import cells_in, names_in
from tacit.tables.layout import Column, Columns, Layout, Width, word
from tacit.tables.libsvm import sparse_rows
from tacit.tables.source import Format, Reading


@dataclass(frozen=True, repr=False)
class Pool:
    """Public points, what a row of them is, and their labels where the file has any."""

    points: Any
    layout: Layout
    labels: list[str | None] | None


@dataclass(frozen=True, repr=False)
class PrivateTable:
    """Records, labels and whom they belong to. Private."""

    X: Any
    y: list[str]
    groups: list[str] | None

    def __repr__(self) -> str:
        return "PrivateTable(<private>)"


def read_pool(
    path: Path,
    reading: Reading,
    *,
    label: str | None = None,
    leave_out: Sequence[str] = (),
    categories: Sequence[str] = (),
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
    """
    if reading.format_of(path) is Format.LIBSVM:
        table, _ = sparse_rows(path, reading, width=None, private=False)
        return Pool(_not_empty(table, table.shape[0], path), Width(table.shape[1]), None)
    _need_pandas()
    names = names_in(path, reading, private=False)
    for name in categories:
        if name not in names:
            raise InvalidArgument(f"The pool {str(path)!r} has no column {name!r}. {_has(names)}")
    features = [name for name in names if name != label and name not in leave_out]
    if not features:
        raise InvalidArgument(f"The pool {str(path)!r} has no column besides the label.")
    wanted = [*features, label] if label in names and label is not None else features
    cells = cells_in(path, wanted, reading, private=False)
    _not_empty(cells, len(cells[features[0]]), path)
    layout = Columns(
        tuple(
            Column.of_public(name, cells[name], "category" if name in categories else None)
            for name in features
        )
    )
    labels = [word(cell) for cell in cells[label]] if label in cells and label is not None else None
    return Pool(layout.frame(cells), layout, labels)


def read_private(
    path: Path, layout: Layout, reading: Reading, *, label: str | None, group: str | None = None
) -> PrivateTable:
    """Read private records in the layout of the pool.

    Raises
    ------
    InvalidArgument
        When the file is missing, damaged or of another format, or lacks a column. Never because
        of what a row holds.
    """
    if reading.format_of(path) is Format.LIBSVM:
        if not isinstance(layout, Width):
            raise InvalidArgument("Private records in LIBSVM need a pool in LIBSVM.")
        if group is not None:
            raise InvalidArgument("--group needs a table with named columns, not LIBSVM.")
        table, labels = sparse_rows(path, reading, width=layout.width, private=True)
        return PrivateTable(table, [one or "" for one in labels], None)
    if not isinstance(layout, Columns):
        raise InvalidArgument("A pool in LIBSVM needs private records in LIBSVM.")
    if label is None:
        raise InvalidArgument("--label must name the column of the labels.")
    names = names_in(path, reading, private=True)
    extra = [label] if group is None else [label, group]
    for role, name in zip(("label ", "group "), extra, strict=False):
        if name not in names:
            raise InvalidArgument(f"{str(path)!r} has no {role}column {name!r}. {_NO_HEADER}")
    missing = [name for name in layout.names if name not in names]
    if missing:
        raise InvalidArgument(
            f"{str(path)!r} has other columns than the pool. Missing: {_few(missing)}. {_NO_HEADER}"
        )
    wanted = list(dict.fromkeys([*layout.names, *extra]))
    cells = cells_in(path, wanted, reading, private=True)
    groups = None if group is None else [word(cell) or "" for cell in cells[group]]
    return PrivateTable(layout.frame(cells), [word(cell) or "" for cell in cells[label]], groups)


def read_labelled(
    path: Path, layout: Layout, reading: Reading, *, label: str | None
) -> tuple[Any, list[str]]:
    """Read public points whose labels are known, and the labels."""
    points = read_points(path, layout, reading)
    if isinstance(layout, Width):
        _, found = sparse_rows(path, reading, width=layout.width, private=False)
        return points, [one or "" for one in found]
    names = names_in(path, reading, private=False)
    if label not in names or label is None:
        raise InvalidArgument(f"{str(path)!r} has no label column {label!r}. {_has(names)}")
    cells = cells_in(path, [label], reading, private=False)
    return points, [word(cell) or "" for cell in cells[label]]


def read_points(path: Path, layout: Layout, reading: Reading) -> Any:
    """Read points to predict, in the layout of a model."""
    if isinstance(layout, Width):
        if reading.format_of(path) is not Format.LIBSVM:
            raise InvalidArgument("This model was trained on LIBSVM files: give it one.")
        table, _ = sparse_rows(path, reading, width=layout.width, private=False)
        return _not_empty(table, table.shape[0], path)
    if reading.format_of(path) is Format.LIBSVM:
        raise InvalidArgument("This model was trained on named columns: give it CSV or Parquet.")
    _need_pandas()
    names = names_in(path, reading, private=False)
    missing = [name for name in layout.names if name not in names]
    if missing:
        raise InvalidArgument(f"{str(path)!r} lacks columns of the model: {_few(missing)}.")
    cells = cells_in(path, layout.names, reading, private=False)
    frame = layout.frame(cells)
    return _not_empty(frame, len(frame), path)


def _not_empty(table: Any, rows: int, path: Path) -> Any:
    if rows == 0:
        raise InvalidArgument(f"{str(path)!r} holds no points.")
    return table


def _need_pandas() -> None:
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise InvalidArgument(
            "Tables with named columns need pandas: pip install 'tacit[frames]'."
        ) from None


# What a private file has instead is not shown: without a header, that is the first record.
_NO_HEADER = "Without a line of names, CSV needs --columns; see --delimiter too."


def _has(names: Sequence[str]) -> str:
    return f"It has: {_few(names)}."


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return (shown or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")
