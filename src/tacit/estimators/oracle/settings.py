"""From an oracle's settings to what is in force: public facts alone decide."""

from __future__ import annotations

from typing import Any

from tacit.accounting.budget import Budget
from tacit.estimators.checks import number_of_teachers
from tacit.estimators.protection import Protection
from tacit.planning.cutoff import AUTO_SHARE, hard_questions, largest_cutoff
from tacit.planning.rules import teachers_for

ESTIMATE_SHARE = 0.2
"""Part of the budget that a private estimate of the error may take."""


def teachers(n_teachers: Any, protection: Protection, epsilon: float) -> int:
    """Return how many teachers are trained, or how many exist already."""
    if protection.existing is not None:
        return protection.existing.n_teachers
    return number_of_teachers(n_teachers, protection.n_units, lambda n: teachers_for(n, epsilon))


def shares(budget: Budget, *, estimated: bool) -> tuple[Budget, Budget | None]:
    """Return the budget of the answers and, when the error is estimated, that of the estimate."""
    if not estimated:
        return budget, None
    part = Budget(ESTIMATE_SHARE * budget.epsilon, ESTIMATE_SHARE * budget.delta)
    return Budget(budget.epsilon - part.epsilon, budget.delta - part.delta), part


def cutoff(setting: Any, budget: Budget, *, n_teachers: int, questions: int, error: float) -> int:
    """Return the number of refusals to plan for.

    "auto": a tenth of the questions. "estimate": from ``error``, a released number. Never more
    than leave clear votes answerable, unless the caller insists on a number.
    """
    if not isinstance(setting, str):
        return int(setting)
    most = largest_cutoff(budget, n_teachers=n_teachers, n_questions=questions)
    if setting == "auto":
        return min(most, max(1, round(AUTO_SHARE * questions)))
    return min(most, hard_questions(error, questions))
