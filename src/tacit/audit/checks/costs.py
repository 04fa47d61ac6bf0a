"""What a run gives and charges: the plan, all of it, and no more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.accounting.answer import Answer, Output, total_cost
from tacit.accounting.events import Event
from tacit.audit import reference_prices as reference
from tacit.audit.checks.findings import (
    SLACK,
    CountingNoise,
    Findings,
    tokens,
    votes_of,
    voting,
    with_capacity,
)
from tacit.audit.checks.prices import plan_of, prices_agree
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import (
    Counts,
    Transcript,
    is_known,
    law_of,
    noise_of,
    winner,
)
from tacit.audit.subjects import (
    Subject,
    far_and_near,
    questionnaire,
    shrunk,
)
from tacit.errors import MechanismStopped
from tacit.mechanisms import (
    ConfidentVote,
    SparseVote,
    VoteMechanism,
)

__all__ = ["check_allowance", "check_costs", "check_marks"]


def check_allowance(subject: Subject, findings: Findings, seed: int) -> None:
    """A run gives what was planned and no more, charges all of it, and then stays silent."""
    subject = shrunk(subject)
    mechanism = voting(subject)
    planned = dict(mechanism.planned_events())
    limit = _questions_until_stopped(planned)
    for rows in ([row_near(subject)], questionnaire(subject)):
        noise = CountingNoise(seed)
        run = mechanism.start(noise=noise)
        answers: list[Answer] = []
        for place in range(limit):
            most = Counter(dict(run.most_it_can_cost(1)))
            try:
                drawn = run.release(votes_of([rows[place % len(rows)]]))
            except MechanismStopped:
                break
            findings.require(
                "cost", total_cost(drawn) <= most, "an answer cost more than was announced"
            )
            answers += drawn
        check_costs(mechanism, answers, findings)
        cost = total_cost(answers)
        findings.require(
            "allowance",
            all(cost[event] <= planned.get(event, 0) for event in cost),
            "a run caused more events than its plan holds",
        )
        _check_end(mechanism, run, rows, answers, noise, findings)
    _check_large_batch(mechanism, questionnaire(subject), findings, seed)


def _questions_until_stopped(planned: Mapping[Event, int]) -> int:
    """Return a number of questions after which every run has stopped.

    Every fifth standard question is a tie, which a sparse vector of ours refuses with probability
    0.9 or more: that it starts fewer than all its instances in so many has a chance below 1e-20.
    """
    return 40 * sum(planned.values()) + 100


def row_near(subject: Subject) -> Counts:
    """Return the standard question nearest to a tie."""
    return min(questionnaire(subject), key=lambda row: sorted(row)[-1] - sorted(row)[-2])


def check_costs(mechanism: VoteMechanism, answers: Sequence[Answer], findings: Findings) -> None:
    """Each answer carries the events its kind costs, at the documented price."""
    if not is_known(mechanism):
        return
    events = reference.stated(mechanism)
    transcript = tokens(answers)
    for place, answer in enumerate(answers):
        due = _due(mechanism, events, transcript, place)
        fine = len(due) == len(answer.cost) and all(
            prices_agree(event, one)
            for event, one in zip(
                sorted(answer.cost, key=lambda e: e.rho), sorted(due, key=lambda s: s.rho),
                strict=True,
            )
        )  # fmt: skip
        kind = "a refusal" if answer.refused else "an answer"
        if not findings.require(
            "cost",
            fine,
            f"{kind} is charged {len(answer.cost)} events where {len(due)} are due, or at another "
            "price than documented",
        ):
            return


def _due(
    mechanism: VoteMechanism,
    events: tuple[reference.Stated, ...],
    transcript: Transcript,
    place: int,
) -> list[reference.Stated]:
    if isinstance(mechanism, ConfidentVote):
        return [events[0]] if transcript[place] is None else list(events)
    if isinstance(mechanism, SparseVote):
        starts = place == 0 or transcript[place - 1] is None
        return [events[0]] if starts else []
    return [events[0]]


def _check_end(
    mechanism: VoteMechanism,
    run: Any,
    rows: list[Counts],
    answers: Sequence[Answer],
    noise: CountingNoise,
    findings: Findings,
) -> None:
    """Exactly the planned number was given, and after the end nothing is drawn."""
    transcript = tokens(answers)
    answered = sum(token is not None for token in transcript)
    refused = len(transcript) - answered
    match mechanism:
        case SparseVote():
            right = refused == mechanism.cutoff
        case ConfidentVote():
            most = mechanism.answers or mechanism.questions
            used_up = len(transcript) == mechanism.questions or answered == most
            right = len(transcript) <= mechanism.questions and answered <= most and used_up
        case _:
            right = len(transcript) == getattr(mechanism, "answers", len(transcript))
    findings.require(
        "allowance", right, f"a run ended after {answered} answers and {refused} refusals"
    )
    before = noise.total
    try:
        more = run.release(votes_of(rows[:1]))
    except MechanismStopped:
        more = []
    findings.require("allowance", not more, "a run that had stopped released an answer")
    findings.require("allowance", noise.total == before, "a run that had stopped drew noise")
    findings.require(
        "marks", not any(answer.secure for answer in answers), "test noise is marked as secure"
    )


def _check_large_batch(
    mechanism: VoteMechanism, rows: list[Counts], findings: Findings, seed: int
) -> None:
    """A batch beyond the plan draws nothing, or stops on the way: never more than the plan."""
    planned = dict(mechanism.planned_events())
    size = _questions_until_stopped(planned)
    noise = CountingNoise(seed)
    run = mechanism.start(noise=noise)
    batch = (rows * (size // len(rows) + 1))[:size]
    most = Counter(dict(run.most_it_can_cost(size)))
    try:
        answers = run.release(votes_of(batch))
    except MechanismStopped:
        answers = []
        findings.require("allowance", noise.total == 0, "a refused batch drew noise")
    cost = total_cost(answers)
    findings.require("cost", cost <= most, "a batch cost more than was announced")
    findings.require(
        "allowance",
        all(cost[event] <= planned.get(event, 0) for event in cost) and len(answers) < size,
        "a batch larger than the plan was answered beyond it",
    )
    check_costs(mechanism, answers, findings)


def check_marks(subject: Subject, findings: Findings, seed: int) -> None:
    """The attributes of an answer depend on public settings only."""
    mechanism = voting(subject)
    plan = plan_of(subject)
    answers = with_capacity(mechanism, 200).release(
        votes_of(far_and_near(subject)[:200]), noise=SeededNoise(seed)
    )
    deviation, unit = 0.0, 1.0
    if mechanism.output is Output.SHARE:
        deviation = law_of(noise_of(mechanism)["count"]).deviation
        unit = 1 / subject.n_teachers
    for answer in answers:
        fine = (
            answer.output == mechanism.output == plan.output
            and answer.unit == plan.unit == unit
            and answer.sigma == plan.sigma
            and deviation * (1 - SLACK) <= answer.sigma <= deviation * 1.05
            and (answer.values is None or len(answer.values) == plan.width)
            and _reads_right(answer)
        )
        if not findings.require("marks", fine, "an answer's output, unit, sigma or width is off"):
            return


def _reads_right(answer: Answer) -> bool:
    """Whether label, share and variance are what the released values mean."""
    if answer.values is None:
        return answer.refused and answer.label is None and answer.share is None
    if answer.output is Output.LABEL:
        return answer.label == answer.values[0] and answer.share is None
    share = tuple(value * answer.unit for value in answer.values)
    return (
        answer.label == winner(answer.values)
        and answer.share == share
        and math.isclose(answer.variance, (answer.sigma * answer.unit) ** 2)
    )
