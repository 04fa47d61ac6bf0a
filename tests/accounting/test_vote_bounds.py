"""Vote-dependent costs against mpmath, brute force, dp_accounting and the published figures."""

import itertools
import math
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.vote_dependent.private_value import PrivateValue
from tacit.accounting.vote_dependent.released_epsilon import (
    ReleasedEpsilon,
    release_epsilon,
    release_price,
)
from tacit.accounting.vote_dependent.smooth_sensitivity import (
    UNIT,
    VoteRule,
    cost_table,
    smooth_sensitivity,
)
from tacit.accounting.vote_dependent.vote_bounds import (
    DEFAULT_ORDERS,
    argmax_rdp,
    confident_rdp,
    conversion_term,
)
from tacit.accounting.vote_dependent.vote_divergence import likely_outcome_rdp
from tacit.accounting.vote_dependent.vote_tails import (
    VoteNoise,
    log_difference_tail,
    log_pass_and_fail,
)
from tacit.audit import SeededNoise
from tacit.data.sets import load_votes
from tacit.errors import InvalidArgument
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.noisy_argmax import gaussian_counts, winners

TEACHERS, CLASSES = 6, 3
HISTOGRAMS = [
    h for h in itertools.product(range(TEACHERS + 1), repeat=CLASSES) if sum(h) == TEACHERS
]
ORDERS = np.array([1.2, 2.0, 3.5, 6.0, 12.0, 40.0])
SIGMAS = (0.4, 0.8, 1.5, 3.0)


def neighbours(histogram):
    for a, b in itertools.permutations(range(len(histogram)), 2):
        if histogram[a]:
            moved = list(histogram)
            moved[a] -= 1
            moved[b] += 1
            yield tuple(moved)


PAIRS = [(h, other) for h in HISTOGRAMS for other in neighbours(h)]


# --- exact laws, by summation over the noise --------------------------------------------------


@lru_cache
def law(sigma, step):
    """Points, point masses and P[Z < z], P[Z <= z]: the discrete law, or a fine continuous grid."""
    z = np.arange(-60.0, 60.0 + step / 2, step)
    mass = np.exp(-(z**2) / (2 * sigma**2))
    mass /= mass.sum()
    return z, mass, np.cumsum(mass)


@lru_cache
def winner_law(histogram, sigma, step=1.0):
    """P[noisy argmax = c], ties to the lower index."""
    z, mass, below = law(sigma, step)
    spots = np.arange(z.size)

    def at_most(shift):
        return np.where(shift < 0, 0.0, below[np.clip(shift, 0, z.size - 1)])

    result = []
    for c, count in enumerate(histogram):
        chance = mass.copy()
        for j, other in enumerate(histogram):
            if j != c:
                shift = spots + round((count - other) / step) - (1 if j < c else 0)
                chance = chance * at_most(shift)
        result.append(chance.sum())
    return np.array(result)


@lru_cache
def confident_law(histogram, threshold, sigma1, sigma2):
    z, mass, _ = law(sigma1, 1.0)
    passed = mass[z + max(histogram) >= threshold].sum()
    failed = mass[z + max(histogram) < threshold].sum()
    return np.append(passed * winner_law(histogram, sigma2), failed)


def divergence(p, q, order):
    keep = p > 0
    terms = order * np.log(p[keep]) + (1 - order) * np.log(q[keep])
    return np.logaddexp.reduce(terms) / (order - 1)


def check_never_below(bound, laws):
    for (here, there), order in itertools.product(PAIRS, ORDERS):
        exact = divergence(laws(here), laws(there), order)
        assert exact <= bound(here)[list(ORDERS).index(order)] + 1e-9


@pytest.mark.parametrize("sigma", SIGMAS)
def test_argmax_cost_is_never_below_the_exact_divergence(sigma):
    costs = {h: argmax_rdp([h], sigma=sigma, orders=ORDERS).reveal_unsafe() for h in HISTOGRAMS}
    check_never_below(costs.__getitem__, lambda h: winner_law(h, sigma))


