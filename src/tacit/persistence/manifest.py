"""What stands beside a model, as JSON: classes, the privacy statement, the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DamagedFile, PersistenceError
from tacit.privacy.budget import Neighbouring
from tacit.report import PrivacyStatement, RunReport

_PLAIN_KINDS = "biufU"
_PLAIN_TYPES = (bool, int, float, str)


def to_json(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest on one line."""
    # Settings in a report may be objects; as in the report's own JSON they are written as text.
    return json.dumps(manifest, default=str).encode()


def from_json(text: bytes, *, where: str) -> dict[str, Any]:
    """Return the manifest on a line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DamagedFile(f"The manifest of {where} is not JSON.")
    return found


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


def statement_from_dict(saved: Mapping[str, Any]) -> PrivacyStatement:
    """Return the statement that ``PrivacyStatement.to_dict`` wrote."""
    given = _known_fields(PrivacyStatement, saved)
    given["neighbouring"] = Neighbouring(given["neighbouring"])
    given["assumptions"] = tuple(given["assumptions"])
    return PrivacyStatement(**given)


def report_from_dict(saved: Mapping[str, Any], statement: PrivacyStatement) -> RunReport:
    """Return the report that ``RunReport.to_dict`` wrote."""
    return RunReport(**{**_known_fields(RunReport, saved), "statement": statement})


def _known_fields(kind: type[Any], saved: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in saved.items() if name in names}
