"""Canonical forms of a cell: functions of that cell alone, whatever container it came in.

A container's type is shared by all of its rows: one text among whole numbers turns a column into
text, one missing value turns it into floats, and then every record of every teacher looks
different. So nothing here looks at a container. Cells that *some* container could make equal are
equal here: 010, 10, 10.0 and "10"; True, "TRUE" and 1; two integers with the same double.
``docs/proofs/reading.md`` states the claim and where it ends.

A cell that cannot be converted is missing. Nothing is raised, whatever the cell is.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MISSING = frozenset(
    {"", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
     "1.#QNAN", "<NA>", "N/A", "NA", "NAT", "NULL", "NaN", "NaT", "None", "n/a", "nan", "nat",
     "null"}
)  # fmt: skip
"""Texts that stand for a missing value: those of ``pandas``, and a question mark."""

DIGITS = 12
"""Significant digits of a number that is not a whole number below 2**53.

pandas 2 reads decimals with an error of up to three units in the last place, so a number read by
it and the same number read from text agree only after rounding.
"""

_EXACT = 2.0**53

# Unambiguous, as all of these: one cell must not make reading take time quadratic in its length.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")
_COMPLEX = re.compile(
    r"\(-?{0}[+-]{0}j\)|-?{0}j".replace("{0}", r"(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)"), re.ASCII
)  # as Python and NumPy write one
_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?|/(?P<month2>\d\d?)/(?P<day2>\d\d?))"
    r"(?:"
    r"(?:\s*[Tt]\s*|\s+)"
    r"(?:(?P<hour>\d\d?)(?::(?P<minute>\d\d?)(?::(?P<second>\d\d?)(?:\.(?P<fraction>\d*))?)?)?"
    r"|(?P<hour2>\d\d)(?P<minute2>\d\d)(?P<second2>\d\d?)(?:\.(?P<fraction2>\d*))?"
    r"|(?P<hour3>\d\d)(?P<minute3>\d\d?))"
    r"(?:\s*(?:(?P<half>[AaPp][Mm]?)|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[Zz]"
    r"|(?P<zone>[+-](?:\d\d(?::?\d\d)?|\d(?::\d\d)?))))?"
    r"|[Tt]? ?(?:Z|(?P<zone2>[+-]\d\d(?::?\d\d)?))?"
    r")",
    re.ASCII,
)
"""A day or a month, alone or with a time of the day, in the forms that some container reads as a
time: ``docs/proofs/reading.md`` lists them. AM or PM with a zone, and a decimal comma, are none of
them, because pandas 2 drops parts.
"""

_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(\d\d)?)?", re.ASCII)
_LONGEST_DATE = 100
_CLOCK = re.compile(r"(\d{1,3}):(\d\d?)(?::(\d\d?)(?:\.(\d+))?)?", re.ASCII)
_YEAR = re.compile(r"(?<![\d.:])\d{4}(?!\d)", re.ASCII)
_DURATION = re.compile(
    r"(-?\d+) days?,?(?: ([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?)?", re.ASCII
)  # as pandas and Python write one
_TRUTH = {"true": 1.0, "false": 0.0}


def text(cell: Any) -> str | None:
    """Return the canonical text of a cell, None when it is missing or cannot be converted.

    Examples
    --------
    >>> text("010"), text(10.0), text(" yes "), text(True), text("TRUE"), text("?")
    ('10', '10', 'yes', '1', '1', None)
    """
    try:
        kind = type(cell)
        if kind is not str:
            cell = _plain(cell)
            if not isinstance(cell, str):
                return None if cell is None else _number_text(cell)
            cell = str.__str__(cell)  # a subclass may compare as it likes
        return _canonical(cell)
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException:  # whatever a caller's object does: the cell is missing, without a message
        return None


def number(cell: Any) -> float:
    """Return the number in a cell, NaN when there is none, or no finite one.

    Examples
    --------
    >>> number(" 1.5 "), number("TRUE"), number("1_000"), number("one")
    (1.5, 1.0, nan, nan)
    """
    try:
        if type(cell) is not str:
            cell = _plain(cell)
        if isinstance(cell, str):
            value = _parsed(cell)
            return value if value == value else _parsed(_stripped(cell))
        return math.nan if cell is None or math.isinf(cell) else float(cell)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return math.nan


def date(cell: Any) -> np.datetime64:
    """Return the time in a cell, in microseconds of UTC, not-a-time when there is none.

    Texts are read as ISO 8601, also without hyphens, or, when they name a year of four digits, as
    pandas reads a single time: then the month comes first where both orders are possible.

    Examples
    --------
    >>> str(date("2020-03-04")), str(date("no date"))
    ('2020-03-04T00:00:00.000000', 'NaT')
    """
    return np.datetime64(dates([cell])[0])


_NOT_A_TIME = np.datetime64("NaT", "us")


# ---- one cell ------------------------------------------------------------------------------------


def _plain(cell: Any) -> Any:
    """Return a cell as a text, a number, or None when it is missing or of an unknown type."""
    if cell is None:
        return None
    if isinstance(cell, complex | np.complexfloating):
        return _number_or_none(float(cell.real)) if cell.imag == 0 else None
    if isinstance(cell, Enum):
        return _plain(cell.value)
    if isinstance(cell, str):
        return str.__str__(cell)
    if isinstance(cell, bool | np.bool_):
        return 1.0 if cell else 0.0
    if isinstance(cell, int):
        return int.__int__(cell)
    if isinstance(cell, float):
        return _number_or_none(float.__float__(cell))
    if isinstance(cell, np.timedelta64):  # NumPy counts it among the integers
        return None if np.isnat(cell) else _whole_microseconds(cell)
    if isinstance(cell, np.integer):
        return int(cell)
    if isinstance(cell, np.floating | Decimal | Fraction):
        return _number_or_none(float(cell))
    if isinstance(cell, bytes | bytearray):
        return bytes(cell).decode("utf-8", "replace")
    if isinstance(cell, np.datetime64):
        # In one unit: that of an array follows from all of its cells.
        word = "" if np.isnat(cell) else str(cell.astype("datetime64[us]"))
        return word if word[:4].isdigit() and word[4] == "-" else None  # years 0 to 9999
    if isinstance(cell, datetime.timedelta):
        precise = getattr(cell, "to_timedelta64", None)  # pandas counts nanoseconds
        return cell.total_seconds() if precise is None else _plain(precise())
    if isinstance(cell, datetime.time):
        return cell.replace(tzinfo=None).isoformat()
    if isinstance(cell, datetime.date):  # a datetime is one
        return cell.isoformat() if 1 <= cell.year <= 9999 else None  # pandas knows other years
    if isinstance(cell, uuid.UUID):
        return str(cell)
    if type(cell).__module__.partition(".")[0] == "pandas" and type(cell).__name__ in _PANDAS:
        return str(cell)
    return None


_PANDAS = frozenset({"Period", "Interval"})


def _number_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _canonical(cell: str) -> str | None:
    word = _stripped(cell)
    if word in MISSING:
        return None
    first = word[0]
    if first in "tTfF":
        truth = _TRUTH.get(word.lower())
        return word if truth is None else _number_text(truth)
    if first.isalpha():
        # No number, date or interval begins with a letter, but infinity does not count as one.
        return None if word.lower() in _INFINITE else word
    value = _parsed(word)
    if not math.isnan(value):
        return _number_text(value)
    if _NUMBER.fullmatch(word) or _COMPLEX.fullmatch(word):
        return None  # a number that no double holds
    if word.lower().lstrip("+-") in _INFINITE:
        return None
    date = _DATE.fullmatch(word)
    return _ranged(word) or word if date is None else _dated(word, date.groupdict())


def _stripped(cell: str) -> str:
    """Return a text without what containers drop: space around it, NUL at its end."""
    word = cell.strip()
    if word.endswith("\0"):
        word = word.rstrip(_SPACE_AND_NUL)
    if not word.isascii():  # half a pair of surrogates can be in a text, and in no Arrow column
        word = word.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return word


_SPACE_AND_NUL = "\0" + "".join(one for one in map(chr, range(0x3001)) if one.isspace())
_INFINITE = frozenset({"inf", "infinity", "nan", "infj", "nanj"})


def _parsed(word: str) -> float:
    """Return the finite number that a text writes, NaN when it writes none."""
    try:
        value = float(word)
    except ValueError:
        truth = _TRUTH.get(word.lower())
        if truth is not None:
            return truth
        if _HEXADECIMAL.fullmatch(word):  # pyarrow reads it as a number of 64 bits with a sign
            code = int(word, 16)
            return float(code - 2**64 if code >= 2**63 and word[0] == "0" else code)
        if _COMPLEX.fullmatch(word):
            pair = complex(word)
            return pair.real if pair.imag == 0 and math.isfinite(pair.real) else math.nan
        duration = _DURATION.fullmatch(word)
        if duration is not None:
            return _seconds(*duration.groups())
        # Python writes a time of the day and a short duration alike, so both are seconds.
        clock = _CLOCK.fullmatch(word)
        return math.nan if clock is None else _seconds("0", None, *clock.groups())
    # Python also reads underscores and the digits of other scripts; no container does.
    plain = math.isfinite(value) and "_" not in word and word.isascii()
    return value if plain else math.nan


def _seconds(days: str, sign: str | None, *clock: str | None) -> float:
    """Return a duration; what is shorter than a microsecond is cut, as Python and polars do."""
    hours, minutes, seconds = (int(one or 0) for one in clock[:3])
    part = ((hours * 60 + minutes) * 60 + seconds) * 10**6 + int(_six_digits(clock[3]))
    return (int(days) * 86400 * 10**6 + (-part if sign == "-" else part)) / 10**6


def _whole_microseconds(cell: np.timedelta64) -> float:
    seconds = cell // np.timedelta64(1, "s")
    rest = (cell - seconds * np.timedelta64(1, "s")) // np.timedelta64(1, "us")
    return (int(seconds) * 10**6 + int(rest)) / 10**6


def _six_digits(fraction: str | None) -> str:
    return (fraction or "").ljust(6, "0")[:6]


def _number_text(value: float) -> str | None:
    value = float(value)
    if not math.isfinite(value):
        return None
    if not (value.is_integer() and abs(value) < _EXACT):
        value = float(f"{value:.{DIGITS - 1}e}")
    if value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return repr(value)


def _dated(word: str, parts: Mapping[str, str | None]) -> str | None:
    """Return a date in one form: in UTC, without a time at midnight.

    A time without a zone is taken to be in UTC: one zoned time makes a whole column zoned. What is
    no date after all, such as 2021-13-45, stays as it is; a time in UTC beyond the years 1 to 9999,
    which some containers have and others not, is missing.
    """

    def part(name: str, default: str = "0") -> str:
        found = (parts.get(f"{name}{place}") for place in ("", "2", "3"))
        return next((one for one in found if one), default)

    if part("year") == "0000":
        return None
    try:
        hour, second = int(part("hour")), int(part("second"))
        half = part("half", "")[:1].lower()
        if half and hour > 12:
            return word
        when = datetime.datetime(
            int(part("year")), int(part("month")), int(part("day", "1")),
            hour % 12 + 12 * (half == "p") if half else hour, int(part("minute")),
            min(second, 59), int(_six_digits(part("fraction"))),
        )  # fmt: skip
        if second > 60:
            return word
    except ValueError:
        return word
    try:
        # polars takes a leap second and adds it.
        when += datetime.timedelta(seconds=second == 60) - _shift(part("zone", ""))
    except OverflowError:
        return None
    return when.date().isoformat() if when.time() == datetime.time() else when.isoformat()


def _shift(zone: str) -> datetime.timedelta:
    """Return how much later than UTC the clocks of a zone are: +1, +01, +0130 or +01:30."""
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits or "0", "0")
    shift = datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return -shift if zone[:1] == "-" else shift


def _time(cell: Any) -> np.datetime64:
    """Return the time in a cell; the caller keeps pandas from warning."""
    try:
        word = text(cell)
        if word is None or len(word) > _LONGEST_DATE:
            return _NOT_A_TIME
        compact = _COMPACT.fullmatch(word)
        if compact is not None:
            year, month, day, *clock = compact.groups(default="00")
            word = text(f"{year}-{month}-{day} {':'.join(clock)}")
        elif not _DATE.fullmatch(word):
            word = _guessed(word)
        return _NOT_A_TIME if word is None else np.datetime64(word, "us")
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _NOT_A_TIME


def _guessed(word: str) -> str | None:
    """Return a time that is not written as ISO 8601 as pandas reads it by itself."""
    import pandas as pd

    if not _YEAR.search(word):  # without a year, today's date would be filled in
        raise ValueError
    try:
        when = pd.Timestamp(word)
    except ValueError:
        when = pd.Timestamp(word.split("/")[0])  # a period that is written as "first/last"
    return text(when)


def _ranged(word: str) -> str | None:
    """Return an interval with canonical ends: (0, 5] is (0.0, 5.0]."""
    if word[0] not in "[(" or word[-1] not in "])" or word.count(",") != 1:
        return None
    low, high = word[1:-1].split(",")
    return f"{word[0]}{text(low)}, {text(high)}{word[-1]}"


# ---- a column: the same functions, applied to every cell -----------------------------------------


def numbers(column: Any) -> FloatArray:
    """Return the numbers of a column of cells, rounded to ``DIGITS``; NaN where there is none.

    Parameters
    ----------
    column : array, or list of cells
        Booleans, integers and floats are converted at once; everything else cell by cell. Both
        ways are ``number`` followed by ``rounded``.
    """
    return rounded(unrounded(column))


def unrounded(column: Any) -> FloatArray:
    """Return the numbers of a column of cells to the last digit; NaN where there is none."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            values = column.astype(np.float64)
        return np.where(np.isfinite(values), values, np.nan)
    # Not as for texts: numbers seldom come again, and reading one is quicker than finding it.
    return np.array([number(cell) for cell in column], dtype=np.float64)


