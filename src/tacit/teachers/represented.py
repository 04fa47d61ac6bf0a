"""Private records seen through a public representation, one shard at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data.pool import n_rows, take
from tacit.teachers.workers.suppress_output import SuppressOutput


def represented(representation: Any, points: Any) -> Any:
    """Return public points in the coordinates of a fitted transformer, as an array."""
    return _plain(representation.transform(points))


class ShardTransform:
    """Transforms the records of one shard; one that cannot be transformed becomes zeros.

    Parameters
    ----------
    representation : fitted transformer
        Public: fitted on public points alone.
    like : array
        Public points in its coordinates.
    """

    def __init__(self, representation: Any, like: Any) -> None:
        self._representation = representation
        self._sparse = sp.issparse(like)
        self.width = int(like.shape[1])

    def __call__(self, records: Any) -> Any:
        shape = (n_rows(records), self.width)
        with SuppressOutput():
            try:
                rows = _plain(self._representation.transform(records))
                if rows.shape == shape:
                    return rows
            except KeyboardInterrupt:
                raise
            except BaseException:
                pass
        return sp.csr_matrix(shape) if self._sparse else np.zeros(shape)


class RepresentedRows:
    """A table whose rows are transformed when they are picked. Private.

    Transforming all records at once would let one that the transformer refuses raise an error,
    which reveals something, or spoil the others. Here a shard that cannot be transformed becomes
    zeros: one record reaches one shard, as everywhere.

    Parameters
    ----------
    records : table
        Private.
    representation : fitted transformer
        Public: fitted on public points alone.
    like : array
        Public points in its coordinates.
    """

    ndim = 2

    def __init__(self, records: Any, representation: Any, like: Any) -> None:
        self._records = records
        self._transform = ShardTransform(representation, like)
        self.shape = (n_rows(records), self._transform.width)

    def __getitem__(self, rows: Any) -> Any:
        with SuppressOutput():
            return self._transform(take(self._records, rows))

    def __repr__(self) -> str:
        return "RepresentedRows(<private>)"


def _plain(table: Any) -> Any:
    if sp.issparse(table):
        return table.tocsr()
    return table.to_numpy() if hasattr(table, "iloc") else np.asarray(table)
