"""Prices against formulas of our own, and exact laws against prices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import Calibration
from tacit.accounting.events import Event
from tacit.audit import reference_prices as reference
from tacit.audit.checks.findings import (
    SLACK,
    Findings,
    voting,
)
from tacit.audit.reference_laws import (
    Counts,
    question_law,
    transcript_law,
)
from tacit.audit.subjects import (
    Subject,
    far_and_near,
    few_enough,
    moved,
    neighbours,
    questionnaire,
)
from tacit.mechanisms import (
    ConfidentVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    VoteMechanism,
)

__all__ = [
    "check_calibration",
    "check_price",
    "check_stated_price",
    "neighbouring_questionnaires",
    "plan_of",
    "prices_agree",
]


def plan_of(subject: Subject) -> Any:
    """Return the plan of a subject's run."""
    return voting(subject).plan(subject.delta, n_teachers=subject.n_teachers)


def check_price(subject: Subject, findings: Findings, seed: int) -> None:
    """Prices are the documented ones, and the exact laws of answers stay within them."""
    plan = plan_of(subject)
    check_stated_price(subject, plan, findings)
    mechanism = voting(subject)
    if mechanism.output is not Output.SHARE:
        _check_single_answers(subject, findings)
        _check_transcripts(subject, plan, findings)


def check_stated_price(subject: Subject, plan: Any, findings: Findings) -> None:
    """Events and plan cost what independent formulas give."""
    due = reference.stated(subject.mechanism)
    planned = list(subject.mechanism.planned_events())
    fine = sum(most for _, most in planned) == sum(event.most for event in due)
    findings.require("price", fine, "the plan counts another number of events than the settings")
    for event, most in planned:
        match = [one for one in due if prices_agree(event, one)]
        if findings.require("price", bool(match), f"the price of a {event.kind} event is wrong"):
            findings.require(
                "price",
                len(planned) != len(due) or any(one.most == most for one in match),
                f"the plan holds {most} {event.kind} events",
            )
            _check_curve(event, match[0], findings)
    least = reference.least_epsilon(due, subject.delta)
    proven = reference.known_epsilon(due, subject.delta)
    epsilon = plan.guarantee.epsilon
    findings.require(
        "price",
        least * (1 - 1e-6) - 1e-9 <= epsilon <= proven * 1.01 + 1e-3,
        f"a run is priced at epsilon {epsilon:.6g}; exact composition needs {least:.6g}, "
        f"and {proven:.6g} is proven",
    )
    findings.require("price", plan.guarantee.delta == subject.delta, "the plan changed delta")
    rho = sum(one.rho * one.most for one in due)
    failure = sum(one.failure * one.most for one in due)
    findings.require("price", close(plan.rho, rho), "the plan's rho is not what its events cost")
    findings.require("price", close(plan.failure, failure), "the plan's failure is wrong")
    same = type(plan).from_json(plan.to_json()) == plan
    findings.require("price", same, "a plan read back is another one")


def _check_curve(event: Event, due: reference.Stated, findings: Findings) -> None:
    orders = due.orders(reference.ORDERS)
    curve, stated = event.renyi(orders), due.renyi(orders)
    never_below = (curve >= stated * (1 - 1e-6) - 1e-12).all()
    hardly_above = (curve <= stated * 1.01 + 1e-9).all()
    fine = bool(never_below and hardly_above)
    findings.require("price", fine, f"the Renyi price of a {event.kind} event is wrong")


def _check_single_answers(subject: Subject, findings: Findings) -> None:
    """The exact law of one answer moves less between neighbours than its events cost."""
    mechanism = voting(subject)
    if isinstance(mechanism, SparseVote):
        return  # its price is for an instance: see the transcripts
    events = [event for event, _ in mechanism.planned_events()]
    pure = sum(event.pure_epsilon for event in events)
    failure = sum(event.delta for event in events)
    curve = sum(event.renyi(reference.ORDERS) for event in events)
    for row in far_and_near(subject):
        for other in neighbours(row):
            p, q = _aligned(question_law(mechanism, row), question_law(mechanism, other))
            if math.isfinite(pure):
                delta = reference.hockey_stick(p, q, pure)
                sound = delta <= failure + SLACK
            else:
                sound = bool((reference.renyi(p, q, reference.ORDERS) <= curve + 1e-7).all())
            if not findings.require(
                "price", sound, "the law of one answer moves more than its price allows"
            ):
                return


