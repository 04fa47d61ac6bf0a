"""The oracles against second opinions: brute force over noise, and laws that sum to one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.audit import reference_prices as reference
from tacit.audit.evidence import Trial, law_trials, unlikely
from tacit.audit.reference_laws import (
    decision,
    distance,
    gaussian_law,
    laplace_law,
    noise_of,
    permute_and_flip_law,
    question_law,
    transcript_law,
)
from tacit.audit.subjects import EXAMPLES, Subject, far_and_near, moved, row_of_margin
from tacit.mechanisms import ConfidentVote, GaussianVote, LaplaceVote, SparseVote, StableVote

MECHANISMS = [
    GaussianVote(0.8),
    GaussianVote(0.8, 3),
    LaplaceVote(0.6),
    LaplaceVote(0.6, 3),
    ConfidentVote(6, 0.7, 0.8, 2),
    ConfidentVote(5, 0.7, 0.8, 3),
    StableVote(0.6, 1),
]


def exhaustive(mechanism, row):
    """Sum chances over every value the noise can have, one value per class."""
    roles, law = noise_of(mechanism), {}
    classes = mechanism.n_classes
    slots = []
    for role, (kind, scale) in roles.items():
        pmf = gaussian_law(scale) if kind == "gaussian" else laplace_law(scale)
        pairs = zip(pmf.values.tolist(), pmf.chances.tolist(), strict=True)
        each = [(v, p) for v, p in pairs if p > 1e-7]
        one_sided = not isinstance(mechanism, LaplaceVote) and classes == 2
        many = 1 if role != "count" or one_sided else classes
        slots += [(role, each)] * many
    for drawn in itertools.product(*(each for _, each in slots)):
        chance = math.prod(p for _, p in drawn)
        fixed = {role: () for role in roles}
        for (role, _), (value, _) in zip(slots, drawn, strict=True):
            fixed[role] = (*fixed[role], value)
        token = decision(mechanism, row, fixed)
        law[token] = law.get(token, 0.0) + chance
    return law


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_laws_agree_with_the_sum_over_all_noise(mechanism) -> None:
    for row in ((5, 5), (4, 6), (7, 3)) if mechanism.n_classes == 2 else ((4, 3, 3), (2, 4, 4)):
        expected, found = exhaustive(mechanism, row), question_law(mechanism, row)
        for token in {*expected, *found}:
            assert found.get(token, 0.0) == pytest.approx(expected.get(token, 0.0), abs=2e-5)


@pytest.mark.parametrize("name", [n for n, s in EXAMPLES.items() if isinstance(s, Subject)])
def test_transcript_laws_sum_to_one(name: str) -> None:
    subject = EXAMPLES[name]
    if not hasattr(subject.mechanism, "n_classes") or subject.mechanism.output != "label":
        return
    law = transcript_law(subject.mechanism, far_and_near(subject)[:4])
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)


def test_a_sparse_transcript_is_summed_over_its_thresholds() -> None:
    mechanism = SparseVote(1.0, 2.0, cutoff=1)
    rows = [(12, 4), (14, 2)]
    bar, query = laplace_law(1.0), laplace_law(2.0)
    both = sum(
        p * math.prod(query.at_least(int(v) + 2 - distance(row) + 1) for row in rows)
        for v, p in zip(bar.values, bar.chances, strict=True)
    )
    law = transcript_law(mechanism, rows)
    assert law[((0,), (0,))] == pytest.approx(both, abs=1e-12)
    assert set(law) == {(None,), ((0,), None), ((0,), (0,))}


def test_a_distance_is_what_a_search_over_moved_votes_finds() -> None:
    def plurality(row):
        return max(range(len(row)), key=lambda c: (row[c], -c))

    def search(row):
        seen, edge = {row}, {row}
        for moves in itertools.count(1):
            edge = {
                moved(r, a, b)
                for r in edge
                for a in range(len(r))
                for b in range(len(r))
                if a != b and r[a]
            } - seen
            seen |= edge
            if any(plurality(r) != plurality(row) for r in edge):
                return moves

    for row in [(5, 4), (6, 3), (9, 0), (3, 3, 3), (5, 2, 2), (1, 7, 1), (0, 0, 9)]:
        # A search counts moves until the plurality differs; the distance may be one or two less.
        assert 0 <= search(row) - 1 - distance(row) <= 1


def test_permute_and_flip_agrees_with_its_own_description() -> None:
    scores, epsilon = (3, 1, 2), 1.3
    expected = [0.0] * 3
    for order in itertools.permutations(range(3)):
        for coins in itertools.product((False, True), repeat=3):
            heads = [math.exp(epsilon * (scores[c] - 3) / 2) for c in order]
            chance = math.prod(h if up else 1 - h for h, up in zip(heads, coins, strict=True)) / 6
            if True in coins:
                expected[order[coins.index(True)]] += chance
    assert permute_and_flip_law(scores, epsilon) == pytest.approx(expected, abs=1e-12)


def test_least_epsilon_of_one_gaussian_release_is_its_own_delta() -> None:
    (event,) = reference.stated(GaussianVote(3.0))
    epsilon = reference.least_epsilon([event], 1e-3)
    law = gaussian_law(3.0)
    p = np.append(law.chances, 0.0)
    q = np.insert(law.chances, 0, 0.0)
    assert reference.hockey_stick(p, q, epsilon) == pytest.approx(1e-3, rel=1e-6)


def test_unlikely_names_what_cannot_be_chance_and_nothing_else() -> None:
    fine, strange = Trial("fine", 510, 1000, 0.5), Trial("strange", 700, 1000, 0.5)
    assert [trial for trial, _ in unlikely([fine, strange])] == [strange]
    assert unlikely([]) == []


def test_an_outcome_without_a_chance_is_noticed_at_once() -> None:
    trials = law_trials("coin", ["heads"] * 999 + ["edge"], {"heads": 1.0})
    assert [trial.name for trial, _ in unlikely(trials)] == [
        "coin: heads",
        "coin: anything else",
    ]


@pytest.mark.parametrize("margin", range(9))
def test_rows_have_the_margin_asked_for(margin: int) -> None:
    row = row_of_margin(20, 3, margin, 2, 0)
    assert sum(row) == 20
    assert row[2] - row[0] == margin
    assert row[1] <= row[0]
