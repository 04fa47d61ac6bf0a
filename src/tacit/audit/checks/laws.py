"""Answers against exact probabilities, one by one and together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Output
from tacit.audit.checks.findings import (
    Findings,
    tokens,
    until_stopped,
    votes_of,
    voting,
    with_capacity,
)
from tacit.audit.evidence import Trial, integer_trials, law_trials, pair_trials
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import (
    Counts,
    Noise,
    Token,
    Transcript,
    law_of,
    noise_of,
    question_law,
    transcript_law,
)
from tacit.audit.subjects import (
    Subject,
    few_enough,
    questionnaire,
)
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    SparseVote,
    VoteMechanism,
)
from tacit.noise import SecureNoise

__all__ = ["check_law", "check_law_with_secure_noise", "check_secure_noise"]

IntArray = NDArray[np.int64]


def check_law(subject: Subject, findings: Findings, seed: int, samples: int = 3000) -> None:
    """Answers follow the exact law, question by question and together."""
    mechanism = voting(subject)
    rows = questionnaire(subject)
    if isinstance(mechanism, ExponentialVote):
        samples = max(50, samples // 4)  # exact selection takes its time
    if isinstance(mechanism, SparseVote):
        _transcripts(mechanism, rows, findings, SeededNoise(seed), samples // 2)
    elif isinstance(mechanism, ConfidentVote):
        _transcripts(mechanism, rows, findings, SeededNoise(seed), samples // 2)
        unlimited = dataclasses.replace(mechanism, answers=None)
        _independent(unlimited, rows, findings, SeededNoise(seed + 1), samples)
    else:
        _independent(mechanism, rows, findings, SeededNoise(seed), samples)
        _separate_calls(mechanism, rows, findings, SeededNoise(seed + 1), samples // 10)


def check_law_with_secure_noise(
    subject: Subject, findings: Findings, seed: int, samples: int = 100
) -> None:
    """The same with the noise that is used in earnest; the seed has no part in it."""
    mechanism, rows = voting(subject), questionnaire(subject)
    if isinstance(mechanism, ExponentialVote):
        samples //= 2
    _transcripts(mechanism, rows, findings, SecureNoise(), samples, name="secure transcripts")
    answers = mechanism.release(votes_of(rows), noise=SecureNoise())
    findings.require(
        "marks", all(a.secure for a in answers), "an answer of secure noise is marked insecure"
    )


def _transcripts(
    mechanism: VoteMechanism,
    rows: list[Counts],
    findings: Findings,
    noise: Any,
    samples: int,
    name: str = "transcripts",
) -> None:
    """Whole runs, asked in one batch and one by one, against the law of the whole transcript."""
    if _many_valued(mechanism):
        _shares(mechanism, rows, findings, noise, samples)
        return
    rows = few_enough(mechanism, rows)
    law: dict[Any, float] = dict(transcript_law(mechanism, rows))
    batch, single = votes_of(rows), [votes_of([row]) for row in rows]
    whole = [tokens(mechanism.release(batch, noise=noise)) for _ in range(samples - samples // 3)]
    steps = [
        tokens(until_stopped(mechanism.start(noise=noise).release, single))
        for _ in range(samples // 3)
    ]
    findings.trials += law_trials(f"{name}, one batch", whole, law)
    findings.trials += law_trials(f"{name}, one by one", steps, law)
    for place in range(len(rows)):
        marginal = _marginal(law, place)
        parts = [transcript[place : place + 1] for transcript in whole + steps]
        findings.trials += law_trials(f"{name}, question {place}", parts, marginal)


def _marginal(law: Mapping[Transcript, float], place: int) -> dict[Any, float]:
    marginal: dict[Any, float] = {}
    for transcript, chance in law.items():
        part = transcript[place : place + 1]
        marginal[part] = marginal.get(part, 0.0) + chance
    return marginal


def _many_valued(mechanism: VoteMechanism) -> bool:
    return mechanism.output is Output.SHARE


def _independent(
    mechanism: VoteMechanism, rows: list[Counts], findings: Findings, noise: Any, samples: int
) -> None:
    """One large batch: each question's law, and neighbouring questions independent."""
    if _many_valued(mechanism):
        _shares(mechanism, rows, findings, noise, samples)
        return
    ample = with_capacity(mechanism, samples * len(rows))
    answers = tokens(ample.release(votes_of(rows * samples), noise=noise))
    if not findings.require("law", len(answers) == samples * len(rows), "answers are missing"):
        return
    laws: list[Any] = [question_law(mechanism, row) for row in rows]
    for place, law in enumerate(laws):
        mine = answers[place :: len(rows)]
        findings.trials += law_trials(f"question {place}", mine, law)
        again = list(zip(mine[::2], mine[1::2], strict=False))
        findings.trials += pair_trials(f"question {place} twice", again, law, law)
        following = (place + 1) % len(rows)
        if following:
            pairs = list(zip(mine, answers[following :: len(rows)], strict=True))
            findings.trials += pair_trials(
                f"questions {place} and {following}", pairs, law, laws[following]
            )


