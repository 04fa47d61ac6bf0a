"""An explicit, finite list of hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import BoolArray, FloatArray

_MOST_SUBSETS = 100_000


class FiniteClass(HypothesisClass):
    """The hypotheses one lists: functions from a table of points to labels.

    Parameters
    ----------
    functions : sequence of callables
        Each takes points, shape (n_points, n_features), and returns a label, 0 or 1, for each. The
        label of a point must not depend on the other points. A hypothesis is the position of its
        function.
    n_features : int
    vc_dimension : int, optional
        By default log2 of the number of functions, rounded down: never less than the truth.

    Examples
    --------
    >>> signs = FiniteClass([lambda X: X[:, 0] > 0, lambda X: X[:, 1] > 0], n_features=2)
    >>> signs.predict([1], [[5.0, -1.0], [-5.0, 1.0]])
    array([0, 1], dtype=int8)
    >>> steps = FiniteClass.from_table([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> steps.vc_dimension, steps.minimise([0, 1, 2], [0, 1, 0]).mistakes
    (1, 1)
    """

    def __init__(
        self,
        functions: Sequence[Callable[[FloatArray], Any]],
        *,
        n_features: int,
        vc_dimension: int | None = None,
    ) -> None:
        self._functions = tuple(functions)
        if not self._functions:
            raise InvalidArgument("`functions` must hold at least one hypothesis, got none.")
        self.n_features = validation.positive_integer(n_features=n_features)
        self._vc_dimension = (
            len(self._functions).bit_length() - 1
            if vc_dimension is None
            else validation.integer(0, vc_dimension=vc_dimension)
        )

    @classmethod
    def from_table(cls, table: ArrayLike) -> FiniteClass:
        """Return the class whose points are the columns of a table, and hypotheses its rows.

        A point is the number of its column; numbers outside the table count as the nearest column.
        The VC dimension is exact unless there are very many sets of columns to try.
        """
        cells = np.asarray(table)
        if cells.ndim != 2 or 0 in cells.shape or cells.dtype.kind not in "biu":
            raise InvalidArgument(
                "`table` must hold zeros and ones, one row per hypothesis and one column per "
                f"point, got {cells.dtype} of shape {cells.shape}."
            )
        if ((cells != 0) & (cells != 1)).any():
            raise InvalidArgument("`table` must hold zeros and ones only, got other numbers.")
        labels: BoolArray = cells == 1
        functions = [_Row(row) for row in labels]
        return cls(functions, n_features=1, vc_dimension=_shattered(np.unique(labels, axis=0)))

    @property
    def vc_dimension(self) -> int:
        return self._vc_dimension

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"FiniteClass(<{len(self)} functions>, n_features={self.n_features})"

    def candidates(self, points: FloatArray) -> Iterator[FloatArray]:
        """Yield the positions of all functions."""
        yield np.arange(len(self), dtype=np.float64)[:, None]

    def label(self, hypotheses: FloatArray, points: FloatArray) -> BoolArray:
        rows = [
            np.asarray(self._functions[int(position)](points)) == 1 for position in hypotheses[:, 0]
        ]
        if any(row.shape != (len(points),) for row in rows):
            raise InvalidArgument("`functions` must each return one label per point.")
        return np.array(rows, dtype=np.bool_).reshape(len(hypotheses), len(points))


class _Row:
    """A hypothesis given by its labels on the points 0, 1, 2, ..."""

    def __init__(self, labels: BoolArray) -> None:
        self._labels = labels

    def __call__(self, points: FloatArray) -> BoolArray:
        column = np.clip(points[:, 0], 0, len(self._labels) - 1).astype(np.intp)
        labels: BoolArray = self._labels[column]
        return labels


def _shattered(rows: BoolArray) -> int:
    """Return the VC dimension of distinct rows; an upper bound where trying all sets is too much.

    Subsets of shattered sets are shattered, so the first size at which none is ends the search.
    """
    most = len(rows).bit_length() - 1
    n_subsets = 0
    for size in range(1, most + 1):
        for columns in combinations(range(rows.shape[1]), size):
            n_subsets += 1
            if n_subsets > _MOST_SUBSETS:
                return most
            if len(np.unique(rows[:, columns], axis=0)) == 2**size:
                break
        else:
            return size - 1
    return most
