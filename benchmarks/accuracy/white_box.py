"""White-box private gradient descent for logistic regression, as strong as it is simple.

Every step sums the gradients of all records, each clipped, and adds Gaussian noise. Under
replace-one neighbours the sum moves by at most twice the clipping norm. All steps together are
exactly mu-GDP with ``mu = 2 clip sqrt(steps) / sigma`` [DRS22], and mu is the largest that fits
(epsilon, delta): ``tacit.accounting.gaussian.gdp_mu``. A test compares this with dp-accounting.
Noise is continuous and seeded: enough to measure accuracy, not enough to publish a model.

What made it strong on development splits: rows of length one (raw features) or coordinates learnt
from the pool; a small clipping norm; steps that shrink linearly to nothing, and the mean of the
last quarter of the iterates; and a step size whose total ``travel`` is a multiple of ``mu n``, so
that noise alone would carry the weights equally far at every epsilon and number of records. With
``travel`` fixed the noise does not depend on the number of steps; more steps only follow the
gradient more closely. Momentum changed nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.accuracy.data import Parts, Split, row_norms, unit_rows, with_constant
from numpy.typing import NDArray
from scipy.special import expit

from tacit.accounting.gaussian import gdp_mu

FloatArray = NDArray[np.float64]
CONSTANT = 0.5
"""Value of the constant column: half as long as the rest of a row."""


def noise_scale(epsilon: float, delta: float, *, steps: int, clip: float) -> float:
    """Return the least sigma of the sum's noise, for replace-one neighbours.

    Examples
    --------
    >>> round(noise_scale(1.0, 1e-5, steps=25, clip=0.5), 3)
    18.653
    """
    return 2 * clip * math.sqrt(steps) / gdp_mu(epsilon, delta)


def descend(
    X: Any,
    y: NDArray[np.int64],
    *,
    epsilon: float,
    delta: float,
    steps: int,
    clip: float,
    travel: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the weights of a logistic regression.

    Parameters
    ----------
    X, y : private records, with a constant column, and their labels 0 and 1
    steps : int
    clip : float
        Largest length of one record's gradient.
    travel : float
        Sum of all step lengths (for unit gradients), over ``mu n``.
    rng : numpy.random.Generator
        Draws the noise of this measurement.
    """
    width = X.shape[1]
    sigma = noise_scale(epsilon, delta, steps=steps, clip=clip)
    step = travel * gdp_mu(epsilon, delta) / (steps * clip)
    lengths = row_norms(X)
    weights, total = np.zeros(width), np.zeros(width)
    for shrunk, counts in zip(*schedule(steps), strict=True):
        gradient = clipped_sum(X, y, weights, clip, lengths)
        gradient += rng.normal(scale=sigma, size=width)
        weights = weights - step * shrunk * gradient
        total += counts * weights
    return total


def clipped_sum(
    X: Any, y: NDArray[np.int64], weights: FloatArray, clip: float, lengths: FloatArray
) -> FloatArray:
    """Return the sum of all records' gradients, none longer than ``clip``."""
    errors = expit(X @ weights) - y
    kept = np.minimum(1.0, clip / np.maximum(np.abs(errors) * lengths, 1e-12))
    found: FloatArray = X.T @ (errors * kept)
    return found


def schedule(steps: int) -> tuple[FloatArray, FloatArray]:
    """Return the factor of every step, of mean one, and the weight of every iterate in the mean.

    Examples
    --------
    >>> factors, counts = schedule(4)
    >>> factors.tolist(), counts.tolist()
    ([1.6, 1.2, 0.8, 0.4], [0.0, 0.0, 0.0, 1.0])
    """
    places = np.arange(steps)
    factors = 1 - places / steps
    last = places >= math.floor(0.75 * steps)
    return factors / factors.mean(), last / last.sum()


def features(split: Split, settings: Mapping[str, Any]) -> Parts:
    """Return raw features with rows of length one, or coordinates learnt from the pool."""
    if settings["features"] == "raw":
        parts = split.numbers.map(unit_rows)
    else:
        parts = split.public(settings["flatten"])
    return parts.map(lambda part: with_constant(part, CONSTANT))


def score(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Return the test accuracy of one run."""
    parts = features(split, settings)
    weights = descend(
        parts.private,
        split.labels,
        epsilon=epsilon,
        delta=split.delta,
        steps=settings["steps"],
        clip=settings["clip"],
        travel=settings["travel"],
        rng=np.random.default_rng([split.seed, round(1000 * epsilon)]),
    )
    return split.accuracy(parts.test @ weights > 0)
