"""What stands beside a model, as JSON on one line; and lists of labels in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DamagedFile, PersistenceError

_PLAIN_KINDS = "biufU"
_PLAIN_TYPES = (bool, int, float, str)


def to_json(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest on one line."""
    # Settings in a report may be objects; as in the report's own JSON they are written as text.
    return json.dumps(manifest, default=str).encode()


def from_json(text: bytes, *, where: str) -> dict[str, Any]:
    """Return the manifest on a line."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise DamagedFile(f"The manifest of {where} is not JSON.")
    return fields


def labels_to_dict(labels: NDArray[Any], *, name: str) -> dict[str, Any]:
    """Return an array of labels as plain values that give the same array again.

    Examples
    --------
    >>> labels_to_dict(np.array(["no", "yes"]), name="classes")
    {'dtype': '<U3', 'values': ['no', 'yes']}
    """
    values = labels.tolist()
    plain = labels.dtype.kind in _PLAIN_KINDS or all(type(v) in _PLAIN_TYPES for v in values)
    if not plain:
        raise PersistenceError(
            f"`{name}` cannot be saved: only texts, numbers and truth values can, and these are of "
            f"kind {labels.dtype}."
        )
    return {"dtype": labels.dtype.str, "values": values}


def labels_from_dict(saved: Mapping[str, Any]) -> NDArray[Any]:
    """Return the array that ``labels_to_dict`` was given."""
    dtype = np.dtype(str(saved["dtype"]))
    if dtype.kind not in _PLAIN_KINDS + "O":
        raise ValueError("not a kind of labels")
    return np.array(saved["values"], dtype=dtype)
