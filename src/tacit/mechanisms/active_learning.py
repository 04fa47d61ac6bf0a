"""Ask for the labels of a few random records, and learn from a random part of all.

Proof: ``docs/proofs/semi_supervised.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.amplification import subsampled
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.mistakes import Hypothesis
from tacit.hypotheses.points import as_labels
from tacit.mechanisms.exact import sampling
from tacit.mechanisms.learning import LearningMechanism, PartlyLabelled
from tacit.noise import NoiseSource

AskLabels = Callable[[np.ndarray[Any, np.dtype[np.intp]]], Any]


@dataclass(frozen=True)
class ActiveLearning(LearningMechanism):
    """Run a base on a random part of the records, with labels for a random few of them.

    Parameters
    ----------
    base : LearningMechanism
        For ``base.labelled`` records with labels and ``base.unlabelled`` without.
    records : int
        How many there are in all.

    Privacy
    -------
    Neighbours: ``replace``, of a record with its label, whether or not that is asked for. With n
    the base's records and t all, ``ln(1 + (n/t)(e^epsilon - 1))`` for the base's epsilon, and
    ``(n/t) delta``. Which labels were asked for is *not* protected from those who are asked
    ([BNS15] Definition 5.3, not 5.4).

    References
    ----------
    [BNS15] Algorithm 6 and Claim 5.6. Departure: the labelled ones are a random part of those
    kept, not the ones that come first; this halves the exponent of the paper.

    Examples
    --------
    >>> from tacit.hypotheses import IntegerThresholds
    >>> from tacit.mechanisms.learning import SelectionLearning
    >>> base = SelectionLearning(IntegerThresholds(100), 1.0, labelled=50, unlabelled=50)
    >>> round(ActiveLearning(base, records=1000).guarantee.epsilon, 3)
    0.159
    """

    name: ClassVar[str] = "SubsampledActiveLearner"
    base: LearningMechanism
    records: int

    def __post_init__(self) -> None:
        validation.instance(LearningMechanism, base=self.base)
        validation.positive_integer(records=self.records)
        if self._subset_size > self.records:
            raise InvalidArgument(
                f"`base` must be made for at most the {self.records} records there are, "
                f"got {self._subset_size}."
            )

    @property
    def _subset_size(self) -> int:
        return self.base.labelled + self.base.unlabelled

    @property
    def labelled(self) -> int:  # type: ignore[override]
        """None comes with a label."""
        return 0

    @property
    def unlabelled(self) -> int:  # type: ignore[override]
        """All records."""
        return self.records

    @property
    def hypotheses(self) -> HypothesisClass:
        return self.base.hypotheses

    @property
    def guarantee(self) -> Budget:
        return subsampled(self.base.guarantee, subset=self._subset_size, records=self.records)

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        raise InvalidArgument("`records` of an active learner come with a way to ask for labels.")

    def asking(self, ask: AskLabels) -> LearningMechanism:
        """Return the mechanism with a way to get labels: from positions to labels, in order."""
        return _Asking(self.base, self.records, ask)


@dataclass(frozen=True)
class _Asking(ActiveLearning):
    ask: AskLabels

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        subset = sampling.random_subset(self.records, self._subset_size, noise=noise)
        # In random order: the first of them are a random few.
        questions, rest = subset[: self.base.labelled], subset[self.base.labelled :]
        labels = as_labels(self.ask(questions), len(questions))
        part = PartlyLabelled(records.pool[questions], labels, records.pool[rest])
        return self.base.draw(part, noise=noise)
