"""The clipped mean: every contribution stays in the ball, whatever it is."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import GaussianCoordinates
from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms import ClippedMean
from tacit.mechanisms.clipped_mean import clip_to_grid
from tacit.noise import SecureNoise

ANY_FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 7))


def exact_squares(grid):
    return [sum(int(x) ** 2 for x in row) for row in grid]


@given(
    npst.arrays(np.float64, SHAPES, elements=ANY_FLOATS),
    st.sampled_from([1e-300, 1e-3, 1.0, 7.3, 1e300]),
    st.sampled_from([1, 2, 3, 10, 2**16, 2**28]),
)
def test_nothing_leaves_the_ball(vectors, radius, levels):
    """In exact arithmetic, for any floats at all: the sensitivity rests on this alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid = clip_to_grid(vectors, radius, levels)
    assert grid.dtype == np.int64
    assert all(square <= levels**2 for square in exact_squares(grid))


@given(npst.arrays(np.float64, SHAPES, elements=ANY_FLOATS), st.integers(0, 3))
def test_a_contribution_is_clipped_by_itself(vectors, which):
    """No row depends on another: one replaced contribution moves one summand."""
    row = which % len(vectors)
    together = clip_to_grid(vectors, 1.0, 1000)[row]
    alone = clip_to_grid(vectors[row : row + 1], 1.0, 1000)[0]
    assert (together == alone).all()


@given(
    npst.arrays(np.float64, (3, 4), elements=ANY_FLOATS),
    npst.arrays(np.float64, 4, elements=ANY_FLOATS),
)
def test_a_replaced_contribution_moves_the_sum_by_at_most_the_sensitivity(vectors, other):
    replaced = vectors.copy()
    replaced[1] = other
    levels = 50
    gap = clip_to_grid(vectors, 1.0, levels).sum(axis=0) - clip_to_grid(replaced, 1.0, levels).sum(
        axis=0
    )
    event = ClippedMean(1.0, 1.0, 4, 3, levels).event
    assert sum(int(x) ** 2 for x in gap) <= event.sensitivity**2


def test_the_sensitivity_is_reached():
    there = clip_to_grid(np.array([[1.0, 0.0]]), 1.0, 50)
    back = clip_to_grid(np.array([[-1.0, 0.0]]), 1.0, 50)
    assert np.abs(there - back).sum() == 100 == ClippedMean(1.0, 1.0, 2, 1, 50).event.sensitivity


@pytest.mark.parametrize("scale", [1e-200, 0.5, 3.0, 1e200, 1.7e308])
def test_clipping_keeps_the_direction(scale):
    vector = np.array([[3.0, -4.0, 12.0]]) / 13 * scale
    levels = 2**16
    grid = clip_to_grid(vector, 1.0, levels)
    expected = np.array([3.0, -4.0, 12.0]) / 13 * min(scale, 1.0) * levels
    assert np.abs(grid[0] - expected).max() <= 2


def test_short_vectors_are_only_rounded():
    vectors = np.array([[0.25, -0.5], [0.0, 0.125]])
    assert clip_to_grid(vectors, 1.0, 1000).tolist() == [[250, -500], [0, 125]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_contribution_that_is_not_finite_counts_as_zero(bad):
    assert clip_to_grid(np.array([[bad, 0.5], [0.5, 0.5]]), 1.0, 10).tolist() == [[0, 0], [5, 5]]


def test_a_longer_float_that_overflows_counts_as_zero():
    huge = np.array([[np.longdouble("1e4000")], [np.longdouble(1)]])
    mean = ClippedMean(1.0, 1.0, 1, 2, levels=10)
    assert mean.release(huge, noise=ScriptedNoise(gaussian=[0])).values == (10,)


# ---- the price ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.5, 4.0])
def test_the_noisy_sum_costs_no_more_than_the_event_says(laws, sigma):
    """Divergences of independent coordinates add up; every replaced contribution of a tiny grid."""
    levels = 2
    ball = [(a, b) for a in range(-2, 3) for b in range(-2, 3) if a * a + b * b <= levels**2]
    moves = {(a - c, b - d) for a, b in ball for c, d in ball}
    order = 2.0
    noise = laws.gaussian(sigma)
    one = {}
    for shift in range(-4, 5):
        # Exact: only points that both laws hold; the rest is below 1e-20.
        p, q = noise.chances, np.roll(noise.chances, shift)
        kept = (p > 1e-150) & (q > 1e-150) & (np.abs(noise.values) < noise.values[-1] - 4)
        one[shift] = math.log(math.fsum(p[kept] ** order * q[kept] ** (1 - order)))
    most = ClippedMean(1.0, sigma, 2, 3, levels).event.renyi(np.array([order]))[0]
    spent = max(one[a] + one[b] for a, b in moves)
    assert spent <= most + 1e-9
    assert spent >= 0.99 * most  # opposite corners of the ball reach it


# ---- the sampler -------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("noise", "times"), [(SeededNoise(6), 8_000), (SecureNoise(), 2_000)], ids=["seeded", "secure"]
)
def test_coordinates_are_the_sum_plus_the_noise_law(laws, noise, times):
    """False alarms: at most 1e-7 for each coordinate of the two, for each source."""
    mean = ClippedMean(1.0, 3.0, 2, 4, levels=10, releases=times)
    run = mean.start(noise=noise)
    vectors = np.array([[0.3, 0.1], [0.0, -0.2], [9.0, 0.0], [math.nan, 0.4]])
    total = np.array([3 + 0 + 10 + 0, 1 - 2 + 0 + 0])
    drawn = np.array([run.release(vectors).values for _ in range(times)]) - total
    law = laws.gaussian(3.0)
    chances = dict(zip(law.values.tolist(), law.chances.tolist(), strict=True))
    for column in range(2):
        assert chi_square_p(drawn[:, column].tolist(), chances) > FALSE_ALARM


