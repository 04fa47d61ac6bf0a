"""Counts of differences against listing all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.hypotheses.differences import (
    count_differences,
    exact_convolution,
    pair_with_difference,
)


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200, 700])
def test_counts_equal_those_of_all_pairs_listed(n):
    rng = np.random.default_rng(n)
    first = rng.integers(-2, 3, size=n).cumsum()
    last = first + rng.integers(-1, 2, size=n)
    i, j = np.triu_indices(n)
    listed = last[j] - first[i]
    lowest, counts = count_differences(first, last)
    assert (np.bincount(listed - lowest, minlength=len(counts)) == counts).all()
    for difference in np.unique(listed)[:: max(1, n // 40)]:
        pairs = set(zip(i[listed == difference], j[listed == difference], strict=True))
        ranks = range(len(pairs)) if n < 70 else (0, len(pairs) // 2, len(pairs) - 1)
        found = [pair_with_difference(first, last, int(difference), rank) for rank in ranks]
        assert len(set(found)) == len(found) and set(found) <= pairs
        assert n >= 70 or len(found) == len(pairs)


@pytest.mark.parametrize("largest", [1, 10**3, 10**7])
def test_convolution_of_long_rows_is_exact(largest):
    rng = np.random.default_rng(largest)
    a, b = rng.integers(largest + 1, size=(2, 700))
    exact = [sum(int(a[k]) * int(b[n - k]) for k in range(n + 1)) for n in (0, 350, 699)]
    found = exact_convolution(a, b)
    assert [int(found[n]) for n in (0, 350, 699)] == exact
    assert (found == np.convolve(a, b)).all()
