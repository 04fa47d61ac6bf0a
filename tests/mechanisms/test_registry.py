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


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.can_share])
def test_shares_are_made_where_they_can_be(name):
    run = VoteRun(BUDGET, 3, n_teachers=200, n_questions=30, output=Output.SHARE)
    assert make_mechanism(name, run).output is Output.SHARE


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
