"""The public form of a point, as JSON: names, types and categories of columns, never a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.datasets.form import Kind, PointForm
from tacit.errors import PersistenceError
from tacit.persistence.manifest import labels_from_dict, labels_to_dict
from tacit.teachers.rows import RowForm

# pandas is imported where it is needed: only its frames have columns.


def point_form_to_dict(form: PointForm) -> dict[str, Any]:
    """Return the form of a student's points as plain values.

    Examples
    --------
    >>> point_form_to_dict(PointForm([[0.0, 1.0]]))
    {'kind': 'numbers', 'columns': None}
    """
    frame = form.columns
    columns = None if frame is None else _columns(frame)
    return {"kind": form.kind.value, "columns": columns}


def point_form_from_dict(saved: Mapping[str, Any]) -> PointForm:
    """Return the form that ``point_form_to_dict`` was given."""
    form = PointForm.__new__(PointForm)  # its constructor reads points, and there are none here
    form.kind = Kind(saved["kind"])
    form.columns = None if saved["columns"] is None else _frame(saved["columns"])
    return form


def row_form_to_dict(form: RowForm) -> dict[str, Any]:
    """Return the form of an ensemble's questions as plain values."""
    return {
        "width": form.width,
        "columns": None if form.columns is None else _names(form.columns),
        "categories": {str(at): _index_to_dict(known) for at, known in form.categories.items()},
    }


def row_form_from_dict(saved: Mapping[str, Any]) -> RowForm:
    """Return the form that ``row_form_to_dict`` was given."""
    form = RowForm.__new__(RowForm)  # its constructor reads a table, and there is none here
    columns = saved["columns"]
    form.width = None if saved["width"] is None else int(saved["width"])
    form.columns = None if columns is None else tuple(columns)
    form.categories = {int(at): _index(known) for at, known in saved["categories"].items()}
    return form


def _names(columns: Sequence[Any]) -> list[Any]:
    names = [name.item() if isinstance(name, np.integer) else name for name in columns]
    if not all(type(name) in (str, int) for name in names):
        raise PersistenceError(
            "Columns of a data frame must be named by texts or integers to be saved."
        )
    return names


def _columns(frame: Any) -> list[dict[str, Any]]:
    types = [_type_to_dict(dtype) for dtype in frame.dtypes]
    return [{"name": name, **kind} for name, kind in zip(_names(frame.columns), types, strict=True)]


def _frame(saved: Sequence[Mapping[str, Any]]) -> Any:
    import pandas as pd

    frame = pd.DataFrame({at: pd.Series([], dtype=_type(one)) for at, one in enumerate(saved)})
    frame.columns = pd.Index([one["name"] for one in saved])
    return frame


def _type_to_dict(dtype: Any) -> dict[str, Any]:
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        known = None if dtype.categories is None else _index_to_dict(dtype.categories)
        return {"dtype": "category", "categories": known, "ordered": bool(dtype.ordered)}
    try:
        same = pd.api.types.pandas_dtype(str(dtype)) == dtype
    except TypeError:
        same = False
    if not same:
        raise PersistenceError(f"Columns of type {dtype} cannot be saved.")
    return {"dtype": str(dtype)}


def _type(saved: Mapping[str, Any]) -> Any:
    import pandas as pd

    if saved["dtype"] != "category":
        return pd.api.types.pandas_dtype(saved["dtype"])
    known = saved["categories"]
    return pd.CategoricalDtype(None if known is None else _index(known), ordered=saved["ordered"])


def _index_to_dict(known: Any) -> dict[str, Any]:
    values = np.asarray(known.to_numpy())
    return {"pandas": str(known.dtype), **labels_to_dict(values, name="categories")}


def _index(saved: Mapping[str, Any]) -> Any:
    import pandas as pd

    return pd.Index(labels_from_dict(saved), dtype=saved["pandas"])
