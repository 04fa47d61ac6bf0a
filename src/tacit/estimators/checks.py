"""Checks of settings that the classifier and the oracle have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tacit import validation
from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import VoteMechanism


def relation_of(protect: str, neighbouring: str, *, grouped: bool, n_teachers: Any) -> Neighbouring:
    """Return which data sets the guarantee is about, or refuse a pair that has no proof."""
    validation.one_of(("records", "labels"), protect=protect)
    relation = validation.choice(Neighbouring, neighbouring=neighbouring)
    if protect == "labels":
        if relation is Neighbouring.ADD_REMOVE:
            raise InvalidArgument(
                '`neighbouring` "add-remove" does not go with protect="labels", which protects '
                "labels of records that are known to be there."
            )
        return Neighbouring.LABELS
    if relation is Neighbouring.LABELS:
        raise InvalidArgument('`neighbouring` "labels" is chosen by protect="labels".')
    if relation is Neighbouring.ADD_REMOVE:
        if not grouped:
            raise InvalidArgument(
                '`groups` must be given with neighbouring="add-remove": each record\'s or '
                "person's own identifier decides its shard."
            )
        if isinstance(n_teachers, str):
            raise InvalidArgument(
                '`n_teachers` must be a number with neighbouring="add-remove", got '
                f"{n_teachers!r}: the number of records is private."
            )
    return relation


def number_of_teachers(n_teachers: Any, n_units: int | None, rule: Callable[[int], int]) -> int:
    """Return the number that the caller set, or ``rule`` of the number of records or people.

    ``n_units`` is None where that number is private.
    """
    if isinstance(n_teachers, str) and n_units is not None:
        auto_or_number(n_teachers=n_teachers)
        if n_units < 2:
            raise InvalidArgument(f"`X` must hold at least 2 records, got n_samples = {n_units}.")
        return rule(n_units)
    number = validation.positive_integer(n_teachers=n_teachers)
    if n_units is not None and number > n_units:
        raise InvalidArgument(f"`n_teachers` must be at most {n_units}, got {number}.")
    return number


def auto_or_number(**named: str) -> None:
    """Refuse a text that is not "auto"."""
    ((name, value),) = named.items()
    if value != "auto":
        raise InvalidArgument(f"`{name}` must be a number or 'auto', got {value!r}.")


def refuse_silent(mechanism: VoteMechanism, n_teachers: int) -> None:
    """Refuse a threshold that not even a unanimous vote reaches."""
    largest = math.ceil(n_teachers / 2) - 1
    if mechanism.smallest_distance > largest:
        raise InvalidArgument(
            f"`mechanism` must have a threshold that votes can reach: {mechanism.name} has "
            f"{mechanism.smallest_distance}, and a unanimous vote of {n_teachers} teachers has a "
            f"distance of {largest}, so it would answer nothing. Use more teachers, a "
            "larger epsilon, or plan fewer refusals (fewer questions, or a smaller cutoff)."
        )
