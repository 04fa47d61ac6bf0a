"""One column of a schema: what its cells hold, and how they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data import cells as forms
from tacit.errors import InvalidArgument

MOST_CATEGORIES = 200
"""The most frequent ones of the pool are listed; others count as missing."""


class ColumnKind(StrEnum):
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
        return self in (ColumnKind.NUMBER, ColumnKind.BOOLEAN)


@dataclass(frozen=True)
class Column:
    """One column of a schema. Public.

    Parameters
    ----------
    name : str, int, float or tuple of these
        Others, such as times, are names in memory only: they cannot be saved.
    kind : ColumnKind
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
    <ColumnKind.NUMBER: 'number'>
    >>> Column.infer("sex", ["f", "m", "f"]).categories
    ('f', 'm')
    """

    name: Any
    kind: ColumnKind = ColumnKind.NUMBER
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dtype: str = "category"
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(map(str, self.categories)))
        object.__setattr__(self, "missing", tuple(map(str, self.missing)))
        try:
            object.__setattr__(self, "kind", ColumnKind(self.kind))
        except ValueError:
            kinds = ", ".join(one.value for one in ColumnKind)
            raise InvalidArgument(
                f"`kind` of column {self.name!r} must be one of {kinds}, got {self.kind!r}."
            ) from None
        if self.kind not in (ColumnKind.CATEGORY, ColumnKind.TEXT):
            object.__setattr__(
                self, "dtype", "category"
            )  # carries no information: one value for all
        if self.kind is ColumnKind.CATEGORY and not self.categories:
            raise InvalidArgument(f"`categories` of column {self.name!r} must not be empty.")
        if self.kind is ColumnKind.CATEGORY and len(self._places) < len(self.categories):
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
        kind: ColumnKind | str | None = None,
        codes: bool = False,
        dtype: str = "category",
        order: Sequence[Any] | None = None,
        ordered: bool = False,
    ) -> Column:
        """Return the column that public cells show.

        Parameters
        ----------
        column : array or list of cells
        kind : ColumnKind, optional
            What it holds, where that is known.
        codes : bool
            Whether texts that look like numbers are categories: in a column whose type is text.
        dtype, order, ordered
            The pandas type, and the list of categories where the type has one.
        """
        kind = _kind(column, codes=codes) if kind is None else ColumnKind(kind)
        if kind is not ColumnKind.CATEGORY:
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
            return cls(name, ColumnKind.TEXT, dtype=dtype)
        return cls(name, kind, tuple(spellings[one] for one in listed), (), dtype, ordered)

    def read(self, column: Any) -> Any:
        """Return cells as this column: floats, category codes, times or texts.

        Every cell is converted by itself; one that does not fit is missing (NaN, -1, not-a-time or
        an empty text).
        """
        match self.kind:
            case ColumnKind.NUMBER | ColumnKind.BOOLEAN:
                values = forms.numbers(column)
                if self._missing:
                    codes = forms.rounded(np.array([forms.number(one) for one in self._missing]))
                    values[np.isin(values, codes[np.isfinite(codes)])] = np.nan
                return values
            case ColumnKind.CATEGORY:
                codes_by_text = {
                    one: at for one, at in self._places.items() if one not in self._missing
                }
                return forms.coded(column, codes_by_text)
            case ColumnKind.DATE:
                times = forms.dates(column)
                if self.missing:
                    times[np.isin(times, forms.dates(self.missing))] = np.datetime64("NaT")
                return times
            case ColumnKind.TEXT:
                return [
                    "" if one is None or one in self._missing else one
                    for one in forms.texts(column)
                ]

    def series(self, column: Any) -> Any:
        """Return cells as a pandas column of this kind."""
        import pandas as pd

        values = self.read(column)
        if self.kind is ColumnKind.TEXT:
            return pd.Series(values, dtype=_pandas_type(self.dtype))
        if self.kind is not ColumnKind.CATEGORY:
            return pd.Series(values)
        if self.dtype == "category":
            kind = pd.CategoricalDtype(list(self.categories), ordered=self.ordered)
            return pd.Series(pd.Categorical.from_codes(values, dtype=kind))
        return pd.Series(self.objects(values), dtype=_pandas_type(self.dtype))

    def objects(self, values: Any) -> Any:
        """Return what ``read`` returned as Python objects; a missing category is None."""
        if self.kind is ColumnKind.CATEGORY:
            listed = np.array([*self.categories, None], dtype=object)
            return listed[values]
        return np.array(values, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain values, of which JSON has a counterpart."""
        fields: dict[str, Any] = {"name": _plain_name(self.name), "kind": self.kind.value}
        if self.kind is ColumnKind.CATEGORY:
            fields["categories"] = list(self.categories)
        if self.missing:
            fields["missing"] = list(self.missing)
        if self.kind in (ColumnKind.CATEGORY, ColumnKind.TEXT) and self.dtype != "category":
            fields["dtype"] = self.dtype
        if self.ordered:
            fields["ordered"] = True
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Column:
        """Return the column that ``to_dict`` described."""
        unknown = set(fields) - {"name", "kind", "categories", "missing", "dtype", "ordered"}
        if unknown or "name" not in fields:
            raise InvalidArgument(
                "A column of a schema must have a name and may have kind, categories, missing, "
                f"dtype and ordered, got {sorted(map(str, fields))}."
            )
        return cls(
            _name(fields["name"]),
            fields.get("kind", ColumnKind.NUMBER),
            tuple(fields.get("categories", ())),
            tuple(fields.get("missing", ())),
            str(fields.get("dtype", "category")),
            bool(fields.get("ordered", False)),
        )

    def describe(self) -> str:
        """Return kind, categories and codes of missing values as text."""
        words = self.kind.value
        if self.kind is ColumnKind.CATEGORY:
            listed = ", ".join(self.categories[:8])
            more = len(self.categories) - 8
            words += f": {listed}" + (f" and {more} more" if more > 0 else "")
        if self.missing:
            words += f" (missing: {', '.join(self.missing)})"
        return words


