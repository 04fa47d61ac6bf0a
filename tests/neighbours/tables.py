"""Tables of raw cells: columns of every kind, labels and identifiers, not yet in a container.

A kind is written in several styles (a code as ``"007"``, ``"7"``, ``7`` or ``"A7"``), and pool and
records choose theirs independently: a column may be text in one and look like numbers in the other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from tests.neighbours.hostile import Cell

Draw = Callable[[np.random.Generator], Cell]

WORDS = ("red", "green", "blue", "north", "south", "f", "m", "mild", "severe")
DAY = dt.date(2020, 1, 1)


def _number(rng: np.random.Generator) -> float:
    return round(float(rng.normal()), 3)


def _whole(rng: np.random.Generator) -> int:
    return int(rng.integers(-20, 100))


def _code(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 40))


def _big(rng: np.random.Generator) -> int:
    # Far apart, so that none is merged with another when it is read as a float.
    return int(2**57 + rng.integers(1, 50) * 10**13)


def _word(rng: np.random.Generator) -> str:
    return WORDS[int(rng.integers(len(WORDS)))]


def _sentence(rng: np.random.Generator) -> str:
    return " ".join(_word(rng) for _ in range(int(rng.integers(2, 6))))


def _date(rng: np.random.Generator) -> dt.date:
    return DAY + dt.timedelta(days=int(rng.integers(1500)))


def _truth(rng: np.random.Generator) -> bool:
    return bool(rng.integers(2))


def _pandas(make: str) -> Draw:
    def draw(rng: np.random.Generator) -> Cell:
        import pandas as pd

        if make == "period":
            return pd.Period(_date(rng).isoformat(), freq="M")
        if make == "interval":
            low = int(rng.integers(10))
            return pd.Interval(low, low + 2)
        return pd.Timedelta(hours=int(rng.integers(1, 400)))

    return draw


STYLES: Mapping[str, Mapping[str, Draw]] = {
    "number": {
        "float": _number,
        "int": _whole,
        "text": lambda rng: str(_number(rng)),
        "whole": lambda rng: float(_whole(rng)),
        # Eighths: written as text, others would come back as another number.
        "float32": lambda rng: np.float32(int(rng.integers(-40, 40)) / 8),
        "int8": lambda rng: np.int8(_whole(rng)),
    },
    "code": {
        "zeros": lambda rng: f"{_code(rng):03d}",
        "text": lambda rng: str(_code(rng)),
        "int": _code,
        "letters": lambda rng: f"A{_code(rng)}",
        "float": lambda rng: float(_code(rng)),
    },
    "big": {"int": _big, "text": lambda rng: str(_big(rng))},
    "category": {"word": _word, "upper": lambda rng: _word(rng).upper()},
    "text": {"sentence": _sentence},
    "date": {
        "iso": lambda rng: _date(rng).isoformat(),
        "date": _date,
        "time": lambda rng: dt.datetime.combine(_date(rng), dt.time(int(rng.integers(24)))),
        "compact": lambda rng: f"{_date(rng)}T{rng.integers(10, 24)}{rng.integers(10, 60)}",
        "zoned": lambda rng: f"{_date(rng)} {rng.integers(10, 24)}:20:30+01:00",
        "half": lambda rng: f"{_date(rng)} {rng.integers(1, 12)}:20:30 PM",
        "named": lambda rng: f"{_date(rng)} {rng.integers(10, 24)}:20:30 UTC",
    },
    "clock": {
        "time": lambda rng: dt.time(int(rng.integers(24)), int(rng.integers(60))),
        "short": lambda rng: ":".join(str(rng.integers(24)) for _ in range(3)),
        "long": lambda rng: f"10:20:{rng.integers(10, 60)}.{rng.integers(10**8, 10**9)}",
    },
    "hexadecimal": {
        "short": lambda rng: f"0x{_code(rng):X}",
        # Far apart, as big numbers are.
        "long": lambda rng: f"0x{2**64 - 1 - _big(rng):X}",
    },
    "complex": {"int": _whole, "complex": lambda rng: complex(_whole(rng))},
    "boolean": {
        "bool": _truth,
        "upper": lambda rng: str(_truth(rng)).upper(),
        "text": lambda rng: str(_truth(rng)),
        "int": lambda rng: int(_truth(rng)),
    },
    "decimal": {"decimal": lambda rng: Decimal(_whole(rng)) / 4},
    "period": {"period": _pandas("period")},
    "interval": {"interval": _pandas("interval")},
    "timedelta": {
        "timedelta": _pandas("timedelta"),
        "python": lambda rng: dt.timedelta(hours=int(rng.integers(1, 400))),
    },
}
"""Every kind of column, and the ways in which its cells are written."""

NUMERIC = {"number": ("float", "int", "whole", "float32", "int8"), "big": ("int",),
           "boolean": ("bool", "int"), "code": ("int", "float"),
           "complex": ("int", "complex")}  # fmt: skip
"""Kinds and styles of a table that is all numbers."""

MISSING: tuple[Cell, ...] = (None, float("nan"), "", "NA")


@dataclass(frozen=True)
class Column:
    """How the cells of one column are written in the pool and in the records."""

    kind: str
    pool: str
    private: str
    missing: Cell = None
    missing_share: float = 0.0

    def draw(self, rng: np.random.Generator, *, public: bool) -> Cell:
        """Return one ordinary cell."""
        if rng.random() < self.missing_share:
            return self.missing
        return STYLES[self.kind][self.pool if public else self.private](rng)


def draw_column(rng: np.random.Generator, *, numeric: bool) -> Column:
    """Return a column of some kind, written in some way."""
    # Codes that look like numbers are the most common trap.
    kinds = [*(NUMERIC if numeric else STYLES), "number", "code", "code"]
    kind = kinds[int(rng.integers(len(kinds)))]
    styles = NUMERIC[kind] if numeric else tuple(STYLES[kind])
    pool, private = (styles[int(rng.integers(len(styles)))] for _ in range(2))
    if rng.random() < 0.4:
        private = pool
    if kind == "complex":  # refused in a pool
        pool = "int"
    blanks = MISSING[:2] if numeric else MISSING
    share = 0.1 if rng.random() < 0.3 else 0.0
    return Column(kind, pool, private, blanks[int(rng.integers(len(blanks)))], share)


@dataclass(frozen=True, repr=False)
class Table:
    """Raw records: columns of cells, labels, and whose record each is."""

    names: tuple[str, ...]
    columns: tuple[list[Cell], ...]
    labels: list[Cell]
    people: list[Cell] | None = None

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return len(self.labels)

    def rows(self) -> list[list[Cell]]:
        """Return the feature cells record by record."""
        return [[column[at] for column in self.columns] for at in range(self.n_rows)]

    def with_row(self, at: int, cells: Sequence[Cell], label: Cell, person: Cell) -> Table:
        """Return the table with the record at a position replaced."""
        columns = tuple(
            [*column[:at], cell, *column[at + 1 :]]
            for column, cell in zip(self.columns, cells, strict=True)
        )
        labels = [*self.labels[:at], label, *self.labels[at + 1 :]]
        people = self.people
        if people is not None:
            people = [*people[:at], person, *people[at + 1 :]]
        return replace(self, columns=columns, labels=labels, people=people)

    def with_inserted(self, at: int, cells: Sequence[Cell], label: Cell, person: Cell) -> Table:
        """Return the table with one more record in front of a position."""
        columns = tuple(
            [*column[:at], cell, *column[at:]]
            for column, cell in zip(self.columns, cells, strict=True)
        )
        people = None if self.people is None else [*self.people[:at], person, *self.people[at:]]
        return replace(
            self, columns=columns, labels=[*self.labels[:at], label, *self.labels[at:]],
            people=people,
        )  # fmt: skip

    def without(self, rows: Sequence[int]) -> Table:
        """Return the table without some records."""
        gone = set(rows)
        left = [at for at in range(self.n_rows) if at not in gone]
        return replace(
            self,
            columns=tuple([column[at] for at in left] for column in self.columns),
            labels=[self.labels[at] for at in left],
            people=None if self.people is None else [self.people[at] for at in left],
        )


# ---- labels and identifiers -----------------------------------------------------------------

LABELS: Mapping[str, tuple[list[Any], Callable[[int], Cell]]] = {
    "int": ([0, 1], lambda k: k),
    "bool": ([0, 1], bool),
    "float": ([0, 1], float),
    "digits": ([0, 1], str),
    "word": (["no", "yes"], lambda k: ("no", "yes")[k]),
    "text-int": (["0", "1"], lambda k: k),
    "text-digits": (["0", "1"], str),
    "truths": ([False, True], bool),
    "floats": ([0.5, 1.5], lambda k: k + 0.5),
    "three": (["a", "b", "c"], lambda k: "abc"[k]),
    "codes": (["01", "02"], lambda k: f"0{k + 1}"),
}
"""Styles of labels: the classes the caller lists, and how the records write the k-th of them."""

PEOPLE: Mapping[str, Callable[[int], Cell]] = {
    "int": lambda k: 100 + k,
    "zeros": lambda k: f"{100 + k:06d}",
    "text": lambda k: f"p{k}",
    "long": lambda k: 10**17 + 10**13 * k + 3,
    "long-text": lambda k: str(10**17 + 10**13 * k + 3),
    "float": lambda k: 100.0 + k,
    "bytes": lambda k: b"p%d" % k,
}
"""Styles of identifiers: how the k-th person is written. No two are merged by any container."""

STRANGERS: tuple[Cell, ...] = (
    "A0017", None, float("nan"), "", "NA", "0000007", 7, 7.5, True, "TRUE", 2**63 + 11, b"A0017",
    "x y", "\ud800", "1e9", -3, "q" * 300, "a,b", '"',
)  # fmt: skip
"""Identifiers of a person who is not among the others, however they are read."""
