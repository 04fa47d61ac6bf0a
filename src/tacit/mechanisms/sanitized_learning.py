"""Learn from labelled records over points that a sanitizer made of unlabelled ones.

Proof: ``docs/proofs/semi_supervised.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.mistakes import Hypothesis
from tacit.mechanisms.hypothesis import select_hypothesis
from tacit.mechanisms.learning import LearningMechanism, PartlyLabelled, worst_of
from tacit.mechanisms.sanitize import Sanitizer
from tacit.noise import NoiseSource


@dataclass(frozen=True)
class SanitizedLearning(LearningMechanism):
    """The exponential mechanism over the cover of sanitized points.

    Parameters
    ----------
    learned : HypothesisClass
    sanitizer : Sanitizer
        Sees the unlabelled records only.
    selection_epsilon : float
        For the exponential mechanism, which sees the labelled records only.
    labelled, unlabelled : int

    Privacy
    -------
    Neighbours: ``replace``. A record is labelled or not, and which is public: it is seen by one of
    the two. So the price is the larger of theirs, not the sum.

    References
    ----------
    [BNS15] Algorithm 1 and Theorem 3.3.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.mechanisms.sanitize import HierarchicalCounts
    >>> halves = HierarchicalCounts(depth=20, release_epsilon=1.0, size=100)
    >>> generic = SanitizedLearning(Thresholds(), halves, 1.0, labelled=500, unlabelled=10_000)
    >>> round(generic.guarantee.epsilon, 6)
    1.0
    """

    name: ClassVar[str] = "GenericLearner"
    learned: HypothesisClass
    sanitizer: Sanitizer
    selection_epsilon: float
    labelled: int
    unlabelled: int

    def __post_init__(self) -> None:
        validation.instance(HypothesisClass, learned=self.learned)
        validation.instance(Sanitizer, sanitizer=self.sanitizer)
        validation.positive(selection_epsilon=self.selection_epsilon)
        validation.positive_integer(labelled=self.labelled)
        validation.positive_integer(unlabelled=self.unlabelled)
        if self.learned.n_features != self.sanitizer.n_features:
            raise InvalidArgument(
                f"`sanitizer` must have the {self.learned.n_features} features of the hypotheses, "
                f"got {self.sanitizer.n_features}."
            )

    @property
    def hypotheses(self) -> HypothesisClass:
        return self.learned

    @property
    def guarantee(self) -> Budget:
        return worst_of([Budget(self.sanitizer.event.pure_epsilon), Budget(self.selection_epsilon)])

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        cover = self.sanitizer.release(records.pool, noise=noise)
        counts = self.learned.mistake_counts(cover, records.X, records.y)
        return select_hypothesis(counts, epsilon=self.selection_epsilon, noise=noise).hypothesis
