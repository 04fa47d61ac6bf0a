"""Mechanisms by name: one table, from which every caller makes them."""

from __future__ import annotations

import pytest

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.mechanisms import GaussianVote, VoteMechanism
from tacit.mechanisms.base import VoteRun
from tacit.mechanisms.registry import MECHANISMS, make_mechanism, mechanism_type

BUDGET = Budget(1.0, 1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_named_mechanism_is_made_for_its_run_and_within_its_budget(name, n_classes):
    run = VoteRun(BUDGET, n_classes, n_teachers=200, n_questions=30, refusals=3)
    vote = make_mechanism(name, run)
    assert type(vote) is MECHANISMS[name] is mechanism_type(name) is mechanism_type(vote)
    assert vote.n_classes == n_classes and vote.output is Output.LABEL
    assert vote.epsilon(BUDGET.delta) <= BUDGET.epsilon


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_what_a_plan_compares_is_within_the_budget(name, n_classes):
    run = VoteRun(BUDGET, n_classes, n_teachers=2000, n_questions=30, price_labels=True)
    votes = list(MECHANISMS[name].variants(run))
    assert votes and len(set(votes)) == len(votes)
    for vote in votes:
        assert vote.n_classes == n_classes and vote.capacity in (None, 30)
        assert vote.epsilon(BUDGET.delta) <= BUDGET.epsilon
        assert 0 <= vote.smallest_distance <= 999  # that of a unanimous vote
        assert vote.describe_noise() and "(" not in vote.describe_noise()


def test_wide_noise_of_a_plan_is_priced_as_counts():
    run = VoteRun(Budget(0.01, 1e-5), 2, n_teachers=200, n_questions=30, price_labels=True)
    (vote,) = GaussianVote.variants(run)
    assert vote.sigma > 1000 and vote.calibration == "exact"


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.can_share])
def test_shares_are_made_where_they_can_be(name):
    run = VoteRun(BUDGET, 3, n_teachers=200, n_questions=30, output=Output.SHARE)
    vote = make_mechanism(name, run)
    assert vote.output is Output.SHARE
    assert vote.with_averaged_noise(4.0).deviation == pytest.approx(vote.deviation / 2, rel=0.01)


def test_a_label_priced_as_a_bit_has_less_noise():
    run = VoteRun(BUDGET, 2, n_teachers=200, n_questions=30)
    bit = VoteRun(BUDGET, 2, n_teachers=200, n_questions=30, price_labels=True)
    assert make_mechanism("gaussian", bit).sigma < make_mechanism("gaussian", run).sigma


def test_an_object_is_taken_as_it_is_if_it_fits():
    run = VoteRun(BUDGET, 2, n_teachers=200, n_questions=5)
    vote = GaussianVote.for_budget(BUDGET, answers=5)
    assert make_mechanism(vote, run) is vote
    with pytest.raises(BudgetExceeded, match="above the budget"):
        make_mechanism(GaussianVote(0.5, answers=5), run)
    with pytest.raises(InvalidArgument, match="made for 2 classes, got one for 3"):
        make_mechanism(GaussianVote.for_budget(BUDGET, answers=5, n_classes=3), run)


@pytest.mark.parametrize("given", ["votes", None, GaussianVote, 3])
def test_what_is_no_mechanism_is_refused(given):
    with pytest.raises(InvalidArgument, match="`mechanism` must be"):
        mechanism_type(given)


def test_a_mechanism_without_a_name_says_how_it_is_made():
    with pytest.raises(NotImplementedError, match="for_budget"):
        VoteMechanism.for_run(VoteRun(BUDGET, 2, 10, 1))
