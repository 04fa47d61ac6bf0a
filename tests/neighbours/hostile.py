"""Values that somebody who wants to be noticed could put into one cell of one record."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pandas as pd

Cell = Any
"""One raw cell, as a program would hold it before it is put into a container."""


class Unusable:
    """A cell without text, hash or comparison."""

    def __repr__(self) -> NoReturn:
        raise ValueError("no text")

    __str__ = __repr__

    def __hash__(self) -> NoReturn:
        raise TypeError("no hash")

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError("no comparison")


class Unfriendly:
    """A cell whose conversion to a number, or length, raises an unusual error."""

    def __float__(self) -> NoReturn:
        raise ZeroDivisionError("no number")

    def __len__(self) -> NoReturn:
        raise KeyError("no length")

    def __repr__(self) -> str:
        return "Unfriendly()"


class Arrayed:
    """A cell that raises when NumPy looks into it."""

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise RuntimeError("no array")


class Ends(Decimal):
    """A number whose conversion raises what is no Exception."""

    def __float__(self) -> NoReturn:
        raise GeneratorExit


class Equal(str):
    """A text that says it equals everything, and has no methods that work."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def strip(self, *_: object) -> NoReturn:
        raise RuntimeError("no strip")


class Word(enum.Enum):
    """A member of a list of constants."""

    A3 = "A3"


UNUSABLE, UNFRIENDLY = Unusable(), Unfriendly()

TEXTS: tuple[str, ...] = (
    "A3", "a3", "", " ", "NA", "nan", "None", "null", "?", "TRUE", "True", "false", "yes", "1e400",
    "-inf", "Infinity", "1_000", "1,5", "0x1F", "007", "1.0", "1.", "+7", "1e3", "12 ", "\u0663",
    "9" * 25, "-", "--", "#", "'", '"', 'say "no"', '"open', "a,b", "a;b", "a\tb", "x\x00y",
    "x\ry", "x\x0by", "x\x1cy", "x\x85y", "x\u2028y", "\ufeff", "\u00e9\u0301", "\ud800",
    "z" * 70000, "2021-13-45", "31/12/2021", "0001-01-01", "nested [1, 2]", "\\N",
    "__index_level_0__", "9" * 5000 + "x", "\0 " * 3000, "9" * 4000 + " days", "2020/03/04",
    "20200304", "0000/01/01", "2020-03-04T24:00", "4 March 2020", "25:61", "-1 days +23:00:00",
    "(a, b]", "\U0010ffff", "\xa0", "1E5000", "0x" + "f" * 20, "1234567890123.5", "\ud800" * 3,
    "0xFFFFFFFFFFFFFFFF", "2020-03-04T1020", "2020-03-04 10:20:30 PM", "2020-03-04T23:59:60", "nat",
    "2020-03-04 10:20:30 UTC", "9999-12-31T23:59:59-14:00", "10:20:30.123456789", "1:2:3", "(2+0j)",
    "(2+1j)", "2020-03-04" + " " * 5000 + "x",
)  # fmt: skip

NUMBERS: tuple[Any, ...] = (
    0, -1, 7, 7.0, -0.0, 0.5, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    -(2**70), 10**30, 10**400, float("inf"), float("-inf"), float("nan"), True, False,
    np.float32(0.1), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), 1j, 10**5000,
    2 + 0j, np.complex64(3), np.float16(0.5), np.longdouble(0.5), 1234567890123.5,
    2.2250738585072014e-308,
)  # fmt: skip

MACHINE_NUMBERS: tuple[Any, ...] = tuple(
    one for one in NUMBERS if not isinstance(one, int | np.integer) or abs(int(one)) < 2**63
)
"""Numbers that an array of numbers can hold."""

OBJECTS: tuple[Any, ...] = (
    None, b"A3", b"\xff\xfe", [1, 2], [], {"a": 1}, (1,), UNUSABLE, UNFRIENDLY, np.array([1, 2]),
    Decimal("1.5"), Decimal("NaN"), Decimal("Infinity"), Decimal("1E+400"), Ellipsis, int,
    dt.date(2021, 2, 3), dt.datetime(9999, 12, 31, 23, 59), dt.datetime(1, 1, 1),
    dt.datetime(2021, 2, 3, tzinfo=dt.UTC), dt.time(3, 4), dt.timedelta(days=3),
    np.datetime64("NaT"), np.datetime64("2021-02-03"), np.timedelta64(5, "D"), Ends(1), Equal("7"),
    Word.A3, uuid.UUID(int=7), Fraction(1, 3), Fraction(10**400, 3), Decimal("sNaN"), pd.NA, pd.NaT,
    pd.Timestamp("2021-02-03", tz="Europe/Berlin"), pd.Period("2020Q1"), pd.Interval(0, 1.5),
    np.datetime64("10000-01-01"), np.datetime64("-0044-03-15"), np.timedelta64(5, "M"),
    np.datetime64("2021-02-03T04:05:06.000000001"), pd.Timedelta(1, "ns"), Arrayed(),
    np.str_("A3"), np.bytes_(b"A3"), np.void(b"A3"), dt.time(3, 4, tzinfo=dt.UTC), range(3),
    dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=12))), {1}, bytearray(b"A3"),
)  # fmt: skip

EVERYTHING: tuple[Any, ...] = (*TEXTS, *NUMBERS, *OBJECTS)

COMMON: tuple[Any, ...] = ("A3", "unknown", None, "", float("nan"), "007", 0.5, 2**63, "TRUE")
"""Values that ordinary dirty files hold; drawn more often than the others."""


def hostile(rng: np.random.Generator, among: tuple[Any, ...] = EVERYTHING) -> Cell:
    """Return one of the values: every second time a common one."""
    if among is EVERYTHING and rng.random() < 0.5:
        among = COMMON
    return among[int(rng.integers(len(among)))]


def text_of(cell: Cell) -> str:
    """Return what a program would write for the cell into a text file."""
    if cell is None:
        return ""
    try:
        return cell.decode("latin-1") if isinstance(cell, bytes) else str(cell)
    except Exception:
        return "unusable"


LINES: tuple[bytes, ...] = (
    b"", b" ", b",", b"," * 40, b'"', b'"open', b'"open,1,2', b'a"b"c', b'""', b"\x00", b"\r",
    b"\r\r", b"\xff\xfe", b"\xef\xbb\xbf", b"1,2\r3,4", b"x\x0by,1", b"x\x1cy,2", b"x\xc2\x85y",
    b"\\", b"'", b"#", b"x\xe2\x80\xa8y", b"9" * 5000, b"a,b,c,d,e,f,g,h,i,j,k,l", b'"a""b",1',
    b'1,"2\r', b"\x1b$B", b"\xef\xbb\xbf1,2", b"1\x00,2", b"9" * 5000 + b"x", b"+1 1:1 1:2",
    b"1 99999999999999:1", b"1 qid:3 1:2", b"1 -1:2 0:5", b"1 1:nan 2:1e400", b"1 : 1: :1", b"1:1",
    b"1 2:0 1:0x1F # 1:7",
)  # fmt: skip
"""Whole lines of a text file, without the line feed."""
