"""Noise: the laws, draws on demand, and everything that must not happen to a source.

Distribution tests are Pearson tests on 20,000 draws; each rejects a correct sampler with
probability 1e-9, or a little more where cells are small (``FALSE_ALARM``). There are 19 of them
here: the run is a false alarm with probability below 1e-6. Tests that need distinct values use
sigma = 2**50, where two of the at most 8,000 values drawn agree by chance with probability below
1e-8.
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fit import FALSE_ALARM, chi_square_p, two_sample_p

import tacit.noise as noise_module
from tacit.errors import InvalidArgument, NoiseError
from tacit.noise import LARGEST_SCALE, SMALLEST_SCALE, NoiseSource, SecureNoise

SCALES = (0.3, 1.0, 2.5, 20.0)
N_DRAWS = 20_000
WIDE = 2.0**50


def law(kind: str, scale: float) -> dict[int, float]:
    """Return the chances of all integers that could matter, computed from the definition."""
    reach = math.ceil(50 * scale) + 5
    weights = {
        x: math.exp(-(x**2) / (2 * scale**2) if kind == "gaussian" else -abs(x) / scale)
        for x in range(-reach, reach + 1)
    }
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def draw(source: NoiseSource, kind: str, scale: float, size: int) -> np.ndarray:
    return getattr(source, kind)(scale, size)


# ---- laws -----------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_vector_requests_follow_the_law(kind, scale):
    sample = draw(SecureNoise(), kind, scale, N_DRAWS)
    assert sample.dtype == np.int64
    assert chi_square_p(sample.tolist(), law(kind, scale)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_values_of_small_requests_follow_the_law(kind, scale):
    source = SecureNoise()
    sample: list[int] = []
    while len(sample) < N_DRAWS:
        for size in (1, 1, 2, 3, 10, 1, 40):
            sample.extend(draw(source, kind, scale, size).tolist())
    assert chi_square_p(sample, law(kind, scale)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_single_values_and_vectors_have_the_same_law_at_a_wide_scale(kind):
    source = SecureNoise()
    singles = np.concatenate([draw(source, kind, 1e6, 1) for _ in range(5_000)])
    assert two_sample_p(singles, draw(source, kind, 1e6, 5_000)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("lag", [1, 2, 16, 1024])
def test_successive_single_draws_are_uncorrelated(lag):
    source = SecureNoise()
    x = np.concatenate([source.gaussian(20.0, 1) for _ in range(N_DRAWS)]) / 20.0
    # A mean of products of independent standard normals: six standard errors, chance 2e-9.
    assert abs(np.mean(x[:-lag] * x[lag:])) < 6 / math.sqrt(N_DRAWS - lag)


@pytest.mark.statistical
def test_bits_are_uniform():
    source = SecureNoise()
    nibbles = [source.bits(4) for _ in range(N_DRAWS)]
    assert chi_square_p(nibbles, dict.fromkeys(range(16), 1 / 16)) > FALSE_ALARM
    # 11 bits do not fill whole bytes: the spare ones must be cut off, not kept.
    words = [source.bits(11) for _ in range(N_DRAWS)]
    ones = [sum(word >> place & 1 for word in words) for place in range(12)]
    assert ones[11] == 0
    # Six standard errors, chance 2e-9 for each place.
    assert all(abs(count - N_DRAWS / 2) < 3 * math.sqrt(N_DRAWS) for count in ones[:11])


def test_no_bits_are_zero():
    assert SecureNoise().bits(0) == 0


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [SMALLEST_SCALE, 1e-3, 1e12, LARGEST_SCALE])
def test_the_whole_supported_range_works_without_saturating(kind, scale):
    sample = draw(SecureNoise(), kind, scale, 200)
    limits = np.iinfo(np.int64)
    assert limits.min < sample.min() and sample.max() < limits.max
    assert np.abs(sample).max() <= 100 * scale
    if scale < 0.01:
        assert not sample.any()


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1023, 1024, 1025])
def test_as_many_values_as_asked(size):
    assert SecureNoise().laplace(3.0, size).shape == (size,)


# ---- draws on demand ------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """Replace OpenDP's sampler by 1, 2, 3, ... and return the list of sizes it is called with."""
    sizes: list[int] = []

    def sampler(kind, scale):
        def measure(zeros):
            start = sum(sizes) + 1
            sizes.append(len(zeros))
            return list(range(start, start + len(zeros)))

        return measure

    monkeypatch.setattr(noise_module, "_sampler", sampler)
    return sizes


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_request_is_one_call_for_exactly_its_values(counted, kind):
    """Values drawn ahead would be used again by every copy of the process's memory."""
    source = SecureNoise()
    requests = [1, 1, 3, 10, 1, 1000, 1023, 1024, 5000] + [1] * 50
    served = [draw(source, kind, 5.0, size).tolist() for size in requests]
    assert counted == requests
    assert [x for values in served for x in values] == list(range(1, sum(requests) + 1))


def test_a_request_for_no_values_draws_nothing(counted):
    assert len(SecureNoise().gaussian(5.0, 0)) == 0
    assert counted == []


