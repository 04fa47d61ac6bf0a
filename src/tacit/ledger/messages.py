"""Statements and error messages of a ledger; they contain public numbers only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.ledger.answers import Tally
from tacit.ledger.chain import lifetime_amount
from tacit.ledger.composition import Amount, Composition

INSECURE_REFUSED = (
    "This ledger does not record answers drawn from test noise, so nothing was released. Use "
    "SecureNoise; or, in a test, open the ledger with allow_insecure=True."
)

REPLACED = (
    "The ledger was replaced, or put back to an earlier state, while it was in use. Nothing was "
    "released. Find out what happened, then open it again."
)

NO_BEGINNING = "Row 0 is missing: the ledger has no beginning."

NESTED = "A release must not use the ledger that records it."

UNCLEAR = (
    "It is not clear whether the answers were recorded; none was released. Ask again: what was "
    "recorded is given as it was, free, and nothing is charged twice."
)

_RULES = {
    Composition.BASIC: "the epsilons and the deltas of its plans add up",
    Composition.ZCDP: "the zero-concentrated prices of its plans add up and are converted once",
}


def statement(
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
            "is not on this ledger and not counted above. The budget is no guarantee any more; "
            f"everything ever released is covered by {_amount(lifetime_amount(budget, lost))}."
        )
    insecure = sum(tally.insecure for _, tally in plans)
    if insecure:
        lines.append(
            f"INSECURE: {_plural(insecure, 'answer')} were drawn from test noise. No guarantee "
            "holds for this data set any more."
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


def answers_refused(questions: int, most: Mapping[Event, int], room: Mapping[Event, int]) -> str:
    """Return why questions cannot be answered under a plan."""
    short = "; ".join(
        f"{times} times {event.kind} where {room.get(event, 0)} are left"
        for event, times in most.items()
        if times > room.get(event, 0)
    )
    return (
        f"{_plural(questions, 'new question')} may cost {short}. Nothing was drawn. Ask fewer, or "
        "open a further plan if the budget allows one; questions answered before are still free."
    )


def allowance_exceeded(name: str) -> str:
    """Return why an analyst cannot be shown these answers now."""
    return (
        f"The answers may cost more than {name!r} may still be shown in this period. Nothing was "
        "drawn or shown. Ask fewer, or wait for the next period."
    )


def no_ledger(location: str) -> str:
    """Return how to create a ledger that does not exist."""
    return (
        f"There is no ledger at {location!r}. Create it once, with the lifetime budget of the data "
        f"set: tacit.open_ledger({location!r}, budget=Budget(...))."
    )


def other_format(version: int, supported: int) -> str:
    """Return why a ledger of another format is left alone."""
    step = "a newer one" if version > supported else "an older one"
    return (
        f"The ledger is written in format {version}; this version of tacit reads format "
        f"{supported}. "
        f"Nothing was changed. Use the version of tacit that wrote it, or {step}."
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