def _separate_calls(
    mechanism: VoteMechanism, rows: list[Counts], findings: Findings, noise: Any, samples: int
) -> None:
    """Two questions in two calls of one run: no noise is kept from one call to the next."""
    if _many_valued(mechanism):
        run = with_capacity(mechanism, 2 * samples).start(noise=noise)
        batch = votes_of(rows[:1])
        drawn = [run.release(batch)[0].values for _ in range(2 * samples)]
        _residual_pairs(mechanism, rows[0], drawn, findings, "calls")
        return
    run = with_capacity(mechanism, 2 * samples).start(noise=noise)
    one, two = votes_of(rows[:1]), votes_of(rows[1:2])
    pairs = [(run.release(one)[0].values, run.release(two)[0].values) for _ in range(samples)]
    first: Any = question_law(mechanism, rows[0])
    second: Any = question_law(mechanism, rows[1])
    findings.trials += pair_trials("two calls", pairs, first, second)


def _shares(
    mechanism: VoteMechanism, rows: list[Counts], findings: Findings, noise: Any, samples: int
) -> None:
    """Released counts less the true ones are the noise itself."""
    ample = with_capacity(mechanism, samples * len(rows))
    answers = ample.release(votes_of(rows * samples), noise=noise)
    for place, row in enumerate(rows):
        drawn = [answer.values for answer in answers[place :: len(rows)]]
        whole = all(v is not None and all(type(x) is int for x in v) for v in drawn)
        if not findings.require("law", whole, "a released count is not a plain integer"):
            return
        _residual_laws(mechanism, row, drawn, findings, f"question {place}")
        _residual_pairs(mechanism, row, drawn, findings, f"question {place}")


def _residuals(
    mechanism: VoteMechanism, row: Counts, drawn: Sequence[Token], findings: Findings
) -> IntArray:
    """Return the noise on each independent count."""
    values = np.array(drawn, dtype=np.int64)
    if mechanism.n_classes == 2 and isinstance(mechanism, GaussianVote):
        adds_up = bool((values.sum(axis=1) == sum(row)).all())
        findings.require("law", adds_up, "two-class counts do not add up to the teachers")
        values, row = values[:, 1:], row[1:]
    residuals: IntArray = values - np.array(row)
    return residuals


def _residual_laws(
    mechanism: VoteMechanism, row: Counts, drawn: Sequence[Token], findings: Findings, name: str
) -> None:
    law = law_of(noise_of(mechanism)["count"])
    for column, residual in enumerate(_residuals(mechanism, row, drawn, findings).T):
        findings.trials += integer_trials(
            f"{name}, noise {column}", residual, law.values, law.chances
        )


def _residual_pairs(
    mechanism: VoteMechanism, row: Counts, drawn: Sequence[Token], findings: Findings, name: str
) -> None:
    """Noise of different counts, and of the same count asked twice, is independent."""
    law = law_of(noise_of(mechanism)["count"])
    reach = max(1, round(law.deviation))
    coarse: dict[Any, float] = {}
    for value, chance in zip(law.values.tolist(), law.chances.tolist(), strict=True):
        cell = max(-reach, min(reach, value))
        coarse[cell] = coarse.get(cell, 0.0) + chance
    cells = np.clip(_residuals(mechanism, row, drawn, findings), -reach, reach)
    for one, two in itertools.combinations(cells.T.tolist(), 2):
        pairs = list(zip(one, two, strict=True))
        findings.trials += pair_trials(f"{name}, two counts", pairs, coarse, coarse)
    column = cells[:, 0].tolist()
    again = list(zip(column[::2], column[1::2], strict=False))
    findings.trials += pair_trials(f"{name}, twice", again, coarse, coarse)


def check_secure_noise(laws: Iterable[Noise], findings: Findings, samples: int = 4000) -> None:
    """The secure source draws the laws that the mechanism names, afresh every time."""
    for kind, scale in laws:
        source, other = SecureNoise(), SecureNoise()
        law = law_of((kind, scale))
        few = [int(x) for _ in range(samples // 40) for x in getattr(source, kind)(scale, 3)]
        theirs = [int(x) for _ in range(samples // 40) for x in getattr(other, kind)(scale, 3)]
        bulk = getattr(source, kind)(scale, samples)
        name = f"secure {kind} noise of scale {scale:g}"
        findings.trials += integer_trials(f"{name}, bulk", bulk, law.values, law.chances)
        findings.trials += integer_trials(f"{name}, singly", np.array(few), law.values, law.chances)
        chances: Any = dict(zip(law.values.tolist(), law.chances.tolist(), strict=True))
        for relation, pairs in (
            ("consecutive", list(zip(bulk[::2].tolist(), bulk[1::2].tolist(), strict=False))),
            ("two calls", list(zip(few[:-3:6], few[3::6], strict=False))),
            ("two sources", list(zip(few, theirs, strict=True))),
        ):
            equal = sum(chance**2 for chance in chances.values())
            hits = sum(one == two for one, two in pairs)
            findings.trials.append(Trial(f"{name}, {relation} equal", hits, len(pairs), equal))
