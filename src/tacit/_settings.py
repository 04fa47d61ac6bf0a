"""Rules that the classifier and the oracle share about what a caller may set."""

from __future__ import annotations

from typing import Any

from tacit import _validate
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.mechanisms.base import VoteMechanism
from tacit.privacy.budget import Budget, Neighbouring

CONFIDENT_SHARE = 0.2
"""How far from an even vote to a unanimous one a confident answer lies: 60% of two classes."""


def relation_of(protect: str, neighbouring: str, *, grouped: bool, n_teachers: Any) -> Neighbouring:
    """Return which data sets the guarantee is about, or refuse a pair that has no proof."""
    _validate.one_of(("records", "labels"), protect=protect)
    found = _validate.choice(Neighbouring, neighbouring=neighbouring)
    if protect == "labels":
        if found is Neighbouring.ADD_REMOVE:
            raise InvalidArgument(
                '`neighbouring` "add-remove" does not go with protect="labels", which protects '
                "labels of records that are known to be there."
            )
        return Neighbouring.LABELS
    if found is Neighbouring.LABELS:
        raise InvalidArgument('`neighbouring` "labels" is chosen by protect="labels".')
    if found is Neighbouring.ADD_REMOVE:
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
    return found


def own_mechanism(given: VoteMechanism, budget: Budget, n_classes: int) -> VoteMechanism:
    """Return a mechanism of the caller's own, if it is for these classes and within the budget."""
    if given.n_classes != n_classes:
        raise InvalidArgument(
            f"`mechanism` must be made for {n_classes} classes, got one for {given.n_classes}."
        )
    cost = given.epsilon(budget.delta)
    if cost > budget.epsilon:
        raise BudgetExceeded(
            f"The mechanism given costs epsilon {cost:.4g} at delta {budget.delta:g}, above the "
            f"budget's {budget.epsilon:g}. Use more noise or fewer answers, or raise the budget."
        )
    return given


def refuse_class(given: Any) -> None:
    """Refuse a mechanism's class where one of its objects is meant."""
    if isinstance(given, type):
        raise InvalidArgument(
            f"`mechanism` must be a name or an object, got the class {given.__name__}; make one, "
            f"for example with {given.__name__}.for_budget(...)."
        )
