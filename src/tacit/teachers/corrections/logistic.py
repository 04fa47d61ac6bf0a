"""Built-in teachers: logistic regressions of a few records each, all fitted as one computation.

A teacher is the logistic regression of its shard under the prior N(student, A^-1). Its weights
leave the student only along its own records, so a fit needs as many unknowns as it has records
(times contrasts), whatever the dimension: the dual problem, solved for all shards at once. Shards
with more records than there are coordinates have the coordinates as unknowns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.teachers.corrections.coordinates import Coordinates, FloatArray, contrasts
from tacit.teachers.corrections.metric import Metric, probabilities
from tacit.teachers.corrections.records import ShardRows, shard_rows
from tacit.teachers.labels import UNKNOWN
from tacit.teachers.rows import IndexArray
from tacit.teachers.workers.suppress_output import Quiet

_NEWTON_STEPS = 5
_IMAGINED = 400
_FEWEST_IMAGINED = 40
_LARGE_SHARD = 100
"""Of larger shards fewer teachers are imagined: they would take more time than the real ones."""

_BLOCK = 2**21
"""How many numbers of features are worked on at once."""


class LogisticCorrections:
    """Contributions of one batched logistic regression per shard. Private.

    Parameters
    ----------
    X : table
        Records in the representation. Private.
    labels : array of int
        Position of every record's class; -1 for labels that are no class, which are left out.
    shards : sequence of index arrays
        Disjoint. Their number is public.
    coordinates : Coordinates
    pool : array
        Public points in the coordinates, with a constant.
    n_classes, shard_size : int
        Public; the size is that of a typical shard.
    together : bool
        As for ``shard_rows``.

    Privacy
    -------
    The contribution of a teacher depends on its own shard, the student and public settings, bit for
    bit: shards are padded to a length that is a function of their own size, and every product is
    one matrix product per shard, never one over several.
    """

    curved = True

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.int64],
        shards: Sequence[IndexArray],
        coordinates: Coordinates,
        pool: FloatArray,
        *,
        n_classes: int,
        shard_size: int,
        together: bool = False,
    ) -> None:
        self.n_teachers, self.shard_size, self._n_classes = len(shards), shard_size, n_classes
        self._pool = pool
        with Quiet():
            rows = shard_rows(X, shards, coordinates, together=together)
            self._stacks = list(_stacked(rows, labels, shards, pool.shape[1]))

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield blocks of one whitened correction per teacher, one row each. Private."""
        for features, labels in self._stacks:
            for part in self._parts(len(features), features.shape[1]):
                with Quiet():
                    yield self._corrections(features[part], labels[part], metric)

    def _parts(self, n_shards: int, size: int) -> Iterator[slice]:
        """Yield which shards of one size are worked on at once."""
        dimension = self._pool.shape[1]
        unknowns = min(size, dimension) * (self._n_classes - 1)
        at_once = max(1, _BLOCK // max(size * dimension, unknowns**2))
        return (slice(start, start + at_once) for start in range(0, n_shards, at_once))

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return the contributions of teachers of public points labelled by the student. Public."""
        size = self.shard_size
        wanted = max(_FEWEST_IMAGINED, min(_IMAGINED, _IMAGINED * _LARGE_SHARD // size))
        points, labels = metric.imagined_labels(rng, wanted, size)
        return np.concatenate(
            [
                self._corrections(self._pool[points[part]], labels[part], metric)
                for part in self._parts(wanted, size)
            ]
        )

    def _corrections(
        self, features: FloatArray, labels: NDArray[np.int64], metric: Metric
    ) -> FloatArray:
        known = labels >= 0
        features = features * known[..., None]
        target = (labels[..., None] == np.arange(self._n_classes)).astype(np.float64)
        with np.errstate(all="ignore"):
            whitened = np.matmul(features, metric.whiten)
            start = np.matmul(features, metric.weights)
            # Padded sizes and the dimension decide: the first is a shard's own, the other public.
            solve = _dual if features.shape[1] <= features.shape[2] else _primal
            residual = solve(whitened, start, target, self._n_classes)
            found: FloatArray = np.matmul(whitened.transpose(0, 2, 1), residual)
        return found.reshape(len(features), -1)

    def __repr__(self) -> str:
        return f"LogisticCorrections(n_teachers={self.n_teachers}, records=<private>)"


def _dual(
    whitened: FloatArray, start: FloatArray, target: FloatArray, n_classes: int
) -> FloatArray:
    """Solve r = (target - softmax(start + gram r)) in contrasts, by Newton's method.

    The loss is convex in the primal and the unknowns are its residuals, one row per record. The
    last line takes residuals of probabilities, so that they are bounded even where five steps were
    not enough: contributions are what they are, and clipped, in any case.
    """
    gram = np.matmul(whitened, whitened.transpose(0, 2, 1))
    n_shards, size, width = start.shape
    unknowns = size * width
    residual = np.zeros_like(start)
    for _ in range(_NEWTON_STEPS):
        wanted, curved = _at(start + np.matmul(gram, residual), target, n_classes)
        # Row (i, a), column (j, b): identity + H_i[a, b] * gram[i, j].
        slope = curved[:, :, :, None, :] * gram[:, :, None, :, None]
        slope = slope.reshape(n_shards, unknowns, unknowns) + np.eye(unknowns)
        step = np.linalg.solve(slope, (residual - wanted).reshape(n_shards, unknowns, 1))
        residual = residual - step.reshape(residual.shape)
    return _at(start + np.matmul(gram, residual), target, n_classes)[0]


def _primal(
    whitened: FloatArray, start: FloatArray, target: FloatArray, n_classes: int
) -> FloatArray:
    """Return the same residuals, with one unknown per coordinate and contrast.

    The steps are the same ones: with moved = whitened' r, a step of ``_dual`` in r is one of
    Newton's method for the whitened weights.
    """
    turned = whitened.transpose(0, 2, 1)
    n_shards, dimension, width = len(start), whitened.shape[2], start.shape[2]
    unknowns = dimension * width
    moved = np.zeros((n_shards, dimension, width))
    for _ in range(_NEWTON_STEPS):
        wanted, curved = _at(start + np.matmul(whitened, moved), target, n_classes)
        # Row (p, a), column (q, b): identity + sum over records of w[p] H[a, b] w[q].
        slope = np.stack(
            [_weighed(turned, curved[:, :, one], whitened) for one in range(width)], axis=2
        )
        slope = slope.reshape(n_shards, unknowns, unknowns) + np.eye(unknowns)
        miss = moved - np.matmul(turned, wanted)
        step = np.linalg.solve(slope, miss.reshape(n_shards, unknowns, 1))
        moved = moved - step.reshape(moved.shape)
    return _at(start + np.matmul(whitened, moved), target, n_classes)[0]


def _weighed(turned: FloatArray, weights: FloatArray, whitened: FloatArray) -> FloatArray:
    """Return the sums over records of w[p] h[b] w[q], of shape (shards, p, q, b)."""
    n_shards, size, width = weights.shape
    rows = (whitened[..., None] * weights[:, :, None, :]).reshape(n_shards, size, -1)
    found: FloatArray = np.matmul(turned, rows)
    return found.reshape(n_shards, turned.shape[1], whitened.shape[2], width)


def _at(scores: FloatArray, target: FloatArray, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return residuals and second derivatives, in contrasts, of every record at its scores."""
    basis = contrasts(n_classes)
    proba = probabilities(scores, n_classes)
    width = basis.shape[1]
    pairs = (basis[:, :, None] * basis[:, None, :]).reshape(n_classes, -1)
    curved = np.matmul(proba, pairs).reshape(*proba.shape[:-1], width, width)
    mean = np.matmul(proba, basis)
    residual: FloatArray = np.matmul(target - proba, basis)
    return residual, curved - mean[..., :, None] * mean[..., None, :]


def _stacked(
    rows: ShardRows,
    labels: NDArray[np.int64],
    shards: Sequence[IndexArray],
    dimension: int,
) -> Iterator[tuple[FloatArray, NDArray[np.int64]]]:
    """Yield shards of the same padded size as one array each."""
    sizes = np.array([_padded(len(shard)) for shard in shards])
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        features = np.zeros((len(members), size, dimension))
        classes = np.full((len(members), size), UNKNOWN, dtype=np.int64)
        for place, number in enumerate(members.tolist()):
            shard = shards[number]
            features[place, : len(shard)] = rows(shard)
            classes[place, : len(shard)] = labels[shard]
        yield features, classes


def _padded(size: int) -> int:
    """Return the length a shard is padded to: exact while small, then a step of one half."""
    if size <= 8:
        return max(size, 1)
    step = 1 << (size.bit_length() - 2)
    return -(-size // step) * step
