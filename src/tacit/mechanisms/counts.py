"""Votes: what goes into a mechanism, and never comes out as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import _validate
from tacit.errors import InvalidArgument, PrivateValueError

IntArray = NDArray[np.int64]

_FEW = 4
"""Up to how many questions are looked at one by one."""


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

    __slots__ = ("_counts", "_plain", "n_classes", "n_questions", "n_teachers")

    n_classes: int
    n_questions: int

    def __init__(self, counts: ArrayLike, n_teachers: int) -> None:
        self.n_teachers = _validate.positive_integer(n_teachers=n_teachers)
        self._counts: IntArray | None = _checked(counts, self.n_teachers)
        self._plain: list[list[int]] | None = None
        self.n_questions, self.n_classes = self._counts.shape

    @classmethod
    def of_two(cls, first: int, second: int) -> VoteCounts:
        """Return the votes on one question with two classes, from whoever counted them himself."""
        one = cls.__new__(cls)
        one.n_teachers = first + second
        one.n_questions, one.n_classes = 1, 2
        one._counts, one._plain = None, [[first, second]]
        return one

    @classmethod
    def joined(cls, parts: Sequence[VoteCounts]) -> VoteCounts:
        """Return several as one: of the same teachers, on the same classes."""
        whole = cls.__new__(cls)
        whole.n_teachers = parts[0].n_teachers
        rows = [row for part in parts for row in part.private_rows()]
        whole._counts, whole._plain = _frozen(np.array(rows, dtype=np.int64)), None
        whole.n_questions, whole.n_classes = len(rows), parts[0].n_classes
        return whole

    def private_array(self) -> IntArray:
        """Return the counts themselves: for mechanisms only. Private."""
        if self._counts is None:
            self._counts = _frozen(np.array(self._plain, dtype=np.int64))
        return self._counts

    def private_rows(self) -> list[list[int]]:
        """Return the same as plain numbers. Private."""
        # An array of two numbers takes longer to make and to read than everything done with them.
        return self.private_array().tolist() if self._plain is None else self._plain

    def __len__(self) -> int:
        return self.n_questions

    def __getitem__(self, rows: int | slice | NDArray[np.intp] | list[int]) -> VoteCounts:
        """Return the counts of some of the questions."""
        part = VoteCounts.__new__(VoteCounts)
        part.n_teachers = self.n_teachers
        part._counts, part._plain = np.atleast_2d(self.private_array()[rows]), None
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
    if isinstance(counts, np.ndarray) and _few_and_right(counts, n_teachers):
        return _frozen(counts.copy())
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


def _few_and_right(table: NDArray[Any], n_teachers: int) -> bool:
    """Return whether this is the common case of a few counts that are in order.

    Plain numbers: for a single question each step over an array takes longer than all of this.
    """
    if table.dtype != np.int64 or table.ndim != 2 or len(table) > _FEW or table.shape[1] < 2:
        return False
    return all(min(row) >= 0 and sum(row) == n_teachers for row in table.tolist())


def _frozen(table: IntArray) -> IntArray:
    table.setflags(write=False)
    return table
