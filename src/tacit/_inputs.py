"""What ``fit`` is given, made safe: labels, classes and identifiers, each looked at by itself.

Lengths and kinds of containers are checked. Values are not: which error is raised, and what it
says, must not depend on what a private record holds.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from tacit._identifiers import identifier_bytes
from tacit.datasets.form import Kind
from tacit.datasets.records import n_rows
from tacit.errors import InvalidArgument
from tacit.teachers.labels import ClassList


@dataclass(frozen=True)
class Voters:
    """Teachers that are there before a fit: one per shard in files, or those who voted elsewhere.

    ``unit`` is what the guarantee is about, ``told`` what it assumes. Public.
    """

    n_teachers: int
    unit: str
    told: str

    @classmethod
    def of_shards(cls, n_shards: int) -> Voters:
        """Return the teachers of shards in files."""
        told = "All records of a person are in one shard, and the key of the shards is secret."
        return cls(n_shards, "person", told)

    @classmethod
    def elsewhere(cls, n_teachers: int) -> Voters:
        """Return teachers whose votes were counted elsewhere."""
        told = (
            "Votes were counted elsewhere: whoever counted them answers for it that a record "
            "reached one teacher, who voted once on every question."
        )
        return cls(n_teachers, "record", told)


def private_labels(y: Any, n_records: int) -> NDArray[Any]:
    """Return private labels as an array with one entry per record."""
    if y is None:
        raise InvalidArgument(
            "`y` must be given: it requires y to be passed, but the target y is None."
        )
    if isinstance(y, list | tuple):
        # One by one: as an array, a single text among numbers would turn all labels into text.
        labels: NDArray[Any] = np.empty(len(y), dtype=object)
        for position, label in enumerate(y):
            labels[position] = label
    else:
        labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[-1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the "
            "shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        labels = labels.ravel()
    if labels.shape != (n_records,):
        raise InvalidArgument("`y` must hold one label per record of `X`, in one column.")
    return labels


def refuse_other_kind(y: Any, classes: NDArray[Any]) -> None:
    """Refuse labels whose container holds numbers when classes are texts: none would be known.

    The reverse is not refused: a single text turns an array of numbers into texts, so that would
    tell of a record; labels that were turned into text still find their class.
    """
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind in "biuf" and all(isinstance(label, str) for label in classes.tolist()):
        raise InvalidArgument(
            "`y` must hold labels of `classes`, which are texts, got an array of numbers "
            f"(dtype {y.dtype}). List the numbers in `classes`, or turn `y` into the texts."
        )


def refuse_plain(X: Any) -> None:
    """Refuse a text or a number in the place of records, without showing it."""
    if isinstance(X, str | bytes | numbers.Number):
        raise InvalidArgument(f"`X` must be a table or a list of texts, got a {type(X).__name__}.")


def check_same_kind(X: Any, points: Any, kind: Kind) -> None:
    """Check that records and public points are containers of one kind."""
    if kind is Kind.TEXTS and getattr(X, "ndim", 1) != 1:
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it holds texts, and `X` is a table."
        )
    if kind is Kind.FRAME and not hasattr(X, "columns"):
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a data frame with columns "
            f"other than numbers, and `X` is a {type(X).__name__}. Give both as data frames."
        )
    if kind is Kind.NUMBERS and getattr(X, "ndim", 2) == 1 and getattr(points, "ndim", 2) == 2:
        raise InvalidArgument(
            "`X_public` must be points like the records of `X`: it is a table of numbers, and `X` "
            "has one dimension. Reshape your data, or give texts in both."
        )


def check_columns(points: Any, names: Any, width: int | None) -> None:
    """Check the columns of public points against those of the records, which are public too."""
    if names is not None and hasattr(points, "columns"):
        found, wanted = list(points.columns), list(names)
        if all(isinstance(name, str) for name in found) and found != wanted:
            missing = [name for name in wanted if name not in found]
            raise InvalidArgument(
                "`X_public` must have the columns of `X`, in the same order: feature names should "
                f"match. Missing: {_few(missing)}. Not in `X`: "
                f"{_few([name for name in found if name not in wanted])}."
            )
    shape: tuple[int, ...] = getattr(points, "shape", ())
    if width is not None and len(shape) == 2 and shape[1] != width:
        raise InvalidArgument(
            f"`X_public` must have as many columns as `X`, {width}, got {shape[1]}."
        )


def _few(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return (shown or "none") + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def refuse_infinite(points: Any) -> None:
    """Refuse an infinite number among public points."""
    table: Any = points.tocoo() if sp.issparse(points) else np.asarray(points)
    if table.dtype.kind != "f":
        return
    if sp.issparse(points):
        bad = np.isinf(table.data)
        rows, columns = table.row[bad], table.col[bad]
    else:
        rows, columns = np.nonzero(np.isinf(table))
    if len(rows):
        raise InvalidArgument(
            "`X_public` must hold finite or missing numbers, got an infinite one in row "
            f"{rows[0]}, column {columns[0]} (counted from 0). Remove the point or mark it "
            "missing (NaN)."
        )


def class_list(classes: Any, y: Any) -> NDArray[Any]:
    """Return the sorted list of classes: the caller's, or from the labels when that was asked."""
    if classes is None:
        raise InvalidArgument(
            "`classes` must list the possible labels, got None. They must be public: reading "
            'them from private labels could reveal a record. classes="from-labels" does so '
            "explicitly."
        )
    if isinstance(classes, str):
        if classes != "from-labels":
            raise InvalidArgument(
                f'`classes` must be a list of labels or "from-labels", got {classes!r}.'
            )
        return _found(y)
    # Sorted, as everything in scikit-learn that reads a column of probabilities expects.
    return np.sort(ClassList(classes).labels)


def _found(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that occur: an explicit choice, which the statement lists."""
    if y.dtype == object:
        y = np.asarray(y.tolist())
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    found: NDArray[Any] = np.unique(y)
    if len(found) < 2:
        raise InvalidArgument(f"`y` must hold at least two classes, got {len(found)} class.")
    return found


def workers(n_jobs: Any) -> int | None:
    """Return a number of workers as joblib takes it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InvalidArgument(
            f"`n_jobs` must be None or an integer other than 0 (-1: all cores), got {n_jobs!r}."
        )
    return int(n_jobs)


def generator(random_state: Any) -> np.random.Generator:
    """Return what drives sharding and training."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"`random_state` must be None or an integer, 0 or more, got {random_state!r}."
        ) from None


def identifiers(groups: Any, n_records: int) -> list[bytes] | None:
    """Return whom each record belongs to, as bytes that are equal for equal identifiers."""
    if groups is None:
        return None
    if getattr(groups, "ndim", 1) != 1 or n_rows(groups) != n_records:
        raise InvalidArgument("`groups` must hold one identifier per record of `X`.")
    listed = groups.tolist() if hasattr(groups, "tolist") else groups
    return [identifier_bytes(one) for one in listed]


def numbered(names: list[bytes]) -> NDArray[np.intp]:
    """Return the number of each name, in order of appearance."""
    order: dict[bytes, int] = {}
    return np.array([order.setdefault(name, len(order)) for name in names], dtype=np.intp)
