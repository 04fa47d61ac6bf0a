"""Random subsets, resamples and coins that a guarantee rests on: exact, from a noise source.

Which records were drawn is as secret as noise: it is never saved, logged, returned or billed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.noise import NoiseSource

IndexArray = NDArray[np.intp]


def random_subset(n: int, size: int, *, noise: NoiseSource) -> IndexArray:
    """Return ``size`` of the positions 0 .. n - 1, uniformly without replacement, shuffled.

    Every position gets a random word, and the positions with the smallest words are taken in
    their order. Words that are not all different are drawn again, which leaves every order
    equally likely.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> sorted(random_subset(3, 3, noise=SecureNoise()).tolist())
    [0, 1, 2]
    """
    n = validation.positive_integer(n=n)
    size = validation.integer(0, size=size)
    if size > n:
        raise InvalidArgument(f"`size` must be at most {n}, got {size}.")
    while True:
        words = _words(n, noise)
        order: IndexArray = np.argsort(words)
        ranked = words[order]
        if (ranked[1:] != ranked[:-1]).all():
            return order[:size]


def resample(n: int, draws: int, *, noise: NoiseSource) -> IndexArray:
    """Return ``draws`` independent uniform positions from 0 .. n - 1.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> set(resample(1, 5, noise=SecureNoise()).tolist())
    {0}
    """
    n = validation.positive_integer(n=n)
    draws = validation.integer(0, draws=draws)
    limit = 2**64 - 2**64 % n  # words from here on would favour small positions
    accepted = np.empty(0, dtype=np.uint64)
    while len(accepted) < draws:
        words = _words(draws - len(accepted), noise)
        accepted = np.concatenate([accepted, words[words <= np.uint64(limit - 1)]])
    return (accepted % np.uint64(n)).astype(np.intp)


def coin(probability: float, *, noise: NoiseSource) -> bool:
    """Return True with exactly this probability, the value of the double that it is.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> coin(0.0, noise=SecureNoise())
    False
    """
    exact = Fraction(validation.fraction(probability=probability))
    # A double's denominator is a power of two.
    return noise.bits(exact.denominator.bit_length() - 1) < exact.numerator


def _words(count: int, noise: NoiseSource) -> NDArray[np.uint64]:
    drawn = noise.bits(64 * count).to_bytes(8 * count)
    return np.frombuffer(drawn, dtype=">u8").astype(np.uint64)
