"""Audit runs of anything adaptive, by what an observer makes of them on two data sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.audit.estimates import AuditResult, audit
from tacit.audit.noise import SeededNoise
from tacit.noise import NoiseSource, SecureNoise

Run = Callable[[NoiseSource, np.random.Generator], Hashable]
"""Makes one run and returns what tells the two data sets apart: one of a few values."""


@dataclass(frozen=True)
class _Transcripts:
    """Draws what an observer learns from runs on one of the data sets."""

    run: Run
    seeded: bool

    def __call__(self, seed: int, size: int) -> Sequence[Hashable]:
        noise: NoiseSource = SeededNoise(seed) if self.seeded else SecureNoise()
        rng = np.random.default_rng(seed)
        return [self.run(noise, rng) for _ in range(size)]


def audit_runs(
    first: Run,
    second: Run,
    *,
    delta: float,
    samples: int,
    confidence: float = 0.9999,
    seed: int | None = None,
    jobs: int = -1,
    progress: bool = True,
) -> AuditResult:
    """Measure epsilon of runs on two data sets. ``seed`` replaces secure noise by seeded noise."""
    seeded = seed is not None
    return audit(
        _Transcripts(first, seeded),
        _Transcripts(second, seeded),
        delta=delta,
        samples=samples,
        confidence=confidence,
        seed=seed or 0,
        jobs=jobs,
        progress=progress,
    )
