"""Releasing one hypothesis from private records, some of them without labels.

A mechanism here is made for public numbers of labelled and unlabelled records, has the guarantee
for data sets of that size, and may run another one inside: on relabelled records, on a random part
of them. Which records have labels is public; neighbours are those of ``replace``.

Proofs: ``docs/proofs/semi_supervised.md``, ``docs/proofs/relabelling.md``.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from tacit import validation
from tacit.accounting.amplification import relabelled, resampled, subsampled
from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import ApproximateRelease, Event, ExponentialSelection
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.candidates import Candidates
from tacit.hypotheses.mistakes import Hypothesis
from tacit.hypotheses.points import BoolArray, FloatArray, as_labels, as_points
from tacit.mechanisms.base import Mechanism
from tacit.mechanisms.exact import sampling
from tacit.mechanisms.exact.sampling import IndexArray
from tacit.mechanisms.hypothesis import select_hypothesis
from tacit.mechanisms.redacted_errors import run_redacted
from tacit.noise import NoiseSource


@dataclass(frozen=True, repr=False, eq=False)
class PartlyLabelled:
    """Labelled records and, apart from them, points without labels. Private but for the numbers."""

    X: FloatArray
    y: BoolArray
    pool: FloatArray

    @classmethod
    def read(cls, n_features: int, X: Any, y: Any, pool: Any = None) -> PartlyLabelled:
        """Return records in the form of the classes; shapes are checked, values are not."""
        points = as_points(X, n_features)
        rest = np.empty((0, n_features)) if pool is None else as_points(pool, n_features)
        return cls(points, as_labels(y, len(points)), rest)

    def __repr__(self) -> str:
        return f"PartlyLabelled(<{len(self.X)} + {len(self.pool)} records, private>)"

    def __reduce__(self) -> NoReturn:
        raise PrivateValueError("Records are private: they are not pickled or saved.")


class LearningMechanism(Mechanism):
    """Releases one hypothesis from ``labelled`` and ``unlabelled`` records."""

    labelled: int
    unlabelled: int

    @property
    @abstractmethod
    def hypotheses(self) -> HypothesisClass:
        """The class that the released hypothesis belongs to."""

    @property
    @abstractmethod
    def guarantee(self) -> Budget:
        """(epsilon, delta) with respect to any one record, labelled or not."""

    @abstractmethod
    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        """Draw the hypothesis. Only ``release`` is asked by others than mechanisms."""

    @property
    def event(self) -> Event:
        """What the release costs."""
        return ApproximateRelease(self.guarantee.epsilon, self.guarantee.delta)

    @property
    def output(self) -> Output:
        return Output.HYPOTHESIS

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((self.event, 1),)

    def plan(self) -> Plan:
        """Return the plan of the release, for a ledger to hold."""
        return self._plan(self.guarantee.delta, width=n_parameters(self.hypotheses), unit=1.0)

    def release(self, records: PartlyLabelled, *, noise: NoiseSource) -> Answer:
        """Release a hypothesis; every call costs ``event`` again."""
        if (len(records.X), len(records.pool)) != (self.labelled, self.unlabelled):
            raise InvalidArgument(
                f"`records` must be {self.labelled} with and {self.unlabelled} without labels, as "
                f"planned, got {len(records.X)} and {len(records.pool)}."
            )
        drawn = np.asarray(self.draw(records, noise=noise), dtype=np.float64)
        values = struct.unpack(f">{len(drawn)}q", struct.pack(f">{len(drawn)}d", *drawn))
        return Answer(Output.HYPOTHESIS, values, 1.0, 0.0, (self.event,), noise.secure)


def n_parameters(hypotheses: HypothesisClass) -> int:
    """Return how many numbers a hypothesis of a class is, from a point that means nothing."""
    origin = np.zeros((1, hypotheses.n_features))
    return int(next(hypotheses.dichotomies(origin)).hypotheses.shape[1])


@dataclass(frozen=True)
class SelectionLearning(LearningMechanism):
    """The exponential mechanism over a fixed, public set of candidates; ignores unlabelled records.

    Parameters
    ----------
    candidates : Candidates
    selection_epsilon : float
    labelled, unlabelled : int

    Privacy
    -------
    Neighbours: ``replace``. Event: ``ExponentialSelection(selection_epsilon)``.

    References
    ----------
    Kasiviswanathan et al. (2008), the generic learner; [NB20] Algorithm 7, with a public cover.

    Examples
    --------
    >>> from tacit.hypotheses import IntegerThresholds
    >>> SelectionLearning(IntegerThresholds(1000), 0.5, labelled=100).guarantee
    Budget(epsilon=0.5, delta=0.0)
    """

    name: ClassVar[str] = "SelectionLearning"
    candidates: Candidates
    selection_epsilon: float
    labelled: int
    unlabelled: int = 0

    def __post_init__(self) -> None:
        validation.instance(Candidates, candidates=self.candidates)
        validation.positive(selection_epsilon=self.selection_epsilon)
        validation.positive_integer(labelled=self.labelled)
        validation.integer(0, unlabelled=self.unlabelled)

    @property
    def hypotheses(self) -> HypothesisClass:
        return self.candidates.hypotheses

    @property
    def guarantee(self) -> Budget:
        return Budget(self.selection_epsilon)

    @property
    def event(self) -> Event:
        """What the release costs."""
        return ExponentialSelection(self.selection_epsilon)

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        counts = self.candidates.mistake_counts(records.X, records.y)
        return select_hypothesis(counts, epsilon=self.selection_epsilon, noise=noise).hypothesis


@dataclass(frozen=True)
class RelabelledLearning(LearningMechanism):
    """Label more records by a hypothesis that stays secret, then run a base on all of them.

    The unlabelled records are T, the first ``taken``, and D, the rest. Of the labelled ones S and
    of T random parts are kept. A hypothesis is drawn by its mistakes on what is kept of S, from
    one for each dichotomy of the points kept; everything kept is labelled by it; the base runs on
    that, with D as it is.

    Parameters
    ----------
    base : LearningMechanism
        For ``kept_labelled + kept_taken`` labelled records, and all of D.
    relabel_by : HypothesisClass
    selection_epsilon : float
        Parameter e0 of the exponential mechanism.
    labelled, taken : int
        Sizes of S and T.
    kept_labelled, kept_taken : int, optional
        All of them when not given.

    Privacy
    -------
    Neighbours: ``replace``. A record of S or T: the base's epsilon and ``2 ln(1 + e^(e0/2))``, less
    what the random part hides; a record of D: the base's. The larger of the two is the price. The
    relabelling hypothesis depends on private points beyond any guarantee: it exists while ``draw``
    runs and is in nothing that leaves, errors included.

    References
    ----------
    [BNS15] Algorithm 2, and one round of Algorithm 4; [NB20] Algorithm 2 is T = D = empty.

    Examples
    --------
    >>> from tacit.hypotheses import IntegerThresholds, Thresholds
    >>> base = SelectionLearning(IntegerThresholds(1000), 1.0, labelled=500)
    >>> boost = RelabelledLearning(base, Thresholds(), 1.0, labelled=100, taken=400)
    >>> round(boost.guarantee.epsilon, 3)
    2.948
    """

    name: ClassVar[str] = "LabelBoost"
    base: LearningMechanism
    relabel_by: HypothesisClass
    selection_epsilon: float
    labelled: int
    taken: int
    kept_labelled: int | None = None
    kept_taken: int | None = None

    def __post_init__(self) -> None:
        validation.instance(LearningMechanism, base=self.base)
        validation.instance(HypothesisClass, relabel_by=self.relabel_by)
        validation.positive(selection_epsilon=self.selection_epsilon)
        validation.positive_integer(labelled=self.labelled)
        validation.integer(0, taken=self.taken)
        if self.kept_labelled is None:
            object.__setattr__(self, "kept_labelled", self.labelled)
        if self.kept_taken is None:
            object.__setattr__(self, "kept_taken", self.taken)
        _part("kept_labelled", self.kept_labelled, self.labelled, least=1)
        _part("kept_taken", self.kept_taken, self.taken, least=min(1, self.taken))
        if self.base.labelled != self._base_size:
            raise InvalidArgument(
                f"`base` must be made for the {self._base_size} records kept, got "
                f"{self.base.labelled}."
            )

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.kept_labelled or 0, self.kept_taken or 0

    @property
    def _base_size(self) -> int:
        return sum(self._sizes)

    @property
    def unlabelled(self) -> int:  # type: ignore[override]
        """T and D together."""
        return self.taken + self.base.unlabelled

    @property
    def hypotheses(self) -> HypothesisClass:
        return self.base.hypotheses

    @property
    def guarantee(self) -> Budget:
        inside = relabelled(self.base.guarantee, selection_epsilon=self.selection_epsilon)
        kept_labelled, kept_taken = self._sizes
        cases = [subsampled(inside, subset=kept_labelled, records=self.labelled)]
        if self.taken:
            cases.append(subsampled(inside, subset=kept_taken, records=self.taken))
        if self.base.unlabelled:
            cases.append(self.base.guarantee)
        return worst_of(cases)

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        return run_redacted(
            lambda: self._draw(records, noise), doing="Learning from relabelled records"
        )

    def _draw(self, records: PartlyLabelled, noise: NoiseSource) -> Hypothesis:
        kept_labelled, kept_taken = self._sizes
        S = _random_part(self.labelled, kept_labelled, noise)
        T = _random_part(self.taken, kept_taken, noise)
        points = np.concatenate([records.X[S], records.pool[: self.taken][T]])
        counts = self.relabel_by.mistake_counts(points, records.X[S], records.y[S])
        chosen = select_hypothesis(counts, epsilon=self.selection_epsilon, noise=noise)
        labels = self.relabel_by.label(np.atleast_2d(chosen.hypothesis), points)[0]
        return self.base.draw(
            PartlyLabelled(points, labels, records.pool[self.taken :]), noise=noise
        )


@dataclass(frozen=True)
class SubsampledLearning(LearningMechanism):
    """Run a base on a random part of the labelled records; ignore the unlabelled ones.

    Parameters
    ----------
    base : LearningMechanism
    labelled, unlabelled : int
    with_replacement : bool, default False
        Draw what was kept once more, with replacement ([BNS15] Algorithm 5): the base then sees
        independent draws from the records kept, at a price.

    Privacy
    -------
    Neighbours: ``replace``. ``ln(1 + r(e^epsilon - 1))`` with r the part kept and epsilon that of
    the base, after resampling when there is any.

    References
    ----------
    [BNS15] Claims C.1 and C.3; steps 3 to 5 of Algorithm 4.

    Examples
    --------
    >>> from tacit.hypotheses import IntegerThresholds
    >>> base = SelectionLearning(IntegerThresholds(1000), 1.0, labelled=100)
    >>> round(SubsampledLearning(base, labelled=1000).guarantee.epsilon, 3)
    0.159
    """

    name: ClassVar[str] = "SubsampledLearning"
    base: LearningMechanism
    labelled: int
    unlabelled: int = 0
    with_replacement: bool = False

    def __post_init__(self) -> None:
        validation.instance(LearningMechanism, base=self.base)
        _part("base.labelled", self.base.labelled, self.labelled, least=1)
        validation.integer(0, unlabelled=self.unlabelled)
        if self.base.unlabelled:
            raise InvalidArgument(
                "`base` must be made for labelled records only, got one for "
                f"{self.base.unlabelled} without."
            )

    @property
    def hypotheses(self) -> HypothesisClass:
        return self.base.hypotheses

    @property
    def guarantee(self) -> Budget:
        subset_size, inside = self.base.labelled, self.base.guarantee
        if self.with_replacement:
            inside = resampled(inside, records=subset_size)
        return subsampled(inside, subset=subset_size, records=self.labelled)

    def draw(self, records: PartlyLabelled, *, noise: NoiseSource) -> Hypothesis:
        subset = _random_part(self.labelled, self.base.labelled, noise)
        if self.with_replacement:
            subset = subset[sampling.resample(len(subset), len(subset), noise=noise)]
        part = PartlyLabelled(records.X[subset], records.y[subset], records.pool[:0])
        return self.base.draw(part, noise=noise)


def worst_of(cases: list[Budget]) -> Budget:
    """Return the guarantee that holds in every case."""
    return Budget(max(c.epsilon for c in cases), max(c.delta for c in cases))


def _part(name: str, size: int | None, of: int, *, least: int) -> None:
    whole = isinstance(size, int) and not isinstance(size, bool)
    if not whole or not least <= (size or 0) <= of:
        raise InvalidArgument(f"`{name}` must be between {least} and {of}, got {size!r}.")


def _random_part(n: int, size: int, noise: NoiseSource) -> IndexArray:
    """Return random positions in random order; all of them, when all are kept, as they are."""
    return np.arange(n) if size == n else sampling.random_subset(n, size, noise=noise)
