"""Schemas of records and public points, and checks that both have one form.

Which error is raised, and its message, depends on public facts only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tacit.data import Column, Layout, PointReader, Schema
from tacit.data.containers import column_names, is_frame, is_table
from tacit.data.reader import check_columns, refuse_scalar
from tacit.errors import InvalidArgument


def checked_points(estimator: Any, X: Any, *, reset: bool, name: str = "X") -> Any:
    """Return points converted by the schema; only what is public about them is checked."""
    if not reset and getattr(X, "ndim", None) == 2:
        validate_data(estimator, X, reset=False, skip_check_array=True)  # its words for widths
    reader = PointReader(estimator.schema_)
    table = reader.records(X, name)
    if reader.schema.layout is Layout.NUMBERS:
        return validate_data(
            estimator,
            table,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,  # how many there are may be private; too few are refused later
        )
    validate_data(estimator, table, reset=reset, skip_check_array=True)
    return table


def public_schema(schema: Any, points: Any, name: str = "X_public") -> Schema:
    """Return the schema given by the caller, or the one that public points show."""
    if schema is None:
        return Schema.infer(points, name)
    if not isinstance(schema, Schema):
        raise InvalidArgument(f"`schema` must be a tacit.Schema, got a {type(schema).__name__}.")
    return schema


def record_schema(schema: Any, X: Any, X_public: Any) -> Schema:
    """Return the schema of records that may come without public points.

    Then every column holds numbers, whatever the records hold: kinds and categories read off
    private records would be shared by all teachers. Column names and their number are public.
    """
    refuse_scalar(X, "X")
    if schema is not None or X_public is not None:
        public = public_schema(schema, X_public)
        if X_public is not None:
            check_same_kind(X, X_public, public)
        return public
    if is_frame(X):
        return Schema(tuple(Column(name) for name in column_names(X)), Layout.NUMBERS)
    if isinstance(X, list | tuple):
        raise InvalidArgument(
            "`X` must be an array, a sparse matrix or a data frame when there are no public points "
            "(`X_public`) and no `schema`: how long a row of a list is, is private."
        )
    if getattr(X, "ndim", 0) != 2:
        raise InvalidArgument(
            "`X` must be a table with one row per point. Reshape your data: "
            "array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one point. Texts "
            "and other objects need public points of their kind: fit(X, y, X_public=...)."
        )
    return Schema.of_numbers(X.shape[1], sparse=hasattr(X, "tocsr"))


def check_same_kind(X: Any, points: Any, schema: Schema) -> None:
    """Check that records and public points are containers of one kind."""
    if schema.layout is Layout.TEXTS:
        if getattr(X, "ndim", 1) != 1:
            raise InvalidArgument(
                "`X_public` must be points like the records of `X`: it holds texts, and `X` is a "
                "table."
            )
        return
    if schema.layout is Layout.FRAME and not is_frame(X):
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a data frame with columns "
            f"other than numbers, and `X` is a {type(X).__name__}. Give both as data frames."
        )
    if getattr(X, "ndim", 2) == 1 and is_table(points):
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a table, and `X` "
            "has one dimension. Reshape your data, or give texts in both."
        )
    names = column_names(X) if is_frame(X) else None
    shape: Any = getattr(X, "shape", ())
    if len(shape) == 2:
        check_columns(points, names, shape[1], name="X_public", like="`X`")


def refuse_infinite(points: Any) -> None:
    """Refuse an infinite number among public points."""
    if hasattr(points, "tocoo"):
        table = points.tocoo()
        bad = np.isinf(table.data) if table.dtype.kind == "f" else np.zeros(0, dtype=bool)
        rows, columns = table.row[: len(bad)][bad], table.col[: len(bad)][bad]
    else:
        array = points.to_numpy() if hasattr(points, "to_numpy") else np.asarray(points)
        if array.dtype.kind != "f":
            return
        rows, columns = np.nonzero(np.isinf(array))
    if len(rows):
        raise InvalidArgument(
            "`X_public` must hold finite or missing numbers, got an infinite one in row "
            f"{rows[0]}, column {columns[0]} (counted from 0). Remove the point or mark it "
            "missing (NaN)."
        )
