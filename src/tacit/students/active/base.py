"""What a strategy is, and what the library checks about its choices.

A strategy decides which public points to ask about next. It sees the pool, what was asked and what
was released, never a vote: whatever it does is post-processing of released answers, so no strategy,
however it adapts, can cost more than the answers that were planned.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.students.passive import UNLABELLED

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


@runtime_checkable
class Strategy(Protocol):
    """Chooses what to ask next.

    A strategy may carry ``max_classes``, the most classes it supports; without it any number
    is assumed. Points come in the coordinates of ``PoolRepresentation``, on one scale;
    ``coordinates = "given"`` asks for the numbers as they are. A strategy that knows the pool row
    by row has a method ``restricted(positions)``, because equal points are one question: it returns
    the strategy for the rows that are left. It keeps no state between calls: ``queried`` and
    ``labels`` say all there is to know, so a run can be interrupted and resumed, and one object
    serves many runs.
    """

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> ArrayLike:
        """Return positions of points to ask about now.

        Parameters
        ----------
        X_pool : table of numbers
            All public points.
        queried : array of positions
            What was asked so far, in this order.
        labels : array of the same length
            The released class index of each; -1 where an answer was refused.
        k : int
            How many to choose.
        rng : numpy Generator
            The only source of randomness. Not privacy noise.

        Returns
        -------
        array of positions
            Distinct and not asked yet; ``k`` of them, or fewer. What a short answer names is asked,
            and ``select`` is called again; an empty one says that no more is wanted.
        """
        ...


def check_selection(selected: Any, n_points: int, queried: Any, k: int) -> IndexArray:
    """Return what a strategy chose as positions, or say what is wrong with it.

    Raises
    ------
    InvalidArgument
        Unless these are at most ``k`` distinct positions in the pool that were not asked yet.

    Examples
    --------
    >>> check_selection([4, 2], 10, queried=[0, 1], k=2)
    array([4, 2])
    >>> check_selection([4, 1], 10, queried=[0, 1], k=2)
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidArgument: `select` must return points that were not asked yet, got 1 again.
    """
    positions = np.asarray(selected)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise _wrong(
            "a flat list of integer positions", f"{positions.dtype} of shape {positions.shape}"
        )
    positions = positions.astype(np.intp)
    if len(positions) > k:
        raise _wrong(f"at most {k} positions", str(len(positions)))
    outside = positions[(positions < 0) | (positions >= n_points)]
    if len(outside):
        raise _wrong(f"positions from 0 to {n_points - 1}", str(outside[0]))
    values, counts = np.unique(positions, return_counts=True)
    if len(values) < len(positions):
        raise _wrong("distinct positions", f"{values[counts > 1][0]} twice")
    again = np.intersect1d(positions, np.asarray(queried, dtype=np.intp))
    if len(again):
        raise _wrong("points that were not asked yet", f"{again[0]} again")
    return positions


def _wrong(rule: str, got: str) -> InvalidArgument:
    return InvalidArgument(f"`select` must return {rule}, got {got}.")


def check_classes(strategy: Any, n_classes: int) -> None:
    """Refuse a strategy that supports fewer classes.

    Call it before the first question: a strategy alone would notice only when a third class is
    released, and by then answers are paid for.

    Examples
    --------
    >>> from tacit.students.active import YanDBAL
    >>> check_classes(YanDBAL(), 2)
    >>> check_classes(YanDBAL(), 3)
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidArgument: `YanDBAL` supports 2 classes, got 3. Choose another ...
    """
    most = getattr(strategy, "max_classes", None)
    if most is not None and n_classes > most:
        raise InvalidArgument(
            f"`{type(strategy).__name__}` supports {most} classes, got {n_classes}. "
            "Choose another strategy, for example DiverseMargin."
        )


def unasked(n_points: int, queried: Any) -> IndexArray:
    """Return the positions that were not asked yet, in order.

    Examples
    --------
    >>> unasked(5, [1, 3])
    array([0, 2, 4])
    """
    left = np.ones(n_points, dtype=bool)
    left[np.asarray(queried, dtype=np.intp)] = False
    return np.flatnonzero(left)


def random_unasked(n_points: int, queried: Any, k: int, rng: np.random.Generator) -> IndexArray:
    """Return up to ``k`` positions that were not asked yet, at random."""
    left = unasked(n_points, queried)
    return rng.permutation(left)[: min(k, len(left))]


def smallest(values: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Return where the ``k`` smallest values are; ties are broken at random."""
    shuffled = rng.permutation(len(values))
    return shuffled[np.argsort(values[shuffled], kind="stable")[:k]]


def answered(queried: Any, labels: Any) -> tuple[IndexArray, NDArray[np.int64]]:
    """Return the positions that were answered and their labels; refusals are left out.

    Examples
    --------
    >>> answered([4, 2, 7], [1, -1, 0])
    (array([4, 7]), array([1, 0]))
    """
    positions, released = np.asarray(queried, dtype=np.intp), np.asarray(labels, dtype=np.int64)
    if positions.shape != released.shape:
        raise InvalidArgument(
            f"`labels` must have one entry for each of {len(positions)} points asked, "
            f"got {len(released)}."
        )
    has_label = released != UNLABELLED
    return positions[has_label], released[has_label]


def as_numbers(X_pool: Any) -> Any:
    """Return the pool as a float array or CSR matrix; refuse what is not numbers."""
    if sp.issparse(X_pool):
        table = X_pool.tocsr().astype(np.float64)
        values = table.data
    else:
        try:
            table = values = np.asarray(X_pool, dtype=np.float64)
        except (TypeError, ValueError):
            raise _no_numbers(type(X_pool).__name__) from None
    if table.ndim != 2 or not np.isfinite(values).all():
        raise _no_numbers("missing or infinite values" if table.ndim == 2 else "another shape")
    return table


def _no_numbers(got: str) -> InvalidArgument:
    return InvalidArgument(
        f"`X_pool` must be a table of finite numbers, got {got}. "
        "tacit.data.representations.coordinates.PoolRepresentation makes one of any public points."
    )


def schedule(n_questions: int, n_batches: int = 15, n_initial: int = 10) -> list[int]:
    """Return how many questions to ask in each batch.

    First max(n_initial, a tenth) to start from, then batches of equal size. Batches cost no
    privacy: the number of answers fixes the noise, not when they are asked for.

    Examples
    --------
    >>> schedule(49, n_batches=5)
    [10, 8, 8, 8, 8, 7]
    """
    n_questions = validation.integer(0, n_questions=n_questions)
    n_batches = validation.positive_integer(n_batches=n_batches)
    first = min(n_questions, max(n_initial, -(-n_questions // 10)))
    share, extra = divmod(n_questions - first, n_batches)
    sizes = [first] + [share + (position < extra) for position in range(n_batches)]
    return [size for size in sizes if size > 0]
