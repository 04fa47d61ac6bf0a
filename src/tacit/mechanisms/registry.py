"""Vote mechanisms by name: the one table that estimators and the command line read.

To add one, write its module (sampler, event and price together, with ``for_run``) and give it a
line here.
"""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.mechanisms.confident import ConfidentVote
from tacit.mechanisms.exponential import ExponentialVote
from tacit.mechanisms.noisy_argmax import GaussianVote, LaplaceVote
from tacit.mechanisms.sparse_vector import SparseVote

MECHANISMS: dict[str, type[VoteMechanism]] = {
    "gaussian": GaussianVote,
    "laplace": LaplaceVote,
    "confident": ConfidentVote,
    "exponential": ExponentialVote,
    "sparse": SparseVote,
}


def mechanism_type(mechanism: Any) -> type[VoteMechanism]:
    """Return the class of a mechanism that is given by name or as an object.

    Examples
    --------
    >>> mechanism_type("gaussian").__name__
    'GaussianVote'
    """
    if isinstance(mechanism, VoteMechanism):
        return type(mechanism)
    if isinstance(mechanism, type):
        raise InvalidArgument(
            f"`mechanism` must be a name or an object, got the class {mechanism.__name__}; make "
            f"one, for example with {mechanism.__name__}.for_budget(...)."
        )
    return MECHANISMS[validation.one_of(tuple(MECHANISMS), mechanism=mechanism)]


def make_mechanism(mechanism: Any, run: VoteRun) -> VoteMechanism:
    """Return the mechanism of a run: made for it by name, or the object given if it fits.

    Raises
    ------
    InvalidArgument
        For an unknown name, or an object made for another number of classes.
    BudgetExceeded
        When the object given costs more than the budget.
    """
    if not isinstance(mechanism, VoteMechanism):
        return mechanism_type(mechanism).for_run(run)
    if mechanism.n_classes != run.n_classes:
        raise InvalidArgument(
            f"`mechanism` must be made for {run.n_classes} classes, got one for "
            f"{mechanism.n_classes}."
        )
    cost = mechanism.epsilon(run.budget.delta)
    if cost > run.budget.epsilon:
        raise BudgetExceeded(
            f"The mechanism given costs epsilon {cost:.4g} at delta {run.budget.delta:g}, above "
            f"the budget's {run.budget.epsilon:g}. Use more noise or fewer answers, or raise the "
            "budget."
        )
    return mechanism