@pytest.mark.parametrize("sigma", [0.8, 1.5])
def test_continuous_argmax_cost_is_never_below_the_exact_divergence(sigma):
    costs = {
        h: argmax_rdp([h], sigma=sigma, orders=ORDERS, noise="continuous").reveal_unsafe() + 1e-6
        for h in HISTOGRAMS
    }
    check_never_below(costs.__getitem__, lambda h: winner_law(h, sigma, 1 / 64))


@pytest.mark.parametrize(("threshold", "sigma1", "sigma2"), [(4, 1.0, 0.8), (5.5, 2.0, 0.5)])
def test_confident_cost_is_never_below_the_exact_divergence(threshold, sigma1, sigma2):
    settings_ = {"threshold": threshold, "sigma_threshold": sigma1, "sigma_argmax": sigma2}
    costs = {h: confident_rdp([h], orders=ORDERS, **settings_).reveal_unsafe() for h in HISTOGRAMS}
    check_never_below(costs.__getitem__, lambda h: confident_law(h, threshold, sigma1, sigma2))


@pytest.mark.parametrize("rule", [VoteRule(0.8), VoteRule(2.0), VoteRule(0.8, 4.0, 1.0)])
def test_table_cost_covers_both_directions(rule):
    for order in (1.5, 4.0, 12.0):
        table = cost_table(rule, TEACHERS, CLASSES, order)

        def exact(h, rule=rule):
            if rule.threshold is None:
                return winner_law(h, rule.sigma)
            return confident_law(h, rule.threshold, rule.sigma_threshold, rule.sigma)

        for here, there in PAIRS:
            top = sorted(here)[::-1][:2]
            cost = UNIT * table[top[0], top[1]]
            assert divergence(exact(here), exact(there), order) <= cost + 1e-9
            assert divergence(exact(there), exact(here), order) <= cost + 1e-9


def two_class_law(ones, teachers, sigma):
    """Labels as the library draws them in two classes: noise on the class-1 count only."""
    z, mass, _ = law(sigma, 1.0)
    wins = ones + z >= teachers / 2
    return np.array([mass[~wins].sum(), mass[wins].sum()])


@pytest.mark.parametrize("teachers", [6, 7])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_two_class_cost_is_never_below_the_exact_divergence(teachers, sigma):
    for ones, step in itertools.product(range(teachers + 1), (-1, 1)):
        if not 0 <= ones + step <= teachers:
            continue
        row = [teachers - ones, ones]
        here, there = (two_class_law(n, teachers, sigma) for n in (ones, ones + step))
        costs = argmax_rdp([row], sigma=sigma, orders=ORDERS).reveal_unsafe()
        for order, cost in zip(ORDERS, costs, strict=True):
            table = cost_table(VoteRule(sigma), teachers, 2, order)
            both = UNIT * table[max(row), min(row)]
            assert divergence(here, there, order) <= cost + 1e-9
            assert (
                max(divergence(here, there, order), divergence(there, here, order)) <= both + 1e-9
            )


def test_two_class_law_is_the_one_drawn():
    counts = VoteCounts(np.array([[4, 2]] * 4000), n_teachers=6)
    labels = winners(gaussian_counts(counts, 3.0, SeededNoise(5)))
    expected = two_class_law(2, 6, 3.0)[1]
    assert np.mean(labels == 1) == pytest.approx(expected, abs=5 * 0.5 / 4000**0.5)


def test_the_data_dependent_bound_is_used_somewhere():
    cost = argmax_rdp([[6, 0, 0]], sigma=0.8, orders=ORDERS).reveal_unsafe()
    assert cost[1] < 0.05 * ORDERS[1] / 0.8**2


def test_the_published_bound_is_for_one_direction_only():
    """Why `release_epsilon` uses the table: the reverse divergence can be far above the bound."""
    ratio = max(
        divergence(winner_law(there, 0.8), winner_law(here, 0.8), order) / cost
        for here, there in PAIRS
        for order, cost in zip(
            ORDERS, argmax_rdp([here], sigma=0.8, orders=ORDERS).reveal_unsafe(), strict=True
        )
    )
    assert ratio > 5


