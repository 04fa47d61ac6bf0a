"""How teachers are expected to vote: the one assumption behind every forecast.

Teachers see disjoint shards of independent records, so on a given point they vote independently,
each right with a probability that depends on how hard the point is. Over points the votes are
correlated, because easy points are easy for all. The model is therefore a mixture: kinds of points,
how common each is, and how likely a teacher is right on it. One kind gives the binomial law; a beta
mixture gives the beta-binomial law with a single parameter, the correlation of two teachers' votes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tacit import validation
from tacit.errors import InvalidArgument

FloatArray = NDArray[np.float64]

_NODES = 80
"""Gauss-Jacobi nodes: sums are exact for up to 159 teachers, and to many digits beyond."""

_NODES_MANY = 10
"""Fewer for more than two classes, where every kind of point costs more work."""

_LEAST_BETA, _MOST_BETA = 1e-6, 1e5
"""Parameters of a beta law for which its quadrature can be computed."""

_EM_STEPS = 300

_FAR = 10.0
"""Standard deviations from its mean beyond which a count has no weight that a double can hold."""


@dataclass(frozen=True)
class VoteModel:
    """A mixture over the difficulty of points. Public.

    Parameters
    ----------
    right : sequence of float
        For each kind of point, the probability that a teacher votes for its true class.
    weights : sequence of float
        How common each kind is; adds up to one.
    n_classes : int, default 2
    rival : float, optional
        More than two classes: the share of wrong votes that goes to one wrong class of the point,
        the others sharing the rest evenly. By default all wrong classes are alike.

    Examples
    --------
    >>> VoteModel.independent(0.8).accuracy
    0.8
    >>> model = VoteModel.correlated(0.8, correlation=0.3)
    >>> round(model.accuracy, 6), round(model.correlation, 6)
    (0.8, 0.3)
    >>> round(model.limit, 2)  # an infinite vote is right on points where most teachers are
    0.88
    """

    right: tuple[float, ...]
    weights: tuple[float, ...]
    n_classes: int = 2
    rival: float | None = None

    def __post_init__(self) -> None:
        validation.integer(2, n_classes=self.n_classes)
        right = np.asarray(self.right, dtype=np.float64)
        weights = np.asarray(self.weights, dtype=np.float64)
        if right.ndim != 1 or right.shape != weights.shape or not len(right):
            raise InvalidArgument("`right` and `weights` must be of the same length, at least 1.")
        if not (np.isfinite(right).all() and right.min() >= 0 and right.max() <= 1):
            raise InvalidArgument("`right` must hold probabilities.")
        if not (np.isfinite(weights).all() and weights.min() >= 0):
            raise InvalidArgument("`weights` must be finite, zero or more.")
        if abs(weights.sum() - 1) > 1e-6:
            raise InvalidArgument(f"`weights` must add up to 1, got {weights.sum():.6g}.")
        object.__setattr__(self, "right", tuple(right.tolist()))
        object.__setattr__(self, "weights", tuple((weights / weights.sum()).tolist()))
        even = 1 / (self.n_classes - 1)
        rival = even if self.rival is None else validation.finite(rival=self.rival)
        if not even - 1e-9 <= rival <= 1:
            raise InvalidArgument(
                f"`rival` must lie between {even:.4g}, an even share of the wrong votes, and 1, "
                f"got {rival!r}."
            )
        object.__setattr__(self, "rival", max(even, rival))

    @classmethod
    def independent(cls, accuracy: float, n_classes: int = 2) -> VoteModel:
        """Return the binomial model: all points equally hard."""
        return cls((_share(accuracy=accuracy),), (1.0,), n_classes)

    @classmethod
    def correlated(cls, accuracy: float, correlation: float, n_classes: int = 2) -> VoteModel:
        """Return the beta-binomial model: difficulty is beta-distributed over points.

        Parameters
        ----------
        accuracy : float
            Of one teacher.
        correlation : float
            Of two teachers' being right on the same point; 0 is the binomial model, 1 says that
            all teachers vote alike.
        n_classes : int, default 2
        """
        accuracy, correlation = _share(accuracy=accuracy), _share(correlation=correlation)
        if correlation == 0 or accuracy in (0.0, 1.0):
            return cls.independent(accuracy, n_classes)
        if correlation == 1:
            return cls((0.0, 1.0), (1 - accuracy, accuracy), n_classes)
        total = 1 / correlation - 1
        if min(accuracy, 1 - accuracy) * total < _LEAST_BETA or total > _MOST_BETA:
            # Nodes are lost to rounding. Points on which all teachers vote alike, and points that
            # are alike, have the same accuracy and correlation.
            alike = (correlation * (1 - accuracy), correlation * accuracy, 1 - correlation)
            return cls((0.0, 1.0, accuracy), alike, n_classes)
        # The weight of Jacobi polynomials on (-1, 1) is the beta density moved there from (0, 1).
        nodes, weights = special.roots_jacobi(
            _NODES if n_classes == 2 else _NODES_MANY,
            (1 - accuracy) * total - 1,
            accuracy * total - 1,
        )
        right = np.clip((nodes + 1) / 2, 0.0, 1.0)
        return cls(tuple(right), tuple(weights / weights.sum()), n_classes)

    @property
    def accuracy(self) -> float:
        """How often one teacher is right."""
        return float(np.dot(self.weights, self.right))

    @property
    def correlation(self) -> float:
        """Correlation between two teachers' being right on the same point."""
        right, mean = np.asarray(self.right), self.accuracy
        if mean in (0.0, 1.0):
            return 0.0
        return float(np.dot(self.weights, (right - mean) ** 2) / (mean * (1 - mean)))

    @property
    def limit(self) -> float:
        """How often a vote of infinitely many teachers, without noise, is right.

        That vote is the infinite ensemble of [LZCW21] section 4.2: it can be better or worse than
        one teacher (Examples 1 and 2). Ties count half.
        """
        right, wrong = np.asarray(self.right), np.asarray(self.right_of_rival)
        won = (right > wrong + 1e-12) + 0.5 * (np.abs(right - wrong) <= 1e-12)
        return float(np.dot(self.weights, won))

    @property
    def right_of_rival(self) -> tuple[float, ...]:
        """For each kind of point, the probability of a vote for the strongest wrong class."""
        return tuple((self._rival * (1 - np.asarray(self.right))).tolist())

    @property
    def _rival(self) -> float:
        return 1.0 if self.rival is None else self.rival

    def high_margin_failure(self, margin: float) -> float:
        """Return nu: how many points have an expected margin of at most ``margin``.

        The (nu, xi) of [LZCW21] Definition 17, which is printed with the inequality the other way
        round; two classes.
        """
        distance = np.abs(np.asarray(self.right) - 0.5)
        return float(np.dot(self.weights, distance <= margin + 1e-12))

    def count_law(self, n_teachers: int) -> FloatArray:
        """Return the law of how many of the teachers vote for the true class.

        Examples
        --------
        >>> VoteModel.independent(0.5).count_law(2).tolist()
        [0.25, 0.5, 0.25]
        """
        return _count_law(self, validation.positive_integer(n_teachers=n_teachers)).copy()

    def mixed_with(self, other: VoteModel, share: float) -> VoteModel:
        """Return the mixture that takes ``share`` of its points from ``other``."""
        if other.n_classes != self.n_classes:
            raise InvalidArgument("`other` must have the same number of classes.")
        mine = (1 - share) * np.asarray(self.weights)
        others = share * np.asarray(other.weights)
        return VoteModel(
            self.right + other.right,
            tuple(np.concatenate([mine, others]).tolist()),
            self.n_classes,
            (1 - share) * self._rival + share * other._rival,
        )


