"""Strategies by name, for settings that are written as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.active.base import Strategy
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.flip_weight import FlipWeight
from tacit.students.active.margin import Margin, Random
from tacit.students.active.yan_dbal import YanDBAL

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "diverse-margin": DiverseMargin,
    "margin": Margin,
    "flip-weight": FlipWeight,
    "yan-dbal": YanDBAL,
    "random": Random,
}
"""Those that need no arguments; ``ExactCAL`` and ``ScikitActiveML`` are passed as objects."""


def strategy_named(query: Any) -> Strategy:
    """Return the strategy that ``query`` names, or ``query`` itself if it is one.

    Examples
    --------
    >>> strategy_named("margin")
    Margin(penalty=10.0, n_initial=10)
    """
    if isinstance(query, str):
        return STRATEGIES[validation.one_of(STRATEGIES, query=query)]()
    if isinstance(query, type) or not isinstance(query, Strategy):
        got = query.__name__ if isinstance(query, type) else type(query).__name__
        raise InvalidArgument(
            f"`query` must be a name or an object with select(X_pool, queried, labels, k, rng), "
            f"got {got}."
        )
    return query
