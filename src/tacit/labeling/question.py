"""Public names of questions: the same point has the same name, wherever it is asked."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidArgument

_DOUBLE = np.dtype(np.float64)


def question_key(point: ArrayLike) -> bytes:
    """Return the name of a public point: a hash of its numbers, or of its text.

    Numbers are compared as double-precision values, so 1 and 1.0 are the same point, and so are
    zero and minus zero. The shape counts.

    Parameters
    ----------
    point : array of numbers, or text
        One point of the public pool. Public.

    Returns
    -------
    bytes
        32 bytes.

    Examples
    --------
    >>> question_key([1, 2]) == question_key([1.0, 2.0])
    True
    >>> question_key([1, 2]) == question_key([2, 1])
    False
    """
    if isinstance(point, str):
        return hashlib.sha256(b"text:" + point.encode()).digest()
    try:
        numbers = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("`point` must be numbers or text.") from None
    (key,) = keys_of_numbers(numbers[np.newaxis])
    return key


def keys_of_numbers(points: NDArray[np.float64]) -> list[bytes]:
    """Return the name of every row of an array of numbers."""
    # Adding zero makes minus zero plain; every not-a-number becomes the same one.
    plain = (points + 0.0).astype("<f8", order="C", copy=False)
    missing = np.isnan(plain)
    if np.count_nonzero(missing):
        plain[missing] = np.nan
    shape, numbers = f"{points.shape[1:]}:".encode(), plain.tobytes()
    size = len(numbers) // max(1, len(points))
    if not size:
        return [hashlib.sha256(shape).digest()] * len(points)
    rows = struct.iter_unpack(f"{size}s", numbers)
    return [hashlib.sha256(shape + row).digest() for (row,) in rows]


def question_keys(points: Any) -> list[bytes]:
    """Return the name of every row of a table of points, or of every text of a list.

    Data frames and objects are named by the text of their values, sparse rows as the dense rows
    they stand for.

    Examples
    --------
    >>> question_keys([[0.0, 1.0], [2.0, 3.0]]) == [question_key([0, 1]), question_key([2, 3])]
    True
    """
    if type(points) is np.ndarray and points.dtype == _DOUBLE:
        return keys_of_numbers(points)
    if hasattr(points, "iloc"):
        return [question_key(repr(row)) for row in points.itertuples(index=False, name=None)]
    if sp.issparse(points):
        table = points.tocsr()
        return [question_key(table[row].toarray().ravel()) for row in range(table.shape[0])]
    if len(points) and isinstance(points[0], str):
        return [question_key(text) for text in points]
    if getattr(points, "dtype", None) is not None and points.dtype.kind == "O":
        return [question_key(repr(row)) for row in points.tolist()]
    return keys_of_numbers(np.asarray(points, dtype=np.float64))
