"""The whole path of an answer: votes, labeler, ledger; its bookkeeping, its law and its audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.accounting.answer import Answer, Output, total_cost
from tacit.accounting.budget import Budget
from tacit.audit.checks.findings import (
    CountingNoise,
    Findings,
    FixedNoise,
    tokens,
    votes_of,
    voting,
    with_capacity,
)
from tacit.audit.checks.hygiene import canary, shows
from tacit.audit.checks.shards import disjoint, neighbour_of, records_for, shards_of, vote
from tacit.audit.estimates import lower_bound
from tacit.audit.evidence import FALSE_ALARM, law_trials, pair_trials
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import (
    Counts,
    Transcript,
    decision,
    is_known,
    noise_of,
    question_law,
    transcript_law,
)
from tacit.audit.subjects import Subject, far_and_near, few_enough, questionnaire, shrunk
from tacit.errors import BudgetExceeded, LedgerError
from tacit.labeling import Labeler, question
from tacit.ledger import MemoryLedger
from tacit.mechanisms import (
    ConfidentVote,
    LaplaceVote,
    SparseVote,
    StableVote,
    VoteCounts,
    VoteMechanism,
)

__all__ = ["check_audit", "check_path", "path_transcripts"]

_LARGE = Budget(1e6, 0.999)


def points(number: int, start: int = 0) -> list[bytes]:
    """Return names of public points that differ in the last coordinate only, and by little."""
    table = np.full((number, 3), 0.25)
    table[:, 2] += (start + np.arange(number)) * 2.0**-30
    return question.question_keys(table)


def labeler_for(
    mechanism: VoteMechanism, subject: Subject, noise: Any, ledger: MemoryLedger | None = None
) -> Labeler:
    """Return a labeler with a ledger of its own."""
    return Labeler(
        mechanism,
        ledger or MemoryLedger(_LARGE, allow_insecure=True),
        delta=subject.delta,
        noise=noise,
        n_teachers=subject.n_teachers,
        key="check",
    )


def check_path(subject: Subject, findings: Findings, seed: int) -> None:
    """Answers pass the ledger: each question once, every cost recorded, nothing past the end."""
    _check_names(findings)
    _check_repeats(subject, findings, seed)
    _check_rows(subject, findings)
    _check_exhaustion(subject, findings, seed)
    _check_accounts(subject, findings, seed)
    _check_texts(subject, findings, seed)


def _check_names(findings: Findings) -> None:
    """Different points have different names, however little they differ."""
    table = np.array([[0.0, 1.0, 2.0]] * 5)
    table[1, 0], table[2, 1], table[3, 2] = 2.0**-40, 1 + 2.0**-52, 3.0
    table[4] = table[4, ::-1]
    names = question.question_keys(table)
    findings.require("questions", len(set(names)) == len(names), "different points share a name")
    findings.require(
        "questions", question.question_keys(table) == names, "the same point has different names"
    )


def _check_repeats(subject: Subject, findings: Findings, seed: int) -> None:
    """A question asked again gets its answer again, at no cost and with nothing drawn."""
    mechanism, noise = voting(subject), CountingNoise(seed)
    labeler = labeler_for(mechanism, subject, noise)
    rows = questionnaire(subject)
    names = points(len(rows))
    first = labeler.ask(votes_of(rows), names)
    drawn = noise.total
    for _ in range(3):
        again = labeler.ask(votes_of(rows[: len(first)]), names[: len(first)])
        findings.require(
            "repeats", tokens(again) == tokens(first), "a repeated question got another answer"
        )
        findings.require(
            "repeats", not total_cost(again), "a repeated question was charged a second time"
        )
        unchanged = [replace(answer, cost=()) for answer in first] == list(again)
        findings.require("repeats", unchanged, "a stored answer came back changed")
    reordered = labeler.ask(votes_of(rows[: len(first)][::-1]), names[: len(first)][::-1])
    findings.require(
        "repeats",
        tokens(reordered) == tokens(first)[::-1],
        "a question asked again in another order got another answer",
    )
    findings.require("repeats", noise.total == drawn, "noise was drawn for a repeated question")
    findings.require(
        "cost",
        _without_zeros(labeler.ledger.usage(labeler.plan_id)) == total_cost(first),
        "the ledger's usage is not what its answers cost",
    )
    labeler = labeler_for(mechanism, subject, CountingNoise(seed))
    twice = labeler.ask(votes_of([rows[0]] * 3), [names[0]] * 3)
    findings.require(
        "repeats",
        len(set(tokens(twice))) == 1 and total_cost(twice[1:]) == Counter(),
        "a question that occurs twice in a batch was drawn or charged twice",
    )


def _without_zeros(usage: Any) -> Counter[Any]:
    return Counter({event: times for event, times in usage.items() if times})


def _check_rows(subject: Subject, findings: Findings) -> None:
    """With the noise fixed at zero every question is answered from its own votes."""
    mechanism = voting(subject)
    roles = noise_of(mechanism)
    if not roles:
        return
    still = dict.fromkeys(roles.values(), 0)
    rows = far_and_near(subject)
    size = max(1, min(most for _, most in mechanism.planned_events()))
    for start in range(0, len(rows), size):  # as many as one plan is sure to answer
        part = rows[start : start + size]
        labeler = labeler_for(mechanism, subject, FixedNoise(still))
        expected = tuple(decision(mechanism, row, dict.fromkeys(roles, 0)) for row in part)
        if _ask_twice(labeler, part) != expected:
            findings.require("questions", False, "an answer comes from another question's votes")
            return


def _ask_twice(labeler: Labeler, rows: Sequence[Counts]) -> Transcript:
    """Ask the last question first, then all of them by a function that counts what is missing."""
    names = points(len(rows))
    labeler.ask(votes_of(rows[-1:]), names[-1:])
    return tokens(labeler.ask(lambda places: votes_of([rows[p] for p in places]), names))


def _check_exhaustion(subject: Subject, findings: Findings, seed: int) -> None:
    """However it is asked, and after a restart, a plan gives no more than it holds."""
    subject = shrunk(subject)
    mechanism = voting(subject)
    ledger = MemoryLedger(_LARGE, allow_insecure=True)
    noise = CountingNoise(seed)
    rows = questionnaire(subject)
    planned = dict(mechanism.planned_events())
    size = 3 * sum(planned.values()) + 10
    labeler = labeler_for(mechanism, subject, noise, ledger)
    answers: list[Answer] = []
    for place in range(size):
        if place == size // 3:  # as after a crash: a new labeler on the old plan
            labeler = labeler_for(mechanism, subject, noise, ledger)
        try:
            answers += labeler.ask(votes_of([rows[place % len(rows)]]), points(1, place))
        except BudgetExceeded:
            continue
    usage = _without_zeros(ledger.usage(labeler.plan_id))
    findings.require(
        "allowance",
        usage == total_cost(answers) and all(n <= planned.get(e, 0) for e, n in usage.items()),
        "a labeler released more than its plan holds, or did not charge it",
    )
    refused = sum(answer.refused for answer in answers)
    most = {
        SparseVote: getattr(mechanism, "cutoff", size) if refused == len(answers) else size,
        ConfidentVote: getattr(mechanism, "questions", size),
    }.get(type(mechanism), getattr(mechanism, "answers", size))
    findings.require(
        "allowance", len(answers) <= (most or size), "more questions were answered than planned"
    )


def _check_accounts(subject: Subject, findings: Findings, seed: int) -> None:
    """A plan takes its whole guarantee from the budget; test noise and overdrafts are refused."""
    mechanism = voting(subject)
    guarantee = mechanism.plan(subject.delta, n_teachers=subject.n_teachers).guarantee
    ledger = MemoryLedger(guarantee, allow_insecure=True)
    labeler = labeler_for(mechanism, subject, SeededNoise(seed), ledger)
    reserved = ledger.reserved()
    findings.require(
        "price",
        reserved.epsilon >= guarantee.epsilon and reserved.delta >= guarantee.delta,
        "a ledger reserved less than the plan's guarantee",
    )
    findings.require("price", labeler.plan.guarantee == guarantee, "the plan lost its guarantee")
    try:
        Labeler(
            mechanism, ledger, delta=subject.delta, noise=SeededNoise(seed),
            n_teachers=subject.n_teachers, key="another",
        )  # fmt: skip
    except BudgetExceeded:
        pass
    else:
        findings.require("price", False, "a second plan was opened on a budget that is used up")
    _check_concentrated(subject, findings, seed)
    try:
        strict = MemoryLedger(_LARGE, allow_insecure=False)
        labeler_for(mechanism, subject, SeededNoise(seed), strict).ask(
            votes_of(questionnaire(subject)[:1]), points(1)
        )
    except LedgerError:
        return
    findings.require("marks", False, "a strict ledger recorded an answer of test noise")


def _check_concentrated(subject: Subject, findings: Findings, seed: int) -> None:
    """A ledger that adds up rho reserves all of a plan's."""
    plan = voting(subject).plan(subject.delta, n_teachers=subject.n_teachers)
    if plan.failure > 0.05:
        return  # such a ledger keeps little of its delta for failures
    ledger = MemoryLedger(_LARGE, composition="zcdp", allow_insecure=True)
    labeler_for(voting(subject), subject, SeededNoise(seed), ledger)
    reserved = ledger.reserved().rho
    findings.require(
        "price",
        reserved is not None and reserved >= plan.rho * (1 - 1e-9),
        "a concentrated ledger reserved less than the plan's rho",
    )