def _aligned(p: Mapping[Any, float], q: Mapping[Any, float]) -> tuple[Any, Any]:
    outcomes = list({**p, **q})
    return (
        np.array([p.get(outcome, 0.0) for outcome in outcomes]),
        np.array([q.get(outcome, 0.0) for outcome in outcomes]),
    )


def _check_transcripts(subject: Subject, plan: Any, findings: Findings) -> None:
    """The exact law of several answers together stays within the guarantee of the plan."""
    mechanism = voting(subject)
    rows = few_enough(mechanism, questionnaire(subject))
    law = transcript_law(mechanism, rows)
    for other in neighbouring_questionnaires(rows):
        p, q = _aligned(law, transcript_law(mechanism, other))
        for one, two in ((p, q), (q, p)):
            delta = reference.hockey_stick(one, two, plan.guarantee.epsilon)
            findings.require(
                "price",
                delta <= plan.guarantee.delta + SLACK,
                "the law of several answers moves more than the plan's guarantee allows",
            )


def neighbouring_questionnaires(rows: Sequence[Counts]) -> list[list[Counts]]:
    """Return votes on the same questions after one record changed: one vote moves in each."""
    neighbours = []
    for pattern in ("down", "up", "mixed"):
        other = []
        for place, row in enumerate(rows):
            ranked = sorted(range(len(row)), key=lambda c: -row[c])
            first, second = ranked[0], ranked[1]
            down = pattern == "down" or (pattern == "mixed" and place % 2 == 0)
            if not down and row[second] == 0:
                down = True
            other.append(moved(row, first, second) if down else moved(row, second, first))
        neighbours.append(other)
    return neighbours


def check_calibration(subject: Subject, findings: Findings, seed: int) -> None:
    """Settings found for a budget cost no more than it, by formulas of our own."""
    for budget in (Budget(1.0, 1e-3), Budget(4.0, 1e-6)):
        calibrated = _calibrated(voting(subject), budget)
        if calibrated is None:
            return
        due = reference.stated(calibrated)
        least = reference.least_epsilon(due, budget.delta)
        priced = calibrated.epsilon(budget.delta)
        findings.require(
            "calibration",
            max(least, priced) <= budget.epsilon * (1 + 1e-6),
            f"settings found for epsilon {budget.epsilon} cost {max(least, priced):.6g}",
        )


def _calibrated(mechanism: VoteMechanism, budget: Budget) -> Any:
    make: Any = type(mechanism).for_budget  # type: ignore[attr-defined]
    match mechanism:
        case GaussianVote():
            if mechanism.calibration is Calibration.LABEL:
                return None  # a search of seconds: tests/accounting covers it
            return make(budget, answers=6, n_classes=mechanism.n_classes, output=mechanism.output)
        case ConfidentVote():
            return make(budget, threshold=13, questions=6, answers=3, n_classes=mechanism.n_classes)
        case SparseVote():
            return make(budget, cutoff=3, n_classes=mechanism.n_classes)
        case LaplaceVote():
            return None  # likewise
    return make(budget, answers=6, n_classes=mechanism.n_classes)


def prices_agree(event: Event, due: reference.Stated) -> bool:
    """Whether an event costs what is documented."""
    return (
        close(event.rho, due.rho)
        and close(event.pure_epsilon, due.pure)
        and close(event.delta, due.failure)
    )


def close(price: float, due: float) -> bool:
    """Whether a price is what is due: never below, and hardly above."""
    if math.isinf(due):
        return math.isinf(price)
    return due * (1 - SLACK) - 1e-13 <= price <= due * 1.01 + 1e-13
