"""One shard, one teacher, one vote: whatever happens."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tacit.data.pool import n_rows
from tacit.teachers.global_random import restart
from tacit.teachers.labels import DEFAULT, UNKNOWN, ClassList, IntArray
from tacit.teachers.learner import (
    Recipe,
    final_step,
    given_labels,
    read_votes,
)
from tacit.teachers.rows import own_copy, take
from tacit.teachers.workers.suppress_output import SuppressOutput


class Teacher:
    """A fitted learner that always votes. Private.

    Parameters
    ----------
    classes : ClassList
        Public.
    model : object with ``predict``, or None
        The fitted learner; None for a teacher that always votes for ``constant``. Private.
    decode : array of int, optional
        For a learner fitted with labels 0, 1, ...: the class position of each.
    constant : int
        Position of the class a teacher without a model votes for.

    Privacy
    -------
    A point for which the model has no usable answer gets the vote of the fixed default class;
    so does a whole batch on which it raised. Nothing distinguishes this from a real vote but
    ``events``, which is private.
    """

    __slots__ = ("classes", "constant", "decode", "events", "model")

    def __init__(
        self,
        classes: ClassList,
        model: Any = None,
        *,
        decode: IntArray | None = None,
        constant: int = DEFAULT,
    ) -> None:
        self.classes, self.model, self.decode, self.constant = classes, model, decode, constant
        self.events: Counter[str] = Counter()

    def votes(self, X: Any) -> IntArray:
        """Return the position in ``classes`` of the class voted for, one per point. Private."""
        n_points = n_rows(X)
        if self.model is None:
            return np.full(n_points, self.constant, dtype=np.int64)
        votes = None
        try:
            with SuppressOutput():
                restart(DEFAULT)
                # Its own copy: a model that changes its input in place, as scalers with
                # copy=False do, would hand its records' statistics to every later teacher.
                predicted = self.model.predict(own_copy(X))
                votes = read_votes(predicted, n_points, self.classes, self.decode)
        except KeyboardInterrupt:  # the user's; whatever else is raised may depend on records
            raise
        except BaseException:
            pass
        if votes is None:
            self.events["predict-failed"] += 1
            return np.full(n_points, DEFAULT, dtype=np.int64)
        unknown = votes == UNKNOWN
        if unknown.any():
            self.events["unknown-label"] += int(unknown.sum())
            votes[unknown] = DEFAULT
        return votes

    def __repr__(self) -> str:
        return "Teacher(<private>)"


def fit_recipe(ready: Recipe, X_shard: Any, y_shard: Any, classes: ClassList, seed: int) -> Teacher:
    """Train one teacher, inside a ``SuppressOutput`` context.

    Privacy
    -------
    Nothing that depends on the records is raised, warned, printed or logged. Records whose label
    is not in ``classes`` are left out. A shard without records gives a teacher that always votes
    for the first class, a shard with one class one that always votes for it. So does, for the
    first class, a learner that raises or whose coefficients are not finite.
    """
    positions = classes.positions(y_shard)
    has_class = positions != UNKNOWN
    dropped = len(has_class) - int(has_class.sum())
    if dropped:
        X_shard, positions = take(X_shard, np.flatnonzero(has_class)), positions[has_class]
    teacher = _fitted(ready, X_shard, positions, classes, seed)
    if dropped:
        teacher.events["dropped-records"] += dropped
    return teacher


def _fitted(ready: Recipe, X: Any, positions: IntArray, classes: ClassList, seed: int) -> Teacher:
    present = np.unique(positions)
    if len(present) == 0:
        return _constant(classes, DEFAULT, "empty")
    if len(present) == 1:
        return _constant(classes, int(present[0]), "one-class")
    labels, decode = given_labels(positions, classes, contiguous=ready.contiguous)
    model = ready.fresh(seed)
    restart(seed)
    try:
        model.fit(X, labels)
        diverged = _diverged(model)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return _constant(classes, DEFAULT, "fit-failed")
    if diverged:
        return _constant(classes, DEFAULT, "diverged")
    return Teacher(classes, model, decode=decode)


def _constant(classes: ClassList, position: int, event: str) -> Teacher:
    teacher = Teacher(classes, constant=position)
    teacher.events[event] += 1
    return teacher


def _diverged(model: Any) -> bool:
    """Return whether a model has coefficients that are not finite: its scores mean nothing."""
    last = final_step(model)
    for name in ("coef_", "intercept_", "coefs_", "intercepts_"):
        for array in _arrays(getattr(last, name, None)):
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                return True
    return False


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray | np.generic | float):
        return [np.asarray(value)]
    if isinstance(value, list | tuple):
        return [np.asarray(part) for part in value]
    return []
