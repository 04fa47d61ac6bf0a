"""Predictable noise: the same laws, the same refusals, and never taken for secure.

Distribution tests draw 200,000 values and reject a correct sampler with probability 1e-6. The seed
is fixed, so they give the same verdict on every run.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fit import FALSE_ALARM, chi_square_p, two_sample_p

from tacit.audit import ScriptedNoise, SeededNoise
from tacit.audit.noise import NoiseRequest
from tacit.errors import InvalidArgument, NoiseError
from tacit.noise import NoiseSource

SCALES = (0.3, 1.0, 2.5, 20.0, 300.0)
N_DRAWS = 200_000


def law(kind: str, scale: float) -> dict[int, float]:
    reach = math.ceil(50 * scale) + 5
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-((x / scale) ** 2) / 2 if kind == "gaussian" else -np.abs(x) / scale)
    return dict(zip(x.tolist(), (weights / math.fsum(weights)).tolist(), strict=True))


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_seeded_noise_follows_the_law(kind, scale):
    sample = getattr(SeededNoise(1), kind)(scale, N_DRAWS)
    assert sample.dtype == np.int64
    assert chi_square_p(sample.tolist(), law(kind, scale)) > FALSE_ALARM


@pytest.mark.statistical
def test_the_rounded_law_at_large_sigmas_continues_the_table():
    # Just below and just above the switch, and in the same units.
    below = SeededNoise(2).gaussian(2.0**16, N_DRAWS)
    above = SeededNoise(3).gaussian(2.0**16 * (1 + 1e-12), N_DRAWS)
    assert two_sample_p(below, above) > FALSE_ALARM


@pytest.mark.statistical
def test_seeded_bits_are_uniform():
    source = SeededNoise(4)
    sample = [source.bits(3) for _ in range(20_000)]
    assert chi_square_p(sample, dict.fromkeys(range(8), 1 / 8)) > FALSE_ALARM


def test_far_tails_are_reached():
    # P(abs(X) > 4.5 sigma) is 7e-6: some 14 of two million.
    assert np.abs(SeededNoise(5).gaussian(10.0, 2_000_000)).max() > 45


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [2.0**-20, 3.0, 2.0**20, 2.0**50])
def test_equal_seeds_give_equal_noise_however_it_is_asked_for(kind, scale):
    whole = getattr(SeededNoise(7), kind)(scale, 50)
    source = SeededNoise(7)
    parts = np.concatenate([getattr(source, kind)(scale, size) for size in (1, 0, 9, 40)])
    assert np.array_equal(whole, parts)
    assert scale < 1 or not np.array_equal(whole, getattr(SeededNoise(8), kind)(scale, 50))


@pytest.mark.parametrize("source", [SeededNoise(0), ScriptedNoise()])
def test_test_noise_is_an_insecure_noise_source(source):
    assert isinstance(source, NoiseSource)
    assert source.secure is False
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NoiseError):
            duplicate(source)


@given(
    scale=st.one_of(
        st.floats(max_value=0.0),
        st.floats(min_value=2.0**50, exclude_min=True),
        st.sampled_from([math.nan, math.inf, None, "1", True]),
    ),
    kind=st.sampled_from(["gaussian", "laplace"]),
)
def test_test_noise_refuses_what_secure_noise_refuses(scale, kind):
    for source in (SeededNoise(0), ScriptedNoise([1], [1])):
        with pytest.raises(InvalidArgument):
            getattr(source, kind)(scale, 1)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "0", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InvalidArgument):
        SeededNoise(seed)


def test_scripts_are_followed_and_requests_recorded():
    source = ScriptedNoise(gaussian=[5, -1, 2], laplace=[7], bits=[3, 0])
    assert source.gaussian(2.0, 2).tolist() == [5, -1]
    assert source.laplace(4.0, 1).tolist() == [7]
    assert source.bits(2) == 3
    assert source.gaussian(3.0, 1).tolist() == [2]
    assert source.bits(1) == 0
    source.finish()
    assert source.requests == [
        NoiseRequest("gaussian", 2.0, 2),
        NoiseRequest("laplace", 4.0, 1),
        NoiseRequest("bits", None, 2),
        NoiseRequest("gaussian", 3.0, 1),
        NoiseRequest("bits", None, 1),
    ]


def test_a_script_that_runs_out_says_so():
    source = ScriptedNoise(gaussian=[1])
    with pytest.raises(NoiseError, match="gaussian script ran out: 2 asked for, 1 left"):
        source.gaussian(1.0, 2)
    with pytest.raises(NoiseError, match="bits script ran out"):
        source.bits(1)


def test_a_script_left_unused_says_so():
    source = ScriptedNoise(gaussian=[1], laplace=[2, 3])
    source.gaussian(1.0, 1)
    with pytest.raises(NoiseError, match="2 of laplace left"):
        source.finish()


def test_scripted_bits_must_fit():
    with pytest.raises(InvalidArgument, match="do not fit"):
        ScriptedNoise(bits=[4]).bits(2)
