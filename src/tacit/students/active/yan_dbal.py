"""The active learner that [LZCW21] ran: a linear model on a stream, after Yan et al. 2018.

Points come in a fixed random order, in batches of 10, 20, 40 and so on. In each batch the learner
asks about points whose label the training so far could still be wrong about, infers the labels of
the others, and retrains from nothing in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.active.base import FloatArray, IndexArray, answered, as_numbers, check_classes

FIRST_BATCH = 10


@dataclass(frozen=True)
class YanDBAL:
    """Disagreement-based active learning with a linear model, as in [LZCW21]'s experiments.

    With t points seen and L mistakes in training, x is asked if t <= 3 or
    ``2 |w.x| / (eta_t |x|^2) <= sqrt(c0 L) + c0 ln t``, with eta_t = sqrt(r / (r + t)), r the
    learning rate. Columns are divided by their largest absolute value in the pool. Two classes
    only.

    Parameters
    ----------
    c0 : float, default 0.16
        How cautious: larger asks more.
    learning_rate : float, default 0.1
    train_on : {"seen", "queried"}
        "seen": on released labels and inferred ones; "queried": on released labels only.
    mistakes : {"in-pass", "after"}
        What L counts: mistakes on each point before it is learnt from in the pass, or mistakes of
        the finished model on what it was trained on.
    seed : int, default 0
        Order of the stream and of the training passes.

    Notes
    -----
    State: none. Each call replays the stream from the start with the released labels. Order and
    passes come from ``seed``, not from the ``rng`` of the call, so the replay takes the same path
    every time; a run may stop, resume or be cut into batches of any size and asks the same points.
    A batch can have no question, and a short selection means that answers are needed to go on.

    Limits: ``c0`` does not carry over between data sets, and a wrong inferred label locks in: it is
    trained on, and so never asked about. ``DiverseMargin`` has neither problem.

    References
    ----------
    [LZCW21] Section 5.1 and Algorithm 5. Yan, Chaudhuri, Javidi: Active Learning with Logged Data,
    2018. The papers leave open what L counts. "in-pass" is the default because it comes nearest to
    the 47.3 questions of [LZCW21] Table 4 on mushrooms, of at most 49; "after" asks 29 there.
    Without that limit "in-pass" asks about 60: the agreement is partly the limit's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> none = np.array([], dtype=int)
    >>> len(YanDBAL().select(X, none, none, 50, rng))
    10
    """

    c0: float = 0.16
    learning_rate: float = 0.1
    train_on: str = "seen"
    mistakes: str = "in-pass"
    seed: int = 0

    max_classes: ClassVar[int] = 2
    coordinates: ClassVar[str] = "given"

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return the next questions of the stream, up to ``k``. See ``Strategy``."""
        questions, _ = self._replay(_Stream(X_pool, queried, labels, self))
        return questions[:k]

    def coefficients(self, X_pool: Any, queried: IndexArray, labels: Any) -> FloatArray:
        """Return the learner's own linear model: class 1 where ``X @ coefficients`` >= 0."""
        stream = _Stream(X_pool, queried, labels, self)
        _, weights = self._replay(stream)
        return weights / stream.scale

    def _replay(self, stream: _Stream) -> tuple[IndexArray, FloatArray]:
        """Return the questions that are open now, and the model after all that can be learnt."""
        n_seen, size = 0, FIRST_BATCH
        weights, wrong = np.zeros(stream.rows.shape[1]), 0
        points: list[IndexArray] = []
        signs: list[FloatArray] = []
        questions = np.array([], dtype=np.intp)
        while n_seen < len(stream.order) and not len(questions):
            batch = stream.order[n_seen : n_seen + size]
            scores = stream.rows[batch] @ weights
            wanted = self._wants(scores, stream.norms[batch], n_seen, wrong)
            is_open = wanted & ~stream.asked[batch]
            questions = batch[is_open]
            # Answers ran out inside the batch: the stream has been seen up to there.
            reached = int(is_open.argmax()) if len(questions) else len(batch)
            usable, sign = self._labelled(stream, batch[:reached], scores[:reached])
            points.append(batch[:reached][usable])
            signs.append(sign[usable])
            n_seen, size = n_seen + reached, 2 * size
            rows = stream.rows[np.concatenate(points)]
            order = np.random.default_rng([self.seed, n_seen]).permutation(rows.shape[0])
            weights, wrong = self._train(rows[order], np.concatenate(signs)[order])
        return questions, weights

    def _wants(self, scores: FloatArray, norms: FloatArray, n_seen: int, wrong: int) -> Any:
        t = n_seen + 1 + np.arange(len(scores))
        eta = np.sqrt(self.learning_rate / (self.learning_rate + t))
        bound = np.sqrt(self.c0 * wrong) + self.c0 * np.log(t)
        # Multiplied out, because a row of zeros has no length to divide by.
        return (t <= 3) | (2 * np.abs(scores) <= bound * eta * norms)

    def _labelled(
        self, stream: _Stream, batch: IndexArray, scores: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return which points of a batch can be trained on, and the sign of each."""
        released = stream.signs[batch]
        inferred = ~stream.asked[batch] & (self.train_on == "seen")
        return (released != 0) | inferred, np.where(
            released != 0, released, np.where(scores >= 0, 1.0, -1.0)
        )

    def _train(self, rows: Any, signs: FloatArray) -> tuple[FloatArray, int]:
        weights, wrong = one_pass(rows, signs, self.learning_rate)
        if self.mistakes == "after":
            wrong = int(((rows @ weights) * signs <= 0).sum())
        return weights, wrong


class _Stream:
    """The pool as the learner meets it, with what was released about it."""

    def __init__(self, X_pool: Any, queried: Any, labels: Any, how: YanDBAL) -> None:
        _check(how)
        known, released = answered(queried, labels)
        check_classes(how, int(released.max(initial=1)) + 1)
        rows = sp.csr_matrix(as_numbers(X_pool))
        largest = np.asarray(abs(rows).max(axis=0).todense()).ravel()
        self.scale: FloatArray = np.where(largest > 0, largest, 1.0)
        self.rows = (rows @ sp.diags(1 / self.scale)).tocsr()
        self.norms: FloatArray = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        self.order = np.random.default_rng(how.seed).permutation(rows.shape[0])
        self.asked = np.zeros(rows.shape[0], dtype=bool)
        self.asked[np.asarray(queried, dtype=np.intp)] = True
        self.signs = np.zeros(rows.shape[0])
        self.signs[known] = np.where(released == 1, 1.0, -1.0)


def _check(how: YanDBAL) -> None:
    validation.positive(c0=how.c0)
    validation.positive(learning_rate=how.learning_rate)
    validation.one_of(("seen", "queried"), train_on=how.train_on)
    validation.one_of(("in-pass", "after"), mistakes=how.mistakes)
    validation.integer(0, seed=how.seed)


def one_pass(rows: Any, signs: FloatArray, learning_rate: float) -> tuple[FloatArray, int]:
    """Return a linear model after one pass of importance-aware steps, and its mistakes on the way.

    Step k is ``w -= (clip(w.x, -1, 1) - y) (1 - exp(-2 eta_k |x|^2)) / |x|^2 x``: the squared loss
    followed to the end of the step, so that no step overshoots its label.

    Examples
    --------
    >>> one_pass(sp.csr_matrix([[1.0], [1.0]]), np.array([1.0, 1.0]), 0.1)[1]
    1
    """
    if rows.shape[0] != len(signs):
        raise InvalidArgument(f"`signs` must have {rows.shape[0]} entries, got {len(signs)}.")
    weights, wrong = np.zeros(rows.shape[1]), 0
    for k, sign in enumerate(signs, start=1):
        here = slice(rows.indptr[k - 1], rows.indptr[k])
        columns, values = rows.indices[here], rows.data[here]
        score, norm = float(weights[columns] @ values), float(values @ values)
        wrong += score * sign <= 0
        if norm > 0:
            eta = np.sqrt(learning_rate / (learning_rate + k))
            step = (np.clip(score, -1, 1) - sign) * -np.expm1(-2 * eta * norm) / norm
            weights[columns] -= step * values
    return weights, int(wrong)
