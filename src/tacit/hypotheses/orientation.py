"""On which side of a line or a plane a point lies, exactly: no rounding decides it.

The determinant is computed in floating point together with a bound on its error; where it is not
larger than the bound, it is computed again in rational numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.hypotheses.points import BoolArray, FloatArray, IntArray

# Relative error of a sum of at most six products of three rounded differences, in units of the
# sum of their sizes: below 10 * 2**-53 in the plane and in space; doubled for the sum itself.
_RELATIVE = 32 * 2.0**-53
# Below this the products could have underflowed, and the relative bound would not hold.
_TINY = 1e-270


def side(flats: FloatArray, points: FloatArray) -> IntArray:
    """Return 1, -1 or 0: which side of each flat each point is on, or that it lies in it.

    Parameters
    ----------
    flats : array of shape (..., d, d)
        d points that span a point on a line (d = 1), a line (d = 2) or a plane (d = 3). Points
        that span less have all points on them.
    points : array of shape (..., d)
        Leading axes are matched with those of ``flats`` by broadcasting.

    Examples
    --------
    >>> diagonal = np.array([[0.0, 0.0], [0.1, 0.1]])
    >>> side(diagonal, np.array([[0.3, 0.3], [0.3, np.nextafter(0.3, 1)], [1.0, 0.0]]))
    array([ 0,  1, -1])
    """
    d = points.shape[-1]
    if d == 1:
        return np.sign(points[..., 0] - flats[..., 0, 0]).astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        value, size = _determinant(flats, points)
        unsure = ~(np.abs(value) > _RELATIVE * size) | ~(size > _TINY) | ~np.isfinite(size)
        signs = np.where(unsure, 0.0, np.sign(value)).astype(np.int64)
    where = np.nonzero(unsure & ~_certain_on_flat(flats, points))
    shape = unsure.shape
    corners = np.broadcast_to(flats, (*shape, d, d))[where]
    others = np.broadcast_to(points, (*shape, d))[where]
    signs[where] = [_exact(c, x) for c, x in zip(corners, others, strict=True)]
    return signs


def _determinant(flats: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the determinant of differences from the first corner, and the size of its terms."""
    x = points - flats[..., 0, :]
    if points.shape[-1] == 2:
        u = flats[..., 1, :] - flats[..., 0, :]
        plus, minus = u[..., 0] * x[..., 1], u[..., 1] * x[..., 0]
        return plus - minus, np.abs(plus) + np.abs(minus)
    u, v = (flats[..., k, :] - flats[..., 0, :] for k in (1, 2))
    value, size = np.zeros(()), np.zeros(())
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        plus, minus = u[..., a] * v[..., b], u[..., b] * v[..., a]
        value = value + (plus - minus) * x[..., c]
        size = size + (np.abs(plus) + np.abs(minus)) * np.abs(x[..., c])
    return value, size


def _certain_on_flat(flats: FloatArray, points: FloatArray) -> BoolArray:
    """Return where the point is a corner, or two corners are equal: no arithmetic is needed."""
    d = points.shape[-1]
    corner: Any = False
    for k in range(d):
        corner = corner | (points == flats[..., k, :]).all(axis=-1)
        for other in range(k):
            corner = corner | (flats[..., k, :] == flats[..., other, :]).all(axis=-1)
    on_flat: BoolArray = corner
    return on_flat


def _exact(corners: FloatArray, point: FloatArray) -> int:
    """Return the sign of the determinant in rational numbers."""
    first = [Fraction(value) for value in corners[0].tolist()]
    rows = [
        [Fraction(value) - start for value, start in zip(row.tolist(), first, strict=True)]
        for row in (*corners[1:], point)
    ]
    if len(rows) == 2:
        (a, b), (c, d) = rows
        value = a * d - b * c
    else:
        (a, b, c), (d, e, f), (g, h, i) = rows
        value = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (value > 0) - (value < 0)
