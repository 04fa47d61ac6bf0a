"""Decisions under known noise, and how much noise is drawn for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Answer, total_cost
from tacit.audit.checks.costs import check_costs
from tacit.audit.checks.findings import (
    CountingNoise,
    Findings,
    FixedNoise,
    SuccessiveNoise,
    tokens,
    until_stopped,
    votes_of,
    voting,
    with_capacity,
)
from tacit.audit.reference_laws import (
    Counts,
    Fixed,
    Noise,
    Token,
    Transcript,
    decision,
    distance,
    noise_of,
)
from tacit.audit.subjects import (
    Subject,
    all_rows,
    far_and_near,
    questionnaire,
)
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    VoteMechanism,
)

__all__ = ["check_abandoned", "check_decisions", "check_draws", "check_instances", "check_ties"]

IntArray = NDArray[np.int64]


def check_decisions(subject: Subject, findings: Findings, seed: int) -> None:
    """With the noise fixed, every vote is decided by the settings, ties and thresholds included."""
    mechanism = voting(subject)
    roles = noise_of(mechanism)
    if not roles:
        return
    votes = math.comb(subject.n_teachers + mechanism.n_classes - 1, mechanism.n_classes - 1)
    rows = far_and_near(subject)
    if votes <= 600:
        rows = list(all_rows(subject.n_teachers, mechanism.n_classes))
    ample = with_capacity(mechanism, len(rows))
    for values in _fixed_values(roles):
        noise = FixedNoise({roles[role]: value for role, value in values.items()})
        answers = ample.release(votes_of(rows), noise=noise)
        check_costs(mechanism, answers, findings)
        transcript = tokens(answers)
        expected = tuple(decision(mechanism, row, values) for row in rows)
        findings.require(
            "decisions",
            transcript == expected,
            f"with all noise fixed at {values}, {_differences(transcript, expected)} of "
            f"{len(rows)} standard votes are decided otherwise than the settings say",
        )
        findings.require(
            "draws",
            not noise.strange,
            f"noise of a law the settings do not name was drawn: {sorted(noise.strange)}",
        )


def check_ties(subject: Subject, findings: Findings, seed: int) -> None:
    """With a known value for every class, equal noisy counts are settled by the classes alone."""
    mechanism = voting(subject)
    roles = noise_of(mechanism)
    if "count" not in roles or len(set(roles.values())) < len(roles):
        return
    rows = far_and_near(subject)
    for lead in (1, 2, 3, 4):  # makes class 0 catch up with one that leads by so much
        pattern = (lead,) + (0,) * (mechanism.n_classes - 1)
        values: dict[str, Fixed] = dict.fromkeys(roles, 0)
        values["count"] = pattern
        noise = FixedNoise({roles[role]: value for role, value in values.items()})
        run = with_capacity(mechanism, len(rows)).start(noise=noise)
        transcript = tuple(token for row in rows for token in tokens(run.release(votes_of([row]))))
        expected = tuple(decision(mechanism, row, values) for row in rows)
        findings.require(
            "decisions",
            transcript == expected,
            f"with noise {pattern} on the counts {_differences(transcript, expected)} of "
            f"{len(rows)} standard votes are decided otherwise than the settings say",
        )


def check_instances(subject: Subject, findings: Findings, seed: int) -> None:
    """Every instance of a sparse vector has the threshold that was drawn for it."""
    mechanism = voting(subject)
    if not isinstance(mechanism, SparseVote):
        return
    roles = noise_of(mechanism)
    bar = math.floor(mechanism.threshold)
    rows = [row for row in far_and_near(subject) if -2 <= distance(row) - bar <= 2] * 2
    ample = with_capacity(mechanism, len(rows))
    # A bar that all of them miss, then one that they pass: an old bar in a new instance shows.
    for drawn in ((3, -4), (4, 3, -3), (-3, 3), (0, 1, -1, 2, -2, 0, 4, -4)):
        noise = SuccessiveNoise({roles["threshold"]: drawn})
        answers = ample.release(votes_of(rows), noise=noise)
        check_costs(mechanism, answers, findings)
        findings.require(
            "decisions",
            tokens(answers) == _with_thresholds(mechanism, rows, drawn),
            "an instance does not use the threshold drawn for it",
        )


def check_abandoned(subject: Subject, findings: Findings, seed: int) -> None:
    """A run that was abandoned keeps no noise: the next answer pays for new noise."""
    mechanism = voting(subject)
    if not isinstance(mechanism, SparseVote):
        return
    noise = FixedNoise(dict.fromkeys(noise_of(mechanism).values(), 0))
    run = with_capacity(mechanism, 4).start(noise=noise)
    clear = votes_of([max(far_and_near(subject), key=distance)])
    first, second = run.release(clear), run.release(clear)
    run.abandon()
    third = run.release(clear)
    costs = [len(total_cost(answers)) for answers in (first, second, third)]
    findings.require(
        "cost", costs == [1, 0, 1], "an abandoned instance went on, or a new one was not charged"
    )


def _with_thresholds(
    mechanism: SparseVote, rows: Sequence[Counts], drawn: Sequence[int]
) -> Transcript:
    transcript: list[Token] = []
    instance = 0
    for row in rows:
        bar = drawn[instance] if instance < len(drawn) else 0
        transcript.append(decision(mechanism, row, {"threshold": bar, "distance": 0}))
        instance += transcript[-1] is None
    return tuple(transcript)


def _fixed_values(roles: Mapping[str, Noise]) -> list[dict[str, int]]:
    if len(set(roles.values())) < len(roles):  # two roles of one law cannot be told apart
        return [dict.fromkeys(roles, value) for value in (-2, -1, 0, 1, 3)]
    choices = itertools.product((-2, -1, 0, 1, 3), repeat=len(roles))
    return [dict(zip(roles, values, strict=True)) for values in choices]


def _differences(transcript: Transcript, expected: Transcript) -> int:
    pairs = itertools.zip_longest(transcript, expected, fillvalue=("missing",))
    return sum(one != other for one, other in pairs)


def check_draws(subject: Subject, findings: Findings, seed: int) -> None:
    """Every answer has fresh noise of its own, and every instance a threshold of its own."""
    mechanism = voting(subject)
    rows = questionnaire(subject)
    for name, release in _batchings(mechanism, rows):
        noise = CountingNoise(seed)
        answers = release(noise)
        for law, least, exactly in _needed_draws(mechanism, answers):
            drawn = noise.drawn[law]
            fine = drawn == least if exactly else drawn >= least
            findings.require(
                "draws",
                fine,
                f"{name}: {drawn} values of {law} were drawn for {len(answers)} answers, "
                f"{'exactly' if exactly else 'at least'} {least} are due",
            )
        if isinstance(mechanism, ExponentialVote):
            findings.require("draws", noise.bits_drawn > 0, f"{name}: no random bits were drawn")


def _batchings(
    mechanism: VoteMechanism, rows: list[Counts]
) -> list[tuple[str, Callable[[Any], list[Answer]]]]:
    def one_by_one(noise: Any) -> list[Answer]:
        run = mechanism.start(noise=noise)
        return list(until_stopped(run.release, [votes_of([row]) for row in rows]))

    return [
        ("one batch", lambda noise: mechanism.release(votes_of(rows), noise=noise)),
        ("one by one", one_by_one),
    ]


def _needed_draws(
    mechanism: VoteMechanism, answers: Sequence[Answer]
) -> list[tuple[Noise, int, bool]]:
    """Return (law, how many values, whether exactly) for each role."""
    roles, n_questions = noise_of(mechanism), len(answers)
    answered = sum(not answer.refused for answer in answers)
    match mechanism:
        case GaussianVote():
            columns = 1 if mechanism.n_classes == 2 else mechanism.n_classes
            return [(roles["count"], n_questions * columns, False)]
        case LaplaceVote():
            return [(roles["count"], n_questions * mechanism.n_classes, False)]
        case ConfidentVote():
            columns = 1 if mechanism.n_classes == 2 else mechanism.n_classes
            if roles["test"] == roles["count"]:
                return [(roles["test"], n_questions + answered * columns, False)]
            return [
                (roles["test"], n_questions, False),
                (roles["count"], answered * columns, False),
            ]
        case SparseVote():
            started = _instances(tokens(answers))
            return [(roles["threshold"], started, True), (roles["distance"], n_questions, False)]
    return [(law, n_questions, False) for law in roles.values()]


def _instances(transcript: Transcript) -> int:
    """Return how many sparse-vector instances a transcript shows to have been started."""
    return sum(1 for place in range(len(transcript)) if place == 0 or transcript[place - 1] is None)
