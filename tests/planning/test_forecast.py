"""Forecasts against brute force over all votes, and against the mechanisms themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.audit.noise import SeededNoise
from tacit.errors import InvalidArgument
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableVote,
    VoteCounts,
)
from tacit.planning.forecast import forecast
from tacit.planning.noise_tails import (
    gaussian_at_least,
    laplace_at_least,
    laplace_difference_at_least,
)
from tacit.planning.vote_model import VoteModel, mixture_from_counts

FALSE_ALARM = 1e-9  # of every statistical comparison below

MIXED = VoteModel((0.3, 0.7, 0.95), (0.2, 0.3, 0.5))


def law_of(kind: str, scale: float) -> dict[int, float]:
    reach = math.ceil(60 * scale) + 5
    values = range(-reach, reach + 1)
    weight = {
        z: math.exp(-(z**2) / (2 * scale**2)) if kind == "gaussian" else math.exp(-abs(z) / scale)
        for z in values
    }
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


@pytest.mark.parametrize("scale", [0.4, 1.0, 7.3])
def test_tails_sum_the_law(scale):
    for kind, tail in (("gaussian", gaussian_at_least), ("laplace", laplace_at_least)):
        law = law_of(kind, scale)
        for least in (-5, -1, 0, 1, 2, 9):
            expected = sum(mass for z, mass in law.items() if z >= least)
            assert float(tail(scale, least)) == pytest.approx(expected, abs=1e-12)
    law = law_of("laplace", scale)
    for least in (-3, 0, 1, 4):
        expected = sum(
            a * b
            for (x, a), (y, b) in itertools.product(law.items(), law.items())
            if x - y >= least
        )
        assert float(laplace_difference_at_least(scale, least)) == pytest.approx(expected, abs=1e-9)


def test_the_normal_tail_takes_over_without_a_jump():
    places = np.arange(-900, 901, 37)
    below, above = gaussian_at_least(199.999, places), gaussian_at_least(200.0, places)
    assert np.abs(below - above).max() < 1e-5


def brute_force(mechanism, model, teachers):
    """Sum over counts and both true classes, each half of the time; noise laws are summed too."""
    right = answered = 0.0
    for n, mass in enumerate(model.count_law(teachers)):
        for truth in (0, 1):
            ones = n if truth == 1 else teachers - n
            for label, chance in labels(mechanism, ones, teachers).items():
                answered += mass / 2 * chance
                right += mass / 2 * chance * (label == truth)
    return right, answered


def labels(mechanism, ones, teachers):
    """Return the probability of every label given the votes, as the mechanisms are documented."""
    zeros = teachers - ones
    if isinstance(mechanism, GaussianVote):
        law = law_of("gaussian", mechanism.sigma)
        one = sum(mass for z, mass in law.items() if ones + z >= teachers / 2)
        return {1: one, 0: 1 - one}
    if isinstance(mechanism, ExponentialVote):
        one = 1 / (1 + math.exp(-mechanism.epsilon_per_answer * (ones - zeros) / 2))
        return {1: one, 0: 1 - one}
    if isinstance(mechanism, LaplaceVote):
        law = law_of("laplace", mechanism.scale)
        one = sum(
            a * b
            for (x, a), (y, b) in itertools.product(law.items(), law.items())
            if ones + x >= zeros + y
        )
        return {1: one, 0: 1 - one}
    if isinstance(mechanism, ConfidentVote):
        law = law_of("gaussian", mechanism.sigma1)
        passed = sum(m for z, m in law.items() if max(ones, zeros) + z >= mechanism.threshold)
        inner = labels(GaussianVote(mechanism.sigma2), ones, teachers)
        return {label: passed * chance for label, chance in inner.items()}
    law = law_of("laplace", mechanism.scale)
    distance = max(0, math.ceil(abs(ones - zeros) / 2) - 1)
    passed = sum(mass for z, mass in law.items() if distance + z > mechanism.threshold)
    return {int(ones > zeros): passed}  # the lowest class when tied


@pytest.mark.parametrize("teachers", [1, 6, 9])
@pytest.mark.parametrize(
    "mechanism",
    [
        GaussianVote(1.7),
        LaplaceVote(0.8),
        ExponentialVote(0.6),
        ConfidentVote(5.5, 1.2, 0.9),
        StableVote(0.7, 2),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_forecasts_are_the_sum_over_votes_and_noise(mechanism, teachers):
    right, answered = brute_force(mechanism, MIXED, teachers)
    found = forecast(mechanism, MIXED, n_teachers=teachers)
    assert found.right == pytest.approx(right, abs=1e-9)
    assert found.answered == pytest.approx(answered, abs=1e-9)
    assert found.right + found.wrong + found.refused == pytest.approx(1.0)


def test_beta_mixture_is_the_beta_binomial_law():
    teachers, accuracy, correlation = 120, 0.8, 0.3
    total = 1 / correlation - 1
    expected = stats.betabinom.pmf(
        np.arange(teachers + 1), teachers, accuracy * total, (1 - accuracy) * total
    )
    law = VoteModel.correlated(accuracy, correlation).count_law(teachers)
    assert np.abs(law - expected).max() < 1e-10
    assert VoteModel.correlated(accuracy, 0.0) == VoteModel.independent(accuracy)
    assert VoteModel.correlated(accuracy, 1.0).limit == pytest.approx(accuracy)


@pytest.mark.parametrize("accuracy", [1e-300, 1e-9, 0.3, 1 - 1e-9, 1 - 1e-16])
@pytest.mark.parametrize("correlation", [1e-12, 1e-6, 0.3, 0.999, 1 - 1e-9])
def test_extreme_guesses_keep_their_mean(accuracy, correlation):
    model = VoteModel.correlated(accuracy, correlation)
    assert model.accuracy == pytest.approx(accuracy, abs=1e-8)
    assert model.count_law(50).sum() == pytest.approx(1.0)


@given(
    accuracy=st.floats(0.01, 0.99),
    correlation=st.floats(0.01, 0.95),
    teachers=st.integers(1, 400),
)
@settings(max_examples=40, deadline=None)
def test_mixtures_keep_their_mean_and_correlation(accuracy, correlation, teachers):
    model = VoteModel.correlated(accuracy, correlation)
    assert model.accuracy == pytest.approx(accuracy, abs=1e-9)
    assert model.correlation == pytest.approx(correlation, abs=1e-6)
    law = model.count_law(teachers)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert law @ np.arange(teachers + 1) == pytest.approx(teachers * accuracy, rel=1e-6)


def test_the_high_margin_condition_and_the_infinite_vote_are_those_of_the_papers():
    model = VoteModel((0.1, 0.45, 0.5, 0.9), (0.1, 0.2, 0.3, 0.4))
    assert model.high_margin_failure(0.1) == pytest.approx(0.5)  # [LZCW21] Definition 17
    assert model.high_margin_failure(0.0) == pytest.approx(0.3)
    assert model.limit == pytest.approx(0.4 + 0.15)
    # [LZCW21] Example 1: hypotheses that are right half of the time, a vote that is right on the
    # one point of four where all agree; elsewhere one in three is right.
    fails = VoteModel((1.0, 1 / 3), (0.25, 0.75))
    assert (fails.accuracy, fails.limit) == pytest.approx((0.5, 0.25))


def test_difficulties_are_found_again():
    rng = np.random.default_rng(0)
    kinds = rng.choice([0.2, 0.9], p=[0.3, 0.7], size=20_000)
    found, weights = mixture_from_counts(rng.binomial(8, kinds), 8)
    assert weights @ found == pytest.approx(0.3 * 0.2 + 0.7 * 0.9, abs=0.01)
    assert weights[found > 0.5].sum() == pytest.approx(0.7, abs=0.03)


@pytest.mark.statistical
def test_a_sparse_run_is_forecast_as_it_runs():
    teachers, questions, runs = 60, 40, 400
    mechanism = SparseVote(scale=3.0, threshold=12, cutoff=3)
    rng, noise = np.random.default_rng(1), SeededNoise(1)
    model = VoteModel((0.5, 0.85, 0.98), (0.1, 0.4, 0.5))
    totals = np.zeros((runs, 3))
    for run in range(runs):
        kinds = rng.choice(model.right, p=model.weights, size=questions)
        right = rng.binomial(teachers, kinds)
        truth = rng.integers(2, size=questions)
        ones = np.where(truth == 1, right, teachers - right)
        counts = VoteCounts(np.column_stack([teachers - ones, ones]), n_teachers=teachers)
        answers = mechanism.release(counts, noise=noise)
        given = np.array([-1 if a.label is None else a.label for a in answers])
        true = truth[: len(given)]
        totals[run] = (
            (given == true).sum(),
            ((given >= 0) & (given != true)).sum(),
            (given < 0).sum(),
        )
    found = forecast(mechanism, model, n_teachers=teachers, n_questions=questions)
    expected = questions * np.array([found.right, found.wrong, found.refused])
    error = totals.std(axis=0) / math.sqrt(runs)
    # Six and a half standard errors: a false alarm has probability below FALSE_ALARM.
    assert (np.abs(totals.mean(axis=0) - expected) < 6.5 * error + 0.002 * questions).all()
    assert found.right + found.wrong + found.refused + found.unreached == pytest.approx(1.0)


def test_a_sparse_run_with_one_sure_answer_each_is_worked_out_by_hand():
    # Every question is refused for sure: each of the 4 instances takes one question.
    mechanism = SparseVote(scale=0.05, threshold=50, cutoff=4)
    found = forecast(mechanism, VoteModel.independent(0.5), n_teachers=2, n_questions=10)
    assert (found.refused, found.unreached) == pytest.approx((0.4, 0.6))
    # Every question is answered for sure, rightly.
    easy = forecast(mechanism, VoteModel.independent(1.0), n_teachers=200, n_questions=10)
    assert (easy.right, easy.refused) == pytest.approx((1.0, 0.0))


def multinomial_win(model, teachers, classes, law):
    """Sum over all count vectors and all noises of three classes."""
    total = 0.0
    for right, rival, weight in zip(model.right, model.right_of_rival, model.weights, strict=True):
        chances = [right, rival] + [(1 - right - rival) / (classes - 2)] * (classes - 2)
        for counts in itertools.product(range(teachers + 1), repeat=classes):
            if sum(counts) != teachers:
                continue
            mass = stats.multinomial.pmf(counts, teachers, chances)
            total += weight * mass * law(counts)
    return total


THREE = VoteModel((0.4, 0.8), (0.5, 0.5), n_classes=3, rival=0.7)


def test_exponential_votes_among_three_classes_are_exact():
    def law(counts):
        powers = np.exp(0.9 * np.array(counts) / 2)
        return powers[0] / powers.sum()

    expected = multinomial_win(THREE, 5, 3, law)
    found = forecast(ExponentialVote(0.9, n_classes=3), THREE, n_teachers=5)
    assert found.right == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noisy_votes_among_three_classes_are_exact(kind):
    noise = {z: m for z, m in law_of(kind, 1.3).items() if m > 1e-9}
    values, mass = np.array(list(noise)), np.array(list(noise.values()))
    first, second, third = np.meshgrid(values, values, values, indexing="ij")
    joint = mass[:, None, None] * mass[None, :, None] * mass[None, None, :]

    def law(counts):
        a, b, c = first + counts[0], second + counts[1], third + counts[2]
        # Those that tie are equally often the true class: a half of two, a third of three.
        won = ((a >= b) & (a >= c)) / (1 + (a == b) + (a == c))
        return float((joint * won).sum())

    expected = multinomial_win(THREE, 4, 3, law)
    mechanism = (
        GaussianVote(1.3, n_classes=3) if kind == "gaussian" else LaplaceVote(1.3, n_classes=3)
    )
    assert forecast(mechanism, THREE, n_teachers=4).right == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 15.0, 40.0, 1e6])
def test_exponential_votes_are_exact_however_sharp(epsilon):
    def law(counts):
        powers = np.exp(epsilon * (np.array(counts) - max(counts)) / 2)
        return powers[0] / powers.sum()

    expected = multinomial_win(THREE, 5, 3, law)
    found = forecast(ExponentialVote(epsilon, n_classes=3), THREE, n_teachers=5)
    assert found.right == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        GaussianVote(1e9, n_classes=3),
        LaplaceVote(1e9, n_classes=3),
        ExponentialVote(1e-9, n_classes=3),
        ExponentialVote(1e4, n_classes=3),
    ],
)
def test_extreme_noise_among_many_teachers_takes_no_extreme_memory(mechanism):
    # Tables over all of the noise, or all of the votes, would take many gigabytes here.
    right = forecast(mechanism, THREE, n_teachers=2000).right
    sharp = isinstance(mechanism, ExponentialVote) and mechanism.epsilon_per_answer > 1
    # Half of the points are easy; on the others the rival is ahead by 40 votes on average.
    lucky = stats.norm.sf(40 / math.sqrt(2000 * (0.4 + 0.42 - 0.02**2)))
    assert right == pytest.approx((1 + lucky) / 2 if sharp else 1 / 3, abs=0.002)


@pytest.mark.statistical
def test_ten_classes_with_wide_noise_agree_with_the_mechanism():
    classes, teachers, draws = 10, 300, 20_000
    model = VoteModel((0.2, 0.5), (0.4, 0.6), n_classes=classes, rival=0.4)
    rng, noise = np.random.default_rng(3), SeededNoise(3)
    kinds = rng.choice(2, p=model.weights, size=draws)
    chances = np.empty((draws, classes))
    chances[:, 0] = np.array(model.right)[kinds]
    chances[:, 1] = np.array(model.right_of_rival)[kinds]
    chances[:, 2:] = ((1 - chances[:, 0] - chances[:, 1]) / (classes - 2))[:, None]
    counts = VoteCounts(rng.multinomial(teachers, chances), n_teachers=teachers)
    mechanism = GaussianVote(50.0, n_classes=classes, answers=draws)
    right = np.mean([a.label == 0 for a in mechanism.release(counts, noise=noise)])
    found = forecast(mechanism, model, n_teachers=teachers).right
    assert abs(right - found) < 6.5 * math.sqrt(0.25 / draws)


def test_two_classes_by_the_way_of_many_agree():
    # With three classes of which one never gets a vote, Laplace noise still differs from two; but
    # without noise to speak of the vote is decided by the counts alone.
    model = VoteModel((0.7,), (1.0,), n_classes=3, rival=1.0)
    found = forecast(GaussianVote(0.05, n_classes=3), model, n_teachers=51).right
    two = forecast(GaussianVote(0.05), VoteModel.independent(0.7), n_teachers=51).right
    assert found == pytest.approx(two, abs=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: VoteModel((0.5,), (0.5,)),
        lambda: VoteModel((1.5,), (1.0,)),
        lambda: VoteModel((), ()),
        lambda: VoteModel((0.5,), (1.0,), n_classes=3, rival=0.1),
        lambda: VoteModel.correlated(0.5, 1.5),
        lambda: forecast(GaussianVote(1.0), THREE, n_teachers=3),
        lambda: forecast(SparseVote(1.0, 1, 1), MIXED, n_teachers=3),
        lambda: forecast(StableVote(1.0, 1, n_classes=3), THREE, n_teachers=3),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidArgument):
        call()