def texts(column: Any) -> list[str | None]:
    """Return the canonical text of every cell of a column."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        distinct, place = np.unique(column, return_inverse=True)
        converted = [text(value) for value in distinct.tolist()]
        return [converted[at] for at in place.ravel().tolist()]
    return _mapped(text, column)


def dates(column: Any) -> NDArray[np.datetime64]:
    """Return the time of every cell of a column, in microseconds of UTC."""
    # pandas may quote a text in a warning. Entered for every column, also one without such a cell:
    # leaving the block lets warnings be shown again that were shown before.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(_mapped(_time, column), dtype="datetime64[us]")


def _mapped(convert: Callable[[Any], Any], cells: Iterable[Any]) -> list[Any]:
    """Return every cell converted; a text that comes again is converted once."""
    cells = list(cells)
    if set(map(type, cells)) <= _COMPARABLE:
        converted = {cell: convert(cell) for cell in set(cells)}
        return list(map(converted.__getitem__, cells))
    converted = {cell: convert(cell) for cell in {cell for cell in cells if type(cell) is str}}
    return [converted[cell] if type(cell) is str else convert(cell) for cell in cells]


_COMPARABLE = {str, float, type(None)}
"""Of cells of exactly these types, equal ones are converted alike. An object with an equality of
its own could pass for another record's cell."""