def _check_texts(subject: Subject, findings: Findings, seed: int) -> None:
    """Nothing that a labeler or ledger shows holds private numbers."""
    mechanism = voting(subject)
    counts, private = canary(mechanism.n_classes)
    wide = Subject(mechanism, counts.n_teachers, subject.delta)
    labeler = labeler_for(mechanism, wide, SeededNoise(seed))
    answers = labeler.ask(counts, points(1))
    texts = [repr(labeler), str(labeler), repr(labeler.ledger), labeler.ledger.statement()]
    texts.append(repr(labeler.plan))
    if mechanism.output is Output.LABEL:
        texts.append(repr(answers))
    findings.require(
        "hygiene",
        not shows(texts, private),
        "a labeler, ledger or answer shows a private count or margin",
    )


# ---- the law of the whole path, and its audit ------------------------------------------------


def check_audit(subject: Subject, findings: Findings, seed: int, samples: int = 60) -> None:
    """Transcripts of neighbouring data sets: right law, and no telling them apart beyond price."""
    mechanism = voting(subject)
    shards = shards_of(subject, seed)
    if not disjoint(shards):
        return  # reported by check_shards
    rows = questionnaire(subject)
    records = records_for(rows, shards)
    changed = neighbour_of(records, shards, rows)
    first = vote(records, shards, mechanism.n_classes)
    second = vote(changed, shards, mechanism.n_classes)
    if isinstance(mechanism, LaplaceVote):
        samples //= 6  # long plans of it take long to price
    first_transcripts = path_transcripts(subject, first, seed, samples)
    second_transcripts = path_transcripts(subject, second, seed + 1, samples)
    for counts, transcripts, name in (
        (first, first_transcripts, "path"),
        (second, second_transcripts, "neighbour's path"),
    ):
        _check_path_law(mechanism, counts, transcripts, findings, name)
    epsilon, _ = lower_bound(
        (
            _outcomes(mechanism, first_transcripts[::2]),
            _outcomes(mechanism, second_transcripts[::2]),
        ),
        (
            _outcomes(mechanism, first_transcripts[1::2]),
            _outcomes(mechanism, second_transcripts[1::2]),
        ),
        delta=subject.delta,
        confidence=1 - FALSE_ALARM / 10,
    )
    claimed = mechanism.plan(subject.delta, n_teachers=subject.n_teachers).guarantee.epsilon
    findings.require(
        "audit",
        epsilon <= claimed,
        f"measured epsilon is at least {epsilon:.3f} where {claimed:.3f} is claimed",
    )


