"""Read a report back from JSON that anybody may have written: every field is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.report.public_check import PublicCheck
from tacit.report.signal import SignalTest
from tacit.report.statement import PrivacyStatement
from tacit.students.active.curve import LearningCurve

FORMAT_VERSION = 1

_T = TypeVar("_T")
_LARGEST_COUNT = 2**53  # what a float holds exactly


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a text of JSON holds, once its format is known."""
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            "`text` must be a report as `RunReport.to_json` writes it, got no JSON."
        ) from error
    version = report.get("format_version") if isinstance(report, dict) else None
    if isinstance(version, bool) or version != FORMAT_VERSION:
        text_of_version = repr(version)[:40]
        raise InvalidArgument(
            f"`text` must be a report in format {FORMAT_VERSION}, got format {text_of_version}."
        )
    return dict(report)


def report_fields(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a ``RunReport``, the statement left out."""
    return {
        **{name: _field(saved, name, _count) for name in ("asked", "answered", "refused")},
        "released": _field(saved, "released", _counts),
        "settings": _field(saved, "settings", _mapping),
        "versions": _field(saved, "versions", _mapping, {}),
        "batches": _field(saved, "batches", _whole_numbers, ()),
        "stopped": _field(saved, "stopped", _text, "budget"),
        "command": _field(saved, "command", _text, ""),
        "call": _field(saved, "call", _text, ""),
        "curve": _field(saved, "curve", _curve, None),
        "check": _field(saved, "check", _check, None),
        "signal": _field(saved, "signal", _signal, None),
    }


def statement_of(saved: Mapping[str, Any]) -> PrivacyStatement:
    """Return the statement that ``PrivacyStatement.to_dict`` wrote."""
    return PrivacyStatement(
        epsilon=_field(saved, "epsilon", _number),
        delta=_field(saved, "delta", _number),
        spent_epsilon=_field(saved, "spent_epsilon", _number),
        neighbouring=_field(saved, "neighbouring", Neighbouring),
        unit=_field(saved, "unit", _unit),
        mechanism=_field(saved, "mechanism", _text),
        accountant=_field(saved, "accountant", _text),
        questions=_field(saved, "questions", _count),
        assumptions=_field(saved, "assumptions", _texts),
        secure=_field(saved, "secure", _truth),
        planned=_field(saved, "planned", _count, None),
        released=_field(saved, "released", _kind_of_release, "answers"),
    )


# ---- one kind of value each: return it, or raise ValueError ------------------------------------

_MISSING: Any = object()


def _field(
    saved: Mapping[str, Any], name: str, read: Callable[[Any], _T], default: Any = _MISSING
) -> _T:
    value = saved.get(name, default)
    if value is default and value is not _MISSING:
        return value  # type: ignore[no-any-return]
    try:
        if value is _MISSING:
            raise ValueError
        return read(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"`text` must be a report as `RunReport.to_json` writes it, got one whose `{name}` is "
            "missing or garbled."
        ) from error


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST_COUNT:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError
    return float(value)


def _share(value: Any) -> float:
    if _number(value) > 1:
        raise ValueError
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _kind_of_release(value: Any) -> str:
    if value not in ("answers", "corrections"):
        raise ValueError
    return str(value)


def _unit(value: Any) -> str:
    if value not in ("record", "person"):
        raise ValueError
    return str(value)


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _list(value: Any, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(read(entry) for entry in value)


def _texts(value: Any) -> tuple[str, ...]:
    return _list(value, _text)


def _whole_numbers(value: Any) -> tuple[int, ...]:
    return _list(value, _count)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError
    return {_text(name): entry for name, entry in value.items()}


def _counts(value: Any) -> dict[str, int]:
    return {name: _count(entry) for name, entry in _mapping(value).items()}


def _curve(value: Any) -> LearningCurve:
    fields = _mapping(value)
    n_questions = _whole_numbers(fields.get("asked"))
    accuracy = fields.get("accuracy")
    return LearningCurve(
        n_questions,
        _shares(fields.get("foreseen"), len(n_questions)),
        _shares(fields.get("fitted"), len(n_questions)),
        None if accuracy is None else _shares(accuracy, len(n_questions)),
    )


def _shares(value: Any, length: int) -> tuple[float, ...]:
    column = _list(value, lambda entry: math.nan if entry is None else _share(entry))
    if len(column) != length:
        raise ValueError
    return column


def _check(value: Any) -> PublicCheck:
    fields = _mapping(value)
    classes = _texts(fields.get("classes"))
    counts = _list(fields.get("counts"), _whole_numbers)
    if len(counts) != len(classes) or any(len(row) != len(classes) for row in counts):
        raise ValueError
    return PublicCheck(classes, counts, _count(fields.get("unknown", 0)))


def _signal(value: Any) -> SignalTest:
    return SignalTest(_share(_mapping(value).get("p_value")))
