"""Predictions that one record can hardly move: stable, and from that private.

Proof: ``docs/proofs/private_prediction.md``, claims 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting import prediction as prices
from tacit.errors import InvalidArgument, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.growth import growth_bound
from tacit.hypotheses.points import FloatArray, as_points
from tacit.hypothesis_learners.answering import PerQuestionLearner
from tacit.hypothesis_learners.estimator import HypothesisEstimator
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.mechanisms.exact import sampling
from tacit.mechanisms.prediction import HypothesisPrediction, draw_from_subset

_SHARES = tuple(step / 20 for step in range(1, 20))
_FLIPS = tuple(0.4 * 0.85**step for step in range(80))


@dataclass(frozen=True, slots=True)
class StableSettings:
    """Size of the subset, parameter of the exponential mechanism, and what they promise. Public."""

    subset: int
    selection_epsilon: float
    stability: float
    expected_excess: float
    """A rule of thumb for the excess error, by which settings were compared; no guarantee."""


def stable_settings(
    hypotheses: HypothesisClass, n_records: int, stability: float
) -> StableSettings:
    """Return the split of a stability between subset and selection that promises least error.

    Chosen from public numbers: the class, the number of records and the stability.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> settings = stable_settings(Thresholds(), 10_000, 0.1)
    >>> settings.subset, round(settings.stability, 6)
    (349, 0.1)
    """
    growth = growth_bound(hypotheses)
    best: StableSettings | None = None
    for share in _SHARES:
        subset = math.floor(share * stability * n_records)
        if subset < 1:
            continue
        rate = prices.selection_epsilon_for(stability, subset=subset, records=n_records)
        # A candidate near the best one is missed by about d/n', and the draw strays by
        # 2 ln(candidates)/(rate n) [DF20, Lemma 4].
        excess = hypotheses.vc_dimension / subset + 2 * math.log(growth(subset)) / (
            rate * n_records
        )
        if best is None or excess < best.expected_excess:
            best = StableSettings(subset, rate, stability, excess)
    if best is None:
        raise InvalidArgument(
            f"`X` must hold at least {math.ceil(1 / (_SHARES[-1] * stability))} records for a "
            f"stability of {stability:.3g}, got {n_records}."
        )
    return best


def paper_settings(
    hypotheses: HypothesisClass, n_records: int, *, alpha: float, gamma: float
) -> StableSettings:
    """Return the settings of [DF20] Lemma 7, or refuse with the number of records it needs.

    ``alpha`` is the excess error on the records up to a factor 3; ``gamma`` is the parameter of
    the exponential mechanism and the largest share of records in the subset.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> paper_settings(Thresholds(), 1000, alpha=0.1, gamma=0.05)
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `X` must hold at least 9220 records for the constants ...
    """
    alpha, gamma = validation.probability(alpha=alpha), validation.probability(gamma=gamma)
    growth = growth_bound(hypotheses)
    subset = prices.net_size(alpha, alpha, growth=growth)
    needed = math.ceil(max(subset, 2 * math.log(growth(subset)) / alpha) / gamma)
    if n_records < needed:
        raise InvalidArgument(
            f"`X` must hold at least {needed} records for the constants of the paper at "
            f"alpha={alpha:g}, gamma={gamma:.3g}, got {n_records}. Use constants='practical', or "
            "ask for less."
        )
    stability = prices.prediction_stability(gamma, subset=subset, records=n_records)
    return StableSettings(subset, gamma, stability, 3 * alpha)


class StablePredictor(HypothesisEstimator):
    """Predictions whose probabilities move by at most ``stability`` when one record is replaced.

    **Stable is not private.** One record may decide a prediction with probability ``stability_``,
    and ``probability`` is a plain function of the records. There is no guarantee, no price and no
    ledger here: do not publish what this object returns about private records. ``PrivatePredictor``
    turns it into a private one.

    Parameters
    ----------
    hypotheses : HypothesisClass
    stability : float
        What is promised: uniform stability, gamma in [DF20] Theorem 1.
    constants : {"practical", "paper"}
        ``paper`` uses the conditions of Lemma 7 with gamma = stability / 3 and refuses, with the
        size needed, when there are too few records.
    alpha : float, optional
        Excess error that ``paper`` is to reach, up to a factor 3.

    Attributes
    ----------
    settings_ : StableSettings

    References
    ----------
    [DF20] Theorem 1; footnote 1 for ``probability``. Departure: the stability is computed, not 3
    gamma.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.linspace(0, 1, 5000)
    >>> stable = StablePredictor(Thresholds(), stability=0.1).fit(x, x >= 0.5)
    >>> stable.predict([0.1, 0.9]).tolist()
    [0, 1]
    >>> stable.stability_
    0.1
    """

    stability: float

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        stability: float = 0.1,
        constants: str = "practical",
        alpha: float | None = None,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the records and choose the settings."""
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        stability = validation.probability(stability=self.stability)
        self._records = BinaryRecords.read(self.hypotheses, X, y)
        n_records = len(self._records)
        if self._uses_paper_constants():
            self.settings_ = paper_settings(
                self.hypotheses, n_records, alpha=self._paper_alpha(), gamma=stability / 3
            )
        else:
            self.settings_ = stable_settings(self.hypotheses, n_records, stability)
        return self

    @property
    def stability_(self) -> float:
        """How far any probability can move when one record is replaced."""
        return self._fitted[1].stability

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Return labels, each by a hypothesis drawn for it alone. Stable, not private."""
        records, settings = self._fitted
        points = as_points(X, self.hypotheses.n_features)
        noise = self._noise()
        labels = [
            self.hypotheses.predict(
                draw_from_subset(
                    self.hypotheses,
                    records.X,
                    records.y,
                    subset=settings.subset,
                    epsilon=settings.selection_epsilon,
                    noise=noise,
                ),
                point[None, :],
            )[0]
            for point in points
        ]
        return np.array(labels, dtype=np.int8)

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of label 1 instead of a draw. Stable, and **not** private.

        The chance is averaged over as many disjoint random subsets as there are, so one record is
        in one of them at most: for every way of dealing the records out, replacing one moves the
        result by at most ``probability_stability_``. Its last digits can still give a record away.
        """
        records, settings = self._fitted
        points = as_points(X, self.hypotheses.n_features)
        order = sampling.random_subset(len(records), len(records), noise=self._noise())
        blocks = len(records) // settings.subset
        chances = [
            selected_chance(
                self.hypotheses,
                records,
                records.X[order[block * settings.subset : (block + 1) * settings.subset]],
                settings.selection_epsilon,
                points,
            )
            for block in range(blocks)
        ]
        return np.asarray(np.mean(chances, axis=0), dtype=np.float64)

    @property
    def probability_stability_(self) -> float:
        """How far ``probability`` can move when one record is replaced."""
        records, settings = self._fitted
        blocks = len(records) // settings.subset
        one = prices.selection_stability(settings.selection_epsilon)
        return (1 - 1 / blocks) * one + 1 / blocks

    @property
    def _fitted(self) -> tuple[BinaryRecords, StableSettings]:
        self._check_fitted("settings_")
        return self._records, self.settings_

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_records"):
            raise PrivateValueError(
                "A fitted StablePredictor holds private records: it is not pickled or copied."
            )
        return dict(super().__getstate__())


