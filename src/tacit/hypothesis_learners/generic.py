"""Learn over points that a sanitizer made of unlabelled records."""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.growth import growth_bound
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.asking import CONSTANTS
from tacit.hypothesis_learners.learner import PartlyLabelledLearner
from tacit.mechanisms.learning import LearningMechanism
from tacit.mechanisms.sanitize import Sanitizer
from tacit.mechanisms.sanitized_learning import SanitizedLearning


class GenericLearner(PartlyLabelledLearner):
    """Sanitize the unlabelled records, and draw a hypothesis from the cover of what came out.

    Parameters
    ----------
    hypotheses : HypothesisClass
    sanitizer : Sanitizer
        ``SmallDomain`` for a few dozen possible points, ``HierarchicalCounts`` for whole numbers on
        a line.
    epsilon : float
        For the labelled records. Unlabelled ones cost what the sanitizer does; the guarantee is
        the larger of the two.
    constants : {"practical", "paper"}
        ``paper``: refuses, with the numbers needed, when there are fewer records than the proof of
        [BNS15] Theorem 3.3 uses for ``alpha`` and ``beta``, as far as it gives numbers (the
        sanitizer's own need is known up to a constant only).
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``SemiPrivateLearner``.

    Attributes
    ----------
    hypothesis_, mechanism_, guarantee_, privacy_, classes_
        See ``HypothesisLearner``.

    Notes
    -----
    Privacy: neighbours ``replace``; which records have labels is public. Labelled and unlabelled
    records are different ones, so the two releases do not add up.

    References
    ----------
    [BNS15] Algorithm 1 and Theorem 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.mechanisms.sanitize import HierarchicalCounts
    >>> x = np.random.default_rng(0).integers(2**20, size=20_000)
    >>> y = (x >= 2**19).astype(int)
    >>> y[200:] = -1
    >>> halves = HierarchicalCounts(depth=20, release_epsilon=1.0, size=100)
    >>> generic = GenericLearner(Thresholds(), halves, epsilon=1.0).fit(x, y)
    >>> round(generic.guarantee_.epsilon, 6), generic.predict([0, 2**20 - 1])
    (1.0, array([0, 1]))
    """

    def __init__(
        self,
        hypotheses: Any = None,
        sanitizer: Any = None,
        *,
        epsilon: float = 1.0,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.sanitizer = sanitizer
        self.epsilon = epsilon
        self.constants = constants
        self.alpha = alpha
        self.beta = beta
        self.ledger = ledger
        self.key = key

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for so many labelled and unlabelled records."""
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.instance(Sanitizer, sanitizer=self.sanitizer)
        validation.positive(epsilon=self.epsilon)
        if unlabelled < 1:
            raise InvalidArgument("`y` must mark at least one record as unlabelled (-1), got none.")
        if validation.one_of(CONSTANTS, constants=self.constants) == "paper":
            self._check_sizes(labelled, unlabelled)
        return SanitizedLearning(
            self.hypotheses, self.sanitizer, self.epsilon, labelled, unlabelled
        )

    def _check_sizes(self, labelled: int, unlabelled: int) -> None:
        alpha = validation.probability("Give the error to reach.", alpha=self.alpha)
        beta = validation.probability("Give the chance of more.", beta=self.beta)
        common = sizes.uniform_convergence(self.hypotheses.vc_dimension, alpha, beta)
        candidates = growth_bound(self.hypotheses)(self.sanitizer.size)
        drawn = sizes.selection_records(candidates, self.epsilon, alpha, beta)
        sizes.refuse_small("labelled records", labelled, max(common, drawn))
        sizes.refuse_small("records without labels", unlabelled, common)
