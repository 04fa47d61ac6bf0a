"""Rows of any table: arrays, sparse matrices, data frames, lists of texts.

What a row looks like (how wide it is, what its columns are called, which categories a column may
hold) has to be public. `RowForm` keeps that form and makes private shards follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InvalidArgument

IndexArray = NDArray[np.intp]


def row_access(X: Any) -> Any:
    """Return the same table in a form whose rows can be picked."""
    return X.tocsr() if sparse.issparse(X) else X


def take(X: Any, rows: IndexArray | slice) -> Any:
    """Return some rows, as the same kind of table.

    Lists stay lists: turning a whole list into one array would let a single record decide the
    type of all others.
    """
    if hasattr(X, "iloc"):
        # Numbered anew: a row's place in the whole table reveals how many records come before it.
        return X.iloc[rows].reset_index(drop=True)
    if isinstance(X, list | tuple):
        return list(X[rows]) if isinstance(rows, slice) else [X[row] for row in rows]
    return X[rows]


def own_copy(X: Any) -> Any:
    """Return a table that shares nothing with the one given."""
    return X.copy() if hasattr(X, "copy") else list(X)


class RowForm:
    """The public form of a row: width, column names, categories. Made from a public table.

    Parameters
    ----------
    like : table
        Public points; or private records when there are none, of which only the width and the
        column names are kept, which are taken to be public.
    public : bool
        Whether the categories listed in ``like`` are public too.

    Privacy
    -------
    The category list of a data frame's column is shared by all of its rows, so one record could
    add to it and change what every teacher is given. Shards therefore get the public list, and a
    value outside it becomes missing; without public points each shard gets the sorted list of
    the values it holds itself.
    """

    __slots__ = ("categories", "columns", "width")

    def __init__(self, like: Any, *, public: bool) -> None:
        self.width = _width(like)
        self.columns: tuple[Any, ...] | None = (
            tuple(like.columns) if hasattr(like, "iloc") and hasattr(like, "columns") else None
        )
        self.categories: Mapping[int, Any] = {}
        if public and self.columns is not None:
            self.categories = {at: like.iloc[:, at].cat.categories for at in _categorical(like)}

    def is_plain(self, X: Any) -> bool:
        """Return whether a table is an array of numbers of this form: nothing is left to do."""
        if type(X) is not np.ndarray or self.columns is not None:
            return False
        return X.ndim == 2 and X.shape[1] == self.width

    def check(self, **named: Any) -> None:
        """Refuse a table of another form; the message shows widths and kinds only."""
        ((name, X),) = named.items()
        width = _width(X)
        if width != self.width:
            raise InvalidArgument(
                f"`{name}` must be {_words(self.width)}, like the other points, "
                f"got {_words(width)}."
            )
        if self.columns is not None:
            if not hasattr(X, "columns") or tuple(X.columns) != self.columns:
                raise InvalidArgument(
                    f"`{name}` must be a data frame with the same columns, in the same order, as "
                    "the other points."
                )
        elif hasattr(X, "iloc") and hasattr(X, "columns"):
            raise InvalidArgument(f"`{name}` must not be a data frame: the other points are not.")

    def conform(self, X: Any) -> Any:
        """Return a table whose categorical columns have the public list of categories."""
        if self.columns is None:
            return X
        categories = _categorical(X)
        if not categories:
            return X
        X = X.copy()
        for at in categories:
            column = X.iloc[:, at].cat
            index = self.categories.get(at)
            X.isetitem(
                at,
                _own_categories(column) if index is None else column.set_categories(index),
            )
        return X


def _own_categories(column: Any) -> Any:
    used = column.remove_unused_categories()
    if used.cat.ordered:
        return used  # the order was declared, not found
    return used.cat.reorder_categories(sorted(used.cat.categories, key=str))


def _categorical(frame: Any) -> list[int]:
    return [at for at, dtype in enumerate(frame.dtypes) if str(dtype) == "category"]


def _width(X: Any) -> int | None:
    return int(X.shape[1]) if getattr(X, "ndim", 0) == 2 else None


def _words(width: int | None) -> str:
    return "a list of points" if width is None else f"a table with {width} columns"
