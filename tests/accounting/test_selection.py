"""Selection: exact probabilities, at borders too, for every size of score, count and epsilon.

Distribution tests use 10,000 selections and reject a correct sampler with probability 1e-7 at most
(``FALSE_ALARM``); their seeds are fixed, so the verdict is the same on every run. Exactness itself
is tested without statistics: the bits of a true border, from mpmath, are fed in, and one step to
either side of it must decide.
"""

from __future__ import annotations

import decimal
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument
from tacit.mechanisms.exact.selection import (
    _exp_bounds,
    _flip,
    _interval_holding,
    _Uniform,
    _weighted,
    permute_and_flip,
    select,
    select_level,
    uniform_below,
)
from tacit.noise import SecureNoise

N_DRAWS = 20_000
TINY = 5e-324  # the smallest double


class Digits:
    """A source whose bits are those of one number in [0, 1), and then zeros or ones for ever."""

    secure = False

    def __init__(self, number: int, length: int, then: int = 0) -> None:
        self.number, self.length, self.then = number, length, then
        self.asked = 0

    def bits(self, n: int) -> int:
        """Return the next ``n`` bits."""
        before, self.asked = self.asked, self.asked + n
        longer = max(self.asked - self.length, 0)
        tail = (1 << longer) - 1 if self.then else 0
        known = (self.number << longer | tail) >> max(self.length - self.asked, 0)
        return known & ((1 << (self.asked - before)) - 1)


class Counting(SeededNoise):
    """Counts how often it is asked: what a selection costs beyond reading its scores."""

    calls = 0

    def bits(self, n: int) -> int:
        """Return seeded bits."""
        self.calls += 1
        return super().bits(n)


def exponential_law(scores: list[int], epsilon: float) -> dict[int, float]:
    top = max(scores)
    weights = [mpmath.exp(mpmath.mpf(epsilon) * (score - top) / 2) for score in scores]
    total = mpmath.fsum(weights)
    return {index: float(weight / total) for index, weight in enumerate(weights)}


def permute_and_flip_law(scores: list[int], epsilon: float) -> dict[int, float]:
    """Return the law by summing over every outcome of the coins."""
    chances = [math.exp(epsilon * (score - max(scores)) / 2) for score in scores]
    law = dict.fromkeys(range(len(scores)), 0.0)
    for coins in range(1, 2 ** len(scores)):
        heads = [i for i in law if coins >> i & 1]
        chance = math.prod(p if coins >> i & 1 else 1 - p for i, p in enumerate(chances))
        for i in heads:
            law[i] += chance / len(heads)
    return law


SETS = [
    ([3, 1, 2], 1.0),
    ([0, 0, 0, 0], 2.0),
    ([5, 5, 0, 4, 4, 4], 0.7),
    ([0, 10, 20, 30, 40], 0.05),
    ([-7, 100, 99, -(10**9)], 3.0),
    ([2**63 - 1, -(2**63)], 1e-19),
    ([1, 0], TINY),
    ([1, 0, -1], 1e-300),
    (list(range(12)), 0.01),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("scores", "epsilon"), SETS)
