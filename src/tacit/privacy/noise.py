"""The only place where privacy noise is drawn.

A guarantee holds for the noise law that its proof names, drawn from bits nobody can predict. Both
are settled here: the laws are exact over the integers (no floating-point sample is ever rounded),
the bits come from the operating system, and nothing weaker stands in when either is missing.

Exact sampling costs about ten microseconds a value in bulk and ten times that one by one, so small
requests are served from blocks drawn ahead; of a law in steady use the next block is drawn by a
thread of its own, while this one is handed out. Noise is independent of the data and a value leaves
its block when it is handed out, so drawing early changes nothing about what is released.

References
----------
[CKS20] Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. arXiv:2004.00010.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit import _validate
from tacit.errors import InvalidArgument, NoiseError

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "NoiseSource", "SecureNoise", "Uncopyable"]

IntArray = NDArray[np.int64]

# Beyond this scale a value could in principle reach the end of int64, where the sampler would
# saturate. At it, the chance is below 10**-3500 (Laplace; less for the Gaussian).
LARGEST_SCALE = 2.0**50
# Below this scale no value but 0 would be seen in the age of the universe; it is surely a mistake.
SMALLEST_SCALE = 2.0**-20

_FIRST_BLOCK = 16
_LARGEST_BLOCK = 1024
_MOST_BLOCKS = 64
_MOST_SAMPLERS = 128


@runtime_checkable
class NoiseSource(Protocol):
    """What a mechanism needs to be private: integer noise with an exact law, and fair bits."""

    @property
    def secure(self) -> bool:
        """Whether the draws are unpredictable. False for everything in ``tacit.testing``."""

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
    value = _validate.positive("", **named)
    if not SMALLEST_SCALE <= value <= LARGEST_SCALE:
        (name,) = named
        raise InvalidArgument(f"`{name}` must lie between 2**-20 and 2**50, got {value!r}.")
    return value


_Kind = Literal["gaussian", "laplace"]


class SecureNoise(Uncopyable):
    """Exact discrete noise from the operating system's secure generator. The one to use.

    Safe to share between threads, and across ``fork``: a child process starts without any of the
    values its parent had drawn ahead. It refuses ``copy`` and ``pickle``; make a new one instead,
    which costs nothing.

    Privacy
    -------
    The laws are those of [CKS20], sampled without floating-point arithmetic by OpenDP. How long a
    draw takes depends on the value drawn, so do not let others time single releases; and values
    drawn ahead lie in memory until used, so do not let others read the process. See
    ``docs/proofs/noise.md``.

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

    __slots__ = ("__weakref__", "_blocks", "_lock", "_process")

    def __init__(self) -> None:
        self._forget()
        _sources.add(self)

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
        return self._draw("gaussian", sigma, size)

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
        return self._draw("laplace", scale, size)

    def bits(self, n: int) -> int:
        """Return ``n`` uniform bits as an integer, straight from the operating system.

        Raises
        ------
        NoiseError
            When the operating system gives none.
        """
        n = _validate.integer(0, n=n)
        try:
            drawn = os.urandom((n + 7) // 8)
        except (OSError, NotImplementedError) as failure:
            raise NoiseError("The operating system gave no random bytes.") from failure
        return int.from_bytes(drawn) >> (-n % 8)

    def __repr__(self) -> str:
        return "SecureNoise()"

    def _draw(self, kind: _Kind, scale: float, size: int) -> IntArray:
        if os.getpid() != self._process:  # a fork that Python's own hooks did not see
            self._forget()
        # The common case first: a law that was checked when its block was made. Checking
        # it again would cost a third of what the draw does.
        if type(scale) is float and type(size) is int and size > 0:
            with self._lock:
                block = self._blocks.get((kind, scale))
                if block is not None and size <= block.left:
                    return block.pop(size)
        name = "sigma" if kind == "gaussian" else "scale"
        return self._draw_checked(
            kind, checked_scale(**{name: scale}), _validate.integer(0, size=size)
        )

    def _draw_checked(self, kind: _Kind, scale: float, size: int) -> IntArray:
        if size >= _LARGEST_BLOCK:
            return _fresh(kind, scale, size)
        with self._lock:
            return self._block(kind, scale).take(size)

    def _block(self, kind: _Kind, scale: float) -> _Block:
        """Return the block of this law, forgetting the one refilled longest ago when many exist."""
        key = (kind, scale)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = _Block(kind, scale)
            if len(self._blocks) > _MOST_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(key)
        return block

    def _finish(self) -> None:
        """Wait until no block is being drawn: a thread does not survive a fork."""
        # Without the lock, which the thread that forks may hold.
        for block in list(self._blocks.values()):
            block.finish()

    def _forget(self) -> None:
        """Start anew: no values drawn ahead, and a lock that no thread of the parent holds."""
        self._blocks: OrderedDict[tuple[_Kind, float], _Block] = OrderedDict()
        self._lock = threading.Lock()
        self._process = os.getpid()


class _Block:
    """Values of one law drawn ahead; each is handed out once, then overwritten."""

    __slots__ = ("_kind", "_next", "_next_size", "_scale", "_values", "left")

    def __init__(self, kind: _Kind, scale: float) -> None:
        self._kind: _Kind = kind
        self._scale = scale
        self._values: IntArray = np.empty(0, dtype=np.int64)
        self._next_size = _FIRST_BLOCK
        self._next: _Drawing | None = None
        self.left = 0  # values not handed out: the first so many

    def take(self, size: int) -> IntArray:
        """Return ``size`` values that were never handed out, drawing more when there are few."""
        if size <= self.left:
            return self.pop(size)
        if size >= self._next_size:
            self._grow()
            return _fresh(self._kind, self._scale, size)
        rest = self.pop(self.left)
        self._renew()
        return np.concatenate([rest, self.pop(size - len(rest))])

    def pop(self, size: int) -> IntArray:
        """Return the last ``size`` of the values left, which must be so many."""
        end = self.left
        # Counted as used first: interrupted at any point, values are lost, never repeated or zero.
        self.left = end - size
        taken = self._values[end - size : end]
        out = taken.copy()
        taken.fill(0)
        return out

    def _renew(self) -> None:
        """Begin the next block, and have the one after it drawn if the law is in steady use."""
        drawing, self._next = self._next, None
        size = self._next_size
        self._values = drawing.values() if drawing else _fresh(self._kind, self._scale, size)
        self.left = len(self._values)
        if size == _LARGEST_BLOCK:
            self._next = _Drawing.started(self._kind, self._scale, size)
        self._grow()

    def finish(self) -> None:
        """Wait for the block that is being drawn, if there is one."""
        if self._next:
            self._next.join()

    def _grow(self) -> None:
        # Doubling: a law asked for once wastes a few values, one asked for often pays little.
        self._next_size = min(2 * self._next_size, _LARGEST_BLOCK)


class _Drawing(threading.Thread):
    """A block in the making, beside everything else: OpenDP works without Python's lock."""

    def __init__(self, kind: _Kind, scale: float, size: int) -> None:
        super().__init__(name="tacit-noise")
        self._law = (kind, scale, size)
        self._values: IntArray | None = None

    @classmethod
    def started(cls, kind: _Kind, scale: float, size: int) -> _Drawing | None:
        """Return a drawing under way; None when there can be no further thread."""
        drawing = cls(kind, scale, size)
        try:
            drawing.start()
        except RuntimeError:
            return None
        return drawing

    def run(self) -> None:
        with contextlib.suppress(NoiseError):  # raised where the values are wanted
            self._values = _fresh(*self._law)

    def values(self) -> IntArray:
        """Return the block once it is drawn."""
        self.join()
        found, self._values = self._values, None
        return _fresh(*self._law) if found is None else found


def _fresh(kind: _Kind, scale: float, size: int) -> IntArray:
    """Return values straight from OpenDP: its noise added to zeros."""
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


# A child process inherits its parent's memory: without this both would release the same values.
_sources: weakref.WeakSet[SecureNoise] = weakref.WeakSet()


def _finish_before_fork() -> None:
    for source in list(_sources):
        source._finish()


def _forget_in_child() -> None:
    for source in list(_sources):
        source._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_before_fork, after_in_child=_forget_in_child)