def selected_chance(
    hypotheses: HypothesisClass,
    records: BinaryRecords,
    cover: FloatArray,
    epsilon: float,
    points: FloatArray,
) -> NDArray[np.float64]:
    """Return the chance of label 1 under the exponential mechanism over one cover. Private."""
    labels, mistakes = [], []
    for block in hypotheses.dichotomies(cover):
        labels.append(hypotheses.label(block.hypotheses, points))
        given = hypotheses.label(block.hypotheses, records.X)
        mistakes.append((given != records.y).sum(axis=1))
    counts = np.concatenate(mistakes)
    weights = np.exp(-epsilon / 2 * (counts - counts.min()))
    chance: NDArray[np.float64] = weights @ np.concatenate(labels) / weights.sum()
    return chance


class PrivatePredictor(PerQuestionLearner):
    """Answers questions from private records alone, each with a fresh, private draw.

    No public points, no released model: a hypothesis is drawn for each question and its label is
    turned around with a small probability. Every question costs; a question asked before gets the
    same answer, free.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of all ``answers`` together. ``delta`` only serves to compose them: each answer
        is pure.
    answers : int
        How many questions to plan for.
    constants : {"practical", "paper"}
        ``paper``: [DF20] Corollary 1, flip alpha and gamma = epsilon alpha / 2; refuses, with the
        size needed, when there are too few records.
    alpha : float, optional
        For ``paper``.
    ledger : path, URL or Ledger, optional
        Where spends add up; by default an account of its own, in memory.
    key : str, optional
        Name of its plan on the ledger.

    Attributes
    ----------
    mechanism_ : HypothesisPrediction
        The settings in force. Public.
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``, one record. Event per answer: ``PrivatePrediction``. Proof:
    ``docs/proofs/private_prediction.md``.

    References
    ----------
    [DF20] Corollary 1.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.linspace(0, 1, 20_000)
    >>> private = PrivatePredictor(Thresholds(), epsilon=2.0, answers=2).fit(x, x >= 0.5)
    >>> round(private.guarantee_.epsilon, 6)
    2.0
    >>> set(private.predict([0.1, 0.9]).tolist()) <= {0, 1}
    True
    """

    mechanism_: HypothesisPrediction

    def _chosen(
        self, n_records: int, epsilon: float, answers: int, alpha: float | None
    ) -> HypothesisPrediction:
        if alpha is None:
            settings, flip = private_settings(self.hypotheses, n_records, epsilon)
        else:
            third = epsilon * alpha / 6
            settings = paper_settings(self.hypotheses, n_records, alpha=alpha, gamma=third)
            flip = alpha
        return HypothesisPrediction(
            self.hypotheses, n_records, settings.subset, settings.selection_epsilon, flip, answers
        )


def private_settings(
    hypotheses: HypothesisClass, n_records: int, epsilon: float
) -> tuple[StableSettings, float]:
    """Return settings and a flip with which one answer is ``epsilon``-private.

    Of all flips the one with the least expected error, by the same rule of thumb.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> settings, flip = private_settings(Thresholds(), 10_000, 1.0)
    >>> round(prices.flipped_epsilon(flip, delta=settings.stability), 6)
    1.0
    """
    best: tuple[StableSettings, float] | None = None
    for flip in _FLIPS:
        stability = min(0.9, flip * math.expm1(epsilon) / (1 - 2 * flip))
        try:
            settings = stable_settings(hypotheses, n_records, stability * (1 - 1e-9))
        except InvalidArgument:
            break  # smaller flips allow less stability still
        if best is None or settings.expected_excess + flip < best[0].expected_excess + best[1]:
            best = settings, flip
    if best is None:
        raise InvalidArgument(
            f"`X` must hold more records for an epsilon of {epsilon:.3g} per answer, "
            f"got {n_records}."
        )
    return best
