"""Few labels, many records: label the others by a hypothesis that is never released, then learn."""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypothesis_learners import sizes
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

    relabel: int | None

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
        self._store_parameters(locals())

    def _mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        validation.instance(BaseLearner, base=self.base)
        n_relabelled = unlabelled
        if self.relabel is not None:
            n_relabelled = validation.integer(0, relabel=self.relabel)
            if n_relabelled > unlabelled:
                raise InvalidArgument(
                    f"`relabel` must be at most the {unlabelled} records without labels, "
                    f"got {n_relabelled}."
                )
        if self._uses_paper_constants():
            self._check_sizes(labelled, n_relabelled)
        base = self.base.mechanism(labelled + n_relabelled, unlabelled - n_relabelled)
        return RelabelledLearning(
            base, self.hypotheses, self.selection_epsilon, labelled, n_relabelled
        )

    def _check_sizes(self, labelled: int, n_relabelled: int) -> None:
        alpha, beta = self._paper_alpha("error to reach"), self._paper_beta()
        self._check_paper_selection()
        needed = sizes.boosted_labels(self.hypotheses.vc_dimension, n_relabelled, alpha, beta)
        sizes.refuse_small("labelled records", labelled, needed)
