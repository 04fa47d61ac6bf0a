"""Raw cells to files that the command line reads: CSV, Parquet, LIBSVM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.neighbours.containers import Columns, NotBuilt, csv_text
from tests.neighbours.hostile import Cell, text_of


def write_csv(path: Path, columns: Columns, raw: dict[int, bytes] | None = None) -> None:
    """Write a CSV file; ``raw`` gives whole lines, by number of the record, as they are."""
    text = csv_text({name: [_one_line(cell) for cell in cells] for name, cells in columns.items()})
    lines = text.encode("utf-8", "replace").split(b"\n")
    for record, line in (raw or {}).items():
        lines[1 + record] = line
    path.write_bytes(b"\n".join(lines))


def _one_line(cell: Cell) -> str:
    return text_of(cell).replace("\n", " ")


def write_parquet(path: Path, columns: Columns) -> None:
    """Write a Parquet file; a column that Arrow cannot type is written as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def typed(cells: Sequence[Cell]) -> Any:
        try:
            return pa.array(list(cells))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            return pa.array([None if cell is None else text_of(cell) for cell in cells])

    try:
        pq.write_table(pa.table({name: typed(cells) for name, cells in columns.items()}), path)
    except Exception as error:
        raise NotBuilt(type(error).__name__) from None


def write_libsvm(
    path: Path, rows: Sequence[Sequence[Cell]], labels: Sequence[Cell],
    raw: dict[int, bytes] | None = None,
) -> None:  # fmt: skip
    """Write a LIBSVM file: cells as they are, whatever they are; missing ones are left out."""
    lines = []
    for row, label in zip(rows, labels, strict=True):
        tokens = [_token(cell) for cell in row]
        cells = [f"{at}:{one}" for at, one in enumerate(tokens, start=1) if one not in ("", "nan")]
        lines.append(" ".join([_token(label) or "?", *cells]).encode("utf-8", "replace"))
    for record, line in (raw or {}).items():
        lines[record] = line
    path.write_bytes(b"\n".join(lines) + b"\n")


def _token(cell: Cell) -> str:
    if isinstance(cell, bool | np.bool_):
        return str(int(cell))
    return "".join(text_of(cell).split())