def test_no_value_is_left_in_memory_for_a_later_release(monkeypatch):
    """What is there without the sampler would be released again by every resumed snapshot."""
    source = SecureNoise()
    for _ in range(20):
        source.gaussian(WIDE, 1)
    monkeypatch.setattr(noise_module, "_sampler", lambda *_: 1 / 0)
    with pytest.raises(NoiseError, match="nothing was released"):
        source.gaussian(WIDE, 1)


def test_a_source_has_no_state_and_starts_no_thread():
    threads = threading.active_count()
    source = SecureNoise()
    for _ in range(300):
        source.gaussian(WIDE, 15)
    assert not hasattr(source, "__dict__")
    assert SecureNoise.__slots__ == ("__weakref__",)
    assert threading.active_count() == threads


def test_an_interrupted_draw_repeats_nothing(monkeypatch):
    source = SecureNoise()
    before = source.gaussian(WIDE, 14).tolist()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(noise_module, "_sampler", interrupted)
        with pytest.raises(KeyboardInterrupt):
            source.gaussian(WIDE, 5)
    after = source.gaussian(WIDE, 40).tolist()
    assert len(set(before + after)) == 54
    assert 0 not in after


def test_real_draws_do_not_repeat():
    source = SecureNoise()
    values = [x for size in [1, 3, 20, 200] * 10 for x in source.gaussian(WIDE, size).tolist()]
    assert len(set(values)) == len(values)


def test_threads_share_a_source_without_sharing_values():
    source = SecureNoise()
    values: list[int] = []

    def work():
        values.extend([x for _ in range(400) for x in source.gaussian(WIDE, 3).tolist()])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 4_800
    assert len(set(values)) == len(values)


# ---- processes ------------------------------------------------------------------------------

FORK = """
import os, sys
from tacit.noise import SecureNoise
source = SecureNoise()
source.gaussian(2.0**50, 1)      # OpenDP's generator now has its state in memory
reader, writer = os.pipe()
if os.fork() == 0:
    drawn = [x for kind in ("gaussian", "laplace") for x in getattr(source, kind)(2.0**50, 12)]
    os.write(writer, " ".join(map(str, drawn + [source.bits(60)])).encode())
    os._exit(0)
drawn = [x for kind in ("gaussian", "laplace") for x in getattr(source, kind)(2.0**50, 12)]
os.wait()
print(" ".join(map(str, drawn + [source.bits(60)])))
print(os.read(reader, 10_000).decode())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_parent_and_child_draw_different_values():
    # In a process of its own: the one that runs the tests may have threads.
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=True
    )
    parent, child = (line.split() for line in done.stdout.strip().splitlines())
    assert len(parent) == len(child) == 25
    assert not set(parent) & set(child)


# ---- misuse and failure ---------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_sources_cannot_be_duplicated(duplicate):
    with pytest.raises(NoiseError, match="cannot be copied or pickled"):
        duplicate(SecureNoise())


def test_a_source_inside_something_else_cannot_be_duplicated_either():
    with pytest.raises(NoiseError):
        copy.deepcopy({"noise": SecureNoise()})


def test_nothing_drawn_is_shown():
    source = SecureNoise()
    source.gaussian(WIDE, 1)
    assert repr(source) == str(source) == "SecureNoise()"
    assert not hasattr(source, "__dict__")


def test_it_is_a_secure_noise_source():
    assert isinstance(SecureNoise(), NoiseSource)
    assert SecureNoise().secure
    with pytest.raises(AttributeError):
        SecureNoise().secure = False


def test_failing_opendp_is_an_error_and_not_a_fallback(monkeypatch):
    def broken(*args):
        raise ValueError("no entropy")

    monkeypatch.setattr(noise_module, "_sampler", broken)
    for size in (1, 5_000):
        with pytest.raises(NoiseError):
            SecureNoise().gaussian(1.0, size)


def test_missing_opendp_is_an_error_and_not_a_fallback(monkeypatch):
    noise_module._sampler.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(NoiseError, match="OpenDP"):
        SecureNoise().laplace(1.0, 1)


@pytest.mark.parametrize("failure", [OSError, NotImplementedError])
def test_an_operating_system_without_bits_is_an_error(monkeypatch, failure):
    def broken(size):
        raise failure

    monkeypatch.setattr(noise_module.os, "urandom", broken)
    with pytest.raises(NoiseError):
        SecureNoise().bits(8)


BAD_SCALES = st.one_of(
    st.floats(max_value=0.0),
    st.floats(min_value=LARGEST_SCALE, exclude_min=True),
    st.floats(min_value=0.0, max_value=SMALLEST_SCALE, exclude_max=True),
    st.sampled_from([math.nan, math.inf, -math.inf, "1", None, True, 1j, [1.0]]),
)


@given(scale=BAD_SCALES, kind=st.sampled_from(["gaussian", "laplace"]))
def test_bad_scales_are_refused(scale, kind):
    with pytest.raises(InvalidArgument):
        draw(SecureNoise(), kind, scale, 1)


@given(size=st.one_of(st.integers(max_value=-1), st.floats(), st.sampled_from([None, "3", True])))
def test_bad_sizes_are_refused(size):
    source = SecureNoise()
    for call in (lambda: source.gaussian(1.0, size), lambda: source.bits(size)):
        with pytest.raises(InvalidArgument):
            call()


def test_importing_the_module_does_not_load_opendp():
    script = "import sys, tacit.noise; print('opendp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
