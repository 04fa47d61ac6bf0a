"""Few labels, many records: label the others by a hypothesis that nobody sees, then learn."""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.asking import CONSTANTS
from tacit.hypothesis_learners.learner import BaseLearner, PartlyLabelledLearner
from tacit.mechanisms.learning import LearningMechanism, RelabelledLearning


class LabelBoost(PartlyLabelledLearner):
    """Relabel labelled and unlabelled records by one hypothesis, and run a private learner on all.

    Parameters
    ----------
    hypotheses : HypothesisClass
        Relabelling is done by one of these.
    base : BaseLearner
        A private learner for all records together, such as ``ExponentialLearner``.
    selection_epsilon : float, default 1
        How sharply the relabelling hypothesis is chosen by its mistakes.
    relabel : int, optional
        How many of the unlabelled records to relabel, the first ones; the base sees the others
        without labels. All when not given.
    constants : {"practical", "paper"}
        ``paper``: ``selection_epsilon`` must be 1, and there must be enough labels for the
        unlabelled records that are relabelled ([BNS15] Claim C.5).
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``SemiPrivateLearner``.

    Attributes
    ----------
    hypothesis_, mechanism_, guarantee_, privacy_, classes_
        See ``HypothesisLearner``. The relabelling hypothesis is not among them: it is never
        released, kept or shown.

    Notes
    -----
    Privacy: neighbours ``replace``; which records have labels is public. The base's epsilon and
    ``2 ln(1 + e^(selection_epsilon / 2))``, at least 1.39: use ``IterLabelBoost`` for less. Pure if
    the base is.

    References
    ----------
    [BNS15] Algorithm 2 and Lemma 4.1; [NB20] Algorithm 2.

    Examples
    --------
    Twenty labels, and thousands of records without.

    >>> import numpy as np
    >>> from tacit.hypothesis_learners import ExponentialLearner
    >>> from tacit.hypotheses import IntegerThresholds, Thresholds
    >>> x = np.random.default_rng(0).integers(2**40, size=5000)
    >>> y = (x >= 2**39).astype(int)
    >>> y[20:] = -1
    >>> base = ExponentialLearner(IntegerThresholds(2**40), epsilon=0.5)
    >>> boost = LabelBoost(Thresholds(), base).fit(x, y)
    >>> round(boost.guarantee_.epsilon, 3), boost.predict([0, 2**40 - 1])
    (2.448, array([0, 1]))
    """

    def __init__(
        self,
        hypotheses: Any = None,
        base: Any = None,
        *,
        selection_epsilon: float = 1.0,
        relabel: int | None = None,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.base = base
        self.selection_epsilon = selection_epsilon
        self.relabel = relabel
        self.constants = constants
        self.alpha = alpha
        self.beta = beta
        self.ledger = ledger
        self.key = key

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for so many labelled and unlabelled records."""
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.instance(BaseLearner, base=self.base)
        taken = unlabelled
        if self.relabel is not None:
            taken = validation.integer(0, relabel=self.relabel)
            if taken > unlabelled:
                raise InvalidArgument(
                    f"`relabel` must be at most the {unlabelled} records without labels, "
                    f"got {taken}."
                )
        if validation.one_of(CONSTANTS, constants=self.constants) == "paper":
            self._check_sizes(labelled, taken)
        base = self.base.mechanism(labelled + taken, unlabelled - taken)
        return RelabelledLearning(base, self.hypotheses, self.selection_epsilon, labelled, taken)

    def _check_sizes(self, labelled: int, taken: int) -> None:
        alpha = validation.probability("Give the error to reach.", alpha=self.alpha)
        beta = validation.probability("Give the chance of more.", beta=self.beta)
        if self.selection_epsilon != 1:
            raise InvalidArgument(
                "`selection_epsilon` must be 1 with the constants of the paper, "
                f"got {self.selection_epsilon!r}."
            )
        needed = sizes.boosted_labels(self.hypotheses.vc_dimension, taken, alpha, beta)
        sizes.refuse_small("labelled records", labelled, needed)