@lru_cache(maxsize=256)
def _count_law(model: VoteModel, teachers: int) -> FloatArray:
    law = np.zeros(teachers + 1)
    ways = special.gammaln(teachers + 1) - special.gammaln(np.arange(1.0, teachers + 2))
    ways = ways - special.gammaln(np.arange(teachers + 1.0, 0.0, -1))
    for right, weight in zip(model.right, model.weights, strict=True):
        if weight <= 0:
            continue
        reach = _FAR * math.sqrt(teachers * right * (1 - right)) + 20
        low = max(0, math.floor(teachers * right - reach))
        high = min(teachers, math.ceil(teachers * right + reach)) + 1
        votes = np.arange(low, high)
        logs = ways[low:high] + special.xlogy(votes, right)
        law[low:high] += weight * np.exp(logs + special.xlog1py(teachers - votes, -right))
    law.setflags(write=False)
    return law


def _share(**named: float) -> float:
    """Return a number in [0, 1]."""
    ((name, value),) = named.items()
    number = validation.finite("", **{name: value})
    if not 0 <= number <= 1:
        raise InvalidArgument(f"`{name}` must lie in [0, 1], got {value!r}.")
    return number


def mixture_from_counts(
    right: Sequence[int] | NDArray[np.integer],
    teachers: int,
    *,
    n_kinds: int = 41,
) -> tuple[FloatArray, FloatArray]:
    """Return kinds and weights of the mixture under which counts of right votes are likeliest.

    Nonparametric maximum likelihood over a grid of difficulties, by expectation maximisation; the
    counts are of ``teachers`` teachers each, trained on disjoint parts.

    Examples
    --------
    >>> kinds, weights = mixture_from_counts([0, 4, 4, 4], teachers=4)
    >>> round(float(weights @ kinds), 3)
    0.75
    """
    counts = np.bincount(np.asarray(right, dtype=np.int64), minlength=teachers + 1)
    frequencies = counts / counts.sum()
    kinds = np.linspace(0.0, 1.0, n_kinds)
    chance = stats.binom.pmf(np.arange(teachers + 1)[:, None], teachers, kinds[None, :])
    weights = np.full(len(kinds), 1 / len(kinds))
    for _ in range(_EM_STEPS):
        joint = chance * weights
        weights = frequencies @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))
    return kinds, weights / weights.sum()
