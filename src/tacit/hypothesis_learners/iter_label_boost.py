"""LabelBoost in iterations, each on a random part of the records, for any epsilon."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any, ClassVar

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.learner import BaseLearner, PartlyLabelledLearner
from tacit.mechanisms.learning import (
    LearningMechanism,
    RelabelledLearning,
    SubsampledLearning,
)

_GROWTH = 4  # growth of the unlabelled records per iteration
_PAPER_KEPT, _PAPER_LAST = 100, 300  # one record in N is kept: per iteration, at the end


@dataclass(frozen=True, slots=True)
class Iteration:
    """Sizes of one iteration. Public."""

    labelled: int
    taken: int
    kept_labelled: int
    kept_taken: int


@dataclass(frozen=True)
class IteratedRelabelling(RelabelledLearning):
    """The first of several iterations; the others are inside it."""

    name: ClassVar[str] = "IterLabelBoost"


class IterLabelBoost(PartlyLabelledLearner):
    """Relabel and learn as ``LabelBoost`` does, on random parts of the records.

    The random parts make relabelling cheap: any epsilon can be reached. What the base learner
    needs in records, it gets from unlabelled ones; labels are only needed to choose among the
    dichotomies of what was kept, however large the domain is.

    Parameters
    ----------
    hypotheses : HypothesisClass
    base : BaseLearner
    epsilon : float
        Of the whole release. The part kept in each iteration is the largest that stays within it.
    iterations : int, default 1
        With more, labels go further and unlabelled records less far.
    selection_epsilon : float, default 1
    base_records : int, optional
        On how many of the relabelled records to run the base; all when not given.
    with_replacement : bool, default False
        Draw the base's records once more, with replacement, as the paper does for its proof of
        accuracy. It costs epsilon.
    constants : {"practical", "paper"}
        ``paper``: the schedule of [BNS15] Algorithm 4 for ``alpha``, ``beta`` and a base that needs
        ``base_records``; refuses, with the numbers needed, when there are fewer. The guarantee is
        that of the schedule, and ``epsilon`` only bounds it.
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``SemiPrivateLearner``.

    Attributes
    ----------
    hypothesis_, mechanism_, guarantee_, privacy_, classes_
        See ``HypothesisLearner``; as there, no relabelling hypothesis is kept.

    Notes
    -----
    Privacy: neighbours ``replace``; which records have labels is public. Proof:
    ``docs/proofs/semi_supervised.md``, step 3. Pure if the base is.

    References
    ----------
    [BNS15] Algorithms 4 and 5, Theorem 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypothesis_learners import ExponentialLearner
    >>> from tacit.hypotheses import IntegerThresholds, Thresholds
    >>> x = np.random.default_rng(0).integers(2**40, size=20_000)
    >>> y = (x >= 2**39).astype(int)
    >>> y[300:] = -1
    >>> base = ExponentialLearner(IntegerThresholds(2**40), epsilon=0.5)
    >>> boost = IterLabelBoost(Thresholds(), base, epsilon=1.0).fit(x, y)
    >>> boost.guarantee_.epsilon <= 1.0, boost.mechanism_.kept_labelled
    (True, 48)
    >>> boost.predict([0, 2**40 - 1])
    array([0, 1])
    """

    iterations: int
    base_records: int | None
    with_replacement: bool

    def __init__(
        self,
        hypotheses: Any = None,
        base: Any = None,
        *,
        epsilon: float = 1.0,
        iterations: int = 1,
        selection_epsilon: float = 1.0,
        base_records: int | None = None,
        with_replacement: bool = False,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        validation.instance(BaseLearner, base=self.base)
        epsilon = validation.positive(epsilon=self.epsilon)
        if self._uses_paper_constants():
            mechanism = self._paper(labelled, unlabelled)
        else:
            mechanism = self._practical(labelled, unlabelled, epsilon)
        least = mechanism.guarantee.epsilon
        if least > epsilon:
            raise InvalidArgument(
                f"`epsilon` must be at least {least:.4g} for {labelled} labelled "
                f"records and this base, got {epsilon:g}. With more records, a smaller part of "
                "them hides each one better."
            )
        return mechanism

    def _practical(self, labelled: int, unlabelled: int, epsilon: float) -> LearningMechanism:
        """Return the largest parts that stay within epsilon, by bisection; smaller are cheaper."""
        iterations = validation.positive_integer(iterations=self.iterations)

        def build(part: float) -> LearningMechanism:
            sizes_of_iterations = schedule(labelled, unlabelled, iterations, part)
            return self._build(sizes_of_iterations, labelled, unlabelled)

        low, high = 0.0, 1.0
        best, whole = build(low), build(high)
        if whole.guarantee.epsilon <= epsilon:
            return whole
        while high - low > 1 / (4 * (labelled + unlabelled)):
            middle = (low + high) / 2
            candidate = build(middle)
            if candidate.guarantee.epsilon <= epsilon:
                low, best = middle, candidate
            else:
                high = middle
        return best

    def _paper(self, labelled: int, unlabelled: int) -> LearningMechanism:
        n = validation.positive_integer(
            "Give the records that the base needs.", base_records=self.base_records
        )
        alpha, beta = self._paper_alpha("error to reach"), self._paper_beta()
        self._check_paper_selection()
        d = max(1, self.hypotheses.vc_dimension)
        needed = math.ceil(576_000 / alpha * d * math.log(768 / (alpha * beta)))
        sizes.refuse_small("labelled records", labelled, needed)
        sizes.refuse_small("records without labels", unlabelled, 90_000 * n)
        iterations = paper_schedule(labelled, n, d, alpha, beta)
        return self._build(iterations, labelled, unlabelled, paper=True)

    def _build(
        self, iterations: list[Iteration], labelled: int, unlabelled: int, *, paper: bool = False
    ) -> LearningMechanism:
        """Return the iterations, the last one inside the one before it."""
        final = iterations[-1].kept_labelled + iterations[-1].kept_taken if iterations else labelled
        last_size = final if self.base_records is None else self.base_records
        n = max(1, final // _PAPER_LAST) if paper else min(final, last_size)
        left = unlabelled - sum(r.taken for r in iterations)
        mechanism: LearningMechanism = SubsampledLearning(
            self.base.mechanism(n, 0), final, left, paper or self.with_replacement
        )
        for r in reversed(iterations):
            mechanism = IteratedRelabelling(
                mechanism, self.hypotheses, self.selection_epsilon, *astuple(r)
            )
        return mechanism


def schedule(labelled: int, unlabelled: int, iterations: int, part: float) -> list[Iteration]:
    """Return the sizes of iterations that keep a part of what they see, and take more every time.

    Examples
    --------
    >>> schedule(100, 1000, 1, 0.1)
    [Iteration(labelled=100, taken=1000, kept_labelled=10, kept_taken=100)]
    """
    weights = [_GROWTH**i for i in range(iterations)]
    sizes_of_iterations: list[Iteration] = []
    left = unlabelled
    for i in range(iterations):
        n_taken = left if i == iterations - 1 else unlabelled * weights[i] // sum(weights)
        kept_labelled = max(1, math.floor(part * labelled))
        kept_taken = max(min(1, n_taken), math.floor(part * n_taken))
        sizes_of_iterations.append(Iteration(labelled, n_taken, kept_labelled, kept_taken))
        labelled, left = kept_labelled + kept_taken, left - n_taken
    return sizes_of_iterations


def paper_schedule(labelled: int, n: int, d: int, alpha: float, beta: float) -> list[Iteration]:
    """Return the iterations of [BNS15] Algorithm 4, step 2, until 300 n records are labelled.

    Examples
    --------
    >>> paper_schedule(2 * 10**8, 10**6, 1, 0.1, 0.1)
    [Iteration(labelled=200000000, taken=30000000000, kept_labelled=2000000, kept_taken=300000000)]
    >>> paper_schedule(2 * 10**8, 10**4, 1, 0.1, 0.1)  # there are enough labels already
    []
    """
    iterations: list[Iteration] = []
    while labelled < 300 * n:
        i = len(iterations) + 1
        alpha_i, beta_i = alpha / (24 * 2**i), beta / (4 * 2**i)
        most = 30_000 * n
        exponent = alpha_i * labelled / (200 * d)
        if exponent < math.log(most + 100 * labelled) + math.log(math.e / (beta_i * d)):
            most = math.floor(beta_i / math.e * d * math.exp(exponent) - 100 * labelled)
        if most < _PAPER_KEPT:
            raise InvalidArgument(
                f"`labelled records` must be more for iteration {i} of the paper's schedule, "
                f"got {labelled}."
            )
        kept_labelled, kept_taken = max(1, labelled // _PAPER_KEPT), most // _PAPER_KEPT
        iterations.append(Iteration(labelled, most, kept_labelled, kept_taken))
        labelled = kept_labelled + kept_taken
    return iterations
