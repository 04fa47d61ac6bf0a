"""Generated data: a model whose best possible error is known, and truths that are not linear."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special
from sklearn.datasets import make_circles, make_classification, make_friedman1, make_moons

from tacit import validation
from tacit.data.sets.loaders import Labelled

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CURVED = ("circles", "moons", "xor", "friedman", "five-classes")
"""The names that ``draw_curved`` accepts."""


@dataclass(frozen=True)
class LogisticModel:
    """Independent normal features, and a label whose log-odds are linear in them.

    ``x`` has ``n_features`` standard normal entries and the label is 1 with probability
    ``1 / (1 + exp(-strength * u.x))`` for a fixed direction ``u`` of length one.

    Parameters
    ----------
    n_features : int, default 10
    strength : float, default 4
        How sharply the label follows the features: 0 is a coin, infinity a clean boundary.
    rng : numpy.random.Generator
        Draws the direction.

    Notes
    -----
    No classifier does better than the one that knows ``u``. Its error depends on ``z = u.x`` only,
    which is standard normal: ``best_logistic_error`` is the integral of
    ``1 / (1 + exp(strength * |z|))`` against the normal density, computed by adaptive quadrature to
    about ten digits.

    Examples
    --------
    >>> model = LogisticModel(strength=4.0, rng=np.random.default_rng(0))
    >>> round(best_logistic_error(model.strength), 4)
    0.1288
    >>> features, labels = model.draw(5, np.random.default_rng(1))
    >>> features.shape, labels.shape
    ((5, 10), (5,))
    """

    n_features: int = 10
    strength: float = 4.0
    rng: np.random.Generator = field(kw_only=True, repr=False, compare=False)
    direction: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        validation.positive_integer(n_features=self.n_features)
        validation.positive(strength=self.strength)
        validation.instance(np.random.Generator, rng=self.rng)
        raw = self.rng.standard_normal(self.n_features)
        object.__setattr__(self, "direction", raw / np.linalg.norm(raw))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Return ``n`` independent records: features and labels."""
        validation.positive_integer(n=n)
        features = rng.standard_normal((n, self.n_features))
        labels = (rng.random(n) < self.chance(features)).astype(np.int64)
        return features, labels

    def chance(self, features: FloatArray) -> FloatArray:
        """Return the probability that the label of each point is 1."""
        chance: FloatArray = special.expit(self.strength * (features @ self.direction))
        return chance

    def accuracy(self, features: FloatArray, predicted: IntArray) -> float:
        """Return the expected accuracy of predictions, over the labels the points could have."""
        right = np.where(predicted == 1, self.chance(features), 1 - self.chance(features))
        return float(right.mean())

    def best_predict(self, features: FloatArray) -> IntArray:
        """Return the most likely label of each point."""
        return (features @ self.direction >= 0).astype(np.int64)


def best_logistic_error(strength: float) -> float:
    """Return the error of the best classifier under ``LogisticModel``.

    Examples
    --------
    >>> round(best_logistic_error(1e-9), 6), best_logistic_error(1e9) < 1e-8
    (0.5, True)
    """
    strength = validation.positive(strength=strength)

    def wrong(z: float) -> float:
        density = math.sqrt(2 / math.pi) * math.exp(-z * z / 2)
        return float(density * special.expit(-strength * z))

    # All of the mass sits within a few units of 1/strength or of one, whichever is smaller.
    edge = min(40.0, 40.0 / strength)
    near, _ = integrate.quad(wrong, 0.0, edge, epsabs=1e-13, epsrel=1e-11)
    far, _ = integrate.quad(wrong, edge, 40.0, epsabs=1e-13, epsrel=1e-11)
    return float(near + far)


def draw_curved(name: str, n: int, *, seed: int) -> Labelled:
    """Return ``n`` records that no linear classifier labels well.

    Parameters
    ----------
    name : {"circles", "moons", "xor", "friedman", "five-classes"}
        "xor": whether the first two of ten normal columns have the same sign. "friedman": whether
        Friedman's first function, of five of ten columns, is above its median.
    n : int
    seed : int

    Examples
    --------
    >>> data = draw_curved("moons", 100, seed=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((100, 2), [0, 1])
    """
    validation.one_of(CURVED, name=name)
    n, seed = validation.positive_integer(n=n), validation.integer(0, seed=seed)
    if name == "circles":
        X, y = make_circles(n, noise=0.15, factor=0.5, random_state=seed)
    elif name == "moons":
        X, y = make_moons(n, noise=0.25, random_state=seed)
    elif name == "five-classes":
        X, y = make_classification(
            n, n_features=20, n_informative=10, n_classes=5, class_sep=1.5, random_state=seed
        )
    elif name == "xor":
        X = np.random.default_rng(seed).normal(size=(n, 10))
        y = X[:, 0] * X[:, 1] > 0
    else:
        X, value = make_friedman1(n, n_features=10, noise=1.0, random_state=seed)
        y = value > np.median(value)
    # Some generators return one class after the other.
    order = np.random.default_rng(seed).permutation(n)
    return Labelled(X[order], y[order].astype(np.int64))
