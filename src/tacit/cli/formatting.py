"""Amounts of privacy as text: rounded up where they were spent, down where they remain."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Any

from tacit.report.statement import rounded_up

_DIGITS = 4


def round_up(amount: Any) -> tuple[str, str]:
    """Return epsilon and delta of a budget or of what was reserved, rounded up."""
    return rounded_up(amount.epsilon, _DIGITS), rounded_up(amount.delta, _DIGITS)


def round_down(amount: Any) -> tuple[str, str]:
    """Return epsilon and delta of what is left, rounded down.

    Examples
    --------
    >>> from tacit.ledger.composition import Amount
    >>> round_up(Amount(0.999991, 1e-6)), round_down(Amount(1.000009, 9e-6))
    (('1', '1e-06'), ('1', '9e-06'))
    """
    return _rounded_down(amount.epsilon), _rounded_down(amount.delta)


def as_text(pair: tuple[str, str]) -> str:
    """Return epsilon and delta as text."""
    return f"epsilon {pair[0]}, delta {pair[1]}"


def _rounded_down(value: float) -> str:
    if value <= 0:
        return "0"
    exact = Decimal(repr(value))
    place = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{float(exact.quantize(place, rounding=ROUND_FLOOR)):.{_DIGITS}g}"
