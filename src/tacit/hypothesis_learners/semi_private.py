"""Learn from private records with public points: a cover from these, a draw by those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.candidates import Candidates, PublicCover
from tacit.hypotheses.growth import growth_bound
from tacit.hypothesis_learners import sizes
from tacit.hypothesis_learners.asking import CONSTANTS
from tacit.hypothesis_learners.learner import HypothesisLearner
from tacit.mechanisms.learning import LearningMechanism, PartlyLabelled, SelectionLearning


@dataclass(frozen=True)
class ExponentialLearner:
    """A base learner: the exponential mechanism over candidates fixed beforehand.

    Parameters
    ----------
    candidates : Candidates
        ``PublicCover`` or ``IntegerThresholds``, or your own.
    epsilon : float, default 0.5

    Examples
    --------
    >>> from tacit.hypotheses import IntegerThresholds
    >>> ExponentialLearner(IntegerThresholds(1000)).mechanism(100, 0).guarantee
    Budget(epsilon=0.5, delta=0.0)
    """

    candidates: Candidates
    epsilon: float = 0.5

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism; unlabelled records are ignored."""
        return SelectionLearning(self.candidates, self.epsilon, labelled, unlabelled)


class SemiPrivateLearner(HypothesisLearner):
    """Draw a hypothesis by its mistakes on private records, from a cover of public points.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon : float
        Of the whole release, which is pure.
    constants : {"practical", "paper"}
        ``paper``: refuses, with the numbers needed, when there are fewer public points than
        [NB20] Algorithm 4 asks for or fewer records than its proof needs for ``alpha`` and
        ``beta``. The guarantee is the same.
    alpha, beta : float, optional
        For ``paper``: excess error, and chance of more.
    ledger : path or Ledger, optional
        Where to spend. Without one the learner keeps an account of its own, and nothing adds its
        cost to that of other releases.
    key : str, optional
        Name of the release on the ledger: the same one gets the stored hypothesis again, free.

    Attributes
    ----------
    hypothesis_, mechanism_, guarantee_, privacy_, classes_
        See ``HypothesisLearner``.

    Notes
    -----
    Privacy: neighbours ``replace``. Event: ``ExponentialSelection(epsilon)``. Public points are not
    protected.

    References
    ----------
    [NB20] Algorithm 7 (Alon, Bassily, Moran 2019; Beimel, Nissim, Stemmer 2013).

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(2000)
    >>> learner = SemiPrivateLearner(Thresholds(), epsilon=1.0)
    >>> learner.fit(x, x >= 0.4, X_public=rng.random(200)).predict([0.1, 0.9])
    array([0, 1])
    >>> str(learner.privacy_).splitlines()[0]
    'Privacy statement: (1, 0) differential privacy'
    """

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.constants = constants
        self.alpha = alpha
        self.beta = beta
        self.ledger = ledger
        self.key = key

    def fit(self, X: Any, y: Any, *, X_public: Any) -> Self:
        """Release a hypothesis.

        Parameters
        ----------
        X, y : table and labels, 0 or 1
            Private.
        X_public : table
            Public points of the same kind.
        """
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        validation.positive(epsilon=self.epsilon)
        cover = PublicCover(self.hypotheses, X_public)
        records = PartlyLabelled.read(self.hypotheses.n_features, X, y)
        if not len(records.X):
            raise InvalidArgument("`X` must hold at least one record, got none.")
        mechanism = SelectionLearning(cover, self.epsilon, len(records.X))
        if validation.one_of(CONSTANTS, constants=self.constants) == "paper":
            self._check_sizes(len(records.X), len(cover.points))
        return self._release(mechanism, records)

    def _check_sizes(self, n_records: int, n_public: int) -> None:
        alpha = validation.probability("Give the excess error to reach.", alpha=self.alpha)
        beta = validation.probability("Give the chance of more.", beta=self.beta)
        d = self.hypotheses.vc_dimension
        sizes.refuse_small("X_public", n_public, sizes.public_points(d, alpha, beta))
        candidates = growth_bound(self.hypotheses)(n_public)
        needed = max(
            sizes.uniform_convergence(d, alpha, beta),
            sizes.selection_records(candidates, self.epsilon, alpha, beta),
        )
        sizes.refuse_small("X", n_records, needed)
