"""From an oracle's settings to what is in force: public facts alone decide."""

from __future__ import annotations

import math
from typing import Any

from tacit import _validate
from tacit._settings import CONFIDENT_SHARE, own_mechanism, refuse_class
from tacit.errors import InvalidArgument
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableVote,
)
from tacit.mechanisms.base import VoteMechanism
from tacit.privacy.budget import Budget, Neighbouring
from tacit.theory.cutoff import AUTO_SHARE, hard_questions, largest_cutoff
from tacit.theory.rules import teachers_for

NAMES = ("sparse", "gaussian", "laplace", "confident", "exponential")

ESTIMATE_SHARE = 0.2
"""Part of the budget that a private estimate of the error may take."""


def teachers(given: Any, n_units: int | None, epsilon: float) -> int:
    """Return how many teachers are trained; ``n_units`` is None where that number is private."""
    if isinstance(given, str) and n_units is not None:
        _validate.one_of(("auto",), n_teachers=given)
        if n_units < 2:
            raise InvalidArgument(f"`X` must hold at least 2 records, got {n_units}.")
        return teachers_for(n_units, epsilon)
    number = _validate.positive_integer(n_teachers=given)
    if n_units is not None and number > n_units:
        raise InvalidArgument(f"`n_teachers` must be at most {n_units}, got {number}.")
    return number


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


def cutoff(given: Any, budget: Budget, *, n_teachers: int, questions: int, error: float) -> int:
    """Return the number of refusals to plan for.

    "auto": a tenth of the questions. "estimate": from ``error``, a released number. Never more
    than leave clear votes answerable, unless the caller insists on a number.
    """
    if not isinstance(given, str):
        return _validate.positive_integer(cutoff=given)
    _validate.one_of(("auto", "estimate"), cutoff=given)
    most = largest_cutoff(budget, n_teachers=n_teachers, questions=questions)
    if given == "auto":
        return min(most, max(1, round(AUTO_SHARE * questions)))
    return min(most, hard_questions(error, questions))


def mechanism(
    given: Any,
    budget: Budget,
    *,
    n_classes: int,
    n_teachers: int,
    questions: int,
    refusals: int | None,
) -> VoteMechanism:
    """Return the mechanism that answers within the budget."""
    if isinstance(given, VoteMechanism):
        return own_mechanism(given, budget, n_classes)
    refuse_class(given)
    match _validate.one_of(NAMES, mechanism=given):
        case "gaussian":
            return GaussianVote.for_budget(budget, answers=questions, n_classes=n_classes)
        case "laplace":
            return LaplaceVote.for_budget(budget, answers=questions, n_classes=n_classes)
        case "exponential":
            return ExponentialVote.for_budget(budget, answers=questions, n_classes=n_classes)
        case "confident":
            even = n_teachers / n_classes
            return ConfidentVote.for_budget(
                budget,
                questions=questions,
                threshold=even + CONFIDENT_SHARE * (n_teachers - even),
                n_classes=n_classes,
            )
        case _:
            return SparseVote.for_budget(budget, cutoff=refusals or 1, n_classes=n_classes)


def refuse_silent(found: VoteMechanism, n_teachers: int) -> None:
    """Refuse a threshold that not even a unanimous vote reaches."""
    if not isinstance(found, SparseVote | StableVote):
        return
    unanimous = math.ceil(n_teachers / 2) - 1
    if math.floor(found.threshold) > unanimous:
        raise InvalidArgument(
            f"`cutoff` must leave a threshold that votes can reach: {found.name} has "
            f"{math.floor(found.threshold)}, and a unanimous vote of {n_teachers} teachers has a "
            f"distance of {unanimous}. Use more teachers, a larger epsilon or a smaller cutoff."
        )


def assumptions(
    settings: Any, neighbouring: Neighbouring, unit: str, *, own_ledger: bool
) -> tuple[str, ...]:
    """Return what the guarantee rests on besides the proofs, in sentences."""
    said = [
        "Features are public: only labels are protected, and everything may depend on features."
        if neighbouring is Neighbouring.LABELS
        else "The points asked about are public and are chosen without looking at private records."
    ]
    if isinstance(settings.classes, str):
        said.append("The list of classes was read from the private labels and is NOT protected.")
    if neighbouring is not Neighbouring.ADD_REMOVE:
        said.append(f"The number of {'people' if unit == 'person' else 'records'} is public.")
    if unit == "record":
        said.append("No person has more than one record; k records of one cost k times epsilon.")
    else:
        said.append("The groups given hold all records of a person together.")
        if neighbouring is not Neighbouring.ADD_REMOVE:
            said.append("The order in which people appear does not depend on private values.")
    said.append("Nothing was fitted on all private records together before they came here.")
    said.append("Settings were chosen without looking at private data.")
    said.append("Everybody who asks is taken together: the guarantee is against all of them.")
    if own_ledger:
        said.append(
            "This is the cost of this oracle alone: other releases from the data add to it."
        )
    else:
        said.append("The ledger given has what all releases from the data add up to.")
    return tuple(said)


def after_restores(lost: int) -> tuple[str, ...]:
    """Return what a statement says after so many restores with lost spend, in sentences."""
    if not lost:
        return ()
    return (
        f"The ledger was restored {lost} time{'s' if lost > 1 else ''} without all that had been "
        "spent: the budget counts once for every account that was lost, and once for this one.",
    )
