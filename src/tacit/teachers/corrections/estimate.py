"""Where a student should stand, estimated from all that was released so far.

Every round proposes weights: where the student stood, and a full step in the direction that was
released. A proposal is the sum of where the student should be and of noise of known size. So the
recent proposals are averaged, and the average is shrunk where it is hardly more than noise: block
by block of coordinates, by James and Stein's rule, which on average is nearer to the truth than
the average itself, whatever the truth is. Few records then make a plain student, many a rich one,
and nobody has to guess in advance how many coordinates a budget supports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.teachers.corrections.coordinates import FloatArray
from tacit.teachers.corrections.metric import Metric

_SMALLEST_BLOCK = 4


@dataclass(frozen=True)
class Proposal:
    """Weights that a round proposes, and the deviation of their noise in the round's metric."""

    weights: FloatArray
    deviation: float


def estimate(proposals: Sequence[Proposal], metric: Metric) -> FloatArray:
    """Return the student's weights: one row per coordinate, the last for the constant.

    Proposals of the second half are averaged: earlier ones were made far away, where a full step
    does not lead to the truth. Post-processing of releases: free of charge.

    References
    ----------
    James and Stein (1961). Blocks that double in size: Cai (1999), Annals of Statistics 27(3), for
    coordinates in decreasing order of what is expected of them.
    """
    recent = proposals[len(proposals) // 2 :]
    precisions = np.array([one.deviation**-2.0 for one in recent])
    mean = np.tensordot(precisions / precisions.sum(), [one.weights for one in recent], axes=1)
    variance = 1 / float(precisions.sum())
    # In the metric's own coordinates noise is the same in all directions.
    whitened: FloatArray = np.linalg.solve(metric.whiten, mean).astype(np.float64)
    coordinates = len(whitened) - 1  # the constant is not shrunk
    start, size = 0, _SMALLEST_BLOCK
    while start < coordinates:
        stop = min(start + size, coordinates)
        block = whitened[start:stop]
        whitened[start:stop] = block * _kept_share(block, variance)
        start, size = stop, 2 * size if start else size
    weights: FloatArray = metric.whiten @ whitened
    return weights


def _kept_share(block: FloatArray, variance: float) -> float:
    """Return by how much a block is shrunk: James and Stein's positive part.

    Examples
    --------
    >>> _kept_share(np.full((8, 1), 2.0), 1.0), _kept_share(np.full((8, 1), 0.5), 1.0)
    (0.75, 0.0)
    """
    squared = float((block**2).sum())
    return max(0.0, 1 - block.size * variance / squared) if squared > 0 else 0.0
