"""From the bytes of a request to points: everything that is wrong is a ``Problem``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tacit.data import Layout, PointReader
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.labeling.question import question_keys
from tacit.service.problems import INVALID, MALFORMED, TOO_LARGE, Problem

_FIELDS = frozenset(("point", "points"))


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one request: points in the form of the oracle, and their public keys."""

    points: Any
    keys: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)


def decode(body: bytes, reader: PointReader, *, most: int) -> Questions:
    """Return the questions of a request.

    Parameters
    ----------
    body : bytes
        JSON: ``{"points": [...]}``, or ``{"point": ...}`` for one.
    reader : PointReader
    most : int
        Points in one request, at most.

    Raises
    ------
    Problem
        Whatever the bytes are, nothing else.

    Examples
    --------
    >>> from tacit.data import Schema
    >>> reader = PointReader(Schema.of_numbers(2), missing=False)
    >>> decode(b'{"points": [[1, 2], [3, 4.5]]}', reader, most=10).points
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    points = _points(_json(body))
    if not points:
        raise Problem(INVALID, "`points` must hold at least one point.")
    if len(points) > most:
        raise Problem(TOO_LARGE, f"`points` must hold at most {most} points.")
    try:
        table = reader.questions(_table(points, reader))
        if n_rows(table) != len(points):
            raise InvalidArgument("`points` must be a list of points.")
        return Questions(table, question_keys(table))
    except InvalidArgument as error:
        raise Problem(INVALID, str(error).replace("`X`", "`points`")) from None


def _json(body: bytes) -> dict[str, Any]:
    try:
        fields = _JSON.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except (ValueError, RecursionError):
        raise Problem(MALFORMED, "The body must be JSON, without NaN or Infinity.") from None
    if not isinstance(fields, dict) or len(fields.keys() & _FIELDS) != 1 or fields.keys() - _FIELDS:
        raise Problem(MALFORMED, 'The body must be {"points": [...]} or {"point": ...}.')
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


# Made once: ``json.loads`` would make one for every request.
_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def _points(fields: dict[str, Any]) -> list[Any]:
    if "point" in fields:
        return [fields["point"]]
    points = fields["points"]
    if not isinstance(points, list):
        raise Problem(INVALID, "`points` must be a list of points.")
    return points


def _table(points: list[Any], reader: PointReader) -> Any:
    match reader.schema.layout:
        case Layout.TEXTS:
            return points
        case Layout.NUMBERS:
            return _numbers(points, reader)
        case Layout.FRAME:
            return _frame(points, reader)
        case _:
            _refuse_uneven(points, reader)
            table = np.empty((len(points), reader.schema.width or 0), dtype=object)
            for row, point in enumerate(points):
                table[row] = [_plain(cell) for cell in point]
            return table


def _numbers(points: list[Any], reader: PointReader) -> Any:
    if reader.schema.feature_names is not None:
        points = [_in_order(point, reader) for point in points]
    _refuse_uneven(points, reader)
    for point in points:
        # A truth value or a text that reads like a number is a mistake, not a number.
        if any(type(cell) not in (int, float, type(None)) for cell in point):
            raise InvalidArgument("`X` must be lists of numbers; null stands for a missing one.")
    try:
        return np.array(
            [[np.nan if cell is None else float(cell) for cell in point] for point in points]
        )
    except OverflowError:
        raise InvalidArgument("`X` must hold numbers that a double can hold.") from None


def _frame(points: list[Any], reader: PointReader) -> Any:
    import pandas as pd

    rows = [_in_order(point, reader) for point in points]
    _refuse_uneven(rows, reader)
    cells = [[_plain(cell) for cell in row] for row in rows]
    return pd.DataFrame(cells, columns=pd.Index(reader.schema.names), dtype=object)


def _in_order(point: Any, reader: PointReader) -> Any:
    """Return the cells of a point that names them, in the order of the columns."""
    if not isinstance(point, dict):
        return point
    names = reader.schema.feature_names or ()
    if set(point) != set(names):
        raise InvalidArgument(f"`X` must name each of the columns once: {list(names)!r}.")
    return [point[name] for name in names]


def _plain(cell: Any) -> Any:
    if isinstance(cell, list | dict):
        raise InvalidArgument("`X` must hold plain values: texts, numbers, true, false or null.")
    if isinstance(cell, str):
        _refuse_broken(cell)
    if isinstance(cell, int) and abs(cell) >= 2**63:
        raise InvalidArgument("`X` must hold whole numbers of at most 64 bits.")
    return cell


def _refuse_broken(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("`X` must hold texts that can be written in UTF-8.") from None


def _refuse_uneven(points: list[Any], reader: PointReader) -> None:
    width = reader.schema.width
    for point in points:
        if not isinstance(point, list) or len(point) != width:
            raise InvalidArgument(f"`X` must be lists of {width} values each, one list per point.")
