"""Length scales of a Gaussian process, chosen by its evidence on noisy shares of known variance.

The process is the sum of a linear one and one with a squared-exponential kernel, seen through as
many features as there are centres (Nystroem). The evidence and its slope in every length are those
of regression on the shares themselves, in closed form. Sees released shares and public points only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

FloatArray = NDArray[np.float64]

_JITTER = 1e-6
_STEPS = 40
_AMPLITUDES = (-7.0, 4.0)
_RELATIVE = (-5.0, 4.0)
"""Bounds on the logarithms of the variances, and of inverse lengths against the typical one."""


@dataclass(frozen=True)
class Kernel:
    """A linear kernel plus a squared-exponential one.

    Parameters
    ----------
    name : str
    inverse_lengths : array of length n_features
        One over the length scale of each column.
    share : float
        Variance of the linear part over that of the other, at a typical point.
    n_chosen : int
        How many lengths were chosen by the evidence.
    """

    name: str
    inverse_lengths: FloatArray
    share: float
    n_chosen: int


def squared_exponential(
    points: FloatArray, centres: FloatArray, inverse_lengths: FloatArray
) -> FloatArray:
    """Return the kernel of every point with every centre.

    Examples
    --------
    >>> squared_exponential(np.zeros((1, 2)), np.array([[0.0, 0.0], [1.0, 9.0]]), np.array([1, 0]))
    array([[1.        , 0.60653066]])
    """
    left, right = points * inverse_lengths, centres * inverse_lengths
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    kernel: FloatArray = np.exp(-np.maximum(squares, 0.0) / 2)
    return kernel


def centre_root(centres: FloatArray, inverse_lengths: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of the kernel of the centres."""
    kernel = squared_exponential(centres, centres, inverse_lengths)
    return np.asarray(np.linalg.cholesky(kernel + _JITTER * np.eye(len(centres))))


def kernels_by_evidence(
    points: FloatArray,
    shares: FloatArray,
    precision: FloatArray,
    centres: FloatArray,
    *,
    each_column: bool,
) -> Iterator[Kernel]:
    """Yield the best kernel with one length, and with one length for each column.

    Parameters
    ----------
    points : array of shape (n_points, n_features)
        Public, of mean length one.
    shares : array of shape (n_points, n_outputs)
        Released; every output is a process of its own with the same kernel.
    precision : array of length n_points
        One over the known variance of every point's shares.
    centres : array of shape (n_centres, n_features)
    each_column : bool
        Whether to look for lengths of each column too.
    """
    width = points.shape[1]
    evidence = _Evidence(points, shares - shares.mean(axis=0), precision, centres)
    # Points have length one, so the typical squared distance is about two.
    alike = _best(evidence, [np.array([-1.0, -1.0, start]) for start in (0.0, 1.2)], shared=True)
    yield _kernel("rbf", alike, np.full(width, alike[2]), 1)
    if each_column and width > 1:
        # A process with one length may see nothing where two columns matter of ten: the second
        # start does not depend on it.
        starts = [
            np.concatenate([[max(alike[0], -3.0), alike[1]], np.full(width, alike[2])]),
            np.concatenate([[-2.0, -5.0], np.full(width, -0.2)]),
        ]
        each = _best(evidence, starts, shared=False)
        yield _kernel("rbf, one length per column", each, each[2:], width)


def _kernel(name: str, logs: FloatArray, log_inverse: FloatArray, n_chosen: int) -> Kernel:
    return Kernel(name, np.exp(log_inverse), float(np.exp(logs[1] - logs[0])), n_chosen)


def _best(evidence: _Evidence, starts: list[FloatArray], *, shared: bool) -> FloatArray:
    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        if not shared:
            return evidence.loss(logs)
        value, slope = evidence.loss(np.concatenate([logs[:2], np.full(evidence.width, logs[2])]))
        return value, np.append(slope[:2], slope[2:].sum())

    fits = [
        optimize.minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[_AMPLITUDES] * 2 + [_RELATIVE] * (len(start) - 2),
            options={"maxiter": _STEPS},
        )
        for start in starts
    ]
    return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)


class _Evidence:
    """Minus the logarithm of the evidence, and its slope, of regression on shares."""

    def __init__(
        self, points: FloatArray, shares: FloatArray, precision: FloatArray, centres: FloatArray
    ) -> None:
        self._points, self._centres, self.width = points, centres, points.shape[1]
        self._root = np.sqrt(precision)[:, None]
        self._shares = shares * self._root

    def loss(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """Return value and slope at the logarithms of two variances and all inverse lengths.

        With K = a A B^-1 A' + b X X' + 1 1' + noise, the slope in anything that moves K by dK is
        the trace of G dK, G = (C K^-1 - sum of alpha alpha') / 2 for C outputs.
        """
        (a, b), inverse = np.exp(logs[:2]), np.exp(logs[2:])
        root = centre_root(self._centres, inverse)
        cross = squared_exponential(self._points, self._centres, inverse)
        whitened = linalg.solve_triangular(root, cross.T, lower=True).T
        columns = [np.sqrt(a) * whitened, np.sqrt(b) * self._points, np.ones_like(self._root)]
        features = np.hstack(columns) * self._root
        inner = np.linalg.cholesky(np.eye(features.shape[1]) + features.T @ features)
        half = linalg.solve_triangular(inner, features.T, lower=True)
        explained = half @ self._shares
        alpha = self._shares - half.T @ explained
        n_outputs = self._shares.shape[1]
        value = (np.sum(self._shares**2) - np.sum(explained**2)) / 2
        value += n_outputs * float(np.log(inner.diagonal()).sum())

        def gradient(table: FloatArray) -> FloatArray:
            weighed = table * self._root
            part = n_outputs * (weighed - half.T @ (half @ weighed))
            part -= alpha @ (alpha.T @ weighed)
            slope: FloatArray = part * self._root / 2
            return slope

        to_cross = linalg.cho_solve((root, True), gradient(cross).T).T
        of_linear = b * float(np.sum(self._points * gradient(self._points)))
        of_process = a * float(np.sum(cross * to_cross))
        to_centres = linalg.cho_solve((root, True), cross.T @ to_cross)
        kernel = squared_exponential(self._centres, self._centres, inverse)
        moved = 2 * _column_squares(to_cross * cross, self._points, self._centres)
        moved -= _column_squares(to_centres * kernel, self._centres, self._centres)
        return value, np.concatenate([[of_process, of_linear], -a * inverse**2 * moved])


def _column_squares(weights: FloatArray, points: FloatArray, centres: FloatArray) -> FloatArray:
    """Return, for each column, the weighted sum of squared differences of points and centres."""
    own = weights.sum(axis=1) @ points**2 + weights.sum(axis=0) @ centres**2
    mixed: FloatArray = own - 2 * ((weights @ centres) * points).sum(axis=0)
    return mixed
