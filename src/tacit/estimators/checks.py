"""Checks of settings that the classifier and the oracle have in common."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import VoteMechanism
from tacit.teachers.labels import ClassList


def noisy_budget(epsilon: float, delta: float) -> Budget:
    """Return the budget of a noisy vote, whose delta is above 0."""
    budget = Budget(epsilon, delta)
    if budget.delta == 0:
        raise InvalidArgument("`delta` must be above 0 for a noisy vote, got 0.0.")
    return budget


def number_of_teachers(n_teachers: Any, n_units: int | None, rule: Callable[[int], int]) -> int:
    """Return the number that the caller set, or ``rule`` of the number of records or people.

    ``n_units`` is None where that number is private.
    """
    if isinstance(n_teachers, str) and n_units is not None:
        validation.auto_or_number(n_teachers=n_teachers)
        if n_units < 2:
            raise InvalidArgument(f"`X` must hold at least 2 records, got n_samples = {n_units}.")
        return rule(n_units)
    number = validation.positive_integer(n_teachers=n_teachers)
    if n_units is not None and number > n_units:
        raise InvalidArgument(f"`n_teachers` must be at most {n_units}, got {number}.")
    return number


def check_teachers(setting: Any, n_teachers: int, source: str) -> None:
    """Refuse another number of teachers than there are."""
    if setting not in ("auto", n_teachers):
        raise InvalidArgument(
            f'`n_teachers` must be "auto" or {n_teachers}, {source}, got {setting!r}.'
        )


def class_list(classes: Any) -> NDArray[Any]:
    """Return the sorted list of classes, which must be public."""
    if classes is None:
        raise InvalidArgument(
            "`classes` must list the possible labels, got None. They must be public: reading "
            "them from private labels could reveal a record."
        )
    # Sorted, as everything in scikit-learn that reads a column of probabilities expects.
    return np.sort(ClassList(classes).labels)


def workers(n_jobs: Any) -> int | None:
    """Return a number of workers as joblib takes it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InvalidArgument(
            f"`n_jobs` must be None or an integer other than 0 (-1: all cores), got {n_jobs!r}."
        )
    return int(n_jobs)


def generator(random_state: Any) -> np.random.Generator:
    """Return what drives sharding and training."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"`random_state` must be None or an integer, 0 or more, got {random_state!r}."
        ) from None


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
