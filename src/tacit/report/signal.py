"""Do released values hold anything but noise and a base rate? Tested free of charge.

Both tests take what a fit released, the known law of its noise and public points, and nothing else.
The hypothesis is that labels have nothing to do with features, as when they are permuted. Where it
is not rejected, nothing shows that the model is better than the most common class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial import distance

from tacit.teachers.corrections import Standpoint
from tacit.teachers.corrections.coordinates import FloatArray

BoolArray = NDArray[np.bool_]

LEVEL = 0.05

_FOLLOWED = np.concatenate([[0.0], np.geomspace(0.01, 1.5, 24)])
_SIGNALS = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 25)])
_MOST_ANSWERS = 2000
_SHARE_VARIANCE = 0.1
"""How much shares of the vote vary from point to point, before any is seen."""


@dataclass(frozen=True, slots=True)
class SignalTest:
    """Whether released values hold a signal. Public.

    Parameters
    ----------
    p_value : float
        How often values at least as telling would be released if labels had nothing to do with
        features.

    Examples
    --------
    >>> SignalTest(0.3).is_significant, SignalTest(0.001).is_significant
    (False, True)
    """

    p_value: float

    @property
    def is_significant(self) -> bool:
        """Whether there is a signal, at level 0.05."""
        return self.p_value <= LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {"p_value": self.p_value}

    def __str__(self) -> str:
        if self.is_significant:
            return f"Signal: the released values hold more than noise (p = {self.p_value:.2g})."
        return (
            f"No signal: the released values may be nothing but noise (p = {self.p_value:.2g}). "
            "Nothing shows that this model is better than always predicting one class: do not "
            "rely on it. More records or a larger epsilon would help, unless the labels have "
            "nothing to do with the features."
        )


def corrections_signal(
    answers: FloatArray,
    standpoints: Sequence[Standpoint],
    pool: FloatArray,
    deviation: float,
    n_teachers: int,
) -> SignalTest:
    """Test whether rounds of corrections hold anything beyond the base rates of the classes.

    A round pulls the student from where it stands, x, to where the records want it, a: its answer
    is r (a - x) plus noise of known variance. How far teachers follow, r, is not known, and records
    are not spread exactly like the pool: x counts as r x + M x, where the entries of M have the
    variance of a covariance estimated from so many points. Under the hypothesis a has only the
    scatter of so many teachers' labels, but for the intercept, which is left out. Otherwise it has
    further variance, in proportion to that of the pool in every direction. Twice the logarithm of
    the ratio of the two likelihoods, at the edge of one parameter, is zero in half of all cases and
    otherwise chi-squared with one degree of freedom.

    Parameters
    ----------
    answers : array of shape (n_rounds, n_coordinates, n_contrasts)
        Released.
    standpoints : sequence of Standpoint
        One per round.
    pool : array of shape (n_points, n_coordinates)
        Public points in the student's coordinates, the last of which is constant.
    deviation : float
        Standard deviation of the noise on every number of the answers, whose unit is the largest
        contribution of a teacher.
    n_teachers : int
    """
    n_rounds, width, n_contrasts = answers.shape
    free = (width - 1) * n_contrasts
    if free == 0 or n_rounds == 0:
        return SignalTest(1.0)
    spread, directions = np.linalg.eigh(np.cov(pool[:, :-1], rowvar=False).reshape(width - 1, -1))

    def along(tables: Sequence[FloatArray]) -> FloatArray:
        """Return tables, without the part of the intercept, along the principal directions."""
        rows = [
            directions.T @ _without(point.intercept, table)[:-1]
            for table, point in zip(tables, standpoints, strict=True)
        ]
        return np.array(rows).reshape(n_rounds, free) / deviation

    pulls = along(list(answers))
    stood = along([point.position / point.full_step for point in standpoints])
    strength = standpoints[0].full_step / np.array([point.full_step for point in standpoints])
    weights = np.repeat(np.maximum(spread, 0.0) / max(float(spread.mean()), 1e-300), n_contrasts)
    # Contributions have length one at most, in as many directions.
    scatter = 1 / (free * n_teachers * deviation**2)
    unsure = stood @ stood.T / free * (width / len(pool))
    without, with_signal = -np.inf, -np.inf
    for followed in _FOLLOWED:
        covariance = np.eye(n_rounds) + followed**2 * unsure
        root = np.linalg.cholesky(covariance + scatter * np.outer(strength, strength))
        whitened = np.linalg.solve(root, pulls + followed * stood)
        pattern = np.linalg.solve(root, strength)
        likelihood = -0.5 * float((whitened**2).sum()) - free * float(np.log(np.diag(root)).sum())
        gained = _SIGNALS[:, None] * weights
        size = 1 + gained * (pattern @ pattern)
        gain = (0.5 * (pattern @ whitened) ** 2 * gained / size - 0.5 * np.log(size)).sum(axis=1)
        without = max(without, likelihood)
        with_signal = max(with_signal, likelihood + float(gain.max()))
    return SignalTest(float(0.5 * stats.chi2.sf(2 * (with_signal - without), 1)))


def _without(intercept: FloatArray, table: FloatArray) -> FloatArray:
    """Return whitened weights without their part in the direction of the intercept."""
    direction = intercept / np.linalg.norm(intercept)
    rest: FloatArray = table - np.outer(direction, direction @ table)
    return rest


def answers_signal(
    points: FloatArray,
    shares: FloatArray,
    variance: float | FloatArray,
    n_teachers: int,
    rng: np.random.Generator,
) -> SignalTest:
    """Test whether released answers support any class but the most common one.

    A smooth fit of one half of the answers names the points of the other half at which a rarer
    class should lead. If it does lead there on average, by more than noise of known variance
    explains, teachers agree on more than a base rate. If labels have nothing to do with features
    the most common class leads everywhere, and the level holds whatever the fit makes of its half,
    whose noise is independent.

    Parameters
    ----------
    points : array of shape (n_answers, n_coordinates)
        Public.
    shares : array of shape (n_answers, n_classes)
        Released shares, or labels as zeros and ones.
    variance : float or array of length n_answers
        Known variance of every share; 0 for labels.
    n_teachers : int
        Their votes scatter, too.
    """
    order = rng.permutation(len(shares))[:_MOST_ANSWERS]
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), len(shares))[order]
    points, shares = points[order], shares[order]
    # A lead is in [-1, 1]: a label's scatters by one at most, a mean of votes by one over their
    # number. Two shares that add up to one carry the same noise, others have one each.
    one_noise = shares.shape[1] == 2 and np.allclose(shares.sum(axis=1), 1.0)
    scatter = np.where(noise > 0, (4 if one_noise else 2) * noise + 1 / n_teachers, 1.0)
    common = int(shares.mean(axis=0).argmax())
    kernel = _kernel(points)
    total, squared = 0.0, 0.0
    even = np.arange(len(shares)) % 2 == 0
    for fitted, held_out in ((even, ~even), (~even, even)):
        expected = _smooth(kernel, shares, scatter / 2, fitted, held_out)
        leader = expected.argmax(axis=1)
        rows = np.flatnonzero(held_out)[leader != common]
        lead = shares[rows, leader[leader != common]] - shares[rows, common]
        total, squared = total + float(lead.sum()), squared + float(scatter[rows].sum())
    return SignalTest(float(stats.norm.sf(total / np.sqrt(squared))) if squared > 0 else 1.0)


def _kernel(points: FloatArray) -> FloatArray:
    """Return the covariance of smooth functions: linear ones and local ones."""
    centred = points - points.mean(axis=0)
    squared = distance.cdist(centred, centred, "sqeuclidean")
    width = float(np.median(squared)) / 4
    linear = centred @ centred.T / max(float((centred**2).sum(axis=1).mean()), 1e-300)
    kernel: FloatArray = linear + np.exp(-squared / (2 * width if width > 0 else 1.0))
    return kernel


def _smooth(
    kernel: FloatArray,
    shares: FloatArray,
    noise: FloatArray,
    fitted: BoolArray,
    held_out: BoolArray,
) -> FloatArray:
    """Return the shares expected of the points held back, from those that are fitted."""
    covariance = _SHARE_VARIANCE * kernel[np.ix_(fitted, fitted)] + np.diag(noise[fitted])
    mean = shares[fitted].mean(axis=0)
    away = np.linalg.solve(covariance, shares[fitted] - mean)
    expected: FloatArray = mean + _SHARE_VARIANCE * kernel[np.ix_(held_out, fitted)] @ away
    return expected
