"""The experiment on queries per budget, on generated votes: what it counts is what it says."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tacit.accounting.budget import Budget
from tacit.audit import SeededNoise
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.counts import VoteCounts

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "queries_per_budget"
BUDGET = Budget(1.0, 1e-5)


@pytest.fixture(scope="module")
def load() -> Iterator[object]:
    """Import modules of the experiment by name, and forget them afterwards."""
    before, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(FOLDER))

    def by_name(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield by_name
    sys.path[:] = path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if "experiments" in file or Path(file).name == "_record.py":
            del sys.modules[name]


def terms(load, n_classes=2, n_teachers=250, n_questions=400):
    return load("compared").Terms(BUDGET, n_teachers, n_classes, n_questions)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_way_stays_within_the_budget(load, n_classes):
    given = terms(load, n_classes)
    for way in load("compared").ways(n_classes):
        for plan in (1, 10):
            assert way.make(given, plan).epsilon(BUDGET.delta) <= 1.0 + 1e-9, way.name


def test_the_rule_takes_the_largest_plan_that_is_good(load):
    compared = load("compared")
    given = terms(load)
    for way in (compared.GAUSSIAN, compared.STABLE, compared.SPARSE_TIGHT):
        plan = compared.planned_by_rule(way, given)
        larger = next(one for one in way.plans(given) if one > plan)
        chances = [compared.chance_right(way.make(given, p), 250, 0.75) for p in (plan, larger)]
        assert chances[0] >= compared.RULE_CHANCE > chances[1]
    # The threshold of the paper is above a unanimous vote of 250 teachers.
    assert compared.planned_by_rule(compared.SPARSE_PAPER, given) is None


def test_a_line_counts_labels(load):
    labels, compared = load("labels"), load("compared")
    votes = load("vote_sets").two_kinds(
        100, 250, hard=0.1, easy_distance=110, rng=np.random.default_rng(0)
    )
    found = labels.line(votes, 0, 2, noise=SeededNoise(1))
    assert set(found["sweep"]) == {way.name for way in compared.ways(2)}
    for name, rows in found["sweep"].items():
        for row in rows:
            assert row.right <= row.answered <= row.asked <= 100
            if "sparse" in name or "distance" in name:
                assert row.right == row.answered  # what they answer is the exact plurality
    few = found["sweep"]["gaussian, priced as counts"][3]
    assert few.asked == few.answered == few.plan
    again = [found, {**found, "seed": 1}]
    told = labels.summary_of(again)["gaussian, priced as counts"]
    best = told["best of the sweep, by share right"]["0.95"]
    assert best["share right"] >= 0.95 and best["right"][0] <= best["answered"][0]


def test_a_sparse_run_stops_at_its_cutoff(load):
    labels = load("labels")
    votes = load("vote_sets").two_kinds(
        3000, 2000, hard=0.1, easy_distance=900, rng=np.random.default_rng(0)
    )
    vote = SparseVote.for_budget(BUDGET, cutoff=3)
    answers = labels.answers_of(vote, votes, np.arange(3000), noise=SeededNoise(2))
    assert sum(answer.refused for answer in answers) == 3
    assert answers[-1].refused


@pytest.mark.statistical
def test_expected_answers_are_those_of_runs(load):
    """400 runs; a mean more than 6 standard errors off: below 1e-8 for laws of this tail."""
    hard, labels = load("hard_questions"), load("labels")
    vote = SparseVote.for_budget(BUDGET, cutoff=2)
    counted = []
    for run in range(400):
        votes = load("vote_sets").two_kinds(
            600, 600, hard=0.1, easy_distance=115, rng=np.random.default_rng([run, 4])
        )
        answers = labels.answers_of(vote, votes, np.arange(600), noise=SeededNoise(run))
        counted.append(sum(not answer.refused for answer in answers))
    expected = hard.expected_answers(vote, 0.1, 115)
    assert abs(np.mean(counted) - expected) < 6 * np.std(counted) / 20


def test_the_sparse_vector_wins_where_margins_are_large_and_hard_questions_rare(load):
    hard = load("hard_questions")
    votes = [SparseVote.for_budget(BUDGET, cutoff=cutoff) for cutoff in (1, 2, 3)]
    composition = hard.most_composed(200)
    assert 0.01 < hard.largest_alpha(votes, 200, composition) < 1
    # Gaussian labels of such votes are far more than tests; it takes rarer hard questions.
    assert hard.largest_alpha(votes, 200, hard.most_gaussian(200)) < 0.01
    # At a distance below the threshold there is no share at which it wins.
    assert hard.largest_alpha(votes[:1], 40, hard.most_composed(40)) is None


def test_vote_dependent_questions_fit_and_one_more_does_not(load):
    found = load("vote_dependent")
    votes = np.tile([[20, 230], [120, 130], [250, 0]], (400, 1))
    mechanism = GaussianVote(40.0, 2, len(votes))
    number = found.questions_within(mechanism, votes, 1e-5)
    assert 0 < number < len(votes)
    assert found.vote_dependent_epsilon(mechanism, votes[:number], 1e-5) <= 1
    assert found.vote_dependent_epsilon(mechanism, votes[: number + 1], 1e-5) > 1


def test_refusals_are_seen_past_the_cutoff(load):
    overlap, vote_sets = load("overlap"), load("vote_sets")
    counts = VoteCounts(np.tile([[1000, 0], [500, 500]], (50, 1)), 1000)
    votes = vote_sets.VoteSet("clear and tied", counts, None, 1e-5)
    out = overlap.refused(overlap.sparse_settings(votes), votes, SeededNoise(3))
    assert out.tolist() == [False, True] * 50
