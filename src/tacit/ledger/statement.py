"""The state of an account in words; public numbers only."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.ledger.chain import lifetime_amount
from tacit.ledger.composition import Amount, Composition
from tacit.ledger.tallies import Tally

_RULES = {
    Composition.BASIC: "the epsilons and the deltas of its plans add up",
    Composition.ZCDP: "the zero-concentrated prices of its plans add up and are converted once",
}


def text(
    *,
    budget: Budget,
    composition: Composition,
    reserved: Amount,
    left: Amount,
    plans: Sequence[tuple[Plan, Tally]],
    lost: int = 0,
) -> str:
    """Return the state of the account in words."""
    lines = [
        f"Lifetime budget of this data set: {_amount(budget)}.",
        f"Composition ({composition}): {_RULES[composition]}.",
        f"Reserved by {_plural(len(plans), 'plan')}: {_amount(reserved)}.",
        f"Left for further plans: {_left(left)}.",
        *(_plan_line(plan, tally) for plan, tally in plans),
        "Reserved amounts are guarantees, whatever was asked. Counts of answers are readings.",
    ]
    if lost:
        times = "once" if lost == 1 else f"{lost} times"
        lines.append(
            f"RESTORED {times} from a backup with lost spend: what was released after the backup "
            "is not on this ledger and not counted above. The budget is no longer a guarantee; "
            f"everything ever released is covered by {_amount(lifetime_amount(budget, lost))}."
        )
    insecure = sum(tally.insecure for _, tally in plans)
    if insecure:
        lines.append(
            f"INSECURE: {_plural(insecure, 'answer')} were drawn from test noise. There is no "
            "longer a guarantee for this data set."
        )
    return "\n".join(lines)


def plan_refused(plan: Plan, budget: Budget, composition: Composition, left: Amount) -> str:
    """Return why a plan cannot be opened."""
    requested = _amount(plan.guarantee)
    if composition is Composition.ZCDP:
        requested = f"rho={plan.rho:.6g} with failure probability {plan.failure:.6g}"
    return (
        f"The plan of {plan.mechanism} asks for {requested}, but {_left(left)} is left of the "
        f"lifetime budget {_amount(budget)}. Nothing was changed. Plan fewer answers or more "
        "noise, or stop here: a ledger's budget cannot be raised."
    )


def _amount(amount: Budget | Amount) -> str:
    return f"(epsilon={amount.epsilon:.6g}, delta={amount.delta:.6g})"


def _left(left: Amount) -> str:
    if left.rho is None:
        return _amount(left)
    return f"rho={left.rho:.6g} and delta={left.delta:.6g}"


def _plan_line(plan: Plan, tally: Tally) -> str:
    refused = f" and {_plural(tally.refused, 'refusal')}" if tally.refused else ""
    mark = " INSECURE: test noise." if tally.insecure else ""
    return (
        f"- {plan.mechanism}: {_amount(plan.guarantee)} by {plan.accountant}; so far "
        f"{_plural(tally.answered, 'answer')}{refused}.{mark}"
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