def test_the_answer_is_the_mean_in_its_own_unit():
    mean = ClippedMean(2.0, 5.0, 3, 4, levels=1000)
    answer = mean.release(np.ones((4, 3)), noise=ScriptedNoise(gaussian=[0, 8, -8]))
    assert answer.output is Output.VECTOR and answer.label is None
    assert answer.share == pytest.approx((1.0, 1.004, 0.996))
    assert answer.sigma == 5.0
    assert answer.variance == pytest.approx((5.0 * 2.0 / 1000 / 4) ** 2)
    assert answer.cost == (GaussianCoordinates(5.0, 2000.0, 3),)
    plan = mean.plan(1e-5)
    assert (plan.width, plan.unit, plan.sigma) == (3, answer.unit, 5.0)


def test_a_run_stops_at_the_planned_releases():
    run = ClippedMean(1.0, 1.0, 1, 1, releases=2).start(noise=SeededNoise(0))
    assert len(run.most_it_can_cost(2)) == 1
    for _ in range(2):
        run.release([[0.5]])
    with pytest.raises(MechanismStopped):
        run.release([[0.5]])


@pytest.mark.parametrize("contributions", [[[1.0]], np.zeros((2, 3)), np.zeros(6), 0.0])
def test_another_shape_is_refused(contributions):
    with pytest.raises(InvalidArgument, match="shape"):
        ClippedMean(1.0, 1.0, 2, 3).release(contributions, noise=ScriptedNoise())


@pytest.mark.parametrize(
    "contributions", [[["a9876", "b"]], [[1j, 2]], [[1, 2], [3]], [[None, 98.76]]]
)
def test_what_is_no_array_of_numbers_is_refused_without_showing_it(contributions):
    with pytest.raises(InvalidArgument) as refusal:
        ClippedMean(1.0, 1.0, 2, 1).release(contributions, noise=ScriptedNoise())
    assert "9876" not in str(refusal.value) and "98.76" not in str(refusal.value)
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None


@pytest.mark.parametrize("releases", [1, 10])
def test_a_mean_for_a_budget_keeps_it(releases):
    mean = ClippedMean.for_budget(
        Budget(1.0, 1e-5), radius=3.0, dimension=20, n_teachers=100, releases=releases
    )
    assert mean.epsilon(1e-5) <= 1.0 * (1 + 1e-9)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ClippedMean(-1.0, 1.0, 2, 3),
        lambda: ClippedMean(math.inf, 1.0, 2, 3),
        lambda: ClippedMean(1.0, 0.0, 2, 3),
        lambda: ClippedMean(1.0, 1.0, 0, 3),
        lambda: ClippedMean(1.0, 1.0, 2, 0),
        lambda: ClippedMean(1.0, 1.0, 2, 3, levels=0),
        lambda: ClippedMean(1.0, 1.0, 2, 3, levels=2**40),
        lambda: ClippedMean(1.0, 1.0, 2, 3, releases=0),
        lambda: ClippedMean.for_budget(Budget(1.0), radius=1.0, dimension=1, n_teachers=1),
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidArgument):
        bad()
