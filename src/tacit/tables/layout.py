"""What a row is, decided from public points alone: named columns, or a width."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidArgument

MOST_CATEGORIES = 200
"""The most frequent ones of the pool are kept; others count as missing."""

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"})
"""Texts that stand for a missing value."""


@dataclass(frozen=True)
class Column:
    """One column: numbers, or categories from a public list.

    Examples
    --------
    >>> Column.of_public("age", ["39", "", "50.5"])
    Column(name='age', categories=None)
    >>> Column.of_public("sex", ["f", "m", "f"])
    Column(name='sex', categories=('f', 'm'))
    """

    name: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def of_public(cls, name: str, cells: Sequence[Any], kind: str | None = None) -> Column:
        """Return the column that public cells show: numbers if all of them can be read as such."""
        texts = [word(cell) for cell in cells]
        known = [text for text in texts if text is not None]
        if kind != "category" and (
            kind == "number" or all(not math.isnan(number(text)) for text in known)
        ):
            return cls(name)
        counted = Counter(known)
        if kind is None and len(counted) > max(MOST_CATEGORIES, len(known) // 2):
            raise InvalidArgument(
                f"The column {name!r} of the pool looks like names or free text: "
                f"{len(counted)} different values. Leave it out with --drop {name}, or keep the "
                f"{MOST_CATEGORIES} most frequent with --category {name}."
            )
        kept = sorted(counted, key=lambda text: (-counted[text], text))[:MOST_CATEGORIES]
        return cls(name, tuple(sorted(kept)))

    def values(self, cells: Sequence[Any]) -> Any:
        """Return cells as this column; each by itself, and one that does not fit is missing."""
        if self.categories is None:
            return np.array([number(cell) for cell in cells], dtype=np.float64)
        import pandas as pd

        place = {text: code for code, text in enumerate(self.categories)}
        codes = [place.get(word(cell) or "", -1) for cell in cells]
        return pd.Categorical.from_codes(codes, categories=list(self.categories))


@dataclass(frozen=True)
class Columns:
    """Rows of a table with named columns."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return [column.name for column in self.columns]

    def frame(self, cells: Mapping[str, Sequence[Any]]) -> Any:
        """Return cells, by column, as a data frame of this layout."""
        import pandas as pd

        return pd.DataFrame({column.name: column.values(cells[column.name])
                             for column in self.columns})  # fmt: skip


@dataclass(frozen=True)
class Width:
    """Sparse rows with so many numbered columns."""

    width: int


Layout = Columns | Width


def number(cell: Any) -> float:
    """Return the number in a cell; not a number when there is none, or no finite one.

    Examples
    --------
    >>> number(" 1.5 "), number("1_000"), number("one")
    (1.5, nan, nan)
    """
    try:
        if isinstance(cell, str) and "_" in cell:
            return math.nan
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def word(cell: Any) -> str | None:
    """Return the text of a cell, the same for 12 and 12.0; None when it is missing.

    Examples
    --------
    >>> word(" yes "), word(12.0), word("?")
    ('yes', '12', None)
    """
    if cell is None:
        return None
    if isinstance(cell, float | np.floating):
        if math.isnan(cell):
            return None
        cell = int(cell) if float(cell).is_integer() else cell
    text = str(cell).strip()
    return None if text in MISSING else text
