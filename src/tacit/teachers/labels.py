"""The public list of classes, and how labels become positions in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

    __slots__ = ("_by_text", "_by_value", "_order", "_sorted", "labels")

    def __init__(self, classes: ArrayLike | Sequence[Any] | ClassList) -> None:
        self.labels: NDArray[Any] = (
            classes.labels if isinstance(classes, ClassList) else _checked(classes)
        )
        plain = self.labels.tolist()
        self._by_value = {label: position for position, label in enumerate(plain)}
        self._by_text = {str(label): position for position, label in enumerate(plain)}
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

        Each label is looked up by itself: converting them together would let one odd label
        (a text among numbers) change how all others are read. For the same reason a label that
        was turned into text still finds its class.
        """
        if isinstance(values, np.ndarray) and values.dtype.kind == self.labels.dtype.kind != "O":
            return self._lookup(values)
        if hasattr(values, "tolist"):
            values = values.tolist()
        return np.fromiter((self._position(value) for value in values), dtype=np.int64)

    def _lookup(self, values: NDArray[Any]) -> IntArray:
        at = np.searchsorted(self._sorted, values)
        at[at == len(self)] = 0
        return np.where(self._sorted[at] == values, self._order[at], UNKNOWN).astype(np.int64)

    def _position(self, value: object) -> int:
        try:
            found = self._by_value.get(value)
            if found is None and isinstance(value, str):
                found = self._by_text.get(value)
                if found is None and self.labels.dtype.kind in "biuf":
                    # A text among float labels turns 1.0 into "1.0": it still means class 1.
                    found = self._by_value.get(float(value))
            elif found is None:
                found = self._by_text.get(str(value))
            return UNKNOWN if found is None else found
        except Exception:  # a label that cannot be hashed, compared or written is no class
            return UNKNOWN


def _checked(classes: ArrayLike | Sequence[Any]) -> NDArray[Any]:
    given = list(classes) if isinstance(classes, Iterable) else None
    if given is None or isinstance(classes, str | bytes):
        raise InvalidArgument(f"`classes` must be a list of labels, got {classes!r}.")
    labels = np.asarray(given)
    if labels.ndim != 1 or len(labels) < 2 or len(np.unique(labels)) < len(labels):
        raise InvalidArgument(f"`classes` must list at least two different labels, got {given!r}.")
    if labels.dtype.kind not in "biufUO" or labels.tolist() != [_plain(c) for c in given]:
        raise InvalidArgument(f"`classes` must be labels of one kind, got {given!r}.")
    labels.setflags(write=False)
    return labels


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
