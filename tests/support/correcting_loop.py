"""An audit of the whole loop of corrections: metric, teachers, clipped mean, ledger, student.

Two data sets differ in one record, and that record's teacher does the worst it can: whatever the
student has become, it pushes as far as it can in a direction that both know, or exactly against it.
An observer that knows all other records looks at everything that was released. It must not tell the
two apart better than the price allows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.audited_runs import audit_runs

from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.audit.estimates import AuditResult
from tacit.estimators.corrections import release_rounds
from tacit.labeling.means import PlannedMeans
from tacit.ledger import MemoryLedger
from tacit.mechanisms.clipped_mean import ClippedMean, clip_to_grid
from tacit.noise import NoiseSource
from tacit.teachers.corrections import Coordinates, Corrected, LogisticCorrections, Schedule
from tacit.teachers.corrections.coordinates import with_constant
from tacit.teachers.corrections.metric import Metric
from tacit.teachers.corrections.records import RecordsInMemory

__all__ = ["CorrectingLoop", "audit_corrections"]

FloatArray = NDArray[np.float64]

N_TEACHERS = 4
_CLIP = 0.4
_LOUD = 5.0
"""How many radii long the replaced teacher's vector is: it counts on being clipped."""


class PricedOnce(ClippedMean):
    """The clipped mean, whose plan is priced once for all the runs of an audit."""

    def plan(self, delta: float) -> Plan:
        return _plan(self, delta)


@lru_cache(maxsize=8)
def _plan(mean: ClippedMean, delta: float) -> Plan:
    return ClippedMean.plan(mean, delta)


@lru_cache(maxsize=8)
def _planned(budget: Budget, dimension: int, rounds: int) -> ClippedMean:
    return PricedOnce.for_budget(
        budget, radius=1.0, dimension=dimension, n_teachers=N_TEACHERS, releases=rounds
    )


@lru_cache(maxsize=1)
def _public() -> tuple[Coordinates, FloatArray]:
    """Return a pool of eight points in the plane, and its coordinates."""
    points = np.random.default_rng(0).normal(size=(8, 2))
    coordinates = Coordinates().fit(points)
    return coordinates, with_constant(coordinates.transform(points))


@lru_cache(maxsize=1)
def _honest() -> LogisticCorrections:
    """Return the teachers that both data sets have, all but one."""
    rng = np.random.default_rng(1)
    coordinates, pool = _public()
    shards = np.split(np.arange(2 * N_TEACHERS - 2), N_TEACHERS - 1)
    X, labels = rng.normal(size=(2 * N_TEACHERS - 2, 2)), rng.integers(0, 2, 2 * N_TEACHERS - 2)
    records = RecordsInMemory(X, labels, shards, coordinates)
    return LogisticCorrections(records, pool, n_classes=2, shard_size=2)


class ReplacedTeacher:
    """``CorrectingTeachers``: honest ones, and one that pushes to one side with all its might."""

    n_teachers = N_TEACHERS
    shard_size = 2
    curved = True

    def __init__(self, side: float) -> None:
        self._side = side
        self.metrics: list[Metric] = []

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield the honest rows, then the one that tells."""
        yield from _honest().contributions(metric)
        loud = _LOUD * metric.typical_length(self.shard_size)
        yield loud * self._side * direction(metric)[None]

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return one vector as long as the metric expects, which saves fits of public points."""
        self.metrics.append(metric)
        size = metric.weights.size
        return np.full((1, size), metric.typical_length(self.shard_size) / np.sqrt(size))


def direction(metric: Metric) -> FloatArray:
    """Return where the replaced teacher pushes: it follows the student, in length one."""
    found = metric.weights.ravel() + 0.1 * np.cos(np.arange(metric.weights.size) + 1.0)
    unit: FloatArray = found / np.linalg.norm(found)
    return unit


@dataclass(frozen=True)
class CorrectingLoop:
    """One setting of the loop to audit.

    Parameters
    ----------
    budget : Budget
    rounds : int
    noise_factor : float
        Noise is this many times what the budget needs: below one plants a fault.
    teachers : function of a side, 1 or -1
        Makes the teachers: another one plants a fault.
    """

    budget: Budget
    rounds: int = 4
    noise_factor: float = 1.0
    teachers: Callable[[float], ReplacedTeacher] = ReplacedTeacher

    def mechanism(self) -> ClippedMean:
        """Return what releases the means."""
        exact = _planned(self.budget, _public()[1].shape[1], self.rounds)
        if self.noise_factor == 1.0:
            return exact
        return replace(exact, sigma=self.noise_factor * exact.sigma)

    def run(self, side: float, noise: NoiseSource, rng: np.random.Generator) -> Hashable:
        """Return what the observer makes of one run: a few values that tell the sides apart."""
        mechanism, teachers = self.mechanism(), self.teachers(side)
        room = self.budget if self.noise_factor == 1.0 else Budget(1e3, self.budget.delta)
        means = PlannedMeans(
            mechanism,
            MemoryLedger(room, allow_insecure=not noise.secure),
            delta=self.budget.delta,
            noise=noise,
            key="audit",
        )
        found = release_rounds(teachers, _public()[1], 2, Schedule(self.rounds, _CLIP), means, rng)
        ratio = evidence(found, teachers.metrics, mechanism)
        return int(np.clip(np.floor(ratio), -3, 2)), round(found.radii[0], 9)


def evidence(found: Corrected, metrics: Sequence[Metric], mechanism: ClippedMean) -> float:
    """Return the log-likelihood ratio of all that was released, one side against the other."""
    total = 0.0
    for answer, radius, metric in zip(found.answers, found.radii, metrics, strict=True):
        honest = np.concatenate(list(_honest().contributions(metric))) / radius
        known = clip_to_grid(honest, 1.0, mechanism.levels).sum(axis=0)
        push = mechanism.levels * direction(metric)
        total += 2 * float((np.array(answer.values) - known) @ push) / mechanism.sigma**2
    return total


@dataclass(frozen=True)
class _Once:
    """Runs the loop with the replaced teacher on one side."""

    loop: CorrectingLoop
    side: float

    def __call__(self, noise: NoiseSource, rng: np.random.Generator) -> Hashable:
        # What is drawn for imagined labels is public: the observer knows it, so it is fixed.
        return self.loop.run(self.side, noise, np.random.default_rng(0))


def audit_corrections(loop: CorrectingLoop, *, samples: int, **how: Any) -> AuditResult:
    """Measure epsilon of the whole loop; ``how`` is handed on to ``audit_runs``.

    Examples
    --------
    >>> loop = CorrectingLoop(Budget(1.0, 0.1), rounds=2)
    >>> found = audit_corrections(loop, samples=64, seed=0, jobs=1, progress=False)
    >>> found.epsilon_lower <= 1.0
    True
    """
    return audit_runs(
        _Once(loop, 1.0), _Once(loop, -1.0), delta=loop.budget.delta, samples=samples, **how
    )
