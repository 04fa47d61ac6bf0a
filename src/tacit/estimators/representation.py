"""The coordinates of a fit: fitted on the public pool alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tacit.data.pool import PublicPool
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument


def is_chosen(representation: Any) -> bool:
    """Whether the caller chose a representation: the automatic one is for teachers alone."""
    return representation is not None and not isinstance(representation, str)


def fit_representation(
    representation: Any, pool: PublicPool, automatic: PoolRepresentation | None
) -> Any:
    """Return the transformer that the caller chose, or else ``automatic``, fitted on the pool."""
    _check(representation)
    if is_chosen(representation):
        return clone(representation).fit(pool.points)
    return None if automatic is None else automatic.fit(pool.points)


def representation_name(representation: Any, *, chosen: bool) -> str:
    """Return the name of a fitted representation, for the settings in force."""
    if representation is None:
        return "none"
    if chosen:
        return repr(representation)
    return f"PoolRepresentation, {representation.directions_.shape[1]} coordinates"


def are_numbers(points: Any) -> bool:
    """Whether points are a table of numbers, dense or sparse."""
    if sp.issparse(points):
        return True
    return isinstance(points, np.ndarray) and points.dtype.kind in "biuf" and len(points) > 1


def _check(representation: Any) -> None:
    if isinstance(representation, str) and representation != "auto":
        raise InvalidArgument(
            f"`representation` must be 'auto', None or a transformer, got {representation!r}. "
            "Give an object, such as PCA(10) of scikit-learn."
        )
    if isinstance(representation, type):
        raise InvalidArgument(
            f"`representation` must be an object, got the class {representation.__name__}; "
            f"call it: {representation.__name__}()."
        )
