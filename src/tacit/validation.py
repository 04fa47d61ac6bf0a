"""Argument checks with one wording: argument, rule, value received.

Each check takes its argument as ``name=value`` so that the message names what the caller wrote::

    positive(sigma=sigma)        # "`sigma` must be a positive finite number, got -1.0."

Only public settings pass through here: the value received is part of the message. Private arrays
are checked by their own types (``VoteCounts``), whose messages hold no values.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar

from tacit.errors import InvalidArgument

_E = TypeVar("_E", bound=StrEnum)


def _single(named: dict[str, Any]) -> tuple[str, Any]:
    ((name, value),) = named.items()
    return name, value


def _refuse(name: str, rule: str, value: Any, hint: str = "") -> InvalidArgument:
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    return InvalidArgument(f"`{name}` must be {rule}, got {text}.{' ' + hint if hint else ''}")


def _real(name: str, value: Any, rule: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _refuse(name, rule, value)
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest float
        raise _refuse(name, rule, value) from None


def positive(hint: str = "", **named: Any) -> float:
    """Return a positive finite number."""
    name, value = _single(named)
    rule = "a positive finite number"
    number = _real(name, value, rule)
    if not (math.isfinite(number) and number > 0):
        raise _refuse(name, rule, value, hint)
    return number


def non_negative(**named: Any) -> float:
    """Return a finite number that is zero or more."""
    name, value = _single(named)
    rule = "a finite number, zero or more"
    number = _real(name, value, rule)
    if not (math.isfinite(number) and number >= 0):
        raise _refuse(name, rule, value)
    return number


def finite(hint: str = "", **named: Any) -> float:
    """Return a finite number."""
    name, value = _single(named)
    number = _real(name, value, "a finite number")
    if not math.isfinite(number):
        raise _refuse(name, "a finite number", value, hint)
    return number


def probability(hint: str = "", **named: Any) -> float:
    """Return a number strictly between 0 and 1."""
    name, value = _single(named)
    number = _real(name, value, "in (0, 1)")
    if not 0 < number < 1:
        raise _refuse(name, "in (0, 1)", value, hint)
    return number


def fraction(hint: str = "", **named: Any) -> float:
    """Return a number in [0, 1)."""
    name, value = _single(named)
    number = _real(name, value, "in [0, 1)")
    if not 0 <= number < 1:
        raise _refuse(name, "in [0, 1)", value, hint)
    return number


def integer(at_least: int, hint: str = "", **named: Any) -> int:
    """Return an integer that is ``at_least`` or more."""
    name, value = _single(named)
    if type(value) is int and value >= at_least:  # the common case, on the way of every answer
        return value
    rule = f"an integer, {at_least} or more"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < at_least:
        raise _refuse(name, rule, value, hint)
    return int(value)


def positive_integer(hint: str = "", **named: Any) -> int:
    """Return an integer that is 1 or more."""
    return integer(1, hint, **named)


def choice(options: type[_E], hint: str = "", **named: Any) -> _E:
    """Return a member of a string enumeration; its plain string is accepted."""
    name, value = _single(named)
    try:
        return options(value)
    except ValueError:
        listed = _listed(member.value for member in options)
        raise _refuse(name, f"one of {listed}", value, hint) from None


def one_of(options: Iterable[str], **named: Any) -> str:
    """Return a string that is one of ``options``."""
    name, value = _single(named)
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        raise _refuse(name, f"one of {_listed(options)}", value)
    return value


def is_auto(value: Any) -> bool:
    """Return whether a setting is left at "auto"; objects are not compared with a text."""
    return isinstance(value, str) and value == "auto"


def auto_or_number(**named: str) -> None:
    """Refuse a text that is not "auto"."""
    name, value = _single(named)
    if value != "auto":
        raise _refuse(name, "a number or 'auto'", value)


def instance(kind: type[_E] | type[Any], **named: Any) -> Any:
    """Return a value of the given type; the message names the type received, never the value."""
    ((name, value),) = named.items()
    if isinstance(value, kind):
        return value
    raise InvalidArgument(f"`{name}` must be a {kind.__name__}, got a {type(value).__name__}.")


def _listed(options: Iterable[str]) -> str:
    return ", ".join(repr(str(option)) for option in options)
