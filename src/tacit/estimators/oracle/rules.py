"""From an oracle's settings to what is in force: public facts alone decide."""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.estimators.protection import Protection
from tacit.estimators.rules import list_assumptions, number_of_teachers
from tacit.planning.cutoff import AUTO_SHARE, hard_questions, largest_cutoff
from tacit.planning.rules import teachers_for

ESTIMATE_SHARE = 0.2
"""Part of the budget that a private estimate of the error may take."""


def teachers(n_teachers: Any, protection: Protection, epsilon: float) -> int:
    """Return how many teachers are trained, or how many exist already."""
    if protection.existing is not None:
        return protection.existing.n_teachers
    return number_of_teachers(n_teachers, protection.n_units, lambda n: teachers_for(n, epsilon))


def wants_estimate(mechanism: Any, cutoff: Any) -> bool:
    """Return whether the cut-off comes from a private estimate of the error."""
    if cutoff != "estimate":
        return False
    if mechanism != "sparse":
        raise InvalidArgument(
            '`cutoff` "estimate" goes with mechanism="sparse"; the other mechanisms pay for '
            "every answer and have no cut-off."
        )
    return True


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
        return validation.positive_integer(cutoff=setting)
    validation.one_of(("auto", "estimate"), cutoff=setting)
    most = largest_cutoff(budget, n_teachers=n_teachers, questions=questions)
    if setting == "auto":
        return min(most, max(1, round(AUTO_SHARE * questions)))
    return min(most, hard_questions(error, questions))


def assumptions(protection: Protection, *, own_ledger: bool) -> tuple[str, ...]:
    """Return what the guarantee rests on besides the proofs, in sentences."""
    account = "The ledger given has what all releases from the data add up to."
    if own_ledger:
        account = "This is the cost of this oracle alone: other releases from the data add to it."
    return list_assumptions(
        protection.neighbouring,
        protection.unit,
        points=["The points asked about are public and chosen without looking at private records."],
        account=[
            "Everybody who asks is taken together: the guarantee is against all of them.",
            account,
        ],
    )


def after_restores(lost: int) -> tuple[str, ...]:
    """Return what a statement says after so many restores with lost spend, in sentences."""
    if not lost:
        return ()
    return (
        f"The ledger was restored {lost} time{'s' if lost > 1 else ''} without all that had been "
        "spent: the budget counts once for every account that was lost, and once for this one.",
    )