# --- the pieces against mpmath ------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "sigma"), [(0, 40), (3, 0.7), (120, 40), (250, 40), (250, 5)])
def test_continuous_q_is_proposition_7(gap, sigma):
    with mp.workdps(40):
        exact = mp.log(mp.erfc(mp.mpf(gap) / (2 * sigma)) / 2)
    got = log_difference_tail(float(sigma), 250, VoteNoise.CONTINUOUS)[gap]
    assert got == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.6, 3.0, 11.5])
def test_discrete_tails_are_exact_and_never_below(sigma):
    tail = log_difference_tail(sigma, 60, VoteNoise.DISCRETE)
    with mp.workdps(50):
        reach = range(-400, 401)
        mass = {z: mp.exp(-(mp.mpf(z) ** 2) / (2 * mp.mpf(sigma) ** 2)) for z in reach}
        norm = mp.fsum(mass.values())
        above = {z: mp.mpf(0) for z in range(402)} | {401: mp.mpf(0)}
        for z in reversed(reach):
            above[z] = above[z + 1] + mass[z]
        for gap in (0, 1, 2, 7, 30, 60):
            pairs = (mass[z] * above[z + gap] for z in reach if z + gap <= 400)
            exact = mp.log(mp.fsum(pairs) / norm**2)
            assert float(exact) <= tail[gap] <= float(exact) + 1e-10 * (1 + abs(float(exact)))


@pytest.mark.parametrize("sigma", [0.3, 2.0, 6.0])
def test_threshold_chances_add_up_and_match_the_law(sigma):
    passed, failed = np.exp(log_pass_and_fail(4.3, sigma, 12, VoteNoise.DISCRETE))
    z, mass, _ = law(sigma, 1.0)
    exact = [mass[z + m >= 4.3].sum() for m in range(13)]
    assert passed == pytest.approx(exact, abs=1e-12)
    assert passed + failed == pytest.approx(1.0)


@pytest.mark.parametrize(("log_q", "sigma", "order"), [(-9, 40, 12.5), (-30, 20, 5), (-2, 3, 3)])
def test_likely_outcome_bound_is_theorem_6(log_q, sigma, order):
    with mp.workdps(50):
        q, s2 = mp.exp(log_q), mp.mpf(sigma) ** 2
        mu2 = sigma * mp.sqrt(-log_q)
        mu1 = mu2 + 1
        a = (1 - q) / (1 - (q * mp.exp(mu2 / s2)) ** (1 - 1 / mu2))
        b = mp.exp(mu1 / s2) / q ** (1 / (mu1 - 1))
        exact = mp.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)
    got = likely_outcome_rdp(np.array([log_q * 1.0]), 1 / sigma**2, np.array([order * 1.0]))
    assert got[0, 0] == pytest.approx(min(float(exact), order / sigma**2), rel=1e-9, abs=1e-10)
    assert got[0, 0] >= min(float(exact), order / sigma**2)


@given(
    log_q=st.floats(-60, -0.01),
    sigma=st.floats(0.3, 60),
    order=st.floats(1.05, 80),
    cut=st.floats(0, 1),
)
def test_smaller_q_at_the_same_orders_never_costs_more(log_q, sigma, order, cut):
    """The bound accepted at a bound on q also holds for the true, smaller q (section 3)."""
    order_, rate = np.array([order]), 1 / sigma**2
    accepted = likely_outcome_rdp(np.array([log_q]), rate, order_)[0, 0]
    if accepted >= rate * order:
        return
    mu2 = sigma * math.sqrt(-log_q)
    true = log_q - 20 * cut
    log1q = math.log(-math.expm1(true))
    shrink = (true + rate * mu2) * (1 - 1 / mu2)
    first = order * log1q - (order - 1) * math.log(-math.expm1(shrink))
    second = true + (order - 1) * (rate * (mu2 + 1) - true / mu2)
    assert np.logaddexp(first, second) / (order - 1) <= accepted + 1e-9


def test_costs_add_over_queries_and_stay_below_the_worst_case():
    votes = np.array([[5, 1, 0], [6, 0, 0], [2, 2, 2]])
    parts = [argmax_rdp([row], sigma=1.5, orders=ORDERS).reveal_unsafe() for row in votes]
    total = argmax_rdp(votes, sigma=1.5, orders=ORDERS).reveal_unsafe()
    assert total == pytest.approx(np.sum(parts, axis=0))
    assert (total <= 3 * ORDERS / 1.5**2 + 1e-9).all()


