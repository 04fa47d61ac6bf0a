"""Exponential selection, of votes and of any candidates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.accounting.budget import Budget
from tacit.accounting.events import ApproximateRelease, ExponentialSelection
from tacit.accounting.price import price
from tacit.audit import SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms import (
    ExponentialVote,
    VoteCounts,
    exponential_mechanism,
    permute_and_flip,
)
from tacit.noise import SecureNoise


def weights(scores, epsilon):
    top = max(scores)
    raw = [math.exp(epsilon * (s - top) / 2) for s in scores]
    return {i: w / math.fsum(raw) for i, w in enumerate(raw)}


def permuted(scores, epsilon):
    """Permute-and-flip by recursion over the set of candidates not yet rejected."""

    def law(left):
        chances = dict.fromkeys(range(len(scores)), 0.0)
        for i in left:
            heads = math.exp(epsilon * (scores[i] - max(scores)) / 2)
            chances[i] += heads / len(left)
            if heads < 1:
                for j, p in law(left - {i}).items():
                    chances[j] += (1 - heads) / len(left) * p
        return chances

    return law(frozenset(range(len(scores))))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("noise", "times"), [(SeededNoise(4), 20_000), (SecureNoise(), 3_000)], ids=["seeded", "secure"]
)
def test_votes_follow_the_weights(noise, times):
    """False alarms: at most 1e-7 each."""
    row = (4, 3, 1)
    vote = ExponentialVote(1.3, 3, times)
    labels = [a.label for a in vote.release(VoteCounts(np.tile(row, (times, 1)), 8), noise=noise)]
    assert chi_square_p(labels, weights(row, 1.3)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("draw", "law"), [(exponential_mechanism, weights), (permute_and_flip, permuted)]
)
def test_selections_follow_their_law(draw, law):
    """False alarms: at most 1e-7 each."""
    scores, noise = [5, 7, 6, 7], SeededNoise(9)
    seen = [draw(scores, epsilon=0.9, noise=noise).index for _ in range(15_000)]
    assert chi_square_p(seen, law(scores, 0.9)) > FALSE_ALARM


# ---- the price ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(("n_teachers", "n_classes"), [(1, 2), (5, 2), (4, 3), (3, 4)])
def test_votes_cost_no_more_than_the_event_says(laws, orders, epsilon, n_teachers, n_classes):
    event = ExponentialVote(epsilon, n_classes).event
    claimed = event.renyi(orders)
    for row, moved in laws.neighbours(n_teachers, n_classes):
        p, q = weights(row, epsilon), weights(moved, epsilon)
        assert laws.log_ratio(p, q) <= event.pure_epsilon + 1e-12
        # Bounded range: the losses of all outcomes lie within epsilon of each other.
        losses = [math.log(p[x] / q[x]) for x in p]
        assert max(losses) - min(losses) <= epsilon + 1e-12
        for order, most in zip(orders, claimed, strict=True):
            assert laws.renyi(p, q, order) <= most + 1e-12
        for delta in (1e-3, 1e-6):
            quoted = price({event: 1}, delta=delta).epsilon
            assert laws.hockey_stick(p, q, quoted) <= delta + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_any_scores_of_sensitivity_one_cost_no_more_than_the_event_says(laws, orders, epsilon):
    """Every score moves by -1, 0 or 1 on its own: far more neighbours than votes have."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores = rng.integers(0, 6, size=4)
        moved = scores + rng.integers(-1, 2, size=4)
        for event, law in [
            (ExponentialSelection(epsilon), weights),
            (ApproximateRelease(epsilon, 0.0), permuted),
        ]:
            p, q = law(scores.tolist(), epsilon), law(moved.tolist(), epsilon)
            assert laws.log_ratio(p, q) <= event.pure_epsilon + 1e-12
            for order, most in zip(orders, event.renyi(orders), strict=True):
                assert laws.renyi(p, q, order) <= most + 1e-12


def test_permute_and_flip_has_no_bounded_range_price(laws):
    """Why it is not an ``ExponentialSelection``: epsilon^2/8 would be too little."""
    epsilon, order = 2.0, 1.25
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(300):
        scores = rng.integers(0, 4, size=3)
        moved = scores + rng.integers(-1, 2, size=3)
        p, q = permuted(scores.tolist(), epsilon), permuted(moved.tolist(), epsilon)
        worst = max(worst, laws.renyi(p, q, order))
    assert worst > order * ExponentialSelection(epsilon).rho


# ---- many candidates, costs, refusals ----------------------------------------------------------


@pytest.mark.parametrize("draw", [exponential_mechanism, permute_and_flip])
def test_a_million_candidates_are_no_trouble(draw):
    scores = np.arange(1_000_000) % 1000
    chosen = draw(scores, epsilon=1.0, noise=SeededNoise(0))
    assert scores[chosen.index] > 900


def test_a_selection_tells_its_cost_and_its_noise():
    chosen = exponential_mechanism([3], epsilon=0.5, noise=SeededNoise(0))
    assert (chosen.index, chosen.cost) == (0, (ExponentialSelection(0.5),))
    assert not chosen.secure and "INSECURE" in repr(chosen)
    flipped = permute_and_flip([3, 3], epsilon=0.5, noise=SecureNoise())
    assert flipped.cost == (ApproximateRelease(0.5, 0.0),) and flipped.secure


@pytest.mark.parametrize("draw", [exponential_mechanism, permute_and_flip])
@pytest.mark.parametrize(
    "scores",
    [
        [],
        [1.5, 9876.0],
        [[1, 2]],
        ["9876"],
        [math.nan],
        None,
        [[1], [2, 3]],
        [True],
        np.array([1], np.uint64),
    ],
)
def test_bad_scores_are_refused_without_showing_them(draw, scores):
    with pytest.raises(InvalidArgument) as refusal:
        draw(scores, epsilon=1.0, noise=SeededNoise(0))
    assert "9876" not in str(refusal.value)


def test_scores_at_the_ends_of_the_integers():
    scores = [-(2**63), 2**63 - 1]
    assert exponential_mechanism(scores, epsilon=1.0, noise=SeededNoise(0)).index == 1


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(InvalidArgument):
        exponential_mechanism([1, 2], epsilon=epsilon, noise=SeededNoise(0))
    with pytest.raises(InvalidArgument):
        ExponentialVote(epsilon)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-5)])
def test_a_vote_for_a_budget_keeps_it(budget):
    vote = ExponentialVote.for_budget(budget, answers=50, n_classes=3)
    assert vote.epsilon(budget.delta) <= 1.0 + 1e-9
    assert vote.epsilon_per_answer >= 1.0 / 50


def test_a_run_stops_at_the_planned_answers():
    run = ExponentialVote(1.0, 2, 2).start(noise=SeededNoise(0))
    run.release(VoteCounts([[1, 2], [2, 1]], 3))
    with pytest.raises(MechanismStopped):
        run.release(VoteCounts([[1, 2]], 3))
