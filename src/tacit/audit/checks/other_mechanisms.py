"""Checks of the releases that are no votes: selections, stable releases and clipped means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit import reference_prices as reference
from tacit.audit.checks.findings import CountingNoise, Findings, FixedNoise
from tacit.audit.checks.laws import check_secure_noise
from tacit.audit.checks.prices import check_stated_price, prices_agree
from tacit.audit.evidence import Trial, integer_trials, law_trials, pair_trials
from tacit.audit.noise import SeededNoise
from tacit.audit.reference_laws import (
    exponential_law,
    gaussian_law,
    laplace_law,
    permute_and_flip_law,
)
from tacit.audit.subjects import SelectionSubject, Subject
from tacit.errors import MechanismStopped
from tacit.mechanisms import ClippedMean, Selection, StableRelease
from tacit.noise import SecureNoise

__all__ = ["check_clipped_mean", "check_selection", "check_stable_release"]

SCORES = ((3, 3, 3), (5, 4, 2, 5), (0, 1), (7, 7, 1, 0), (2, 9), (1, 2, 3, 4, 5))
"""Standard scores: ties, near ties, and clear winners."""


def check_selection(subject: SelectionSubject, findings: Findings, seed: int, secure: bool) -> None:
    """A candidate is drawn with the exact chance, at the documented price."""
    exact = subject.function == "exponential_mechanism"
    law_for = exponential_law if exact else permute_and_flip_law
    noise, samples = SeededNoise(seed), 800
    for scores in SCORES:
        law: Any = dict(enumerate(law_for(scores, subject.epsilon)))
        drawn = [_index(subject, scores, noise) for _ in range(samples)]
        findings.trials += law_trials(f"scores {scores}", drawn, law)
        pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
        findings.trials += pair_trials(f"scores {scores} twice", pairs, law, law)
        _check_selection_price(subject, scores, law_for, findings)
    if secure:
        source = SecureNoise()
        law = dict(enumerate(law_for(SCORES[1], subject.epsilon)))
        drawn = [_index(subject, SCORES[1], source) for _ in range(200)]
        findings.trials += law_trials("secure selection", drawn, law)
        findings.require("marks", _select(subject, (1, 2), source).secure, "not marked secure")
    selected = _select(subject, (1, 2), noise)
    due = reference.selection(subject.epsilon, 1) if exact else reference.pure(subject.epsilon)
    priced = len(selected.cost) == 1 and prices_agree(selected.cost[0], due)
    findings.require("price", priced, "a selection is charged another price than documented")
    findings.require("marks", not selected.secure, "test noise is marked as secure")
    far = _select(subject, (4463, 3456, 1007), noise)
    text = repr(far) + str(far)
    hidden = not any(number in text for number in ("4463", "3456", "1007"))
    findings.require("hygiene", hidden, "a selection shows private scores")


def _select(subject: SelectionSubject, scores: tuple[int, ...], noise: Any) -> Selection:
    return subject.select(list(scores), epsilon=subject.epsilon, noise=noise)


def _index(subject: SelectionSubject, scores: tuple[int, ...], noise: Any) -> int:
    return _select(subject, scores, noise).index


def _check_selection_price(
    subject: SelectionSubject, scores: tuple[int, ...], law_for: Any, findings: Findings
) -> None:
    """When every score moves by one, chances move by at most the price."""
    p = np.array(law_for(scores, subject.epsilon))
    for pattern in range(3 ** min(len(scores), 3)):
        shifts = [pattern // 3**place % 3 - 1 for place in range(len(scores))]
        other = [score + shift for score, shift in zip(scores, shifts, strict=True)]
        q = np.array(law_for(other, subject.epsilon))
        delta = reference.hockey_stick(p, q, subject.epsilon)
        findings.require("price", delta <= 1e-12, "a selection's law moves more than epsilon")


# ---- stable release --------------------------------------------------------------------------


def check_stable_release(subject: Subject, findings: Findings, seed: int, secure: bool) -> None:
    """The value leaves iff its noisy distance passes, every attempt is charged, then silence."""
    mechanism = subject.mechanism
    assert isinstance(mechanism, StableRelease)
    law, bar = laplace_law(mechanism.scale), mechanism.threshold
    distances = (0, 1, bar - 1, bar, bar + 1, bar + 3)
    for value in (-2, -1, 0, 1, 2):
        noise = FixedNoise({("laplace", mechanism.scale): value})
        for distance in distances:
            released = not mechanism.release("value", distance, noise=noise).refused
            findings.require(
                "decisions",
                released == (distance + value > bar) and not noise.strange,
                "with fixed noise a distance is decided otherwise than the settings say",
            )
    source = SeededNoise(seed)
    for distance in distances:
        answers = [mechanism.release("value", distance, noise=source) for _ in range(1500)]
        passed = sum(not answer.refused for answer in answers)
        chance = law.at_least(bar - distance + 1)
        findings.trials.append(Trial(f"distance {distance}", passed, len(answers), chance))
        refused_values = {answer.value for answer in answers if answer.refused}
        findings.require("law", refused_values <= {None}, "a refusal holds the value")
    check_stated_price(subject, mechanism.plan(subject.delta), findings)
    _check_releases(
        lambda noise: mechanism.start(noise=noise),
        lambda run: run.release("value", 0),
        mechanism,
        findings,
        seed,
    )
    text = repr(mechanism.release("value", 4463, noise=source))
    findings.require("hygiene", "4463" not in text, "a stable release shows its distance")
    if secure:
        check_secure_noise([("laplace", mechanism.scale)], findings)


def _check_releases(
    start: Any, release: Any, mechanism: Any, findings: Findings, seed: int
) -> None:
    """Exactly the planned number of releases, each charged, nothing drawn after the end."""
    noise = CountingNoise(seed)
    run, answers = start(noise), []
    (due,) = reference.stated(mechanism)
    for _ in range(3 * mechanism.releases + 10):
        try:
            answers.append(release(run))
        except MechanismStopped:
            break
    findings.require(
        "allowance", len(answers) == mechanism.releases, f"{len(answers)} releases were given"
    )
    charged = all(len(a.cost) == 1 and prices_agree(a.cost[0], due) for a in answers)
    findings.require("cost", charged, "a release or refusal is not charged as documented")
    findings.require("marks", not any(a.secure for a in answers), "test noise is marked as secure")
    before = noise.total
    findings.require("draws", before >= len(answers), "fewer draws than releases")
    try:
        release(run)
    except MechanismStopped:
        pass
    findings.require("allowance", noise.total == before, "a run that had stopped drew noise")


# ---- clipped mean ----------------------------------------------------------------------------


def check_clipped_mean(subject: Subject, findings: Findings, seed: int, secure: bool) -> None:
    """Contributions are clipped to the ball, each coordinate gets its own noise, all is charged."""
    mechanism = subject.mechanism
    assert isinstance(mechanism, ClippedMean)
    _check_clipping(mechanism, findings, seed)
    _check_mean_law(mechanism, findings, seed)
    plan = mechanism.plan(subject.delta)
    check_stated_price(subject, plan, findings)
    zeros = np.zeros((mechanism.n_teachers, mechanism.dimension))
    _check_releases(
        lambda noise: mechanism.start(noise=noise),
        lambda run: run.release(zeros),
        mechanism,
        findings,
        seed,
    )
    answer = mechanism.release(zeros, noise=SeededNoise(seed))
    unit = mechanism.radius / mechanism.levels / mechanism.n_teachers
    fine = (
        abs(answer.unit / unit - 1) < 1e-12
        and answer.unit == plan.unit
        and answer.sigma == plan.sigma
        and gaussian_law(mechanism.sigma).deviation <= answer.sigma * (1 + 1e-9)
        and answer.sigma <= mechanism.sigma * 1.01
        and plan.width == mechanism.dimension
    )
    findings.require("marks", fine, "a mean's unit, sigma or width is off")
    if secure:
        check_secure_noise([("gaussian", mechanism.sigma)], findings)


def _sum_of(mechanism: ClippedMean, table: NDArray[np.float64], noise: Any) -> NDArray[np.int64]:
    values = mechanism.release(table, noise=noise).values
    return np.array(values, dtype=np.int64)


def _check_clipping(mechanism: ClippedMean, findings: Findings, seed: int) -> None:
    """Without noise the sum moves by at most two radii, whatever one teacher contributes."""
    still = FixedNoise({("gaussian", mechanism.sigma): 0})
    step, levels = mechanism.radius / mechanism.levels, mechanism.levels
    rng = np.random.default_rng(seed)
    teachers, dimension = mechanism.n_teachers, mechanism.dimension
    table = np.zeros((teachers, dimension))
    table[1:] = rng.uniform(-1, 1, size=(teachers - 1, dimension)) * mechanism.radius / dimension
    base = _sum_of(mechanism, table, still)
    extremes = [rng.standard_normal(dimension) * size for size in (0.5, 1, 3, 1e6, 1e300)]
    extremes += [np.full(dimension, np.nan), np.full(dimension, np.inf), -np.full(dimension, 1e9)]
    extremes += [mechanism.radius * np.eye(dimension)[0], np.full(dimension, mechanism.radius)]
    for extreme in extremes:
        table[0] = extreme
        contribution = _sum_of(mechanism, table, still) - base
        findings.require(
            "clipping",
            int((contribution**2).sum()) <= levels**2,
            "one contribution is longer than the radius",
        )
    inside = np.zeros((teachers, dimension))
    inside[0, 0], inside[1, -1] = (levels // 2) * step, -(levels // 4) * step
    expected = np.zeros(dimension, dtype=np.int64)
    expected[0] += levels // 2
    expected[-1] -= levels // 4
    exact = bool((_sum_of(mechanism, inside, still) == expected).all())
    findings.require("clipping", exact, "a contribution inside the ball was changed")
    table = np.zeros((teachers, dimension))
    table[0, 0] = 5 * mechanism.radius
    full = int(_sum_of(mechanism, table, still)[0]) == levels
    findings.require("clipping", full, "a long contribution is not scaled to the radius")
    findings.require("draws", not still.strange, f"strange noise was drawn: {still.strange}")


def _check_mean_law(mechanism: ClippedMean, findings: Findings, seed: int) -> None:
    noise = SeededNoise(seed)
    table = np.zeros((mechanism.n_teachers, mechanism.dimension))
    table[:, 0] = mechanism.radius
    total = mechanism.levels * mechanism.n_teachers
    drawn = np.array([_sum_of(mechanism, table, noise) for _ in range(1500)])
    drawn[:, 0] -= total
    law = gaussian_law(mechanism.sigma)
    reach = max(1, round(law.deviation))
    coarse: dict[Any, float] = {}
    for value, chance in zip(law.values.tolist(), law.chances.tolist(), strict=True):
        cell = int(np.sign(value)) * (abs(value) > reach // 2)
        coarse[cell] = coarse.get(cell, 0.0) + chance
    cells = (np.sign(drawn) * (np.abs(drawn) > reach // 2)).T.tolist()
    for column in range(mechanism.dimension):
        findings.trials += integer_trials(
            f"coordinate {column}", drawn[:, column], law.values, law.chances
        )
        twice = list(zip(cells[column][::2], cells[column][1::2], strict=True))
        findings.trials += pair_trials(f"coordinate {column} twice", twice, coarse, coarse)
    if mechanism.dimension > 1:
        pairs = list(zip(cells[0], cells[1], strict=True))
        findings.trials += pair_trials("two coordinates", pairs, coarse, coarse)
