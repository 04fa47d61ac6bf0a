"""The public schema of a table: what every column holds, and how a missing value is written.

It is inferred from public points or given by the caller, never from private records: what is read
off all records together would be shared by all teachers, and one record could change it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tacit.data.column import Column, ColumnKind
from tacit.data.containers import (
    cells_of,
    column_names,
    columns_in,
    is_frame,
    is_pandas,
    is_sparse,
    is_table,
)
from tacit.errors import InvalidArgument

FORMAT = "tacit schema"
VERSION = 1


class Layout(StrEnum):
    """What a row is: an array or sparse row of numbers, a row of a data frame, objects, a text."""

    NUMBERS = "numbers"
    FRAME = "frame"
    OBJECTS = "objects"
    TEXTS = "texts"


@dataclass(frozen=True)
class Schema:
    """What a row is. Public; printable; saved with every model.

    Parameters
    ----------
    columns : sequence of Column
        Empty for texts and for sparse or plain rows of numbers, which have a ``width`` only.
    layout : Layout
        What learners see.
    width : int, optional
        Number of columns of a plain table of numbers.
    sparse : bool
        Whether rows of numbers are sparse.
    named : bool
        Whether columns have names; otherwise they go by position.

    Examples
    --------
    >>> schema = Schema([Column("age"), Column("sex", "category", ["f", "m"])])
    >>> print(schema)
    age   number
    sex   category: f, m
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...] = ()
    layout: Layout = Layout.FRAME
    width: int | None = None
    sparse: bool = False
    named: bool = True

    def __post_init__(self) -> None:
        columns = self.columns
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "layout", Layout(self.layout))
        if not all(isinstance(one, Column) for one in self.columns):
            raise InvalidArgument("`columns` must be a sequence of Column.")
        if len(set(self.names)) < len(self.columns):
            raise InvalidArgument(f"`columns` must have different names, got {self.names!r}.")
        if self.layout is Layout.FRAME and all(one.kind.is_numeric for one in self.columns):
            object.__setattr__(self, "layout", Layout.NUMBERS)
        if self.columns:
            object.__setattr__(self, "width", len(self.columns))

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""
        return [one.name for one in self.columns]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns where all are texts, else None: what scikit-learn calls so."""
        if not self.columns or not self.named:
            return None
        return tuple(self.names) if all(isinstance(one, str) for one in self.names) else None

    @classmethod
    def of_numbers(cls, width: int, *, sparse: bool = False) -> Schema:
        """Return the schema of a plain table of numbers."""
        return cls((), Layout.NUMBERS, int(width), sparse, False)

    @classmethod
    def of_texts(cls) -> Schema:
        """Return the schema of a list of texts."""
        return cls((), Layout.TEXTS, None, False, False)

    @classmethod
    def infer(cls, points: Any, name: str = "X_public") -> Schema:
        """Return the schema that public points show.

        Parameters
        ----------
        points : array, sparse matrix, data frame (pandas, polars), Arrow table or list
            Public: never private records.
        name : str
            What messages call them.

        Examples
        --------
        >>> Schema.infer([[0.0, 1.0], [2.0, 3.0]])
        Schema.of_numbers(2)
        """
        if getattr(getattr(points, "dtype", None), "kind", "f") == "c":
            raise InvalidArgument(f"`{name}` must hold real numbers. Complex data not supported.")
        if is_sparse(points):
            return cls.of_numbers(points.shape[1], sparse=True)
        if not is_table(points):
            listed = cells_of(points)
            if len(listed) and isinstance(listed[0], str):
                return cls.of_texts()
            raise InvalidArgument(
                f"`{name}` must be a table with one row per point, or a list of texts. Reshape "
                "your data: array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one "
                "point."
            )
        if is_frame(points):
            typed = [_typed(points, at) for at in range(len(column_names(points)))]
            read = columns_in(points)
            return cls(
                tuple(
                    Column.infer(name, column, **settings)
                    for name, column, settings in zip(
                        column_names(points), read, typed, strict=True
                    )
                )
            )
        read = columns_in(points)
        columns = tuple(Column.infer(at, column) for at, column in enumerate(read))
        if all(one.kind.is_numeric for one in columns):
            return cls.of_numbers(len(columns))
        return cls(columns, Layout.OBJECTS, None, False, False)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        fields: dict[str, Any] = {"format": FORMAT, "version": VERSION, "layout": self.layout.value}
        if self.columns:
            fields["columns"] = [one.to_dict() for one in self.columns]
            fields["named"] = self.named
        else:
            fields |= {"width": self.width, "sparse": self.sparse}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Schema:
        """Return the schema that ``to_dict`` described."""
        try:
            if (fields["format"], fields["version"]) != (FORMAT, VERSION):
                raise InvalidArgument(f"A schema must be of {FORMAT!r}, version {VERSION}.")
            width = fields.get("width")
            columns = tuple(Column.from_dict(one) for one in fields.get("columns", ()))
            return cls(
                columns,
                Layout(fields.get("layout", "frame")),
                None if width is None else int(width),
                bool(fields.get("sparse", False)),
                bool(fields.get("named", False)),
            )
        except InvalidArgument:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidArgument(
                'A schema must be {"format": "tacit schema", "version": 1, "columns": [{"name": '
                '..., "kind": ...}, ...]}; see docs/guide/schema.md.'
            ) from None

    def to_json(self) -> str:
        """Return the schema as the content of a file that can be edited."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, content: str | bytes) -> Schema:
        """Return the schema in a file's content."""
        try:
            fields = json.loads(content)
        except ValueError:
            raise InvalidArgument("A schema file must be JSON.") from None
        if not isinstance(fields, dict):
            raise InvalidArgument("A schema file must be a JSON object.")
        return cls.from_dict(fields)

    def __repr__(self) -> str:
        if self.layout is Layout.TEXTS:
            return "Schema.of_texts()"
        if not self.columns:
            return f"Schema.of_numbers({self.width}{', sparse=True' if self.sparse else ''})"
        return f"Schema({len(self.columns)} columns, layout={self.layout.value!r})"

    def __str__(self) -> str:
        if not self.columns:
            return repr(self)
        wide = max(len(str(name)) for name in self.names)
        return "\n".join(f"{one.name!s:<{wide}}   {one.describe()}" for one in self.columns)


def _typed(frame: Any, at: int) -> dict[str, Any]:
    """Return what the type of a public frame's column implies: codes, categories, text types."""
    if not is_pandas(frame):
        name = str(frame.schema[at] if hasattr(frame, "num_rows") else frame.dtypes[at])
        return {"codes": any(one in name for one in ("String", "string", "Categorical", "Enum"))}
    dtype = frame.dtypes.iloc[at]
    name = str(dtype)
    if name == "category":
        return {
            "kind": ColumnKind.CATEGORY if len(dtype.categories) else None,
            "order": list(dtype.categories) if len(dtype.categories) else None,
            "ordered": bool(dtype.ordered),
            "codes": True,
        }
    if dtype.kind == "c":
        raise InvalidArgument(
            f"`X_public` must hold real numbers. Complex data not supported (column {at})."
        )
    if dtype.kind in "mM" or name.startswith("period"):
        return {"kind": ColumnKind.NUMBER if dtype.kind == "m" else ColumnKind.DATE}
    if name.startswith("interval"):
        return {"kind": ColumnKind.CATEGORY}
    text = name in ("object", "str", "string") or name.startswith(("string", "large_string"))
    return {"codes": text, "dtype": "object" if not text or name == "object" else name}
