"""Every bound: a value worked out by hand, its direction, and, where it is a promise, a simulation.

The doctests of the functions hold one value each, worked out separately from the formula.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.accounting.budget import Budget
from tacit.audit.noise import SeededNoise
from tacit.errors import InvalidArgument
from tacit.hypotheses.growth import sauer_shelah
from tacit.mechanisms import SparseVote, VoteCounts
from tacit.planning.bounds import bns15, btt18, df20, lzcw21, nb20
from tacit.planning.rates import OTHER_RATES, RISK_RATES, SAMPLE_RATES
from tacit.planning.sparse_noise import noise_reach

MODULES = (bns15, btt18, df20, lzcw21, nb20)


def functions(module):
    return [f for f in vars(module).values() if inspect.isfunction(f)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_every_bound_names_its_statement(module):
    words = ("Theorem", "Lemma", "Proposition", "Claim", "Remark", "Example", "Corollary")
    for function in functions(module):
        if function.__module__ != module.__name__ or function.__name__.startswith("_"):
            continue
        assert any(word in function.__doc__ for word in (*words, "Algorithm")), function.__name__


# ---- [BTT18] Theorem 3.2 ------------------------------------------------------------------------


def test_the_printed_deviation_is_no_bound_and_the_quantile_is():
    questions, error, teachers, beta = 1000, 0.001, 1000, 0.05
    printed = btt18.printed_cutoff(questions, error, beta) / 3
    exceeded = 1 - stats.binom.cdf(math.floor(printed), questions, error) ** teachers
    assert exceeded > 2 * beta  # for independent teachers, each alone has error * questions = 1
    most = btt18.most_mistakes(questions, error, teachers, beta)
    assert 1 - stats.binom.cdf(most, questions, error) ** teachers <= beta


def refusals(run, wrong_share, hard, questions, runs, seed):
    """Simulate votes with a share of hard questions, on which a share of the teachers is wrong."""
    rng, noise = np.random.default_rng(seed), SeededNoise(seed)
    found, stopped = [], 0
    for _ in range(runs):
        chance = np.where(rng.random(questions) < hard, wrong_share, 0.0)
        wrong = rng.binomial(run.n_teachers, chance)
        votes = np.column_stack([run.n_teachers - wrong, wrong])
        answers = run.mechanism.release(VoteCounts(votes, run.n_teachers), noise=noise)
        found.append(sum(a.label != 0 for a in answers))
        stopped += len(answers) < questions
    return np.array(found), stopped


@pytest.mark.statistical
@pytest.mark.parametrize("wrong_share", [0.34, 0.5, 1.0])
def test_theorem_3_2_keeps_refusals_below_the_cutoff(wrong_share):
    questions, error, beta = 60, 0.02, 0.05
    run = btt18.sparse_run(questions, error, Budget(2.0, 1e-3), beta)
    # Mistakes piled up on few questions, so that teachers have exactly the error allowed.
    hard = error / wrong_share
    lost, stopped = refusals(run, wrong_share, hard, questions, 1000, seed=4)
    kept = np.mean(lost <= run.mechanism.cutoff)
    assert kept >= run.promise
    assert stopped / 1000 <= 1 - run.promise


# ---- [LZCW21] Proposition 18 --------------------------------------------------------------------


def high_margin_run(n_teachers, mechanism, nu, xi, questions, runs, seed):
    """Simulate the least favourable problem: margins exactly xi, and none on a share nu."""
    rng, noise = np.random.default_rng(seed), SeededNoise(seed)
    within = 0
    for _ in range(runs):
        chance = np.where(rng.random(questions) < nu, 0.5, 0.5 + xi * 1.0001)
        right = rng.binomial(n_teachers, chance)
        votes = np.column_stack([right, n_teachers - right])
        answers = mechanism.release(VoteCounts(votes, n_teachers), noise=noise)
        lost = sum(a.label != 0 for a in answers) + questions - len(answers)
        within += lost <= mechanism.cutoff
    return within / runs


@pytest.mark.statistical
def test_proposition_18_corrected_keeps_its_promise():
    questions, nu, xi, gamma, budget = 60, 0.02, 0.25, 0.1, Budget(2.0, 1e-3)
    cutoff = math.ceil(lzcw21.margin_cutoff(questions, nu, gamma))
    teachers = math.ceil(lzcw21.margin_teachers(questions, cutoff, xi, 2.0, 1e-3, gamma))
    mechanism = SparseVote.for_budget(budget, cutoff=cutoff, questions=questions, constants="paper")
    kept = high_margin_run(teachers, mechanism, nu, xi, questions, 1000, seed=5)
    assert kept >= 1 - gamma
    tight = lzcw21.sparse_run(questions, nu, xi, budget, gamma)
    assert tight.n_teachers < teachers
    kept = high_margin_run(tight.n_teachers, tight.mechanism, nu, xi, questions, 1000, seed=6)
    assert kept >= tight.promise


@pytest.mark.statistical
def test_half_of_the_teachers_break_the_promise_of_proposition_18():
    # What the paper prints: half of lambda's term. At the margin xi nearly nothing is answered.
    questions, nu, xi, gamma = 60, 0.02, 0.5, 0.1
    cutoff = math.ceil(lzcw21.margin_cutoff(questions, nu, gamma))
    mechanism = SparseVote.for_budget(
        Budget(2.0, 1e-3), cutoff=cutoff, questions=questions, constants="paper"
    )
    corrected = lzcw21.margin_teachers(questions, cutoff, xi, 2.0, 1e-3, gamma)
    printed = math.ceil((corrected - 2 / xi) / 2)
    # Its own proof: margins of K xi are enough. Votes with just that margin are refused.
    margin = math.ceil(printed * xi)
    right = (printed + margin) // 2
    votes = VoteCounts(np.tile([right, printed - right], (questions, 1)), printed)
    answers = mechanism.release(votes, noise=SeededNoise(7))
    assert sum(a.label is None for a in answers) >= cutoff


# ---- the noise of a run -------------------------------------------------------------------------


@given(scale=st.floats(0.3, 500), questions=st.integers(1, 5000), failure=st.floats(0.001, 0.5))
@settings(max_examples=60, deadline=None)
def test_noise_stays_within_its_reach(scale, questions, failure):
    mechanism = SparseVote(scale, 10, 1)
    reach = scale * math.log(questions / failure)
    ratio = lambda s: math.exp(-1 / s)  # noqa: E731
    above = lambda s, k: ratio(s) ** (k + 1) / (1 + ratio(s))  # noqa: E731  P(noise > k)
    union = questions * (above(2 * scale, math.ceil(2 * reach)) + above(scale, math.ceil(reach)))
    assert union <= failure * (1 + 1e-9)
    assert noise_reach(mechanism, questions, failure) == math.ceil(2 * reach) + math.ceil(reach)


# ---- learning bounds ----------------------------------------------------------------------------


@pytest.mark.statistical
def test_uniform_convergence_holds_for_thresholds():
    # One-sided thresholds on a line have dimension 1; labels are 10% noise.
    n, gamma, rng, broken = 200, 0.1, np.random.default_rng(8), 0
    cuts = np.linspace(0, 1, 201)
    true = np.array([0.1 + 0.8 * abs(c - 0.5) for c in cuts])
    for _ in range(200):
        x = rng.random(n)
        y = (x > 0.5) ^ (rng.random(n) < 0.1)
        seen = np.array([np.mean((x > c) != y) for c in cuts])
        bound = [lzcw21.uniform_error(s, 1, n, gamma) for s in seen]
        broken += bool((true > np.array(bound) + 1e-12).any())
    assert broken <= gamma * 200


@pytest.mark.statistical
def test_the_pointwise_bound_holds_as_often_as_said():
    rng, n, gamma = np.random.default_rng(9), 300, 0.1
    for p in (0.01, 0.2, 0.5):
        seen = rng.binomial(n, p, size=4000) / n
        bounds = {s: lzcw21.pointwise_error(s, n, gamma) for s in set(seen.tolist())}
        assert np.mean([p > bounds[s] for s in seen.tolist()]) <= gamma


def test_sauer_is_met_by_classes_that_reach_it():
    # Unions of d points out of n give exactly the sum of Lemma 2.
    from itertools import combinations

    n, d = 7, 3
    reached = sum(1 for size in range(d + 1) for _ in combinations(range(n), size))
    assert sauer_shelah(n, d) == reached
    assert sauer_shelah(n, d) <= bns15.dichotomies(n, d)
    assert bns15.dichotomies(2, 3) == 4.0


@pytest.mark.statistical
def test_the_exponential_mechanism_is_as_good_as_its_bound():
    rng, n, epsilon = np.random.default_rng(10), 400, 1.0
    errors = np.concatenate([[0.1], rng.uniform(0.1, 0.6, 199)])
    weights = np.exp(-epsilon * n * errors / 2)
    chances = weights / weights.sum()
    alpha = 2 * math.log(200) / (epsilon * n)
    assert df20.exponential_sample(200, alpha, epsilon) == pytest.approx(n)
    assert chances @ errors <= 0.1 + alpha


@pytest.mark.parametrize(
    ("bound", "arguments", "larger", "up"),
    [
        (btt18.stability_needed, (1.0, 1e-5, 0.05), (2.0, 1e-5, 0.05), False),
        (btt18.printed_teachers, (100, 5, 1.0, 1e-5, 0.05), (100, 9, 1.0, 1e-5, 0.05), True),
        (btt18.labelling_error, (0.0, 0.05), (0.01, 0.05), True),
        (btt18.labelling_questions, (0.05, 0.05), (0.1, 0.05), False),
        (lzcw21.stable_teachers, (100, 5, 1.0, 1e-5, 0.05), (100, 5, 2.0, 1e-5, 0.05), False),
        (lzcw21.hoeffding_cutoff, (100, 0.1, 50, 0.05), (100, 0.2, 50, 0.05), True),
        (lzcw21.margin_cutoff, (100, 0.1, 0.05), (100, 0.2, 0.05), True),
        (lzcw21.margin_teachers, (99, 5, 0.2, 1.0, 1e-5, 0.1), (99, 5, 0.4, 1.0, 1e-5, 0.1), False),
        (lzcw21.gaussian_teachers, (1000, 10, 1.0, 1e-5), (1000, 40, 1.0, 1e-5), True),
        (lzcw21.noisy_label_error, (0.1, 100), (0.2, 100), True),
        (lzcw21.learning_error, (0.1, 5, 1000, 0.05), (0.1, 5, 9000, 0.05), False),
        (lzcw21.student_excess, (5, 9000, 3, 0.05), (9, 9000, 3, 0.05), True),
        (lzcw21.voting_student_excess, (5, 10**6, 9, 3, 0.1), (5, 10**6, 20, 3, 0.1), True),
        (lzcw21.voting_wins, (10, 0.2), (20, 0.2), False),
        (lzcw21.pool_worth_labelling, (3, 1000, 1.0), (3, 9000, 1.0), True),
        (df20.stable_lower_bound, (9, 0.1, 0.1), (9, 0.1, 0.2), False),
        (df20.agnostic_prediction_excess, (0.01,), (0.02,), True),
        (nb20.relabelling_sample, (9, 0.1, 0.1), (9, 0.2, 0.1), False),
        (nb20.disagreement_sample, (9, 0.1, 0.1), (9, 0.2, 0.1), False),
        (nb20.least_questions, (0.1, 0.1), (0.2, 0.1), False),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_bounds_move_the_right_way(bound, arguments, larger, up):
    before, after = bound(*arguments), bound(*larger)
    assert after > before if up else after < before


def test_the_gaussian_teachers_are_six_deviations_of_algorithm_1():
    from tacit.accounting.calibrate import gaussian_sigma

    sigma = gaussian_sigma(Budget(1.0, 1e-5), answers=100, method="zcdp")
    expected = 6 * sigma * math.sqrt(2 * math.log(2 * 20_000))
    assert lzcw21.gaussian_teachers(20_000, 100, 1.0, 1e-5) == pytest.approx(expected, rel=1e-6)


# ---- rates --------------------------------------------------------------------------------------


def test_the_table_of_the_paper_is_in_the_rates():
    """[LZCW21] Table 1: exponents of d, of 1/(n eps) and of theta at tau = 1."""
    found = {
        (rate.method, rate.setting): tuple(float(power) for power in rate.exponents(1))
        for rate in RISK_RATES
    }
    assert found[("Gaussian noise", "realizable")] == (1.0, pytest.approx(2 / 3), 0.0)
    assert found[("sparse vector", "realizable")] == (1.5, 1.0, 0.0)
    assert found[("active student, Gaussian noise", "realizable")] == (1.5, 1.0, 0.5)
    # The noise condition with tau = 1 is as good as the realizable case, but for d.
    assert found[("sparse vector", "noise condition")] == (1.5, 1.0, 0.0)
    assert found[("Gaussian noise", "noise condition")] == (1.0, pytest.approx(2 / 3), 0.0)


@given(tau=st.floats(0.05, 1.0), d=st.integers(1, 50), n=st.floats(1e3, 1e9))
@settings(max_examples=60, deadline=None)
def test_remarks_12_and_29_balance_the_two_terms(tau, d, n):
    labels = lzcw21.pool_worth_labelling(d, round(n), 1.0, tau)
    n = round(n)
    sparse, gaussian = (
        next(r for r in RISK_RATES if r.setting == "noise condition" and r.method == name)
        for name in ("sparse vector", "Gaussian noise")
    )
    second = (labels * d**2 / n**2) ** (tau / (4 - 3 * tau))
    assert d / labels == pytest.approx(second, rel=1e-3)
    assert sparse.at(n, dimension=d, tau=tau) == pytest.approx(d / labels, rel=1e-3)
    asked = d / gaussian.at(n, dimension=d, tau=tau)
    assert d / asked == pytest.approx((d * asked**0.5 / n) ** (tau / (2 - tau)), rel=1e-3)


def test_remark_6_balances_theorem_5():
    n, d = 10**6, 4
    realizable, agnostic = (
        next(r for r in RISK_RATES if r.paper == "BTT18" and r.setting == setting)
        for setting in ("realizable", "agnostic")
    )
    for rate, first in (
        (realizable, lambda m: d**2 * m / n**2),
        (agnostic, lambda m: (m * d**2 / n**2) ** (1 / 3)),
    ):
        error = rate.at(n, dimension=d)
        labels = d / error**2  # where the second term, sqrt(d/m), is as large
        assert first(labels) == pytest.approx(error, rel=1e-6)


def test_rates_can_be_compared_but_promise_nothing():
    assert all(rate.at(10**6, n_points=10**3) >= rate.at(10**6) for rate in RISK_RATES)
    assert all(rate.at(0.01) > 0 for rate in SAMPLE_RATES)
    assert len({(paper, statement) for paper, statement, _ in OTHER_RATES}) == len(OTHER_RATES)


@pytest.mark.parametrize(
    "call",
    [
        lambda: btt18.uncertain_points(3, 0.7),
        lambda: btt18.sparse_run(10, 0.4, Budget(1.0, 1e-5), 0.05),
        lambda: lzcw21.sparse_run(10, 0.9, 0.3, Budget(1.0, 1e-5), 0.05),
        lambda: lzcw21.margin_teachers(10, 1, 0.7, 1.0, 1e-5, 0.1),
        lambda: lzcw21.pool_worth_labelling(3, 100, 1.0, tau=0.0),
        lambda: df20.stable_lower_bound(5, 0.5, 0.1),
        lambda: RISK_RATES[0].at(100, tau=1.5),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidArgument):
        call()
