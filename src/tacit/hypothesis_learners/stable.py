"""Predictions that one record can hardly move: stable, and from that private.

Proof: ``docs/proofs/private_prediction.md``, claims 1 and 2.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting import prediction as prices
from tacit.errors import PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import FloatArray, as_points
from tacit.hypothesis_learners.answering import PerQuestionLearner
from tacit.hypothesis_learners.estimator import HypothesisEstimator
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.hypothesis_learners.stable_settings import (
    StableSettings,
    paper_settings,
    private_settings,
    stable_settings,
)
from tacit.mechanisms.exact import sampling
from tacit.mechanisms.prediction import HypothesisPrediction, draw_from_subset


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
        The budget of all answers together. ``delta`` only serves to compose them: each answer
        is pure.
    n_questions : int
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
    >>> private = PrivatePredictor(Thresholds(), epsilon=2.0, n_questions=2).fit(x, x >= 0.5)
    >>> round(private.guarantee_.epsilon, 6)
    2.0
    >>> set(private.predict([0.1, 0.9]).tolist()) <= {0, 1}
    True
    """

    mechanism_: HypothesisPrediction

    def _chosen(
        self, n_records: int, epsilon: float, n_questions: int, alpha: float | None
    ) -> HypothesisPrediction:
        if alpha is None:
            settings, flip = private_settings(self.hypotheses, n_records, epsilon)
        else:
            third = epsilon * alpha / 6
            settings = paper_settings(self.hypotheses, n_records, alpha=alpha, gamma=third)
            flip = alpha
        return HypothesisPrediction(
            self.hypotheses,
            n_records,
            settings.subset,
            settings.selection_epsilon,
            flip,
            n_questions,
        )
