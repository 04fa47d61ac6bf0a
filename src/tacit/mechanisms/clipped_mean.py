"""The mean of one bounded vector per teacher, with integer noise on an integer sum.

Real vectors would bring rounding errors that depend on the other summands. Every contribution is
therefore put on an integer grid and clipped there, in exact arithmetic, before anything is added.

Proof: ``docs/proofs/clipped_mean.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import vector_sigma
from tacit.accounting.events import Event, GaussianCoordinates
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import Allowance, Mechanism
from tacit.mechanisms.counts import IntArray
from tacit.noise import NoiseSource, Uncopyable, checked_scale

DEFAULT_LEVELS = 2**16
# Sums of squares and sums over teachers stay below this, far from the end of int64.
_ROOM = 2**60


@dataclass(frozen=True)
class ClippedMean(Mechanism):
    """Release the mean of one vector per teacher, each clipped to a ball, with Gaussian noise.

    Parameters
    ----------
    radius : float
        Longer contributions are scaled down to this L2 norm.
    sigma : float
        Scale of the discrete Gaussian noise on every coordinate of the sum, in grid steps.
    dimension : int
    n_teachers : int
        Public number of contributions.
    levels : int, default 65536
        Grid steps in ``radius``: one step is ``radius / levels``.
    releases : int, default 1

    Privacy
    -------
    Neighbours: one contribution is replaced by any other. On the grid the sum then moves by at most
    ``2 * levels`` in L2. Event: ``GaussianCoordinates(sigma, 2 * levels, dimension)``: zCDP
    ``2 levels^2 / sigma^2``, and nearly the exact price of continuous noise. A contribution that
    is not finite counts as zero: raising an error would reveal it. Proof:
    ``docs/proofs/clipped_mean.md``.

    References
    ----------
    [CKS20].

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> mean = ClippedMean(radius=1.0, sigma=10.0, dimension=2, n_teachers=100)
    >>> answer = mean.release(np.full((100, 2), 0.5), noise=SecureNoise())
    >>> [round(value, 3) for value in answer.share]
    [0.5, 0.5]
    """

    name: ClassVar[str] = "ClippedMean"
    radius: float
    sigma: float
    dimension: int
    n_teachers: int
    levels: int = DEFAULT_LEVELS
    releases: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", validation.positive(radius=self.radius))
        object.__setattr__(self, "sigma", checked_scale(sigma=self.sigma))
        for name in ("dimension", "n_teachers", "levels", "releases"):
            validation.positive_integer(**{name: getattr(self, name)})
        if max(self.dimension * (self.levels + 1) ** 2, self.n_teachers * self.levels) > _ROOM:
            raise InvalidArgument(
                f"`levels` must be smaller for {self.dimension} coordinates and {self.n_teachers} "
                f"teachers, got {self.levels}: sums would not fit 64-bit integers."
            )

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        radius: float,
        dimension: int,
        n_teachers: int,
        releases: int = 1,
        levels: int = DEFAULT_LEVELS,
    ) -> ClippedMean:
        """Return the mean with the least noise that keeps ``releases`` of it within ``budget``."""
        cls(radius, 1.0, dimension, n_teachers, levels, releases)  # refuse bad settings first
        sigma = vector_sigma(budget, releases=releases, sensitivity=2 * levels, dimension=dimension)
        return cls(radius, sigma, dimension, n_teachers, levels, releases)

    @property
    def output(self) -> Output:
        """Grid coordinates of the mean."""
        return Output.VECTOR

    @property
    def deviation(self) -> float:
        """``sigma``, in grid steps of the sum."""
        return self.sigma

    @property
    def unit(self) -> float:
        """What one grid step of the sum is worth in the mean."""
        return self.radius / self.levels / self.n_teachers

    @property
    def event(self) -> Event:
        """What one release costs."""
        return GaussianCoordinates(self.sigma, 2.0 * self.levels, self.dimension)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, self.releases),)

    def plan(self, delta: float) -> Plan:
        """Return the plan of a whole run, priced at ``delta``."""
        return self._plan(delta, width=self.dimension, unit=self.unit)

    def start(self, *, noise: NoiseSource) -> ClippedMeanRun:
        """Return a fresh run."""
        return ClippedMeanRun(self, noise)

    def gather(self, contributions: ArrayLike | Iterator[ArrayLike]) -> ClippedTotal:
        """Clip and add up the contributions, one row per teacher. Private.

        Parameters
        ----------
        contributions : array of shape (n_teachers, dimension), or an iterator of such arrays
            Private. Blocks of rows are added up as they come, in integers: their order and their
            sizes do not matter, and one block at a time is in memory.

        Raises
        ------
        InvalidArgument
            When the shape (public) is another one, or the entries are not real numbers by type.
        """
        blocks = contributions if isinstance(contributions, Iterator) else iter([contributions])
        total, n_rows = np.zeros(self.dimension, dtype=np.int64), 0
        for block in blocks:
            table = _checked(block, self.dimension)
            n_rows += len(table)
            if n_rows > self.n_teachers:
                break
            total += clip_to_grid(table, self.radius, self.levels).sum(axis=0)
        if n_rows != self.n_teachers:
            raise InvalidArgument(
                f"`contributions` must have shape {(self.n_teachers, self.dimension)} "
                f"(teachers, coordinates), got {(n_rows, self.dimension)}."
            )
        return ClippedTotal(total)

    def release(
        self, contributions: ArrayLike | Iterator[ArrayLike], *, noise: NoiseSource
    ) -> Answer:
        """Release the mean of ``contributions`` (private) with a fresh run."""
        return self.start(noise=noise).release(contributions)


class ClippedTotal:
    """The sum of clipped contributions on the grid, ready for its noise. Private."""

    __slots__ = ("values",)

    def __init__(self, values: IntArray) -> None:
        self.values = values

    def __repr__(self) -> str:
        return "ClippedTotal(<private>)"


class ClippedMeanRun(Uncopyable):
    """A run of ``ClippedMean``: counts releases and stops at the planned number."""

    def __init__(self, mechanism: ClippedMean, noise: NoiseSource) -> None:
        self._mechanism, self._noise = mechanism, noise
        self._left = Allowance(mechanism.releases, "releases")

    def most_it_can_cost(self, questions: int) -> dict[Event, int]:
        """Every release costs the same."""
        return {self._mechanism.event: questions}

    def release(self, contributions: ArrayLike | Iterator[ArrayLike] | ClippedTotal) -> Answer:
        """Release the mean of one vector per teacher.

        Parameters
        ----------
        contributions : array of shape (n_teachers, dimension), or what ``gather`` takes or made
            Private.

        Raises
        ------
        InvalidArgument
            When the shape (public) is another one, or the entries are not real numbers by type.
        MechanismStopped
            When the planned releases are used up.
        """
        mechanism = self._mechanism
        if not isinstance(contributions, ClippedTotal):
            contributions = mechanism.gather(contributions)
        total = contributions.values
        self._left.take(1)
        noisy = total + self._noise.gaussian(mechanism.sigma, mechanism.dimension)
        return Answer(
            Output.VECTOR,
            tuple(noisy.tolist()),
            unit=mechanism.unit,
            sigma=mechanism.sigma,
            cost=(mechanism.event,),
            secure=self._noise.secure,
        )


def clip_to_grid(vectors: NDArray[np.float64], radius: float, levels: int) -> IntArray:
    """Return every row as an integer vector of norm at most ``levels``. Private.

    Whatever the floating-point steps did to a row, it depends on that row alone, and the last
    step, in integers, bounds it: nothing before it matters to the guarantee.
    """
    grid = _rounded(vectors, radius, levels)
    squared = np.einsum("ij,ij->i", grid, grid)
    for row in np.flatnonzero(squared > levels**2).tolist():
        # norm <= longest, so |g| * levels // longest has norm <= levels: rounding toward zero.
        longest = math.isqrt(int(squared[row]) - 1) + 1
        grid[row] = np.sign(grid[row]) * (np.abs(grid[row]) * levels // longest)
    return grid


def _rounded(vectors: NDArray[np.float64], radius: float, levels: int) -> IntArray:
    """Return rows on the grid, no coordinate beyond ``levels + 1``; those not finite are zero."""
    # A warning about overflow would reveal something about a private vector.
    with np.errstate(all="ignore"):
        finite = np.isfinite(vectors).all(axis=1, keepdims=True)
        rows = np.where(finite, vectors, 0.0)
        # Divided by the largest coordinate first: squares of huge numbers would overflow.
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        direction = rows / largest
        length = np.sqrt((direction**2).sum(axis=1, keepdims=True))
        norm = np.minimum(largest * length, radius)
        scaled = direction / np.maximum(length, 1.0) * (norm / radius) * levels
        grid: IntArray = np.clip(np.rint(scaled), -levels - 1, levels + 1).astype(np.int64)
    return grid


def _checked(contributions: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Return the contributions as floats; only their type and shape are looked at, both public."""
    try:
        table = np.asarray(contributions)
    except (TypeError, ValueError):
        table = np.empty(0, dtype=object)
    if table.dtype.kind not in "iufb":
        raise InvalidArgument("`contributions` must be an array of real numbers.")
    if table.ndim != 2 or table.shape[1] != dimension:
        raise InvalidArgument(
            f"`contributions` must have {dimension} columns, one per coordinate, got an array of "
            f"shape {table.shape}."
        )
    with np.errstate(all="ignore"):  # longer floats may overflow here: they count as zero later
        return table.astype(np.float64)
