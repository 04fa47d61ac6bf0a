"""Random subsets, resamples and coins: exact laws.

Statistical tests use fixed seeds and reject a correct sampler with probability ``FALSE_ALARM``.
"""

from __future__ import annotations

import itertools

import pytest
from tests.support.fit import FALSE_ALARM, chi_square_p

from tacit.audit import ScriptedNoise, SeededNoise
from tacit.errors import InvalidArgument
from tacit.mechanisms.exact.sampling import coin, random_subset, resample
from tacit.noise import SecureNoise


def words(*values: int) -> int:
    """Return 64-bit words as one number."""
    return int.from_bytes(b"".join(value.to_bytes(8) for value in values))


def test_positions_come_in_the_order_of_their_words():
    noise = ScriptedNoise(bits=[words(7, 1, 5)])
    assert random_subset(3, 2, noise=noise).tolist() == [1, 2]
    noise.finish()


def test_equal_words_are_drawn_again():
    noise = ScriptedNoise(bits=[words(7, 7, 5), words(9, 8, 2**64 - 1)])
    assert random_subset(3, 3, noise=noise).tolist() == [1, 0, 2]
    noise.finish()


def test_words_past_the_last_multiple_are_drawn_again():
    # 2**64 = 3 k + 1: the last word would favour position 0.
    noise = ScriptedNoise(bits=[words(4, 2**64 - 1), words(2)])
    assert resample(3, 2, noise=noise).tolist() == [1, 2]
    noise.finish()


@pytest.mark.statistical
def test_ordered_subsets_are_uniform():
    noise = SeededNoise(1)
    seen = [tuple(random_subset(4, 2, noise=noise).tolist()) for _ in range(12_000)]
    every = list(itertools.permutations(range(4), 2))
    assert chi_square_p(seen, dict.fromkeys(every, 1 / len(every))) > FALSE_ALARM


@pytest.mark.statistical
def test_resampled_positions_are_uniform():
    drawn = resample(5, 20_000, noise=SeededNoise(2)).tolist()
    assert chi_square_p(drawn, dict.fromkeys(range(5), 0.2)) > FALSE_ALARM


def test_a_coin_shows_heads_below_its_exact_probability():
    # 0.375 = 3/8: heads for 0, 1, 2 of three bits.
    shown = [coin(0.375, noise=ScriptedNoise(bits=[value])) for value in range(8)]
    assert shown == [True] * 3 + [False] * 5
    assert not coin(0.0, noise=SecureNoise())
    tiny = ScriptedNoise(bits=[0])
    assert coin(2.0**-1074, noise=tiny)
    assert tiny.requests[0].size == 1074


def test_a_subset_is_no_larger_than_the_whole():
    with pytest.raises(InvalidArgument, match="`size` must be at most 3, got 4"):
        random_subset(3, 4, noise=SecureNoise())
    assert random_subset(3, 0, noise=SecureNoise()).tolist() == []