def path_transcripts(
    subject: Subject, counts: VoteCounts, seed: int, samples: int
) -> list[Transcript]:
    """Return the transcripts of independent runs through labeler and ledger."""
    mechanism, noise = voting(subject), SeededNoise(seed)
    size = len(counts)
    if isinstance(mechanism, SparseVote | ConfidentVote | StableVote):
        names = points(size)
        return [
            tokens(labeler_for(mechanism, subject, noise).ask(counts, names))
            for _ in range(samples)
        ]
    # Answers that are paid one by one do not depend on each other: one long run will do.
    labeler = labeler_for(with_capacity(mechanism, samples * size), subject, noise)
    return [tokens(labeler.ask(counts, points(size, size * run))) for run in range(samples)]


def _check_path_law(
    mechanism: VoteMechanism,
    counts: VoteCounts,
    transcripts: list[Transcript],
    findings: Findings,
    name: str,
) -> None:
    rows = [tuple(row) for row in counts.private_array().tolist()]
    if mechanism.output is Output.SHARE or not is_known(mechanism):
        return
    first_rows = few_enough(mechanism, rows)
    law: Any = transcript_law(mechanism, first_rows)
    findings.trials += law_trials(name, [run[: len(first_rows)] for run in transcripts], law)
    if isinstance(mechanism, SparseVote | ConfidentVote):
        return  # their answers depend on each other
    for place in range(len(rows) - 1):
        first: Any = question_law(mechanism, rows[place])
        second: Any = question_law(mechanism, rows[place + 1])
        pairs = [(run[place], run[place + 1]) for run in transcripts]
        findings.trials += pair_trials(
            f"{name}, questions {place}, {place + 1}", pairs, first, second
        )


def _outcomes(mechanism: VoteMechanism, transcripts: Sequence[Transcript]) -> Counter[Any]:
    """Return transcripts as outcomes; of shares only the sum of what one record moves."""
    if mechanism.output is Output.LABEL:
        return Counter(transcripts)
    return Counter(sum(token[-1] for token in run if token) for run in transcripts)