_POWERS = np.array([float(f"1e{power}") for power in range(309)])


def rounded(values: FloatArray) -> FloatArray:
    """Return numbers rounded to ``DIGITS`` significant digits; whole ones below 2**53 are exact.

    Infinite numbers become NaN. Each result depends on its own number.

    Examples
    --------
    >>> rounded(np.array([1 / 3, 1234567890123.0, np.inf])).tolist()
    [0.333333333333, 1234567890123.0, nan]
    """
    with np.errstate(all="ignore"):
        size = np.abs(values)
        exact = (values == np.rint(values)) & (size < _EXACT)
        power = DIGITS - 1 - np.floor(np.log10(np.where(size > 0, size, 1.0)))
        power = np.clip(np.nan_to_num(power), -300, 300).astype(np.intp)
        # Scales are whole powers of ten, exact up to 10**22, so short decimals come out as written.
        up, down = _POWERS[np.maximum(power, 0)], _POWERS[np.maximum(-power, 0)]
        result = np.rint(values / down * up) / up * down
    result = np.where(exact, values + 0.0, result)
    return np.where(np.isfinite(values), result, np.nan)


def coded(column: Any, place: Mapping[str, int]) -> NDArray[np.intp]:
    """Return the place of every cell in a list of canonical texts, -1 where it is in none."""

    def place_of(cell: Any) -> int:
        canonical = text(cell)
        return -1 if canonical is None else place.get(canonical, -1)

    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return np.array([place_of(one) for one in texts(column)], dtype=np.intp)
    return np.array(_mapped(place_of, column), dtype=np.intp)


def first_spellings(cells: Sequence[Any]) -> dict[str, str]:
    """Return, for every canonical text of public cells, how it is written most often."""
    counts: dict[str, dict[str, int]] = {}
    for cell, canonical in zip(cells, texts(cells), strict=True):
        if canonical is not None:
            spelling = str.__str__(cell).strip() if isinstance(cell, str) else canonical
            written = counts.setdefault(canonical, {})
            written[spelling] = written.get(spelling, 0) + 1
    return {
        canonical: min(written, key=lambda one: (-written[one], one))
        for canonical, written in counts.items()
    }
