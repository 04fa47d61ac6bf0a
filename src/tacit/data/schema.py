"""The public schema of a table: what every column holds, and how a missing value is written.

It is inferred from public points or given by the caller, never from private records: what is read
off all records together would be shared by all teachers, and one record could change it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data import cells as forms
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

MOST_CATEGORIES = 200
"""The most frequent ones of the pool are listed; others count as missing."""

FORMAT = "tacit schema"
VERSION = 1


class Kind(StrEnum):
    """What a column holds.

    ``number`` and ``boolean`` become floats, ``category`` one of a public list, ``date`` a time in
    UTC, ``text`` any text.
    """

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"

    @property
    def is_numeric(self) -> bool:
        """Whether cells become floats."""
        return self in (Kind.NUMBER, Kind.BOOLEAN)


class Layout(StrEnum):
    """What a row is: an array or sparse row of numbers, a row of a data frame, objects, a text."""

    NUMBERS = "numbers"
    FRAME = "frame"
    OBJECTS = "objects"
    TEXTS = "texts"


@dataclass(frozen=True)
class Column:
    """One column of a schema. Public.

    Parameters
    ----------
    name : str or int
    kind : Kind
    categories : sequence of str
        The values of a category column, as they are shown; a cell is compared by canonical form,
        so "010" stands for 10 as well. Any other value is missing.
    missing : sequence of str
        Further values that stand for a missing one, such as "-9".
    dtype : str
        pandas type of a category or text column in the frames that learners see.
    ordered : bool
        Whether the categories have an order.

    Examples
    --------
    >>> Column.infer("age", ["39", "", "50.5"]).kind
    <Kind.NUMBER: 'number'>
    >>> Column.infer("sex", ["f", "m", "f"]).categories
    ('f', 'm')
    """

    name: Any
    kind: Kind = Kind.NUMBER
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dtype: str = "category"
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(map(str, self.categories)))
        object.__setattr__(self, "missing", tuple(map(str, self.missing)))
        try:
            object.__setattr__(self, "kind", Kind(self.kind))
        except ValueError:
            kinds = ", ".join(one.value for one in Kind)
            raise InvalidArgument(
                f"`kind` of column {self.name!r} must be one of {kinds}, got {self.kind!r}."
            ) from None
        if self.kind not in (Kind.CATEGORY, Kind.TEXT):
            object.__setattr__(self, "dtype", "category")  # says nothing: one value for all
        if self.kind is Kind.CATEGORY and not self.categories:
            raise InvalidArgument(f"`categories` of column {self.name!r} must not be empty.")
        if self.kind is Kind.CATEGORY and len(self._places) < len(self.categories):
            raise InvalidArgument(
                f"`categories` of column {self.name!r} must be different values that are not "
                f"missing; some are one value in different spellings: {list(self.categories)!r}."
            )

    @cached_property
    def _places(self) -> dict[str, int]:
        canonical = map(forms.text, self.categories)
        return {one: at for at, one in enumerate(canonical) if one is not None}

    @cached_property
    def _missing(self) -> frozenset[str]:
        return frozenset(one for one in map(forms.text, self.missing) if one is not None)

    @classmethod
    def infer(
        cls,
        name: Any,
        column: Any,
        *,
        kind: Kind | str | None = None,
        codes: bool = False,
        dtype: str = "category",
        order: Sequence[Any] | None = None,
        ordered: bool = False,
    ) -> Column:
        """Return the column that public cells show.

        Parameters
        ----------
        column : array or list of cells
        kind : Kind, optional
            What it holds, where that is known.
        codes : bool
            Whether texts that look like numbers are categories: in a column whose type is text.
        dtype, order, ordered
            The pandas type, and the list of categories where the type has one.
        """
        kind = _kind(column, codes=codes) if kind is None else Kind(kind)
        if kind is not Kind.CATEGORY:
            return cls(name, kind, dtype=dtype)
        canonical = [one for one in forms.texts(column) if one is not None]
        spellings = forms.first_spellings(list(column))
        if order is not None:
            listed = [one for one in dict.fromkeys(map(forms.text, order)) if one is not None]
            spellings = {**forms.first_spellings(list(order)), **spellings}
        else:
            counted = Counter(canonical)
            listed = sorted(
                sorted(counted, key=lambda one: (-counted[one], one))[:MOST_CATEGORIES],
                key=lambda one: spellings[one],
            )
        if not listed:  # nothing is known: whatever a record holds is missing
            return cls(name, Kind.TEXT, dtype=dtype)
        return cls(name, kind, tuple(spellings[one] for one in listed), (), dtype, ordered)

    def read(self, column: Any) -> Any:
        """Return cells as this column: floats, category codes, times or texts.

        Every cell is converted by itself; one that does not fit is missing (NaN, -1, not-a-time or
        an empty text).
        """
        match self.kind:
            case Kind.NUMBER | Kind.BOOLEAN:
                values = forms.numbers(column)
                if self._missing:
                    codes = forms.rounded(np.array([forms.number(one) for one in self._missing]))
                    values[np.isin(values, codes[np.isfinite(codes)])] = np.nan
                return values
            case Kind.CATEGORY:
                known = {one: at for one, at in self._places.items() if one not in self._missing}
                return forms.coded(column, known)
            case Kind.DATE:
                return forms.dates(column)
            case Kind.TEXT:
                return [
                    "" if one is None or one in self._missing else one
                    for one in forms.texts(column)
                ]

    def series(self, column: Any) -> Any:
        """Return cells as a pandas column of this kind."""
        import pandas as pd

        values = self.read(column)
        if self.kind is Kind.TEXT:
            return pd.Series(values, dtype=_pandas_type(self.dtype))
        if self.kind is not Kind.CATEGORY:
            return pd.Series(values)
        if self.dtype == "category":
            kind = pd.CategoricalDtype(list(self.categories), ordered=self.ordered)
            return pd.Series(pd.Categorical.from_codes(values, dtype=kind))
        return pd.Series(self.objects(values), dtype=_pandas_type(self.dtype))

    def objects(self, values: Any) -> Any:
        """Return what ``read`` returned as Python objects; a missing category is None."""
        if self.kind is Kind.CATEGORY:
            listed = np.array([*self.categories, None], dtype=object)
            return listed[values]
        return np.array(values, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain values."""
        told: dict[str, Any] = {"name": self.name, "kind": self.kind.value}
        if self.kind is Kind.CATEGORY:
            told["categories"] = list(self.categories)
        if self.missing:
            told["missing"] = list(self.missing)
        if self.kind in (Kind.CATEGORY, Kind.TEXT) and self.dtype != "category":
            told["dtype"] = self.dtype
        if self.ordered:
            told["ordered"] = True
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Column:
        """Return the column that ``to_dict`` described."""
        unknown = set(told) - {"name", "kind", "categories", "missing", "dtype", "ordered"}
        if unknown or "name" not in told:
            raise InvalidArgument(
                "A column of a schema must have a name and may have kind, categories, missing, "
                f"dtype and ordered, got {sorted(map(str, told))}."
            )
        return cls(
            told["name"],
            told.get("kind", Kind.NUMBER),
            tuple(told.get("categories", ())),
            tuple(told.get("missing", ())),
            str(told.get("dtype", "category")),
            bool(told.get("ordered", False)),
        )


