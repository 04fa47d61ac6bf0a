"""Single answers as masked arrays, made some at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_AT_A_TIME = 32


class SingleLabels:
    """Masked arrays of one label each, ready to be given away.

    Masked arrays are slow to make, and slower when one is made after every commit than when many
    are made in a row: single answers would wait for that longer than for votes or noise.

    Parameters
    ----------
    classes : array of labels

    Examples
    --------
    >>> single = SingleLabels(np.array(["no", "yes"]))
    >>> single.take(1).tolist(), single.take(None).tolist()
    (['yes'], [None])
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = classes
        self._ready: dict[int | None, list[np.ma.MaskedArray[Any, Any]]] = {}

    def take(self, label: int | None) -> np.ma.MaskedArray[Any, Any]:
        """Return one that nobody else has; None stands for a refusal."""
        try:
            # One step, so that no two threads get the same.
            return self._ready[label].pop()
        except LookupError:
            made = [self._made(label) for _ in range(_AT_A_TIME)]
            self._ready[label] = made
            return made.pop()

    def _made(self, label: int | None) -> np.ma.MaskedArray[Any, Any]:
        place = 0 if label is None else label
        # What the constructor does in the end, without its looking for masks and shapes first.
        found: np.ma.MaskedArray[Any, Any] = self._classes[[place]].view(np.ma.MaskedArray)
        found._mask = np.array([label is None])  # type: ignore[attr-defined]
        return found
