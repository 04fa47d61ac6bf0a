"""Distance to instability: thresholds, the law, the price, and what votes give it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.accounting.budget import Budget
from tacit.accounting.events import ApproximateRelease
from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms import StableRelease, StableVote, VoteCounts
from tacit.mechanisms.instability import (
    laplace_tail,
    plain_votes,
    plurality,
    stable_threshold,
    vote_distance,
)
from tacit.noise import SecureNoise


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 25.0])
def test_the_tail_is_that_of_the_discrete_law(laws, scale):
    noise = laws.laplace(scale)
    for threshold in (0, 1, 2, 5, 17):
        exact = noise.at_least(threshold + 1)
        assert laplace_tail(scale, threshold) == pytest.approx(exact, rel=1e-9)
        assert laplace_tail(scale, threshold) >= exact * (1 - 1e-13)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 25.0, 1e4])
@pytest.mark.parametrize("failure", [0.4, 0.1, 1e-3, 1e-6, 1e-12, 1e-300])
def test_the_threshold_is_the_smallest_that_keeps_the_failure(scale, failure):
    threshold = stable_threshold(scale, failure)
    assert laplace_tail(scale, threshold) <= failure
    assert threshold == 0 or laplace_tail(scale, threshold - 1) > failure


@pytest.mark.parametrize("failure", [1e-3, 1e-6, 1e-9])
def test_the_threshold_is_below_the_printed_one(failure):
    """ln(1/(2 delta)) suffices with continuous noise; integers are within one step of it."""
    assert abs(stable_threshold(10.0, failure) - 10 * math.log(1 / (2 * failure))) <= 1
    assert stable_threshold(10.0, failure) < 10 * math.log(1 / failure)


# ---- the price: every pair of a value and a distance that neighbours can have ------------------


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("threshold", [0, 2, 7])
def test_neighbours_are_hard_to_tell_apart(laws, scale, threshold):
    mechanism, noise = StableRelease(scale, threshold), laws.laplace(scale)
    event = mechanism.event
    assert event == ApproximateRelease(1 / scale, laplace_tail(scale, threshold))

    def law(value, distance):
        passes = noise.at_least(threshold - distance + 1)
        return {value: passes, None: noise.below(threshold - distance + 1)}

    for distance in range(12):
        for other in (distance - 1, distance, distance + 1):
            if other >= 0:  # a stable value: the same on both
                ratio = laws.log_ratio(law("a", distance), law("a", other))
                assert ratio <= event.pure_epsilon + 1e-9
    p, q = {**law("a", 0), "b": 0.0}, {**law("b", 0), "a": 0.0}
    assert laws.hockey_stick(p, q, 0.0) <= event.delta + 1e-12


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(4, 2), (5, 2), (5, 3)])
def test_votes_are_private_but_for_the_failure(laws, n_teachers, n_classes):
    vote, noise = StableVote(1.0, 1, n_classes), laws.laplace(1.0)

    def law(row):
        first, second = sorted(row)[-1], sorted(row)[-2]
        distance = max(0, math.ceil((first - second) / 2) - 1)
        passes = noise.at_least(1 - distance + 1)
        empty = dict.fromkeys(range(n_classes), 0.0)
        return {**empty, row.index(first): passes, None: 1 - passes}

    for row, moved in laws.neighbours(n_teachers, n_classes):
        excess = laws.hockey_stick(law(row), law(moved), vote.event.pure_epsilon)
        assert excess <= vote.event.delta + 1e-12


# ---- votes -------------------------------------------------------------------------------------


@st.composite
def moved_votes(draw):
    n_classes = draw(st.integers(2, 6))
    row = draw(st.lists(st.integers(0, 40), min_size=n_classes, max_size=n_classes))
    row[draw(st.integers(0, n_classes - 1))] += 1
    source = draw(st.sampled_from([c for c in range(n_classes) if row[c]]))
    target = draw(st.integers(0, n_classes - 1))
    moved = list(row)
    moved[source] -= 1
    moved[target] += 1
    return VoteCounts(row, sum(row)), VoteCounts(moved, sum(row))


@given(moved_votes())
def test_a_moved_vote_moves_the_distance_by_at_most_one(pair):
    here, there = pair
    assert abs(int(vote_distance(here)[0]) - int(vote_distance(there)[0])) <= 1
    if plurality(here)[0] != plurality(there)[0]:
        assert vote_distance(here)[0] == vote_distance(there)[0] == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_single_question_is_worked_out_like_many(n_classes):
    """Every vote of seven teachers, alone in plain numbers and together in arrays."""
    rows = [row for row in np.ndindex(*(8,) * n_classes) if sum(row) == 7]
    together = plain_votes(VoteCounts(rows, 7))
    assert together == [plain_votes(VoteCounts([row], 7))[0] for row in rows]
    table = VoteCounts(rows, 7)
    assert [label for label, _ in together] == plurality(table).tolist()
    assert [distance for _, distance in together] == vote_distance(table).tolist()
    margins = [sorted(row)[-1] - sorted(row)[-2] for row in rows]
    assert [d for _, d in together] == [max(0, math.ceil(m / 2) - 1) for m in margins]


def test_distances_of_two_classes():
    votes = VoteCounts([[k, 10 - k] for k in range(11)], 10)
    assert vote_distance(votes).tolist() == [4, 3, 2, 1, 0, 0, 0, 1, 2, 3, 4]


@given(st.integers(1, 30), st.integers(0, 30))
def test_the_distance_counts_moves_until_a_neighbour_may_differ(n_teachers, ones):
    """By search: the fewest votes to move so that one more could change the plurality."""
    ones = min(ones, n_teachers)
    winner = {k: (k > n_teachers - k) for k in range(n_teachers + 1)}  # ties to class 0

    def unstable(k):
        return any(winner[j] != winner[k] for j in (k - 1, k + 1) if 0 <= j <= n_teachers)

    moves = min((abs(k - ones) for k in range(n_teachers + 1) if unstable(k)), default=n_teachers)
    distance = int(vote_distance(VoteCounts([n_teachers - ones, ones], n_teachers))[0])
    assert distance <= moves  # never larger than the true one


# ---- the sampler -------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("noise", "times"), [(SeededNoise(2), 40_000), (SecureNoise(), 4_000)], ids=["seeded", "secure"]
)
def test_votes_pass_with_the_exact_chance(laws, noise, times):
    """False alarms: at most 1e-7 each."""
    vote = StableVote(2.0, 3, 3, answers=times)
    votes = VoteCounts(np.tile([9, 3, 1], (times, 1)), 13)  # margin 6: distance 2
    passes = laws.laplace(2.0).at_least(3 - 2 + 1)
    labels = [answer.label for answer in vote.release(votes, noise=noise)]
    assert chi_square_p(labels, {0: passes, None: 1 - passes}) > FALSE_ALARM


def test_any_value_can_be_released_or_refused():
    stable = StableRelease(1.0, 5, releases=2)
    run = stable.start(noise=ScriptedNoise(laplace=[1, 0]))
    released, refused = run.release({"any": "value"}, 5), run.release("other", np.int64(5))
    assert released.value == {"any": "value"} and not released.refused
    assert refused.value is None and refused.refused
    assert "other" not in repr(refused) and "INSECURE" in repr(refused)
    assert released.cost == refused.cost == (stable.event,)
    assert run.most_it_can_cost(3) == {stable.event: 3}
    with pytest.raises(MechanismStopped):
        run.release(1, 1)


def test_a_negative_or_huge_distance_does_not_raise():
    """Whether an error is raised would tell something about the private distance."""
    stable = StableRelease(1.0, 5)
    assert stable.release(1, -7, noise=ScriptedNoise(laplace=[5])).refused
    assert stable.release(1, 10**30, noise=ScriptedNoise(laplace=[5])).value == 1


@pytest.mark.parametrize("distance", [2.5, "987", None, True])
def test_a_distance_of_another_type_is_refused_without_showing_it(distance):
    with pytest.raises(InvalidArgument) as refusal:
        StableRelease(1.0, 5).release(1, distance, noise=ScriptedNoise())
    assert "987" not in str(refusal.value) and "2.5" not in str(refusal.value)


# ---- budgets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("releases", [1, 2, 30])
@pytest.mark.parametrize("budget", [Budget(0.3, 1e-6), Budget(2.0, 1e-4)])
def test_for_a_budget_keeps_it(budget, releases):
    stable = StableRelease.for_budget(budget, releases=releases)
    assert stable.epsilon(budget.delta) <= budget.epsilon * (1 + 1e-9)
    assert stable.plan(budget.delta).failure <= budget.delta
    vote = StableVote.for_budget(budget, answers=releases, n_classes=5)
    assert (vote.scale, vote.threshold) == (stable.scale, stable.threshold)
    assert replace(vote, answers=1).planned_events() == ((vote.event, 1),)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: StableRelease(-1.0, 5),
        lambda: StableRelease(1.0, -1),
        lambda: StableRelease(1.0, 2.5),
        lambda: StableRelease(1.0, 5, 0),
        lambda: StableRelease.for_budget(Budget(1.0)),
        lambda: StableRelease.for_budget(Budget(1.0, 1e-5), releases=0),
        lambda: StableRelease.for_budget(1.0),
        lambda: StableVote(1.0, 5, 1),
        lambda: stable_threshold(1.0, 0.0),
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()
