"""The public half of PATE-ASQ: a strategy and a labelling service take turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.students.active.base import (
    IndexArray,
    Strategy,
    check_classes,
    check_selection,
    schedule,
)

Ask = Callable[[IndexArray], ArrayLike]


@dataclass(frozen=True)
class QueryHistory:
    """The questions asked so far and the labels released for them, in order. Public.

    Attributes
    ----------
    positions : array of positions in the pool
    labels : array of class indices, -1 for a refusal
    batches : tuple of int
        How many questions each batch had.
    stopped : {"budget", "pool", "strategy", "service"}
        Why it ended: all planned answers given, no point left, the strategy wants no more, or the
        labelling service stopped.
    """

    positions: IndexArray
    labels: NDArray[np.int64]
    batches: tuple[int, ...]
    stopped: str


NOTHING = QueryHistory(np.array([], dtype=np.intp), np.array([], dtype=np.int64), (), "budget")
"""What a run starts from."""


def ask_in_batches(
    strategy: Strategy,
    X_pool: Any,
    ask: Ask,
    n_questions: int,
    rng: np.random.Generator,
    *,
    n_batches: int = 15,
    n_classes: int = 2,
    start: QueryHistory = NOTHING,
    after_batch: Callable[[QueryHistory], None] | None = None,
) -> QueryHistory:
    """Let a strategy ask up to ``n_questions``, [LZCW21] Algorithm 5 without the teachers.

    Parameters
    ----------
    strategy : Strategy
    X_pool : table
        Public points, all different: equal points have one answer.
    ask : callable
        Takes positions, returns the released class index of each, -1 for a refusal. A shorter
        answer says that the service stopped after it.
    n_questions : int
        The number of answers the noise was fixed for; ``start`` counts towards it.
    rng : numpy Generator
    n_batches : int, default 15
        Batches after the first, which is ``max(10, n_questions / 10)``. More batches cost no
        privacy.
    n_classes : int, default 2
        A strategy that cannot tell so many apart is refused before anything is asked.
    start : QueryHistory, optional
        What was asked before: the run goes on from there.
    after_batch : callable, optional
        Called with everything asked so far: for progress and learning curves.

    Examples
    --------
    >>> from tacit.students.active import Margin
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> found = ask_in_batches(
    ...     Margin(), X, lambda at: X[at, 0] > 0.3, 40, np.random.default_rng(0)
    ... )
    >>> len(found.positions), found.stopped
    (40, 'budget')
    """
    check_classes(strategy, validation.integer(2, n_classes=n_classes))
    bounds = np.cumsum(schedule(n_questions, n_batches)).tolist()
    state = start
    while len(state.positions) < n_questions:
        done = len(state.positions)
        if done == n_rows(X_pool):
            return _ended(state, "pool")
        k = next(bound for bound in bounds if bound > done) - done
        # Copies: what a strategy does to its arguments must not change what was released.
        chosen = check_selection(
            strategy.select(X_pool, state.positions.copy(), state.labels.copy(), k, rng),
            n_rows(X_pool),
            state.positions,
            k,
        )
        if len(chosen) == 0:
            return _ended(state, "strategy")
        state = _extended(state, chosen, ask(chosen), n_classes)
        if after_batch is not None:
            after_batch(state)
        if len(state.positions) < done + len(chosen):
            return _ended(state, "service")
    return _ended(state, "budget")


def _extended(
    state: QueryHistory, chosen: IndexArray, answers: ArrayLike, n_classes: int
) -> QueryHistory:
    labels = np.asarray(answers).astype(np.int64)
    if labels.ndim != 1 or len(labels) > len(chosen):
        raise InvalidArgument(
            f"`ask` must return one label for each of {len(chosen)} points, "
            f"got shape {labels.shape}."
        )
    if len(labels) and not -1 <= labels.min() <= labels.max() < n_classes:
        raise InvalidArgument(
            f"`ask` must return class indices from 0 to {n_classes - 1}, or -1 for a refusal."
        )
    return QueryHistory(
        np.concatenate([state.positions, chosen[: len(labels)]]),
        np.concatenate([state.labels, labels]),
        (*state.batches, len(labels)) if len(labels) else state.batches,
        state.stopped,
    )


def _ended(state: QueryHistory, why: str) -> QueryHistory:
    return QueryHistory(state.positions, state.labels, state.batches, why)