def test_select_follows_the_exponential_mechanism(scores, epsilon):
    noise = SeededNoise(11)
    sample = [select(scores, epsilon, noise=noise) for _ in range(N_DRAWS // 2)]
    assert chi_square_p(sample, exponential_law(scores, epsilon)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("scores", "epsilon"), SETS)
def test_permute_and_flip_follows_its_law(scores, epsilon):
    noise = SeededNoise(12)
    sample = [permute_and_flip(scores, epsilon, noise=noise) for _ in range(N_DRAWS // 2)]
    law = permute_and_flip_law([score - max(scores) for score in scores], epsilon)
    assert chi_square_p(sample, law) > FALSE_ALARM


@pytest.mark.statistical
def test_secure_noise_gives_the_same_law():
    noise = SecureNoise()
    scores = [5, 5, 0, 4, 4, 4]
    sample = [select(scores, 0.7, noise=noise) for _ in range(N_DRAWS // 2)]
    assert chi_square_p(sample, exponential_law(scores, 0.7)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("levels", "counts", "epsilon"),
    [
        ([0, 1, 2, 3], [8, 4, 2, 1], 1.0),
        ([3, 0, 10], [5, 100, 0], 2.0),
        ([0, 100], [2**200, 2**200 // 3], 0.01),
        # The far level wins by number: its weight is 2**300 exp(-200), against 1 and 2**290 e**-190
        ([0, -400, -380], [1, 2**300, 2**290], 1.0),
        ([0, -(2**80)], [1, 3], 2.0**-80),
    ],
)
def test_levels_are_drawn_by_count_and_score(levels, counts, epsilon):
    noise = SeededNoise(13)
    sample = [select_level(levels, counts, epsilon, noise=noise) for _ in range(N_DRAWS // 2)]
    with mpmath.workdps(200):
        weights = [
            count * mpmath.exp(mpmath.mpf(epsilon) * level / 2)
            for level, count in zip(levels, counts, strict=True)
        ]
        total = mpmath.fsum(weights)
        chances = [float(weight / total) for weight in weights]
    law = {level: p for level, p in zip(levels, chances, strict=True) if p}
    assert chi_square_p(sample, law) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 10])
def test_uniform_below_is_uniform(n):
    noise = SeededNoise(14)
    sample = [uniform_below(n, noise=noise) for _ in range(N_DRAWS)]
    assert chi_square_p(sample, dict.fromkeys(range(n), 1 / n)) > FALSE_ALARM


def test_uniform_below_throws_away_what_is_too_large():
    noise = ScriptedNoise(bits=[7, 5, 4])
    assert uniform_below(5, noise=noise) == 4
    noise.finish()


# ---- exactness ------------------------------------------------------------------------------


@given(
    numerator=st.integers(0, 10**30),
    denominator=st.integers(1, 10**30),
    digits=st.integers(5, 120),
)
def test_the_bounds_on_exp_hold_it_and_are_tight(numerator, denominator, digits):
    x = Fraction(numerator, denominator)
    low, high = _exp_bounds(x, digits)
    with mpmath.workdps(digits + 60):
        exact = mpmath.mpf(10) ** digits * mpmath.exp(-mpmath.mpf(numerator) / denominator)
        assert low <= exact <= high
    assert 0 <= high - low <= 3


def expansion(number: mpmath.mpf, length: int) -> int:
    """Return the first ``length`` bits of a number in [0, 1)."""
    return int(mpmath.floor(number * mpmath.mpf(2) ** length))


@given(
    x=st.fractions(Fraction(1, 10**6), 30, max_denominator=10**6),
    length=st.sampled_from([10, 64, 100, 500, 3000]),
)
@settings(max_examples=60)
def test_a_coin_is_decided_rightly_however_close_to_its_chance(x, length):
    with mpmath.workprec(length + 200):
        chance = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        border = expansion(chance, length)
    # border/2**length < exp(-x) < (border + 1)/2**length: exp of a rational is irrational.
    below = Digits(border, length, then=0)
    assert _flip(x, _Uniform(below))
    above = Digits(border + 1, length, then=0)
    assert border + 1 == 2**length or not _flip(x, _Uniform(above))
    assert max(below.asked, above.asked) <= 4 * max(length, 64)


@given(
    power=st.fractions(Fraction(1, 1000), 20, max_denominator=1000),
    sizes=st.tuples(st.integers(1, 2**70), st.integers(1, 2**70), st.integers(1, 2**70)),
    border=st.sampled_from([1, 2]),
    length=st.sampled_from([64, 200, 1500]),
)
@settings(max_examples=60)
def test_a_bucket_is_decided_rightly_however_close_to_its_border(power, sizes, border, length):
    powers = [Fraction(0), power, 3 * power]
    with mpmath.workprec(length + 500):
        weights = [
            size * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            for size, x in zip(sizes, powers, strict=True)
        ]
        share = mpmath.fsum(weights[:border]) / mpmath.fsum(weights)
        digits = expansion(share, length)
        shares = [mpmath.fsum(weights[:i]) / mpmath.fsum(weights) for i in (1, 2)]

        def expected(number: int) -> int:
            return sum(mpmath.mpf(number) / mpmath.mpf(2) ** length >= s for s in shares)

        for number in (digits, digits + 1):
            if number < 2**length:
                source = Digits(number, length)
                assert _weighted(powers, sizes, source) == expected(number)
                assert source.asked <= 8 * max(length, 64)


@given(
    bounds=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), min_size=1, max_size=4),
    bits=st.integers(1, 12),
    data=st.data(),
)
@settings(max_examples=400)
def test_an_item_is_named_only_when_no_weights_within_bounds_say_otherwise(bounds, bits, data):
    lows = [low for low, _ in bounds]
    highs = [low + max(gap, 1) for low, gap in bounds]  # as from exp: never certain of zero
    source = Digits(data.draw(st.integers(0, 2**bits - 1)), bits)
    uniform = _Uniform(source)
    uniform.value, uniform.bits = source.number, bits
    found = _interval_holding(uniform, lows, highs)
    if found is None:
        return
    ends = (Fraction(uniform.value, 2**bits), Fraction(uniform.value + 1, 2**bits))
    for weights in itertools.product(*zip(lows, highs, strict=True)):
        if sum(weights):
            total = sum(weights)
            assert Fraction(sum(weights[:found]), total) <= ends[0]
            assert ends[1] <= Fraction(sum(weights[: found + 1]), total)


def test_a_bit_source_stuck_at_a_border_asks_for_more_and_ends():
    with mpmath.workprec(10_000):
        border = expansion(1 / (1 + mpmath.exp(-mpmath.mpf(1) / 2)), 5000)
    source = Digits(border, 5000, then=0)
    assert _weighted([Fraction(0), Fraction(1, 2)], [1, 1], source) == 0
    assert 5000 < source.asked <= 20_000
    source = Digits(border, 5000, then=1)
    assert _weighted([Fraction(0), Fraction(1, 2)], [1, 1], source) == 1


def test_the_precision_of_the_callers_thread_changes_nothing():
    with decimal.localcontext(prec=1, rounding=decimal.ROUND_CEILING):
        low, high = _exp_bounds(Fraction(1, 3), 60)
    assert (low, high) == _exp_bounds(Fraction(1, 3), 60)


def test_coins_too_close_for_floating_point_are_decided_by_more_bits():
    # One candidate at distance 1. Its coin's first 64 bits equal those of its chance exactly, so
    # only later bits decide: zeros show heads, ones show tails.
    epsilon = 1.0
    with mpmath.workprec(1000):
        word = expansion(mpmath.exp(mpmath.mpf(-1) / 2), 64)
    # The coin of the best candidate, that of the other, 64 more bits; and which of two heads.
    heads = ScriptedNoise(bits=[(5 << 64) | word, 0, 1])
    assert permute_and_flip([1, 0], epsilon, noise=heads) == 1
    heads.finish()
    tails = ScriptedNoise(bits=[(5 << 64) | word, 2**64 - 1])
    assert permute_and_flip([1, 0], epsilon, noise=tails) == 0
    tails.finish()


# ---- extremes -------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", [select, permute_and_flip])
class TestBoth:
    def test_one_candidate_is_chosen(self, choose):
        assert choose([-(2**63)], 1.0, noise=SecureNoise()) == 0

    def test_a_huge_gap_leaves_no_doubt(self, choose):
        for epsilon in (1.0, 1e3, 1.7e308):
            assert choose([-(2**63), 2**63 - 1, 0], epsilon, noise=SecureNoise()) == 1

    def test_unsigned_scores_work(self, choose):
        scores = np.array([0, 2**64 - 1], dtype=np.uint64)
        assert choose(scores, 1.0, noise=SecureNoise()) == 1

    def test_small_integer_types_do_not_overflow(self, choose):
        scores = np.array([-128, 127], dtype=np.int8)
        assert choose(scores, 5.0, noise=SecureNoise()) == 1

    @pytest.mark.parametrize("epsilon", [TINY, 1e-6, 0.1, 1e3])
    def test_a_million_distinct_scores_take_few_decisions(self, choose, epsilon):
        noise = Counting(0)
        choose(np.random.default_rng(0).permutation(10**6), epsilon, noise=noise)
        assert noise.calls < 100

    def test_a_million_ties_take_few_decisions(self, choose):
        noise = Counting(0)
        assert 0 <= choose(np.zeros(10**6, dtype=np.int64), 1.0, noise=noise) < 10**6
        assert noise.calls < 100

    @given(epsilon=st.one_of(st.floats(max_value=0), st.sampled_from([math.nan, math.inf, "1"])))
    def test_bad_epsilons_are_refused(self, choose, epsilon):
        with pytest.raises(InvalidArgument, match="epsilon"):
            choose([1, 2], epsilon, noise=SeededNoise(0))

    @pytest.mark.parametrize(
        "scores", [[], [[1, 2]], 5, [1.5, 2.5], ["987654321"], [True], [None], [2**70]]
    )
    def test_bad_scores_are_refused_without_showing_them(self, choose, scores):
        with pytest.raises(InvalidArgument, match="`scores` must be") as caught:
            choose(scores, 1.0, noise=SeededNoise(0))
        assert "987654321" not in str(caught.value)


@given(
    scores=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8),
    epsilon=st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    seed=st.integers(0, 2**32),
)
def test_any_scores_and_any_epsilon_give_a_candidate(scores, epsilon, seed):
    noise = SeededNoise(seed)
    assert 0 <= select(scores, epsilon, noise=noise) < len(scores)
    assert 0 <= permute_and_flip(scores, epsilon, noise=noise) < len(scores)
    levels = sorted(set(scores))
    assert select_level(levels, [1] * len(levels), epsilon, noise=noise) in levels


def test_equal_scores_need_only_a_uniform_choice():
    noise = ScriptedNoise(bits=[2])
    assert select([4, 4, 4, 4], 1.0, noise=noise) == 2
    noise.finish()


@pytest.mark.parametrize(
    ("levels", "counts", "rule"),
    [
        ([1, 2], [1], "same length"),
        ([], [], "nothing to select"),
        ([1, 2], [0, 0], "nothing to select"),
        ([1, 1], [1, 2], "distinct"),
        ([1, 2], [1, -1], "zero or more"),
        ([1.0, 2], [1, 1], "`levels` must be whole"),
        ([1, 2], [1, 1.5], "`counts` must be whole"),
        ([1, 2], [1, True], "`counts` must be whole"),
    ],
)
def test_bad_levels_are_refused(levels, counts, rule):
    with pytest.raises(InvalidArgument, match=rule):
        select_level(levels, counts, 1.0, noise=SeededNoise(0))


@pytest.mark.parametrize("n", [0, -3, 1.0, None])
def test_a_uniform_choice_needs_something_to_choose_from(n):
    with pytest.raises(InvalidArgument):
        uniform_below(n, noise=SeededNoise(0))
