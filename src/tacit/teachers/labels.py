"""The public list of classes, and how labels become positions in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.cells import text
from tacit.data.containers import cells_of
from tacit.errors import InvalidArgument

IntArray = NDArray[np.int64]

UNKNOWN = -1
"""Position of a label that is not in the list."""

DEFAULT = 0
"""Position of the class that a teacher votes for when it cannot do better: fixed and public."""


class ClassList:
    """The classes a teacher may vote for: public, fixed, in the caller's order.

    Parameters
    ----------
    classes : sequence of labels
        At least two different labels of one kind. Public: from the caller or the task, never
        read off private labels, where one record could add a class.

    Examples
    --------
    >>> ClassList(["no", "yes"]).positions(["yes", "no", "perhaps"])
    array([ 1,  0, -1])
    """

    __slots__ = ("_order", "_places", "_sorted", "labels")

    def __init__(self, classes: ArrayLike | Sequence[Any] | ClassList) -> None:
        self.labels: NDArray[Any] = (
            classes.labels if isinstance(classes, ClassList) else _checked(classes)
        )
        self._places = {text(one): at for at, one in enumerate(self.labels.tolist())}
        self._order: IntArray = np.argsort(self.labels, kind="stable").astype(np.int64)
        self._sorted = self.labels[self._order]

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"ClassList({self.labels.tolist()!r})"

    @property
    def sorted_positions(self) -> IntArray:
        """Positions in the order in which scikit-learn sorts the labels."""
        return self._order

    def positions(self, values: Any) -> IntArray:
        """Return the position of each label, ``UNKNOWN`` where it is not in the list.

        Labels are compared by canonical form (``tacit.data.cells``), each by itself: 1, 1.0, "1"
        and True are one label, because a container may turn any of them into another over a
        single odd label.
        """
        cells = cells_of(values)
        if isinstance(cells, np.ndarray):
            distinct, place = np.unique(cells, return_inverse=True)
            positions = np.array([self._place(one) for one in distinct.tolist()], dtype=np.int64)
            return positions[place.ravel()]
        # Most labels are texts, of which there are few: each is brought to its form once.
        texts = {one: self._place(one) for one in {one for one in cells if type(one) is str}}
        places = (texts[one] if type(one) is str else self._place(one) for one in cells)
        return np.fromiter(places, dtype=np.int64, count=len(cells))

    def predicted_positions(self, predictions: NDArray[Any]) -> IntArray:
        """Return the positions of what a teacher predicted: labels it was fitted with."""
        if predictions.dtype.kind != self.labels.dtype.kind or predictions.dtype.kind == "O":
            return self.positions(predictions)
        at = np.searchsorted(self._sorted, predictions)
        at[at == len(self)] = 0
        matches = self._sorted[at] == predictions
        return np.where(matches, self._order[at], UNKNOWN).astype(np.int64)

    def _place(self, label: object) -> int:
        canonical = text(label)
        return UNKNOWN if canonical is None else self._places.get(canonical, UNKNOWN)


def _checked(classes: ArrayLike | Sequence[Any]) -> NDArray[Any]:
    values = list(classes) if isinstance(classes, Iterable) else None
    if values is None or isinstance(classes, str | bytes):
        raise InvalidArgument(f"`classes` must be a list of labels, got {classes!r}.")
    labels = np.asarray(values)
    if labels.ndim != 1 or len(labels) < 2 or len(np.unique(labels)) < len(labels):
        raise InvalidArgument(f"`classes` must list at least two different labels, got {values!r}.")
    if labels.dtype.kind not in "biufUO" or labels.tolist() != [_plain(c) for c in values]:
        raise InvalidArgument(f"`classes` must be labels of one kind, got {values!r}.")
    canonical = [text(one) for one in labels.tolist()]
    if None in canonical or len(set(canonical)) < len(canonical):
        raise InvalidArgument(
            "`classes` must be labels that stay different in every container: True is 1, and "
            f"'01' is 1; none may stand for a missing value, got {values!r}."
        )
    labels.setflags(write=False)
    return labels


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
