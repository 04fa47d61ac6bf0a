"""The confident vote: two stages, two prices, two limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.accounting.answer import total_cost
from tacit.accounting.budget import Budget
from tacit.accounting.events import GaussianCounts
from tacit.accounting.price import price
from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms import ConfidentVote, VoteCounts
from tacit.noise import SecureNoise


def exact_law(laws, vote, row):
    """Chances of a refusal (None) and of every label."""
    passes = laws.gaussian(vote.sigma1).at_least(vote.threshold - max(row))
    noise = laws.gaussian(vote.sigma2)
    labels = laws.half(row, noise) if len(row) == 2 else laws.largest(row, noise)
    return {None: 1 - passes, **{c: passes * p for c, p in labels.items()}}


@pytest.mark.statistical
@pytest.mark.parametrize("row", [(6, 4), (5, 3, 2)])
@pytest.mark.parametrize(
    ("noise", "times"), [(SeededNoise(8), 40_000), (SecureNoise(), 4_000)], ids=["seeded", "secure"]
)
def test_answers_follow_the_exact_law(laws, row, noise, times):
    """False alarms: at most 1e-7 each."""
    vote = ConfidentVote(5.5, 2.0, 1.5, len(row), questions=times)
    votes = VoteCounts(np.tile(row, (times, 1)), sum(row))
    labels = [answer.label for answer in vote.release(votes, noise=noise)]
    assert chi_square_p(labels, exact_law(laws, vote, row)) > FALSE_ALARM


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(4, 2), (5, 2), (4, 3)])
@pytest.mark.parametrize(("sigma1", "sigma2"), [(0.7, 0.7), (1.0, 2.0), (3.0, 0.8)])
@pytest.mark.parametrize("threshold", [2, 3.5, 4])
def test_both_stages_cost_no_more_than_their_events(
    laws, orders, n_teachers, n_classes, sigma1, sigma2, threshold
):
    vote = ConfidentVote(threshold, sigma1, sigma2, n_classes)
    test, answer = vote.test_event, vote.answer_event
    epsilon = price(dict(vote.planned_events()), delta=1e-3).epsilon
    for row, moved in laws.neighbours(n_teachers, n_classes):
        p, q = exact_law(laws, vote, row), exact_law(laws, vote, moved)
        for order, most in zip(orders, test.renyi(orders) + answer.renyi(orders), strict=True):
            assert laws.renyi(p, q, order) <= most + 1e-9
        assert laws.hockey_stick(p, q, epsilon) <= 1e-3 + 1e-9
        # The test alone, which is all that a refusal releases.
        p, q = ({True: law[None], False: 1 - law[None]} for law in (p, q))
        for order, most in zip(orders, test.renyi(orders), strict=True):
            assert laws.renyi(p, q, order) <= most + 1e-9


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(5, 2), (4, 3), (4, 4)])
def test_the_largest_count_moves_by_at_most_one(laws, n_teachers, n_classes):
    gaps = {abs(max(a) - max(b)) for a, b in laws.neighbours(n_teachers, n_classes)}
    assert gaps <= {0, 1}


def test_refusals_pay_for_the_test_alone():
    vote = ConfidentVote(8, 1.0, 2.0, questions=3)
    votes = VoteCounts([[2, 8], [5, 5], [9, 1]], 10)
    noise = ScriptedNoise(gaussian=[0, 0, -1, 0, 0])
    answers = vote.release(votes, noise=noise)
    assert [a.label for a in answers] == [1, None, 0]
    assert [a.cost for a in answers] == [
        (vote.test_event, vote.answer_event),
        (vote.test_event,),
        (vote.test_event, vote.answer_event),
    ]
    # One draw for all the tests, one for all the answers.
    assert [(a.scale, a.size) for a in noise.requests] == [(1.0, 3), (2.0, 2)]


def test_two_classes_pay_for_one_moving_count_and_more_for_two():
    assert ConfidentVote(1, 2.0, 3.0, 2).answer_event == GaussianCounts(3.0, 1)
    assert ConfidentVote(1, 2.0, 3.0, 3).answer_event == GaussianCounts(3.0, 2)
    assert ConfidentVote(1, 2.0, 3.0, 3).test_event == GaussianCounts(2.0, 1)


def test_equal_noise_makes_one_event():
    vote = ConfidentVote(1, 2.0, 2.0, questions=5, answers=3)
    assert vote.planned_events() == ((GaussianCounts(2.0, 1), 8),)
    run = vote.start(noise=SeededNoise(0))
    assert run.most_it_can_cost(4) == {GaussianCounts(2.0, 1): 7}


def test_a_run_stops_at_the_last_answer_and_tests_no_further():
    vote = ConfidentVote(8, 1.0, 2.0, questions=10, answers=2)
    votes = VoteCounts([[1, 9], [5, 5], [9, 1], [9, 1]], 10)
    run = vote.start(noise=ScriptedNoise(gaussian=[0, 0, 0, 0, 0, 0]))
    answers = run.release(votes)
    assert [a.label for a in answers] == [1, None, 0]
    assert total_cost(answers) == {vote.test_event: 3, vote.answer_event: 2}
    with pytest.raises(MechanismStopped, match="answers"):
        run.release(votes[:1])


def test_a_run_stops_at_the_planned_tests_before_drawing():
    vote = ConfidentVote(8, 1.0, 2.0, questions=2)
    noise = ScriptedNoise(gaussian=[0, 0])
    run = vote.start(noise=noise)
    with pytest.raises(MechanismStopped, match="questions"):
        run.release(VoteCounts([[5, 5]] * 3, 10))
    assert noise.requests == []
    assert [a.refused for a in run.release(VoteCounts([[5, 5]] * 2, 10))] == [True, True]


def test_the_most_it_can_cost_is_never_exceeded():
    vote = ConfidentVote(6, 1.5, 1.5, 3, questions=40, answers=7)
    run = vote.start(noise=SeededNoise(3))
    votes = VoteCounts(np.tile([5, 3, 2], (5, 1)), 10)
    total = {}
    for _ in range(8):
        most = run.most_it_can_cost(5)
        try:
            spent = total_cost(run.release(votes))
        except MechanismStopped:
            break
        assert all(times <= most.get(event, 0) for event, times in spent.items())
        for event, times in spent.items():
            total[event] = total.get(event, 0) + times
    assert all(total[event] <= most for event, most in vote.planned_events())


@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_vote_for_a_budget_keeps_it(n_classes):
    vote = ConfidentVote.for_budget(
        Budget(1.0, 1e-5), threshold=200, questions=640, answers=300, n_classes=n_classes
    )
    assert vote.epsilon(1e-5) <= 1.0 * (1 + 1e-9)
    assert vote.sigma1 / vote.sigma2 == pytest.approx(3.75)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ConfidentVote(math.nan, 1.0, 1.0),
        lambda: ConfidentVote(1, -1.0, 1.0),
        lambda: ConfidentVote(1, 1.0, 0.0),
        lambda: ConfidentVote(1, 1.0, 1.0, 1),
        lambda: ConfidentVote(1, 1.0, 1.0, questions=0),
        lambda: ConfidentVote(1, 1.0, 1.0, answers=0),
        lambda: ConfidentVote.for_budget(Budget(1.0), threshold=1, questions=3),
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()
