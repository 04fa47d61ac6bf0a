"""Gaussian and Laplace votes: their law, their price, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import GaussianCounts, GaussianLabel, LaplaceCounts
from tacit.accounting.price import price
from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms import GaussianVote, LaplaceVote, VoteCounts
from tacit.noise import SecureNoise

ROUNDING = 1e-9


def repeated(row, times):
    return VoteCounts(np.tile(row, (times, 1)), n_teachers=sum(row))


def label_law(laws, mechanism, row):
    if isinstance(mechanism, LaplaceVote):
        return laws.largest(row, laws.laplace(mechanism.scale))
    noise = laws.gaussian(mechanism.sigma)
    return laws.half(row, noise) if mechanism.n_classes == 2 else laws.largest(row, noise)


# ---- the law -----------------------------------------------------------------------------------

VOTES = [
    (GaussianVote(1.5, 2), (3, 2)),
    (GaussianVote(1.5, 2), (2, 2)),
    (GaussianVote(2.5, 3), (3, 2, 1)),
    (GaussianVote(0.8, 4), (2, 2, 1, 1)),
    (LaplaceVote(2.0, 2), (3, 2)),
    (LaplaceVote(1.0, 3), (2, 2, 2)),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "row"), VOTES, ids=lambda x: str(x)[:40])
def test_labels_follow_the_exact_law(laws, mechanism, row):
    """False alarms: at most 1e-7 for each of the six."""
    times = 40_000
    many = replace(mechanism, answers=times)
    labels = [a.label for a in many.release(repeated(row, times), noise=SeededNoise(7))]
    assert chi_square_p(labels, label_law(laws, mechanism, row)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("mechanism", "row"), VOTES[1:3] + VOTES[4:5], ids=lambda x: str(x)[:40])
def test_labels_follow_the_exact_law_with_secure_noise(laws, mechanism, row):
    """False alarms: at most 1e-7 for each of the three."""
    times = 5_000
    many = replace(mechanism, answers=times)
    answers = many.release(repeated(row, times), noise=SecureNoise())
    assert all(answer.secure for answer in answers)
    law = label_law(laws, mechanism, row)
    assert chi_square_p([answer.label for answer in answers], law) > FALSE_ALARM


@pytest.mark.statistical
def test_released_counts_are_the_counts_plus_the_noise_law(laws):
    """False alarms: at most 1e-7 for each column of the two."""
    times = 20_000
    vote = LaplaceVote(1.5, 3, times, "share")
    values = np.array(
        [a.values for a in vote.release(repeated((4, 2, 1), times), noise=SeededNoise(3))]
    )
    noise = laws.laplace(1.5)
    law = dict(zip(noise.values.tolist(), noise.chances.tolist(), strict=True))
    for column, count in enumerate((4, 2, 1)):
        assert chi_square_p((values[:, column] - count).tolist(), law) > FALSE_ALARM


def test_two_classes_share_one_noisy_count():
    vote = GaussianVote(3.0, answers=2, output="share")
    answers = vote.release(
        VoteCounts([[4, 6], [10, 0]], n_teachers=10), noise=ScriptedNoise(gaussian=[-2, 1])
    )
    assert [a.values for a in answers] == [(6, 4), (9, 1)]
    assert answers[0].share == pytest.approx((0.6, 0.4))
    assert answers[0].variance == pytest.approx((3.0 / 10) ** 2)
    assert answers[0].output is Output.SHARE


def test_a_batch_takes_one_draw():
    noise = ScriptedNoise(gaussian=[0] * 12)
    GaussianVote(3.0, 3, 4).release(repeated((1, 2, 3), 4), noise=noise)
    assert [(asked.kind, asked.size) for asked in noise.requests] == [("gaussian", 12)]


@pytest.mark.parametrize(
    ("row", "drawn", "label"),
    [((2, 2), [0], 1), ((3, 2), [0], 0), ((3, 2), [1], 1), ((2, 3), [-1], 0)],
)
def test_class_one_needs_half_of_the_votes(row, drawn, label):
    vote = GaussianVote(1.0)
    (answer,) = vote.release(repeated(row, 1), noise=ScriptedNoise(gaussian=drawn))
    assert answer.label == label


def test_ties_of_many_classes_go_to_the_lowest():
    (answer,) = GaussianVote(1.0, 3).release(
        repeated((1, 2, 1), 1), noise=ScriptedNoise(gaussian=[1, 0, 1])
    )
    assert answer.label == 0


@pytest.mark.parametrize("vote", [GaussianVote, LaplaceVote])
def test_shares_read_as_labels_agree_with_released_labels(vote):
    rows = VoteCounts(np.array(list(_all_rows(4, 3)) * 20), n_teachers=4)
    as_label = vote(2.0, 3, len(rows)).release(rows, noise=SeededNoise(5))
    as_share = vote(2.0, 3, len(rows), "share").release(rows, noise=SeededNoise(5))
    assert [a.label for a in as_label] == [a.label for a in as_share]


def _all_rows(n_teachers, n_classes):
    if n_classes == 1:
        yield (n_teachers,)
        return
    for first in range(n_teachers + 1):
        for rest in _all_rows(n_teachers - first, n_classes - 1):
            yield (first, *rest)


@pytest.mark.parametrize("scale", [0.05, 0.7, 3.0, 40.0])
def test_the_stated_deviation_is_that_of_the_law(laws, scale):
    noise = laws.laplace(scale)
    variance = math.fsum(noise.chances * noise.values**2.0)
    assert LaplaceVote(scale, output="share").deviation == pytest.approx(math.sqrt(variance))
    assert LaplaceVote(scale).deviation == 0
    noise = laws.gaussian(max(scale, 0.2))
    deviation = math.sqrt(math.fsum(noise.chances * noise.values**2.0))
    assert deviation <= GaussianVote(max(scale, 0.2), output="share").deviation * (1 + 1e-12)


# ---- the price ---------------------------------------------------------------------------------

PRICED = [
    *[GaussianVote(sigma, 2) for sigma in (0.6, 1.0, 3.0)],
    *[GaussianVote(sigma, 2, calibration="label") for sigma in (0.6, 1.0, 3.0)],
    *[GaussianVote(sigma, 3) for sigma in (0.6, 2.0)],
    *[LaplaceVote(scale, c) for scale in (0.7, 3.0) for c in (2, 3)],
]


@pytest.mark.parametrize("n_teachers", [1, 4, 5])
@pytest.mark.parametrize("mechanism", PRICED, ids=str)
def test_labels_cost_no_more_than_the_event_says(laws, orders, mechanism, n_teachers):
    """Every pair of neighbouring votes, both directions, exactly."""
    ((event, _),) = mechanism.planned_events()
    claimed = event.renyi(orders)
    quoted = [(delta, price({event: 1}, delta=delta).epsilon) for delta in (1e-3, 1e-6)]
    for row, moved in laws.neighbours(n_teachers, mechanism.n_classes):
        p, q = (label_law(laws, mechanism, votes) for votes in (row, moved))
        for order, most in zip(orders, claimed, strict=True):
            assert laws.renyi(p, q, order) <= most + ROUNDING
        assert laws.log_ratio(p, q) <= event.pure_epsilon + ROUNDING
        for delta, epsilon in quoted:
            assert laws.hockey_stick(p, q, epsilon) <= delta + ROUNDING


@pytest.mark.parametrize("mechanism", PRICED[:5:2] + PRICED[-4:], ids=str)
def test_two_labels_cost_no_more_than_two_events(laws, mechanism):
    ((event, _),) = mechanism.planned_events()
    epsilon = price({event: 2}, delta=1e-3).epsilon
    pairs = list(laws.neighbours(3, mechanism.n_classes))
    for (row1, moved1), (row2, moved2) in zip(pairs, pairs[::-1], strict=True):
        p = laws.product(label_law(laws, mechanism, row1), label_law(laws, mechanism, row2))
        q = laws.product(label_law(laws, mechanism, moved1), label_law(laws, mechanism, moved2))
        assert laws.hockey_stick(p, q, epsilon) <= 1e-3 + ROUNDING


@pytest.mark.parametrize("scale", [0.7, 2.0, 6.0])
def test_released_counts_cost_no_more_than_the_event_says(laws, orders, scale):
    """A moved vote shifts ``moves`` independent counts by one: divergences add up."""
    for noise, event in [
        (laws.gaussian(scale), GaussianCounts(scale, 1)),
        (laws.gaussian(scale), GaussianCounts(scale, 2)),
        (laws.laplace(scale), LaplaceCounts(scale, 2)),
    ]:
        # Cut well inside the reach, where both laws are accurate; what is left out is below 1e-12.
        kept = noise.chances > 1e-200
        chances = noise.chances[kept]
        p = dict(enumerate(chances[1:].tolist()))
        q = dict(enumerate(chances[:-1].tolist()))
        for order in orders[:4]:
            if order <= 4 or isinstance(event, LaplaceCounts):
                spent = event.moves * laws.renyi(p, q, order)
                assert spent <= event.renyi(np.array([order]))[0] + 1e-7
        if isinstance(event, LaplaceCounts):
            assert event.moves * laws.log_ratio(p, q) <= event.pure_epsilon + ROUNDING


def test_the_price_of_a_laplace_share_is_reached(laws):
    """The bound is tight: some output tells neighbours apart by exactly 2/scale."""
    noise = laws.laplace(2.0)
    shift = math.log(noise.at(np.array([5]))[0] / noise.at(np.array([6]))[0])
    assert 2 * shift == pytest.approx(LaplaceVote(2.0).planned_events()[0][0].pure_epsilon)


# ---- settings ----------------------------------------------------------------------------------


def test_the_default_calibration_is_exact():
    budget = Budget(1.0, 1e-5)
    vote = GaussianVote.for_budget(budget, answers=300, n_classes=2)
    assert vote.sigma == pytest.approx(64.6164, abs=2e-4)
    assert vote.epsilon(1e-5) <= 1.0


@pytest.mark.parametrize("options", [{}, {"calibration": "zcdp"}, {"calibration": "label"}])
def test_a_gaussian_vote_for_a_budget_keeps_it(options):
    vote = GaussianVote.for_budget(Budget(0.8, 1e-5), answers=40, **options)
    assert vote.epsilon(1e-5) <= 0.8 * (1 + 1e-9)


def test_label_calibration_needs_less_noise_and_has_its_own_event():
    budget = Budget(1.0, 1 / 6499)
    label = GaussianVote.for_budget(budget, answers=49, calibration="label")
    exact = GaussianVote.for_budget(budget, answers=49)
    printed = GaussianVote.for_budget(budget, answers=49, calibration="zcdp")
    assert label.sigma == pytest.approx(19.1, abs=0.1)
    assert exact.sigma == pytest.approx(21.5, abs=0.05)
    assert printed.sigma == pytest.approx(30.1, abs=0.05)
    assert label.planned_events() == ((GaussianLabel(label.sigma), 49),)


def test_more_classes_cost_two_counts():
    assert GaussianVote(5.0, 3).planned_events() == ((GaussianCounts(5.0, 2), 1),)
    assert GaussianVote(5.0, 2).planned_events() == ((GaussianCounts(5.0, 1), 1),)


def test_a_laplace_vote_for_a_pure_budget_divides_it():
    assert LaplaceVote.for_budget(Budget(1.0), answers=10, n_classes=4).scale == pytest.approx(20)


def test_plans_describe_what_is_released():
    plan = GaussianVote(20.0, 3, 7, "share").plan(1e-5, n_teachers=50)
    assert (plan.width, plan.unit, plan.sigma, plan.output) == (3, 1 / 50, 20.0, Output.SHARE)
    plan = GaussianVote(20.0, 3, 7).plan(1e-5)
    assert (plan.width, plan.unit, plan.sigma, plan.output) == (1, 1.0, 0.0, Output.LABEL)
    with pytest.raises(InvalidArgument, match="n_teachers"):
        GaussianVote(20.0, 3, 7, "share").plan(1e-5)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: GaussianVote(-1.0),
        lambda: GaussianVote(math.nan),
        lambda: GaussianVote(1.0, 1),
        lambda: GaussianVote(1.0, 2, 0),
        lambda: GaussianVote(1.0, output="vector"),
        lambda: GaussianVote(1.0, output="votes"),
        lambda: GaussianVote(1.0, calibration="best"),
        lambda: GaussianVote(1.0, 3, calibration="label"),
        lambda: GaussianVote(1.0, output="share", calibration="label"),
        lambda: GaussianVote.for_budget(Budget(1.0), answers=3),
        lambda: LaplaceVote(0.0),
        lambda: LaplaceVote(1e300),
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()


def test_a_run_stops_at_the_planned_answers_before_drawing():
    noise = ScriptedNoise(gaussian=[0, 0])
    run = GaussianVote(1.0, answers=2).start(noise=noise)
    with pytest.raises(MechanismStopped):
        run.release(repeated((1, 2), 3))
    assert noise.requests == []
    assert len(run.release(repeated((1, 2), 2))) == 2
    with pytest.raises(MechanismStopped):
        run.release(repeated((1, 2), 1))
