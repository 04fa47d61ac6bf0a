"""Noise for tests: predictable on purpose, and marked insecure.

Nothing drawn here protects anyone. ``SeededNoise`` gives the laws of ``SecureNoise`` reproducibly
and fast; ``ScriptedNoise`` gives values chosen by the test. Both answer ``secure`` with False, so
that releases made with them can be recognised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.errors import InvalidArgument, NoiseError
from tacit.noise import IntArray, Uncopyable, checked_scale

__all__ = ["NoiseRequest", "ScriptedNoise", "SeededNoise"]

_LARGEST_TABLE_SIGMA = 2.0**16
_TABLE_REACH = 11  # in sigmas: the mass beyond is below 1e-26


class SeededNoise(Uncopyable):
    """The laws of ``SecureNoise`` from a seed: fast, reproducible, no protection.

    Values come from inverting the law's distribution function in double precision: each chance is
    right to about 1e-15, which no test can tell from exact. Past ``sigma = 2**16`` a Gaussian is a
    rounded continuous draw, right to a part in 1e9, and past 2**40 so is a Laplace. One call of
    size n gives the same values as n calls of size one.

    Parameters
    ----------
    seed : int
        Equal seeds give equal noise.

    Examples
    --------
    >>> SeededNoise(0).gaussian(2.5, size=4).tolist() == SeededNoise(0).gaussian(2.5, 4).tolist()
    True
    >>> SeededNoise(0).secure
    False
    """

    __slots__ = ("_rng", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = validation.integer(0, seed=seed)
        self._rng = np.random.default_rng(self.seed)

    @property
    def secure(self) -> bool:
        """Always false."""
        return False

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Return integers of the discrete Gaussian law."""
        sigma = checked_scale(sigma=sigma)
        size = validation.integer(0, size=size)
        if sigma > _LARGEST_TABLE_SIGMA:
            return np.rint(sigma * self._rng.standard_normal(size)).astype(np.int64)
        sign, tail = self._signs_and_tails(size)
        # abs(x) is the number of k whose P(abs(X) > k) is above the uniform draw.
        magnitude: IntArray = np.searchsorted(_negated_gaussian_tails(sigma), -tail, side="left")
        signed: IntArray = sign * magnitude
        return signed

    def laplace(self, scale: float, size: int) -> IntArray:
        """Return integers of the discrete Laplace law."""
        scale = checked_scale(scale=scale)
        sign, tail = self._signs_and_tails(validation.integer(0, size=size))
        # P(abs(X) > k) = 2 q**(k + 1) / (1 + q) with q = exp(-1 / scale): count the k it exceeds.
        offset = math.log(2) - math.log1p(math.exp(-1 / scale))
        with np.errstate(divide="ignore"):
            steps = np.ceil(scale * (offset - np.log(tail))) - 1
        signed: IntArray = (sign * np.clip(steps, 0, 2.0**62)).astype(np.int64)
        return signed

    def bits(self, n: int) -> int:
        """Return ``n`` seeded bits as an integer."""
        n = validation.integer(0, n=n)
        return int.from_bytes(self._rng.bytes((n + 7) // 8)) >> (-n % 8)

    def __repr__(self) -> str:
        return f"SeededNoise({self.seed})"

    def _signs_and_tails(self, size: int) -> tuple[IntArray, NDArray[np.float64]]:
        """Return fair signs and uniforms on [0, 1), fine near 0; two doubles per value."""
        coarse, fine = self._rng.random((size, 2)).T
        doubled = 2 * coarse
        upper = doubled >= 1
        return np.where(upper, 1, -1), (doubled - upper) + fine * 2.0**-52


@lru_cache(maxsize=32)
def _negated_gaussian_tails(sigma: float) -> NDArray[np.float64]:
    """Return -P(abs(X) > k) for k = 0, 1, ...: increasing, as a search wants it."""
    magnitudes = np.arange(math.ceil(_TABLE_REACH * sigma) + 2, dtype=np.float64)
    weights = np.exp(-0.5 * (magnitudes / sigma) ** 2)
    weights[1:] *= 2
    # Summed from the far end, so that small tails keep their relative accuracy.
    sums = np.cumsum(weights[::-1])[::-1]
    return np.append(-sums[1:] / sums[0], 0.0)


class NoiseRequest(NamedTuple):
    """One request made of a scripted source; ``scale`` is None for bits."""

    kind: str
    scale: float | None
    size: int


class ScriptedNoise(Uncopyable):
    """Noise written down by the test, handed out in order.

    Parameters
    ----------
    gaussian, laplace : iterable of int
        The values of each law; a request of size n takes the next n.
    bits : iterable of int
        The results of the calls of ``bits``, one per call.

    Attributes
    ----------
    requests : list of NoiseRequest
        Every request so far: kind, scale and size.

    Examples
    --------
    >>> noise = ScriptedNoise(gaussian=[1, -2])
    >>> noise.gaussian(3.0, size=2)
    array([ 1, -2])
    >>> noise.requests
    [NoiseRequest(kind='gaussian', scale=3.0, size=2)]
    >>> noise.finish()
    """

    __slots__ = ("_left", "requests")

    def __init__(
        self,
        gaussian: Iterable[int] = (),
        laplace: Iterable[int] = (),
        bits: Iterable[int] = (),
    ) -> None:
        self._left = {"gaussian": list(gaussian), "laplace": list(laplace), "bits": list(bits)}
        self.requests: list[NoiseRequest] = []

    @property
    def secure(self) -> bool:
        """Always false."""
        return False

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Return the next values of the Gaussian script."""
        return self._draw("gaussian", checked_scale(sigma=sigma), size)

    def laplace(self, scale: float, size: int) -> IntArray:
        """Return the next values of the Laplace script."""
        return self._draw("laplace", checked_scale(scale=scale), size)

    def bits(self, n: int) -> int:
        """Return the next entry of the bit script, which must fit ``n`` bits."""
        n = validation.integer(0, n=n)
        self.requests.append(NoiseRequest("bits", None, n))
        (value,) = self._take("bits", 1)
        if not 0 <= value < 2**n:
            raise InvalidArgument(f"The scripted bits {value} do not fit {n} bits.")
        return value

    def finish(self) -> None:
        """Raise if some of the script was not used."""
        unused = [f"{len(left)} of {kind}" for kind, left in self._left.items() if left]
        if unused:
            raise NoiseError(f"The script was not used up: {', '.join(unused)} left.")

    def __repr__(self) -> str:
        left = ", ".join(f"{kind}: {len(values)} left" for kind, values in self._left.items())
        return f"ScriptedNoise({left})"

    def _draw(self, kind: str, scale: float, size: int) -> IntArray:
        size = validation.integer(0, size=size)
        self.requests.append(NoiseRequest(kind, scale, size))
        return np.array(self._take(kind, size), dtype=np.int64)

    def _take(self, kind: str, size: int) -> list[int]:
        left = self._left[kind]
        if size > len(left):
            raise NoiseError(
                f"The {kind} script ran out: {size} asked for, {len(left)} left. "
                "Write more values into the script, or ask for fewer."
            )
        values, self._left[kind] = left[:size], left[size:]
        return values
