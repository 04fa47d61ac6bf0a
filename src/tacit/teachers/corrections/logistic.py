"""Built-in teachers: logistic regressions of a few records each, all fitted as one computation.

A teacher is the logistic regression of its shard under the prior N(student, A^-1). Its weights
leave the student only along its own records, so a fit needs as many unknowns as it has records
(times contrasts), whatever the dimension: the dual problem, solved for all shards at once. Shards
with more records than there are coordinates have the coordinates as unknowns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.teachers.corrections.coordinates import FloatArray, contrasts
from tacit.teachers.corrections.metric import Metric, probabilities
from tacit.teachers.corrections.records import CorrectionRecords
from tacit.teachers.labels import UNKNOWN
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.batches import Batch, Shard
from tacit.teachers.workers.gather import gather
from tacit.teachers.workers.suppress_output import SuppressOutput
from tacit.teachers.workers.versions import versions_behind

_NEWTON_STEPS = 5
_IMAGINED = 400
_FEWEST_IMAGINED = 40
_LARGE_SHARD = 100
"""Of larger shards fewer teachers are imagined: they would take more time than the real ones."""

_BLOCK = 2**21
"""How many numbers of features are worked on at once."""

_LARGEST = 2**22
"""Of shards with more numbers of features, for all contrasts, so many records are drawn: memory and
time of a teacher are bounded, and the many other shards have records enough."""


class LogisticCorrections:
    """Contributions of one batched logistic regression per shard. Private.

    Parameters
    ----------
    records : CorrectionRecords
        Those in memory are stacked once; others are read by workers in every round.
    pool : array
        Public points in the coordinates, with a constant.
    n_classes, shard_size : int
        Public; the size is that of a typical shard.
    n_jobs : int, optional
        Workers, where records are not in memory.

    Privacy
    -------
    The contribution of a teacher depends on its own shard, the student and public settings, bit for
    bit: shards are padded to a length that is a function of their own size, and every product is
    one matrix product per shard, never one over several. A shard that no worker could read or
    finish contributes the zero vector.
    """

    curved = True

    def __init__(
        self,
        records: CorrectionRecords,
        pool: FloatArray,
        *,
        n_classes: int,
        shard_size: int,
        n_jobs: int | None = None,
    ) -> None:
        self.n_teachers, self.shard_size, self._n_classes = len(records), shard_size, n_classes
        self._pool = pool
        most = max(1, _LARGEST // (pool.shape[1] * (n_classes - 1)))
        self._shards = records.in_coordinates(most)
        self._backend = None if records.in_memory else Backend(n_jobs)
        self._stacks: list[Stack] = []
        if records.in_memory:
            with SuppressOutput():
                everything = self._shards.batch(range(len(records)))
                self._stacks = list(stacked(everything, pool.shape[1], n_classes))

    def contributions(self, metric: Metric) -> Iterator[FloatArray]:
        """Yield blocks of one whitened correction per teacher, one row each. Private."""
        task = LogisticTask(metric.whiten, metric.weights, self._n_classes)
        if self._backend is None:
            for stack in self._stacks:
                with SuppressOutput():
                    yield task.corrections(stack.features, stack.labels)
            return
        numbers = range(self.n_teachers)
        yield from gather(task, self._shards, numbers, progress=False, backend=self._backend)

    def imagined(self, metric: Metric, rng: np.random.Generator) -> FloatArray:
        """Return the contributions of teachers of public points labelled by the student. Public."""
        size = self.shard_size
        wanted = max(_FEWEST_IMAGINED, min(_IMAGINED, _IMAGINED * _LARGE_SHARD // size))
        points, labels = metric.imagined_labels(rng, wanted, size)
        task = LogisticTask(metric.whiten, metric.weights, self._n_classes)
        at_once = _at_once(size, self._pool.shape[1], self._n_classes)
        parts = [slice(start, start + at_once) for start in range(0, wanted, at_once)]
        return np.concatenate(
            [task.corrections(self._pool[points[part]], labels[part]) for part in parts]
        )

    def close(self) -> None:
        """Shut down the workers."""
        if self._backend is not None:
            self._backend.close()

    def __repr__(self) -> str:
        return f"LogisticCorrections(n_teachers={self.n_teachers}, records=<private>)"


class LogisticTask:
    """Fits the teachers of a few shards and returns their corrections, one row each.

    Travels to workers: public, but for results.
    """

    when_lost = "contribute nothing"

    def __init__(self, whiten: FloatArray, weights: FloatArray, n_classes: int) -> None:
        self.versions = versions_behind(None)
        self._whiten, self._weights, self._n_classes = whiten, weights, n_classes

    def __call__(self, shards: Batch) -> FloatArray:
        rows = [
            self.corrections(stack.features, stack.labels)
            for stack in stacked(shards, len(self._weights), self._n_classes)
        ]
        return np.concatenate([self.lost([]), *rows])

    def lost(self, numbers: Sequence[int]) -> FloatArray:
        """Return zero corrections for shards that no worker could finish; raise nothing."""
        return np.zeros((len(numbers), self._weights.size))

    def corrections(self, features: FloatArray, labels: NDArray[np.int64]) -> FloatArray:
        """Return the whitened corrections of teachers of shards of one padded size."""
        known = labels >= 0
        features = features * known[..., None]
        target = (labels[..., None] == np.arange(self._n_classes)).astype(np.float64)
        with np.errstate(all="ignore"):
            whitened = np.matmul(features, self._whiten)
            start = np.matmul(features, self._weights)
            # Padded sizes and the dimension decide: the first is a shard's own, the other public.
            solve = _dual if features.shape[1] <= features.shape[2] else _primal
            residual = solve(whitened, start, target, self._n_classes)
            whitened_sums: FloatArray = np.matmul(whitened.transpose(0, 2, 1), residual)
        return whitened_sums.reshape(len(features), -1)


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
    sums: FloatArray = np.matmul(turned, rows)
    return sums.reshape(n_shards, turned.shape[1], whitened.shape[2], width)


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


@dataclass(frozen=True, repr=False)
class Stack:
    """Shards of one padded size, one array each. Private."""

    numbers: tuple[int, ...]
    features: FloatArray
    labels: NDArray[np.int64]


def stacked(shards: Iterable[Shard], dimension: int, n_classes: int) -> Iterator[Stack]:
    """Yield stacks of the shards as they come, each small enough to be worked on at once."""
    waiting: dict[int, list[Shard]] = {}
    for shard in shards:
        size = _padded(len(shard[1]))
        same = waiting.setdefault(size, [])
        same.append(shard)
        if len(same) == _at_once(size, dimension, n_classes):
            yield _stack(waiting.pop(size), size, dimension)
    for size, same in waiting.items():
        yield _stack(same, size, dimension)


def _stack(shards: Sequence[Shard], size: int, dimension: int) -> Stack:
    features = np.zeros((len(shards), size, dimension))
    classes = np.full((len(shards), size), UNKNOWN, dtype=np.int64)
    for place, (_, rows, labels) in enumerate(shards):
        features[place, : len(rows)] = rows
        classes[place, : len(rows)] = labels
    return Stack(tuple(number for number, _, _ in shards), features, classes)


def _at_once(size: int, dimension: int, n_classes: int) -> int:
    """Return how many shards of one padded size are worked on at once."""
    unknowns = min(size, dimension) * (n_classes - 1)
    return max(1, _BLOCK // max(size * dimension, unknowns**2))


def _padded(size: int) -> int:
    """Return the length a shard is padded to: exact while small, then a step of one half."""
    if size <= 8:
        return max(size, 1)
    step = 1 << (size.bit_length() - 2)
    return -(-size // step) * step
