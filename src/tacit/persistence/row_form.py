"""The public form of an ensemble's questions, as JSON: names and categories, never a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.errors import PersistenceError
from tacit.persistence.manifest import labels_from_dict, labels_to_dict
from tacit.teachers.rows import RowForm

# pandas is imported where it is needed: only its frames have columns.


def row_form_to_dict(form: RowForm) -> dict[str, Any]:
    """Return the form of an ensemble's questions as plain values."""
    return {
        "width": form.width,
        "columns": None if form.columns is None else _names(form.columns),
        "categories": {str(at): _index_to_dict(index) for at, index in form.categories.items()},
    }


def row_form_from_dict(saved: Mapping[str, Any]) -> RowForm:
    """Return the form that ``row_form_to_dict`` was given."""
    form = RowForm.__new__(RowForm)  # its constructor reads a table, and there is none here
    columns = saved["columns"]
    form.width = None if saved["width"] is None else int(saved["width"])
    form.columns = None if columns is None else tuple(columns)
    form.categories = {int(at): _index(index) for at, index in saved["categories"].items()}
    return form


def _names(columns: Sequence[Any]) -> list[Any]:
    names = [name.item() if isinstance(name, np.integer) else name for name in columns]
    if not all(type(name) in (str, int) for name in names):
        raise PersistenceError(
            "Columns of a data frame must be named by texts or integers to be saved."
        )
    return names


def _index_to_dict(index: Any) -> dict[str, Any]:
    values = np.asarray(index.to_numpy())
    return {"pandas": str(index.dtype), **labels_to_dict(values, name="categories")}


def _index(saved: Mapping[str, Any]) -> Any:
    import pandas as pd

    return pd.Index(labels_from_dict(saved), dtype=saved["pandas"])
