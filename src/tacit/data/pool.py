"""Public points as a type of their own, so that nothing treats them like private records."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data.containers import n_rows as n_rows
from tacit.errors import InvalidArgument


class PublicPool:
    """Unlabelled points that anybody may see.

    Wrapping a pool keeps scikit-learn's cross-validation from slicing it along with the private
    records: it has no length and is no array, on purpose.

    Parameters
    ----------
    points : array, sparse matrix, data frame or list of texts

    Examples
    --------
    >>> PublicPool([[0.0, 1.0], [2.0, 3.0]])
    PublicPool(n_points=2)
    """

    def __init__(self, points: Any) -> None:
        self.points: Any = points.points if isinstance(points, PublicPool) else points
        if isinstance(self.points, str | bytes) or not _has_rows(self.points):
            raise InvalidArgument(
                "`X_public` must be a table or a list of texts, got a "
                f"{type(self.points).__name__}."
            )
        self.n_points = n_rows(self.points)
        if self.n_points == 0:
            raise InvalidArgument("`X_public` must hold at least one point, got none.")

    def __repr__(self) -> str:
        return f"PublicPool(n_points={self.n_points})"


def _has_rows(points: Any) -> bool:
    return bool(getattr(points, "shape", ())) or hasattr(type(points), "__len__")


def take(points: Any, rows: Any) -> Any:
    """Return some rows of an array, sparse matrix, data frame or list."""
    if hasattr(points, "iloc"):
        return points.iloc[rows].reset_index(drop=True)
    if sp.issparse(points):
        return points.tocsr()[rows]
    if isinstance(points, list | tuple):
        return [points[row] for row in np.asarray(rows).tolist()]
    return np.asarray(points)[rows]
