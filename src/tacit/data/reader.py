"""Read points by a public schema: private records in silence, public questions strictly.

Records are private: every cell is converted by itself, one that does not fit is missing in its own
record, and nothing is raised over a value. Questions are public: what does not fit is refused, with
its place, before anything is asked.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data import cells as forms
from tacit.data.column import Column, ColumnKind
from tacit.data.containers import (
    as_array,
    as_container,
    cells_of,
    column_names,
    columns_in,
    is_frame,
    is_sparse,
    n_rows,
    sparse_numbers,
)
from tacit.data.schema import Layout, Schema
from tacit.errors import InvalidArgument

_HOLDS = {
    ColumnKind.NUMBER: "numbers",
    ColumnKind.BOOLEAN: "truth values",
    ColumnKind.CATEGORY: "categories of a list",
    ColumnKind.DATE: "dates",
    ColumnKind.TEXT: "texts",
}

MADE_UP = 200
"""How many points are made up to try a learner on when no public ones are given."""


class PointReader:
    """Reads points of one schema.

    Parameters
    ----------
    schema : Schema
        Public.
    missing : bool
        Whether a question may have missing values.

    Examples
    --------
    >>> reader = PointReader(Schema.of_numbers(2))
    >>> reader.records([[5, "not a number"]])
    array([[ 5., nan]])
    >>> reader.questions([[1, 2, 3]])
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `X` must have 2 columns, like the records, got 3.
    """

    def __init__(self, schema: Schema, *, missing: bool = True) -> None:
        self.schema, self.missing = schema, missing

    # ---- private ---------------------------------------------------------------------------------

    def records(self, X: Any, name: str = "X") -> Any:
        """Return private records as rows of the schema.

        The class of the container, its dimensions and its column names are public and checked.
        """
        X = as_container(X)
        self.check_container(X, name)
        match self.schema.layout:
            case Layout.TEXTS:
                return ["" if one is None else one for one in forms.texts(cells_of(X))]
            case Layout.NUMBERS:
                return self._numbers(X)
            case Layout.FRAME:
                return self._frame(X)
            case Layout.OBJECTS:
                return self._objects(X)

    def check_container(self, X: Any, name: str = "X") -> None:
        """Refuse a container that cannot hold points of the schema, by public facts alone."""
        refuse_scalar(X, name)
        schema = self.schema
        if schema.layout is Layout.TEXTS:
            if is_frame(X) or is_sparse(X) or getattr(X, "ndim", 1) != 1:
                raise InvalidArgument(
                    f"`{name}` must be a list of texts like the public points, and is a table."
                )
            return
        if schema.layout is Layout.FRAME and not is_frame(X):
            raise InvalidArgument(
                f"`{name}` must be a data frame with the columns of the schema, which are not all "
                f"numbers, got a {type(X).__name__}. Give records and public points as data frames."
            )
        dimensions = 2 if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
        if dimensions != 2:
            raise InvalidArgument(
                f"`{name}` must be a table with one row per point, got {dimensions} dimensions. "
                "Reshape your data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) "
                "for one point. Texts and other objects need public points of their kind."
            )
        names = schema.names if schema.named else None
        check_columns(X, names, schema.width, name=name, like="the records")

    def _columns(self, X: Any) -> list[Any]:
        return columns_in(X, self.schema.width)

    def _numbers(self, X: Any) -> Any:
        if is_sparse(X):
            table = sparse_numbers(X)
            table.data = forms.rounded(table.data)
            # Whether a zero is stored may follow from other rows: blocks have several.
            table.eliminate_zeros()
            return table if self.schema.sparse else table.toarray()
        plain = None if is_frame(X) or isinstance(X, list | tuple) else as_array(X)
        if plain is not None and plain.dtype.kind in "biuf" and not self.schema.columns:
            with np.errstate(all="ignore"):
                table = forms.rounded(plain.astype(np.float64))
        else:
            columns = self.schema.columns or [Column(at) for at in range(self.schema.width or 0)]
            read = [one.read(cells) for one, cells in zip(columns, self._columns(X), strict=True)]
            table = np.column_stack(read) if read else np.empty((n_rows(X), 0))
        if self.schema.sparse:
            return sp.csr_matrix(table)
        return _named(table, column_names(X)) if is_frame(X) else table

    def _frame(self, X: Any) -> Any:
        import pandas as pd

        pairs = zip(self.schema.columns, self._columns(X), strict=True)
        frame = pd.concat([one.series(cells) for one, cells in pairs], axis=1)
        frame.columns = pd.Index(self.schema.names)
        return frame

    def _objects(self, X: Any) -> Any:
        pairs = zip(self.schema.columns, self._columns(X), strict=True)
        read = [one.objects(one.read(cells)) for one, cells in pairs]
        table = np.empty((n_rows(X), len(read)), dtype=object)
        for at, column in enumerate(read):
            table[:, at] = column
        return table

    # ---- public ----------------------------------------------------------------------------------

    def questions(self, X: Any) -> Any:
        """Return public points as rows of the schema; raise with what is wrong with them."""
        refuse_scalar(X, "X")
        if not hasattr(X, "shape") and not isinstance(X, list | tuple):
            raise InvalidArgument(f"`X` must be a table of points, got a {type(X).__name__}.")
        if self.schema.layout is Layout.TEXTS:
            return _checked_texts(X)
        if isinstance(X, list | tuple):
            _refuse_uneven(X, self.schema.width)
        self.check_container(X)
        if is_sparse(X) or (getattr(getattr(X, "dtype", None), "kind", "O") in "biuf"):
            self._refuse_odd(X)
            return self.records(X)
        for at, cells in enumerate(self._columns(X)):
            self._refuse_unreadable(at, cells)
        return self.records(X)

    def _refuse_odd(self, X: Any) -> None:
        values = X.tocoo().data if is_sparse(X) else X
        if values.dtype.kind not in "biuf":
            raise InvalidArgument("`X` must hold real numbers.")
        if np.isinf(values).any():
            raise InvalidArgument("`X` must hold finite numbers, got an infinite one.")
        if not self.missing and np.isnan(values).any():
            raise InvalidArgument(
                "`X` must not have missing values (NaN): the learner does not take them."
            )

    def _refuse_unreadable(self, at: int, cells: Any) -> None:
        column = self.schema.columns[at] if self.schema.columns else Column(at)
        values = column.read(cells)
        if isinstance(values, list):
            gaps = np.array([one == "" for one in values], dtype=bool)
        elif values.dtype.kind == "i":
            gaps = values < 0
        else:
            gaps = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
        for row in np.flatnonzero(gaps).tolist():
            value = cells[row]
            if _is_infinite(value):
                raise InvalidArgument("`X` must hold finite numbers, got an infinite one.")
            absent = forms.text(value) is None
            if not absent or not self.missing:
                found_text = "a missing value" if absent else f"{value!r}"
                where = repr(column.name) if self.schema.named else str(at)
                raise InvalidArgument(
                    f"`X` must hold values of each column's own kind: row {row}, column {where} "
                    f"has {found_text}, and the column holds {_HOLDS[column.kind]}."
                )

    def example_points(self, rng: np.random.Generator) -> Any:
        """Return random points to try a learner on."""
        if self.schema.layout is not Layout.NUMBERS or self.schema.width is None:
            raise InvalidArgument("`X_public` must be given: points like these cannot be made up.")
        return self.records(rng.normal(size=(MADE_UP, self.schema.width)))

    def __repr__(self) -> str:
        return f"PointReader({self.schema!r})"


def refuse_scalar(X: Any, name: str) -> None:
    """Refuse a text or a number in the place of points, without showing it."""
    if isinstance(X, str | bytes | numbers.Number):
        raise InvalidArgument(
            f"`{name}` must be a table or a list of texts, got a {type(X).__name__}."
        )


def _named(table: Any, names: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(table, columns=pd.Index(names))


def check_columns(
    points: Any, names: list[Any] | None, width: int | None, *, name: str, like: str
) -> None:
    """Refuse a container with other columns than expected, by public facts alone.

    ``names`` are compared where both have names. ``like`` says whose columns are expected.
    """
    if names is not None and is_frame(points) and column_names(points) != names:
        given = column_names(points)
        missing = [one for one in names if one not in given]
        extra = [one for one in given if one not in names]
        raise InvalidArgument(
            f"`{name}` must have the columns of {like}, in the same order: feature names should "
            f"match. Missing: {first_names(missing)}. Not in {like}: {first_names(extra)}."
        )
    shape: Any = getattr(points, "shape", ())
    if len(shape) == 2 and shape[1] != width:
        raise InvalidArgument(f"`{name}` must have {width} columns, like {like}, got {shape[1]}.")


def first_names(names: list[Any], most: int = 5) -> str:
    """Return the first names of a list, and how many more there are."""
    listed = ", ".join(repr(name) for name in names[:most])
    return (listed or "none") + (f" and {len(names) - most} more" if len(names) > most else "")


def _is_infinite(cell: Any) -> bool:
    try:
        return bool(np.isinf(float(cell)))
    except (TypeError, ValueError, OverflowError):
        return False


def _checked_texts(X: Any) -> list[str]:
    listed = cells_of(X)
    if not all(isinstance(text, str) for text in listed):
        raise InvalidArgument("`X` must be a list of texts, like the records.")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("`X` must hold texts that can be written in UTF-8.") from None
    return ["" if one is None else one for one in forms.texts(list(listed))]


def _refuse_uneven(rows: Any, width: int | None) -> None:
    for row in rows:
        size = len(row) if isinstance(row, list | tuple | np.ndarray) else None
        if size is None:
            raise InvalidArgument(
                "`X` must be a table of numbers or other values with one row per point; for one "
                "point write [[...]]."
            )
        if size != width:
            raise InvalidArgument(f"`X` must have {width} columns, like the records, got {size}.")