def _plain_name(name: Any) -> Any:
    """Return a name as JSON can hold it: a tuple, as a frame with several levels has, is a list."""
    if isinstance(name, tuple):
        return [_plain_name(one) for one in name]
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int) or (isinstance(name, float) and name == name):
        return name
    raise InvalidArgument(
        f"`name` of a column that is saved must be a text, a number or a tuple of these, got "
        f"{name!r}. Rename the column: frame.columns = frame.columns.astype(str)."
    )


def _name(plain: Any) -> Any:
    return tuple(map(_name, plain)) if isinstance(plain, list) else plain


def _kind(column: Any, *, codes: bool) -> ColumnKind:
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return ColumnKind.BOOLEAN if column.dtype.kind == "b" else ColumnKind.NUMBER
    if isinstance(column, np.ndarray) and column.dtype.kind in "M":
        return ColumnKind.DATE
    present = [one for one in column if forms.text(one) is not None]
    written = [one for one in present if isinstance(one, str | bytes)]
    if not written and present:
        if all(not np.isnan(forms.number(one)) for one in present):
            truths = all(isinstance(one, bool | np.bool_) for one in present)
            return ColumnKind.BOOLEAN if truths else ColumnKind.NUMBER
        if all(_is_time(one) for one in present):
            return ColumnKind.DATE
    words = {str(one).strip().lower() for one in written}
    if words and len(written) == len(present) and words <= {"true", "false"}:
        return ColumnKind.BOOLEAN
    if not codes and all(not np.isnan(forms.number(one)) for one in present):
        return ColumnKind.NUMBER
    distinct = len({forms.text(one) for one in present})
    return (
        ColumnKind.TEXT
        if distinct > max(MOST_CATEGORIES, len(present) // 2)
        else ColumnKind.CATEGORY
    )


def _is_time(cell: Any) -> bool:
    return not np.isnat(forms.date(cell)) and not isinstance(cell, str | bytes | int | float)


def _pandas_type(name: str) -> Any:
    import pandas as pd

    try:
        return pd.api.types.pandas_dtype("object" if name == "category" else name)
    except TypeError:  # a type of another version of pandas
        return np.dtype(object)
