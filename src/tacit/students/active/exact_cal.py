"""Ask exactly where the hypotheses that are still plausible disagree: finite classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.students.active.base import FloatArray, IndexArray, answered


class ExactCAL:
    """Disagreement-based active learning with an explicit version space.

    The pool is a stream. A point is asked if two hypotheses of the version space disagree on it.
    After 1, 2, 4, ... points, and at the end, a hypothesis stays if its mistakes exceed the fewest
    by at most c (D + sqrt(fewest D)), D = d ln(theta) + ln(log2(2t)^2 / gamma).

    Parameters
    ----------
    predictions : array of shape (n_hypotheses, n_points)
        The class index each hypothesis gives each point of the pool. Public.
    vc_dimension : int, optional
        d above. By default log2 of the number of hypotheses, which it never exceeds.
    c, theta, gamma : float
        Constant, disagreement coefficient and failure probability.
    seed : int, default 0
        Order of the stream.

    Notes
    -----
    State: none; each call replays the stream with the released labels, in an order fixed by
    ``seed``. Any number of classes. A refused point counts as seen and is no evidence.

    References
    ----------
    [LZCW21] Algorithm 4. Departures: the version space is also updated at the end, the fewest
    mistakes stand for the unknown error of the best hypothesis, and ``best`` is the empirical risk
    minimiser, where the paper returns any member of the version space.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(500)
    >>> thresholds = np.linspace(0, 1, 101)
    >>> cal = ExactCAL(x[None, :] >= thresholds[:, None], vc_dimension=1)
    >>> from tacit.students.active import ask_in_batches
    >>> found = ask_in_batches(cal, x[:, None], lambda at: x[at] >= 0.4, 500, rng)
    >>> len(found.positions) < 100
    True
    >>> float(thresholds[cal.best(found.positions, found.labels)])
    0.4
    """

    def __init__(
        self,
        predictions: ArrayLike,
        *,
        vc_dimension: int | None = None,
        c: float = 0.5,
        theta: float = 2.0,
        gamma: float = 0.05,
        seed: int = 0,
    ) -> None:
        self.predictions = _class_indices(predictions)
        n_hypotheses = len(self.predictions)
        self.vc_dimension = (
            n_hypotheses.bit_length() - 1
            if vc_dimension is None
            else validation.integer(0, vc_dimension=vc_dimension)
        )
        self.c = validation.positive(c=c)
        self.theta = validation.positive(theta=theta)
        self.gamma = validation.probability(gamma=gamma)
        self.seed = validation.integer(0, seed=seed)

    def __repr__(self) -> str:
        n_hypotheses, n_points = self.predictions.shape
        return f"ExactCAL(<{n_hypotheses} hypotheses on {n_points} points>)"

    def restricted(self, positions: IndexArray) -> ExactCAL:
        """Return the same for some points of the pool, in this order."""
        return ExactCAL(
            self.predictions[:, positions],
            vc_dimension=self.vc_dimension,
            c=self.c,
            theta=self.theta,
            gamma=self.gamma,
            seed=self.seed,
        )

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return the next points of disagreement, up to ``k``. See ``Strategy``."""
        if n_rows(X_pool) != self.predictions.shape[1]:
            raise InvalidArgument(
                f"`predictions` must have one column for each of {n_rows(X_pool)} points of "
                f"the pool, got {self.predictions.shape[1]}."
            )
        questions, _ = self._replay(queried, labels)
        return questions[:k]

    def version_space(self, queried: Any, labels: Any) -> NDArray[np.bool_]:
        """Return which hypotheses are still plausible."""
        return self._replay(queried, labels)[1]

    def best(self, queried: Any, labels: Any) -> int:
        """Return the plausible hypothesis with the fewest mistakes on what was released."""
        known, released = answered(queried, labels)
        mistakes = (self.predictions[:, known] != released).sum(axis=1)
        plausible = np.flatnonzero(self.version_space(queried, labels))
        return int(plausible[mistakes[plausible].argmin()])

    def _replay(self, queried: Any, labels: Any) -> tuple[IndexArray, NDArray[np.bool_]]:
        known, answers = answered(queried, labels)
        n_hypotheses, n_points = self.predictions.shape
        released = np.full(n_points, -1, dtype=np.int16)
        released[known] = answers
        was_asked = np.zeros(n_points, dtype=bool)
        was_asked[np.asarray(queried, dtype=np.intp)] = True
        order = np.random.default_rng(self.seed).permutation(n_points)
        plausible, mistakes = np.ones(n_hypotheses, dtype=bool), np.zeros(n_hypotheses)
        questions, n_seen = np.array([], dtype=np.intp), 0
        while n_seen < n_points and not len(questions):
            batch = order[n_seen : min(max(1, 2 * n_seen), n_points)]
            is_open = self._disputed(plausible, batch) & ~was_asked[batch]
            questions = batch[is_open]
            reached = batch[: int(is_open.argmax())] if len(questions) else batch
            evidence = reached[released[reached] >= 0]
            mistakes += (self.predictions[:, evidence] != released[evidence]).sum(axis=1)
            n_seen += len(reached)
            plausible = self._prune(plausible, mistakes, n_seen)
        return questions, plausible

    def _disputed(self, plausible: NDArray[np.bool_], batch: IndexArray) -> NDArray[np.bool_]:
        # The version space changes at powers of two only: between them a batch is decided at once.
        given = self.predictions[np.ix_(plausible, batch)]
        return np.asarray((given != given[0]).any(axis=0))

    def _prune(
        self, plausible: NDArray[np.bool_], mistakes: FloatArray, t: int
    ) -> NDArray[np.bool_]:
        if t == 0:
            return plausible
        fewest = mistakes[plausible].min()
        gamma = self.gamma / np.log2(2 * t) ** 2
        D = self.vc_dimension * np.log(self.theta) + np.log(1 / gamma)
        remaining: NDArray[np.bool_] = plausible & (
            mistakes - fewest <= self.c * (D + np.sqrt(fewest * D))
        )
        return remaining


def _class_indices(predictions: ArrayLike) -> NDArray[np.int16]:
    table = np.asarray(predictions)
    if table.ndim != 2 or table.dtype.kind not in "iub" or 0 in table.shape:
        raise InvalidArgument(
            "`predictions` must be a table of class indices, one row per hypothesis and one column "
            f"per point, got {table.dtype} of shape {table.shape}."
        )
    return table.astype(np.int16)  # small, because classes of hypotheses are not
