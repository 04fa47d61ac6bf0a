"""Ask for few labels, of random records; the others are learnt from without."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting.search import largest_integer
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.learner import BaseLearner, HypothesisLearner
from tacit.mechanisms.active_learning import ActiveLearning
from tacit.mechanisms.learning import PartlyLabelled

NOT_THE_TRANSCRIPT = (
    "Whose labels were asked for is protected from those who see the hypothesis, not from those "
    "who were asked."
)


class SubsampledActiveLearner(HypothesisLearner):
    """Run a base on a random part of the records, with labels of a random few of that part.

    Labels do not get dearer as epsilon falls: a smaller epsilon means a smaller part of more
    records, with as many labels as before.

    Parameters
    ----------
    base : BaseLearner
        Such as ``LabelBoost``.
    labels : int
        How many labels to ask for.
    epsilon : float
        Of the whole release. The part is the largest that stays within it.
    constants : {"practical", "paper"}
        ``paper``: the part of [BNS15] Claim 5.6, ``epsilon t / (3 + e^(2 epsilon*))``, which is
        smaller than needed; refuses, with the number of records needed, when it does not hold
        ``labels``.
    ledger, key
        As for ``SemiPrivateLearner``.

    Attributes
    ----------
    hypothesis_, mechanism_, guarantee_, privacy_, classes_
        See ``HypothesisLearner``.

    Notes
    -----
    Privacy: neighbours ``replace``, of a record with its label, asked for or not. Not protected:
    whose labels were asked for, from those who are asked ([BNS15] Definition 5.3).

    References
    ----------
    [BNS15] Algorithm 6, Claim 5.6 and Theorem 5.7.

    Examples
    --------
    >>> from tacit.hypothesis_learners import ExponentialLearner, LabelBoost
    >>> from tacit.hypotheses import IntegerThresholds, Thresholds
    >>> x = np.random.default_rng(0).integers(2**40, size=50_000)
    >>> base = LabelBoost(Thresholds(), ExponentialLearner(IntegerThresholds(2**40), 1.0))
    >>> learner = SubsampledActiveLearner(base, labels=40, epsilon=0.5)
    >>> _ = learner.fit(x, lambda positions: x[positions] >= 2**39)
    >>> learner.guarantee_.epsilon <= 0.5, learner.predict([0, 2**40 - 1])
    (True, array([0, 1]))
    """

    labels: int

    def __init__(
        self,
        base: Any = None,
        *,
        labels: int = 100,
        epsilon: float = 1.0,
        constants: str = "practical",
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def fit(self, X: Any, label: Callable[[NDArray[np.intp]], Any]) -> Self:
        """Ask for labels and release a hypothesis.

        Parameters
        ----------
        X : table
            Private.
        label : callable
            From positions of records to their labels, 0 or 1. Called once, with ``labels`` of them
            in random order; which they are is private.
        """
        validation.instance(BaseLearner, base=self.base)
        if not callable(label):
            raise InvalidArgument(
                "`label` must be a function from positions to labels, "
                f"got a {type(label).__name__}."
            )
        n_labels = validation.positive_integer(labels=self.labels)
        hypotheses = self.base.mechanism(n_labels, self._least(n_labels) - n_labels).hypotheses
        records = _all_unlabelled(hypotheses, X)
        part = self._part(len(records.pool), n_labels)
        mechanism = ActiveLearning(
            self.base.mechanism(n_labels, part - n_labels), len(records.pool)
        )
        return self._release(
            mechanism, records, NOT_THE_TRANSCRIPT, drawn_by=mechanism.asking(label)
        )

    def _least(self, n_labels: int) -> int:
        """Return the fewest records to keep: one without a label where the base needs some."""
        try:
            self.base.mechanism(n_labels, 0)
        except InvalidArgument:
            return n_labels + 1
        return n_labels

    def _part(self, n_records: int, n_labels: int) -> int:
        """Return how many records to keep."""
        epsilon = validation.positive(epsilon=self.epsilon)
        least = self._least(n_labels)
        base = self.base.mechanism(n_labels, least - n_labels).guarantee.epsilon
        if self._uses_paper_constants():
            share = epsilon / (3 + math.exp(2 * base))
            sizes.refuse_small("X", n_records, math.ceil(least / share))
            return min(n_records, math.floor(share * n_records))
        if not self._fits(least, n_labels, n_records):
            share = math.expm1(epsilon) / math.expm1(base)
            raise InvalidArgument(
                f"`X` must hold about {math.ceil(least / share)} records for {n_labels} labels "
                f"within epsilon {epsilon:g}, got {n_records}. Ask for fewer labels, or use a base "
                "with a smaller epsilon."
            )
        return largest_integer(
            lambda part: self._fits(part, n_labels, n_records), least, n_records + 1
        )

    def _fits(self, part: int, n_labels: int, n_records: int) -> bool:
        if part > n_records:
            return False
        base = self.base.mechanism(n_labels, part - n_labels)
        return ActiveLearning(base, n_records).guarantee.epsilon <= self.epsilon


def _all_unlabelled(hypotheses: HypothesisClass, X: Any) -> PartlyLabelled:
    none = np.empty((0, hypotheses.n_features))
    return PartlyLabelled.read(hypotheses.n_features, none, np.empty(0), X)