def _kind(column: Any, *, codes: bool) -> Kind:
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return Kind.BOOLEAN if column.dtype.kind == "b" else Kind.NUMBER
    if isinstance(column, np.ndarray) and column.dtype.kind in "M":
        return Kind.DATE
    present = [one for one in column if forms.text(one) is not None]
    written = [one for one in present if isinstance(one, str | bytes)]
    if not written and present:
        if all(not np.isnan(forms.number(one)) for one in present):
            truths = all(isinstance(one, bool | np.bool_) for one in present)
            return Kind.BOOLEAN if truths else Kind.NUMBER
        if all(_is_time(one) for one in present):
            return Kind.DATE
    words = {str(one).strip().lower() for one in written}
    if words and len(written) == len(present) and words <= {"true", "false"}:
        return Kind.BOOLEAN
    if not codes and all(not np.isnan(forms.number(one)) for one in present):
        return Kind.NUMBER
    distinct = len({forms.text(one) for one in present})
    return Kind.TEXT if distinct > max(MOST_CATEGORIES, len(present) // 2) else Kind.CATEGORY


def _is_time(cell: Any) -> bool:
    return not np.isnat(forms.date(cell)) and not isinstance(cell, str | bytes | int | float)


def _pandas_type(name: str) -> Any:
    import pandas as pd

    try:
        return pd.api.types.pandas_dtype("object" if name == "category" else name)
    except TypeError:  # a type of another version of pandas
        return np.dtype(object)


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
        given = self.columns
        object.__setattr__(self, "columns", tuple(given))
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
        told: dict[str, Any] = {"format": FORMAT, "version": VERSION, "layout": self.layout.value}
        if self.columns:
            told["columns"] = [one.to_dict() for one in self.columns]
            told["named"] = self.named
        else:
            told |= {"width": self.width, "sparse": self.sparse}
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Schema:
        """Return the schema that ``to_dict`` described."""
        try:
            if (told["format"], told["version"]) != (FORMAT, VERSION):
                raise InvalidArgument(f"A schema must be of {FORMAT!r}, version {VERSION}.")
            width = told.get("width")
            columns = tuple(Column.from_dict(one) for one in told.get("columns", ()))
            return cls(
                columns,
                Layout(told.get("layout", "frame")),
                None if width is None else int(width),
                bool(told.get("sparse", False)),
                bool(told.get("named", False)),
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
            told = json.loads(content)
        except ValueError:
            raise InvalidArgument("A schema file must be JSON.") from None
        if not isinstance(told, dict):
            raise InvalidArgument("A schema file must be a JSON object.")
        return cls.from_dict(told)

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
        return "\n".join(f"{one.name!s:<{wide}}   {_described(one)}" for one in self.columns)


def _described(column: Column) -> str:
    words = column.kind.value
    if column.kind is Kind.CATEGORY:
        shown = ", ".join(column.categories[:8])
        more = len(column.categories) - 8
        words += f": {shown}" + (f" and {more} more" if more > 0 else "")
    if column.missing:
        words += f" (missing: {', '.join(column.missing)})"
    return words


def _typed(frame: Any, at: int) -> dict[str, Any]:
    """Return what the type of a public frame's column tells: codes, categories, text types."""
    if not is_pandas(frame):
        name = str(frame.schema[at] if hasattr(frame, "num_rows") else frame.dtypes[at])
        return {"codes": any(one in name for one in ("String", "string", "Categorical", "Enum"))}
    dtype = frame.dtypes.iloc[at]
    name = str(dtype)
    if name == "category":
        return {
            "kind": Kind.CATEGORY if len(dtype.categories) else None,
            "order": list(dtype.categories) if len(dtype.categories) else None,
            "ordered": bool(dtype.ordered),
            "codes": True,
        }
    if dtype.kind == "c":
        raise InvalidArgument(
            f"`X_public` must hold real numbers. Complex data not supported (column {at})."
        )
    if dtype.kind in "mM" or name.startswith("period"):
        return {"kind": Kind.NUMBER if dtype.kind == "m" else Kind.DATE}
    if name.startswith("interval"):
        return {"kind": Kind.CATEGORY}
    text = name in ("object", "str", "string") or name.startswith(("string", "large_string"))
    return {"codes": text, "dtype": "object" if not text or name == "object" else name}
