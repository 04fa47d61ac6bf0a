"""Rectangles in the plane: exact counts, and memory that private labels do not decide."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from tacit.hypotheses import Rectangles, plane_rectangles
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import as_labels, as_points

PLANE = Rectangles(n_features=2)


def hostile_labels(n: int) -> dict[str, np.ndarray]:
    """Return labels that differ in the spread of their balances, from small to all of n."""
    return {
        "alternating": np.arange(n) % 2,
        "ones": np.ones(n, dtype=int),
        "zeros": np.zeros(n, dtype=int),
        "halves": (np.arange(n) < n // 2).astype(int),
    }


@pytest.mark.parametrize("pairs", [0, 10**9], ids=["by correlation", "by pairs"])
@pytest.mark.parametrize("ties", [3, 50], ids=["many ties", "few ties"])
def test_levels_and_members_are_those_of_a_list(monkeypatch, pairs, ties):
    monkeypatch.setattr(plane_rectangles, "_PAIRS", pairs)
    monkeypatch.setattr(plane_rectangles, "_CHUNK", 40)
    rng = np.random.default_rng(5)
    for _ in range(15):
        cover = as_points(rng.integers(0, ties, (rng.integers(1, 9), 2)), 2)
        points = as_points(rng.integers(-1, ties + 1, (rng.integers(1, 30), 2)), 2)
        y = as_labels(rng.integers(0, 2, len(points)), len(points))
        by_level = PLANE.mistake_counts(cover, points, y)
        listed = HypothesisClass.mistake_counts(PLANE, cover, points, y)
        assert by_level.levels() == listed.levels()
        for mistakes, size in zip(*by_level.levels(), strict=True):
            members = {tuple(by_level.member(mistakes, rank)) for rank in range(size)}
            assert members == {tuple(listed.member(mistakes, rank)) for rank in range(size)}


def test_the_way_to_count_follows_from_public_sizes():
    assert isinstance(plane_rectangles._counter(500, 500), plane_rectangles._Correlation)
    assert isinstance(plane_rectangles._counter(100, 100_000), plane_rectangles._Pairs)


@pytest.mark.parametrize("pairs", [0, 16], ids=["by correlation", "by default"])
def test_peak_memory_does_not_depend_on_labels(monkeypatch, pairs):
    """The labels used to decide the shape of a table: 3,000 equal ones took 144 MB."""
    monkeypatch.setattr(plane_rectangles, "_PAIRS", pairs, raising=False)
    rng = np.random.default_rng(0)
    cover, points = rng.random((12, 2)), rng.random((3_000, 2))
    peaks = {}
    for name, labels in hostile_labels(3_000).items():
        tracemalloc.start()
        counts = PLANE.mistake_counts(cover, points, labels)
        levels, _ = counts.levels()
        counts.member(levels[0], 0)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert max(peaks.values()) < 32e6
    assert max(peaks.values()) < 1.2 * min(peaks.values())


LIMITED = """
import resource
import numpy as np
from tacit.hypotheses import PublicCover, Rectangles
from tacit.mechanisms.learning import PartlyLabelled, SelectionLearning
from tacit.noise import SecureNoise

rng = np.random.default_rng(0)
n = 100_000
learner = SelectionLearning(PublicCover(Rectangles(2), rng.random((20, 2))), 1.0, labelled=n)
noise = SecureNoise()
noise.laplace(1.0, 1)  # the library is loaded before memory is limited
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**30, in_use + 2**30))
for labels in (np.ones(n), np.zeros(n), np.arange(n) % 2, np.arange(n) < n // 2):
    records = PartlyLabelled.read(2, rng.random((n, 2)), labels)
    print(len(learner.release(records, noise=noise).values))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_learner_over_rectangles_succeeds_in_bounded_memory_whatever_the_labels():
    """It used to fail, with the number of equal labels in the message."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["4"] * 4
