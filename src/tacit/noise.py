"""The only place where privacy noise is drawn.

A guarantee holds for the noise law that its proof names, drawn from unpredictable bits. Both
are settled here: the laws are exact over the integers (no floating-point sample is ever rounded),
the bits come from the operating system, and nothing weaker stands in when either is missing.

Noise is drawn when it is needed, with one call of OpenDP for all values of a request, and nothing
is kept between requests: no value exists before the release that it belongs to. A call costs about
a tenth of a millisecond and ten microseconds a value, so ask for all values of a release at once.

References
----------
[CKS20] Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. arXiv:2004.00010.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.errors import InvalidArgument, NoiseError

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "NoiseSource", "SecureNoise", "Uncopyable"]

IntArray = NDArray[np.int64]

# Beyond this scale a value could in principle reach the end of int64, where the sampler would
# saturate. At it, the chance is below 10**-3500 (Laplace; less for the Gaussian).
LARGEST_SCALE = 2.0**50
# Below this scale no value but 0 would be seen in the age of the universe; it is surely a mistake.
SMALLEST_SCALE = 2.0**-20

# Measurements cached, one for each law; they hold a scale and no randomness.
_MOST_SAMPLERS = 128


@runtime_checkable
class NoiseSource(Protocol):
    """What a mechanism needs to be private: integer noise with an exact law, and fair bits."""

    @property
    def secure(self) -> bool:
        """Whether the draws are unpredictable. False for everything in ``tacit.audit``."""

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Return ``size`` independent integers, each x with chance prop. to exp(-x²/2sigma²)."""

    def laplace(self, scale: float, size: int) -> IntArray:
        """Return ``size`` independent integers, each x with chance prop. to exp(-abs(x)/scale)."""

    def bits(self, n: int) -> int:
        """Return an integer uniform over 0 .. 2**n - 1."""


class Uncopyable:
    """Base of noise sources: two copies would hand out the same noise, so there are no copies."""

    __slots__ = ()

    def _refuse_copy(self) -> NoReturn:
        raise NoiseError(
            f"A {type(self).__name__} cannot be copied or pickled: both copies would draw the same "
            "noise, and their releases could be subtracted. Make a new one where it is needed."
        )

    def __copy__(self) -> NoReturn:
        self._refuse_copy()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse_copy()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse_copy()


def checked_scale(**named: float) -> float:
    """Return a noise scale within the supported range; the argument is given as ``name=value``."""
    value = validation.positive("", **named)
    if not SMALLEST_SCALE <= value <= LARGEST_SCALE:
        (name,) = named
        raise InvalidArgument(f"`{name}` must lie between 2**-20 and 2**50, got {value!r}.")
    return value


_Kind = Literal["gaussian", "laplace"]


class SecureNoise(Uncopyable):
    """Exact discrete noise from the operating system's secure generator. The one to use.

    It has no state: every request is one call of OpenDP's sampler, and nothing is drawn ahead. So
    it is safe to share between threads and across ``fork``. It refuses ``copy`` and ``pickle``;
    make a new one instead, which costs nothing.

    Privacy
    -------
    The laws are those of [CKS20], sampled without floating-point arithmetic by OpenDP. How long a
    draw takes depends on the value drawn, so do not let others time single releases. The state of
    OpenDP's generator lies in memory, so do not let others read the process, and do not resume a
    snapshot of it twice. See ``docs/proofs/noise.md``.

    Examples
    --------
    >>> noise = SecureNoise()
    >>> noise.gaussian(2.5, size=3).shape
    (3,)
    >>> 0 <= noise.bits(8) < 256
    True
    >>> noise
    SecureNoise()
    """

    __slots__ = ("__weakref__",)

    @property
    def secure(self) -> bool:
        """Always true."""
        return True

    def gaussian(self, sigma: float, size: int) -> IntArray:
        """Return independent discrete Gaussian integers.

        Parameters
        ----------
        sigma : float
            P(x) is proportional to exp(-x² / (2 sigma²)); between 2**-20 and 2**50. Public.
        size : int
            How many.

        Raises
        ------
        NoiseError
            When secure noise cannot be drawn.
        """
        sigma = checked_scale(sigma=sigma)
        return _draw("gaussian", sigma, validation.integer(0, size=size))

    def laplace(self, scale: float, size: int) -> IntArray:
        """Return independent discrete Laplace integers.

        Parameters
        ----------
        scale : float
            P(x) is proportional to exp(-abs(x) / scale); between 2**-20 and 2**50. Public.
        size : int
            How many.

        Raises
        ------
        NoiseError
            When secure noise cannot be drawn.
        """
        scale = checked_scale(scale=scale)
        return _draw("laplace", scale, validation.integer(0, size=size))

    def bits(self, n: int) -> int:
        """Return ``n`` uniform bits as an integer, straight from the operating system.

        Raises
        ------
        NoiseError
            When the operating system gives none.
        """
        n = validation.integer(0, n=n)
        try:
            drawn = os.urandom((n + 7) // 8)
        except (OSError, NotImplementedError) as failure:
            raise NoiseError("The operating system gave no random bytes.") from failure
        return int.from_bytes(drawn) >> (-n % 8)

    def __repr__(self) -> str:
        return "SecureNoise()"


def _draw(kind: _Kind, scale: float, size: int) -> IntArray:
    """Return values straight from OpenDP: its noise added to a vector of zeros."""
    if size == 0:
        return np.empty(0, dtype=np.int64)
    try:
        values = _sampler(kind, scale)(np.zeros(size, dtype=np.int64))
    except NoiseError:
        raise
    except Exception as failure:  # OpenDP raises its own type, known only once it is imported
        raise NoiseError("OpenDP could not draw noise; nothing was released.") from failure
    return np.array(values, dtype=np.int64)


@lru_cache(maxsize=_MOST_SAMPLERS)
def _sampler(kind: _Kind, scale: float) -> Callable[[IntArray], list[int]]:
    """Return OpenDP's measurement that adds noise of this law to integers."""
    try:
        # Imported at the first draw: it loads a 200 MB library, and plans and reports need none.
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian, make_laplace
        from opendp.metrics import l1_distance, l2_distance
        from opendp.mod import enable_features
    except (ImportError, OSError) as failure:
        raise NoiseError("OpenDP, which draws the noise, cannot be loaded.") from failure
    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64"))
    measurement: Callable[[IntArray], list[int]]
    if kind == "gaussian":
        measurement = make_gaussian(space, l2_distance(T=float), scale)
    else:
        measurement = make_laplace(space, l1_distance(T=float), scale)
    return measurement
