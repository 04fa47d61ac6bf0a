"""Bisection: where a condition that holds at one end stops holding."""

from __future__ import annotations

from collections.abc import Callable


def largest_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the largest integer at which ``holds`` is true: it is at ``low``, not at ``high``.

    Examples
    --------
    >>> largest_integer(lambda n: n * n <= 50, 1, 50)
    7
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def boundary(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    relative: float,
    scale: float = 0.0,
) -> tuple[float, float]:
    """Return two close numbers between which ``holds`` stops being true.

    It is true at ``low`` and at the first of the two, false at ``high`` and at the second. They are
    at most ``relative`` apart, relative to the second number or to ``scale`` where that is larger.

    Examples
    --------
    >>> inside, outside = boundary(lambda x: x * x <= 2, 0.0, 2.0, relative=1e-9)
    >>> round(inside, 6), outside > inside
    (1.414214, True)
    """
    while high - low > relative * max(scale, high):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
