"""Budgets in words. What was promised is rounded up, what is left is rounded down."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Any

from tacit.report.statement import rounded_up

_DIGITS = 4


def promised(amount: Any) -> tuple[str, str]:
    """Return epsilon and delta of a budget or of what was reserved."""
    return rounded_up(amount.epsilon, _DIGITS), rounded_up(amount.delta, _DIGITS)


def left(amount: Any) -> tuple[str, str]:
    """Return epsilon and delta of what is left.

    Examples
    --------
    >>> from tacit.ledger.composition import Amount
    >>> promised(Amount(0.999991, 1e-6)), left(Amount(1.000009, 9e-6))
    (('1', '1e-06'), ('1', '9e-06'))
    """
    return _rounded_down(amount.epsilon), _rounded_down(amount.delta)


def words(pair: tuple[str, str]) -> str:
    """Return both in words."""
    return f"epsilon {pair[0]}, delta {pair[1]}"


def _rounded_down(value: float) -> str:
    if value <= 0:
        return "0"
    exact = Decimal(repr(value))
    place = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{float(exact.quantize(place, rounding=ROUND_FLOOR)):.{_DIGITS}g}"
