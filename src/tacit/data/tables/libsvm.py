"""LIBSVM files: a label and numbered values per line."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data.cells import number
from tacit.data.tables.files import ReadOptions, lines
from tacit.errors import InvalidArgument

LARGEST_INDEX = 10_000_000


def sparse_rows(
    path: Path, reading: ReadOptions, *, width: int | None, private: bool
) -> tuple[Any, list[str | None]]:
    """Return sparse rows and the labels beside them.

    Every line of a private file is a record, also one without a label or a value. In a public file
    empty lines and comments are left out.

    Parameters
    ----------
    width : int, optional
        Number of columns; in a public file the largest index decides when it is not given. Values
        beyond it are left out.
    private : bool
        Whether what cannot be read is left out in silence. In a public file it is refused.
    """
    values, columns, starts = array("d"), array("q"), array("q", [0])
    labels: list[str | None] = []
    text = lines(path, reading.encoding, private=private, header=False)
    for line_number, line in enumerate(text, start=1):
        tokens = line.split("#", 1)[0].split()
        if not tokens and not private:
            continue
        row: dict[int, float] = {}
        for token in tokens[1:]:
            entry = _entry(token)
            if entry is not None:
                row[entry[0]] = entry[1]
            elif not private:
                raise InvalidArgument(
                    f"Line {line_number} of {str(path)!r} is not LIBSVM: each value is "
                    "index:number, with indices from 1."
                )
        for index in sorted(row):
            if width is None or index <= width:
                columns.append(index - 1)
                values.append(row[index])
        starts.append(len(values))
        labels.append(tokens[0] if tokens else None)
    if width is None:
        width = max(columns, default=0) + 1
    table = sp.csr_matrix(
        (np.array(values), np.array(columns, dtype=np.int64), np.array(starts, dtype=np.int64)),
        shape=(len(labels), width),
    )
    return table, labels


def _entry(token: str) -> tuple[int, float] | None:
    index, colon, value = token.partition(":")
    parsed = number(value)
    # isdecimal, ASCII: int() also reads underscores and other scripts' digits.
    if not colon or not (index.isascii() and index.isdecimal()) or math.isnan(parsed):
        return None
    place = int(index[:12])
    return (place, parsed) if 1 <= place <= LARGEST_INDEX else None