def best_epsilon(curve, delta, convert=conversion_term):
    return float((curve.reveal_unsafe() + convert(np.array(DEFAULT_ORDERS), delta)).min())


def mironov17(orders, delta):
    """Proposition 3 of [M17], as in the 2018 figures."""
    return -math.log(delta) / (orders - 1.0)


def test_conversion_agrees_with_dp_accounting():
    curve = PrivateValue(np.array(DEFAULT_ORDERS) * 0.05)
    exact, _ = rdp_privacy_accountant.compute_epsilon(DEFAULT_ORDERS, curve.reveal_unsafe(), 1e-5)
    assert best_epsilon(curve, 1e-5) == pytest.approx(exact)


# --- sensitivity, by exhaustion over histograms -------------------------------------------------


def statistic(table, rows):
    tops = [sorted(row)[::-1] for row in rows]
    return UNIT * sum(int(table[top[0], top[1]]) for top in tops)


def brute_smooth(table, histogram, beta):
    """Definition: maximise the discounted local sensitivity over all histograms."""
    local = {
        h: max(abs(statistic(table, [h]) - statistic(table, [o])) for o in neighbours(h))
        for h in HISTOGRAMS
    }
    distance = {h: sum(abs(x - y) for x, y in zip(h, histogram, strict=True)) // 2 for h in local}
    return max(math.exp(-beta * distance[h]) * local[h] for h in HISTOGRAMS)


RULES = [VoteRule(0.8), VoteRule(0.5, 4.0, 1.0), VoteRule(1.5, 3.0, 2.0)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
def test_smooth_sensitivity_covers_direct_maximisation(rule, beta):
    table = cost_table(rule, TEACHERS, CLASSES, 4.0)
    for h in HISTOGRAMS:
        ours = smooth_sensitivity([h], rule, order=4.0, beta=beta).reveal_unsafe()
        brute = brute_smooth(table, h, beta)
        assert brute <= ours * (1 + 1e-12)
        assert ours <= brute * (1 + 1e-12) + UNIT or ours <= 1.5 * brute


@pytest.mark.parametrize("rule", RULES)
def test_smooth_sensitivity_bounds_changes_and_is_smooth_over_several_queries(rule):
    rng = np.random.default_rng(0)
    table, beta = cost_table(rule, TEACHERS, CLASSES, 4.0), 0.2
    for _ in range(200):
        pairs = [PAIRS[i] for i in rng.integers(len(PAIRS), size=4)]
        here, there = [list(rows) for rows in zip(*pairs, strict=True)]
        s, t = (
            smooth_sensitivity(rows, rule, order=4.0, beta=beta).reveal_unsafe()
            for rows in (here, there)
        )
        change = abs(statistic(table, here) - statistic(table, there))
        assert change <= min(s, t) * (1 + 1e-12)
        assert s <= math.exp(beta) * t * (1 + 1e-12)


def test_table_covers_the_full_histogram_cost():
    rule = VoteRule(1.2)
    for order in (1.5, 4.0):
        table = cost_table(rule, TEACHERS, CLASSES, order)
        for h in HISTOGRAMS:
            full = argmax_rdp([h], sigma=1.2, orders=[order]).reveal_unsafe()[0]
            assert full <= statistic(table, [h]) + 1e-12


# --- the release ---------------------------------------------------------------------------------


def discrete_divergence(shift, scale, other, order):
    z = np.arange(-40000.0, 40001.0)

    def log_law(x, s):
        raw = -(x**2) / (2 * s**2)
        return raw - np.logaddexp.reduce(raw)

    terms = order * log_law(z, scale) + (1 - order) * log_law(z - shift, other)
    return np.logaddexp.reduce(terms) / (order - 1)


@pytest.mark.parametrize(
    ("order", "beta"), [(4.0, 0.02), (12.5, 0.02), (12.5, 0.03), (20.0, 0.0245)]
)
@pytest.mark.parametrize("multiplier", [4.0, 10.0])
def test_price_covers_discrete_gaussians_of_different_scale(order, beta, multiplier):
    price = release_price(order, beta=beta, noise_multiplier=multiplier, scale_sigma=1e6)
    unit = 30.0  # the smaller smooth sensitivity, in grid units
    wide = multiplier * unit * math.exp(beta)
    for scale, other in [(wide, multiplier * unit), (multiplier * unit, wide)]:
        for shift in (0, 7, 30):
            assert discrete_divergence(shift, scale, other, order) <= price + 1e-9
    worst = discrete_divergence(30, wide, multiplier * unit, order)
    assert price <= worst * (1 + 1e-4)


def test_the_formula_of_theorem_23_would_be_too_small():
    order, beta, multiplier = 20.0, 0.0245, 10.0
    printed = order * math.exp(2 * beta) / multiplier**2
    printed += (beta * order - 0.5 * math.log(1 - 2 * order * beta)) / (order - 1)
    exact = discrete_divergence(30, multiplier * 30 * math.exp(beta), multiplier * 30, order)
    assert printed == pytest.approx(0.339, abs=1e-3)
    assert exact == pytest.approx(2.239, abs=1e-3)


VOTES = np.array([[48, 1, 1], [40, 6, 4], [26, 20, 4]] * 60)
RULE = VoteRule(8.0, 40.0, 30.0)


def test_upper_covers_the_truth_as_often_as_it_says():
    """200 releases at 0.95: fewer than 180 covers happens with probability below 1e-3."""
    table = cost_table(RULE, 50, 3, 12.0)
    covered = 0
    for seed in range(200):
        out = release_epsilon(VOTES, RULE, order=12.0, delta=1e-5, noise=SeededNoise(seed))
        added = math.log1p(-1 / 12) - (math.log(1e-5) + math.log(12)) / 11
        covered += out.upper >= statistic(table, VOTES) + out.price + added - 1e-12
        assert out.value <= out.worst_case
        assert out.upper <= out.worst_case
        assert not out.secure
    assert covered >= 180


def test_value_is_centred_on_the_truth():
    table = cost_table(RULE, 50, 3, 12.0)
    outs = [
        release_epsilon(
            VOTES, RULE, order=12.0, delta=1e-5, noise=SeededNoise(seed), noise_multiplier=2.0
        )
        for seed in range(200)
    ]
    added = math.log1p(-1 / 12) - (math.log(1e-5) + math.log(12)) / 11
    truth = statistic(table, VOTES) + outs[0].price + added
    spread = np.std([out.value for out in outs])
    assert np.mean([out.value for out in outs]) == pytest.approx(truth, abs=5 * spread / 200**0.5)


def test_release_is_public_and_frozen():
    out = release_epsilon(VOTES, RULE, order=12.0, delta=1e-5, noise=SeededNoise(1))
    assert isinstance(out, ReleasedEpsilon)
    with pytest.raises(AttributeError):
        out.value = 0.0
    assert out.price == pytest.approx(
        release_price(12.0, beta=0.25 / 12, noise_multiplier=1.5 * 12**0.5, scale_sigma=2 * 12**0.5)
    )


# --- arguments -----------------------------------------------------------------------------------

BAD_VOTES = {
    "nan": [[math.nan, 4.0]],
    "infinite": [[math.inf, 4.0]],
    "negative": [[-3, 1234]],
    "fraction": [[0.5, 1233.5]],
    "rows": [[1234, 0], [1233, 0]],
    "none": [[0, 0]],
    "text": [["a", "b"]],
    "flat": [1234, 0],
    "one class": [[1234]],
    "no query": np.zeros((0, 3)),
}


@pytest.mark.parametrize("name", BAD_VOTES)
def test_bad_votes_are_refused_without_showing_counts(name):
    for call in (
        lambda v: argmax_rdp(v, sigma=1.0),
        lambda v: confident_rdp(v, threshold=1, sigma_threshold=1, sigma_argmax=1),
        lambda v: release_epsilon(v, RULE, order=3.0, delta=0.1, noise=SeededNoise(0)),
    ):
        with pytest.raises(InvalidArgument, match="`votes`") as caught:
            call(BAD_VOTES[name])
        assert "1234" not in str(caught.value)
        assert "1233" not in str(caught.value)


@settings(max_examples=30)
@given(value=st.floats(max_value=0.0) | st.just(math.nan) | st.just(math.inf))
def test_bad_scales_are_refused(value):
    with pytest.raises(InvalidArgument, match="`sigma`"):
        argmax_rdp([[3, 1]], sigma=value)
    with pytest.raises(InvalidArgument, match="`sigma_threshold`"):
        confident_rdp([[3, 1]], threshold=1, sigma_threshold=value, sigma_argmax=1)
    with pytest.raises(InvalidArgument, match="`sigma`"):
        VoteRule(value)


@settings(max_examples=30)
@given(order=st.floats(max_value=1.0) | st.just(math.nan) | st.just(math.inf))
def test_bad_orders_are_refused(order):
    with pytest.raises(InvalidArgument, match="`orders`"):
        argmax_rdp([[3, 1]], sigma=1.0, orders=[2.0, order])
    with pytest.raises(InvalidArgument, match="`orders`"):
        smooth_sensitivity([[3, 1]], VoteRule(1.0), order=order, beta=0.1)


def test_other_bad_arguments_are_refused():
    with pytest.raises(InvalidArgument, match="`noise`"):
        argmax_rdp([[3, 1]], sigma=1.0, noise="laplace")
    with pytest.raises(InvalidArgument, match="`cost`"):
        confident_rdp([[3, 1]], threshold=1, sigma_threshold=1, sigma_argmax=1, cost="mean")
    with pytest.raises(InvalidArgument, match="`threshold` and"):
        VoteRule(1.0, threshold=3.0)
    with pytest.raises(InvalidArgument, match="`beta`"):
        release_price(10.0, beta=0.05, noise_multiplier=3.0, scale_sigma=3.0)
    with pytest.raises(InvalidArgument, match="`order`"):
        cost_table(VoteRule(1e-6), 5, 2, 10.0)


# --- the published figures ------------------------------------------------------------------------

# name: T, sigma1, sigma2, queries, delta, answered, epsilon as published (2018 conversion), epsilon
# with the current conversion, and both for the guarantee with discrete noise.
PUBLISHED = {
    "mnist": (200, 150, 40, 640, 1e-5, 282.7, 1.999, 1.712, 2.039, 1.739),
    "svhn": (300, 200, 40, 8500, 1e-6, 2969.1, 4.915, 4.450, 4.720, 4.259),
    "adult": (300, 200, 40, 1500, 1e-5, 538.3, 1.678, 1.414, 1.741, 1.473),
}


@pytest.mark.needs("data")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures_are_reproduced(name):
    t, s1, s2, queries, delta, answered, old, new, rigorous_old, rigorous_new = PUBLISHED[name]
    votes = load_votes(name)[:queries]
    rule = {"threshold": t, "sigma_threshold": s1, "sigma_argmax": s2}
    passes, _ = log_pass_and_fail(t, s1, int(votes[0].sum()), VoteNoise.CONTINUOUS)
    assert np.exp(passes[votes.max(axis=1)]).sum() == pytest.approx(answered, abs=0.06)

    published = confident_rdp(votes, noise="continuous", cost="expected", **rule)
    assert best_epsilon(published, delta, mironov17) == pytest.approx(old, abs=6e-4)
    assert best_epsilon(published, delta) == pytest.approx(new, abs=6e-4)
    check, _ = rdp_privacy_accountant.compute_epsilon(
        DEFAULT_ORDERS, published.reveal_unsafe(), delta
    )
    assert check == pytest.approx(new, abs=6e-4)

    shipped = confident_rdp(votes, **rule)
    found = best_epsilon(shipped, delta, mironov17)
    assert found == pytest.approx(rigorous_old, abs=6e-4)
    assert best_epsilon(shipped, delta) == pytest.approx(rigorous_new, abs=6e-4)


@pytest.mark.needs("data")
def test_a_whole_vote_file_is_priced_in_seconds():
    cost = argmax_rdp(load_votes("svhn"), sigma=40.0).reveal_unsafe()
    assert (cost > 0).all()
    worst = 26032 * np.array(DEFAULT_ORDERS) / 1600
    assert (cost <= worst * (1 + 1e-12)).all()
    assert cost[50] < 0.5 * worst[50]
