"""How often does each difference ``last[j] - first[i]``, ``i <= j``, occur? Exactly, unlisted.

The pairs of a sequence are those inside its halves and those across. Across, every i meets every
j, so the counts are the correlation of two histograms, which are short because sequences of
balances move slowly: n log n in all per depth of the halving, and log n depths.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from tacit.hypotheses.points import IntArray

_DIRECT = 64
_SMALL = 1 << 16


def count_differences(first: IntArray, last: IntArray) -> tuple[int, IntArray]:
    """Return the smallest difference possible, and how often it and each larger one occurs.

    Parameters
    ----------
    first, last : arrays of int, of the same length
        The pairs are all ``(i, j)`` with ``i <= j``.

    Examples
    --------
    >>> lowest, counts = count_differences(np.array([0, 1, 0]), np.array([1, 0, 1]))
    >>> {lowest + k: int(count) for k, count in enumerate(counts) if count}
    {-1: 1, 0: 2, 1: 3}
    """
    if not len(first):
        return 0, np.zeros(1, dtype=np.int64)
    lowest = int(last.min() - first.max())
    counts = np.zeros(int(last.max() - first.min()) - lowest + 1, dtype=np.int64)
    _count_near(first, last, lowest, counts)
    size = _DIRECT
    while size < len(first):
        for middle in range(size, len(first), 2 * size):
            _count_across(
                first[middle - size : middle], last[middle : middle + size], lowest, counts
            )
        size *= 2
    return lowest, counts


def pair_with_difference(
    first: IntArray, last: IntArray, difference: int, rank: int
) -> tuple[int, int]:
    """Return the pair ``(i, j)`` of the given rank among those with the given difference."""
    n = len(first)
    index = np.arange(n)
    smallest = min(int(first.min()), int(last.min()) - difference)
    keys = np.sort((first - smallest) * n + index)
    searched = (last - difference - smallest) * n
    start = np.searchsorted(keys, searched, side="left")
    matches = np.searchsorted(keys, searched + index, side="right") - start
    upto = np.cumsum(matches)
    j = int(np.searchsorted(upto, rank, side="right"))
    position = start[j] + rank - (upto[j] - matches[j])
    return int(keys[position] % n), j


def _count_near(first: IntArray, last: IntArray, lowest: int, counts: IntArray) -> None:
    """Count the pairs inside blocks of fixed length, all blocks at once."""
    place = np.arange(len(first)) % _DIRECT
    for step in range(min(_DIRECT, len(first))):
        inside = place[: len(first) - step] + step < _DIRECT
        differences = (last[step:] - first[: len(first) - step])[inside] - lowest
        counts += np.bincount(differences, minlength=len(counts))


def _count_across(left: IntArray, right: IntArray, lowest: int, counts: IntArray) -> None:
    """Count all pairs of an entry on the left and one on the right."""
    most = left.max()
    least = int(right.min() - most)
    if len(left) * len(right) <= _SMALL // 4:
        both = np.bincount((right[None, :] - left[:, None]).ravel() - least)
    else:
        starts = np.bincount(most - left)  # turned round: a sum of exponents is a difference
        both = exact_convolution(starts, np.bincount(right - right.min()))
    counts[least - lowest : least - lowest + len(both)] += both


def exact_convolution(a: IntArray, b: IntArray) -> IntArray:
    """Return the convolution of two rows of whole numbers, zero or more, exactly.

    By fast Fourier transform when rows are long. Its error is at most about
    ``|a| |b| log2(n) 2**-49`` in every entry (three transforms, each off by a few units of
    ``log2(n) 2**-53``); where that could reach a quarter, the row with the
    larger entries is split into high and low parts.

    Examples
    --------
    >>> exact_convolution(np.array([1, 2]), np.array([3, 4, 5]))
    array([ 3, 10, 13, 10])
    """
    if len(a) * len(b) <= _SMALL:
        return np.convolve(a, b).astype(np.int64)
    n = len(a) + len(b) - 1
    error = np.linalg.norm(a) * np.linalg.norm(b) * np.log2(2 * n) * 2.0**-49
    if error >= 0.25:
        a, b = (a, b) if a.max() >= b.max() else (b, a)
        cut = (int(a.max()).bit_length() + 1) // 2
        high = exact_convolution(a >> cut, b)
        return (high << cut) + exact_convolution(a & ((1 << cut) - 1), b)
    size = scipy.fft.next_fast_len(n, real=True)
    product = scipy.fft.rfft(a.astype(float), size) * scipy.fft.rfft(b.astype(float), size)
    convolution: IntArray = np.rint(scipy.fft.irfft(product, size)[:n]).astype(np.int64)
    return convolution
