"""Votes: what goes into a mechanism, and never comes out as it is."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.errors import InvalidArgument, PrivateValueError

IntArray = NDArray[np.int64]


class VoteCounts:
    """How many of ``n_teachers`` teachers voted for each class, one row per question. Private.

    Parameters
    ----------
    counts : array of shape (n_questions, n_classes) or (n_classes,)
        Whole numbers, zero or more; every row sums to ``n_teachers``. Private.
    n_teachers : int
        The public number of teachers.

    Attributes
    ----------
    n_questions, n_classes : int
        Numbers of rows and columns. Public.

    Privacy
    -------
    Sensitive throughout. Its repr, and every message raised here, show shapes and ``n_teachers``
    only. Mechanisms read the numbers through ``private_array``; nothing else should.

    Examples
    --------
    >>> VoteCounts([[3, 7], [10, 0]], n_teachers=10)
    VoteCounts(n_questions=2, n_classes=2, n_teachers=10, counts=<private>)
    """

    __slots__ = ("_counts", "n_classes", "n_questions", "n_teachers")

    n_classes: int
    n_questions: int

    def __init__(self, counts: ArrayLike, n_teachers: int) -> None:
        self.n_teachers = validation.positive_integer(n_teachers=n_teachers)
        self._counts: IntArray = _checked(counts, self.n_teachers)
        self.n_questions, self.n_classes = self._counts.shape

    def private_array(self) -> IntArray:
        """Return the counts themselves: for mechanisms only. Private."""
        return self._counts

    def __len__(self) -> int:
        return self.n_questions

    def __getitem__(self, rows: int | slice | NDArray[np.intp] | list[int]) -> VoteCounts:
        """Return the counts of some of the questions."""
        part = VoteCounts.__new__(VoteCounts)
        part.n_teachers = self.n_teachers
        part._counts = np.atleast_2d(self._counts[rows])
        part.n_questions, part.n_classes = part._counts.shape
        return part

    def __repr__(self) -> str:
        return (
            f"VoteCounts(n_questions={self.n_questions}, n_classes={self.n_classes}, "
            f"n_teachers={self.n_teachers}, counts=<private>)"
        )

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise PrivateValueError("Vote counts are private: release them through a mechanism.")


def _checked(counts: ArrayLike, n_teachers: int) -> IntArray:
    """Return counts as an int64 matrix; messages name the rule that is broken, never a count."""
    try:
        table = np.asarray(counts)
        numeric = table.dtype.kind in "iuf"
    except (TypeError, ValueError):
        numeric = False
    if not numeric:
        raise InvalidArgument("`counts` must be an array of whole numbers.")
    if table.ndim == 1:
        table = table[np.newaxis, :]
    if table.ndim != 2 or table.shape[1] < 2:
        raise InvalidArgument(
            "`counts` must have one row per question and at least two columns (classes), "
            f"got shape {table.shape}."
        )
    if table.dtype.kind == "f":
        # NaN and infinity fail the first test, fractions the second.
        if not np.isfinite(table).all() or (table != np.floor(table)).any():
            raise InvalidArgument("`counts` must be whole numbers; found one that is not.")
    if table.size and (table.min() < 0 or table.max() > n_teachers):
        raise InvalidArgument(f"`counts` must lie between 0 and n_teachers={n_teachers}.")
    whole = table.astype(np.int64)
    if (whole.sum(axis=1) != n_teachers).any():
        raise InvalidArgument(
            f"`counts` must sum to n_teachers={n_teachers} in every row: "
            "each teacher votes exactly once."
        )
    return _frozen(whole)


def _frozen(table: IntArray) -> IntArray:
    table.setflags(write=False)
    return table
