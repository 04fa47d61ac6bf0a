"""What learners that release one hypothesis share: records in, a public hypothesis out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from tacit import validation
from tacit.data.cells import numbers
from tacit.data.containers import as_container, cells_of
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import as_points
from tacit.hypothesis_learners.estimator import HypothesisEstimator
from tacit.ledger import FixedPriceRelease, MemoryLedger, open_ledger
from tacit.ledger.ledger import DetachedLedger
from tacit.mechanisms.learning import LearningMechanism, PartlyLabelled

UNLABELLED = -1
"""Marks a record without a label."""

WHO_HAS_LABELS = "Which records have labels may be known."


@runtime_checkable
class BaseLearner(Protocol):
    """What can be run inside another learner: settings, made into a mechanism for given sizes."""

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for ``labelled`` and ``unlabelled`` records."""


class HypothesisLearner(ClassifierMixin, HypothesisEstimator):  # type: ignore[misc]
    """A scikit-learn classifier that is a released hypothesis.

    Attributes
    ----------
    hypothesis_ : array
        The released parameters. Public.
    mechanism_ : LearningMechanism
        The settings in force. Public.
    guarantee_ : Budget
        For what was run.
    privacy_ : PrivacyStatement
    classes_ : array
        0 and 1.
    """

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 0 or 1 for every point; the hypothesis is public, so this costs nothing."""
        self._check_fitted("hypothesis_")
        return self.mechanism_.hypotheses.predict(self.hypothesis_, X).astype(np.int64)

    def _release(
        self,
        mechanism: LearningMechanism,
        records: PartlyLabelled,
        *assumptions: str,
        drawn_by: LearningMechanism | None = None,
    ) -> Self:
        """Reserve the plan, draw, record, and only then keep what was released.

        Drawn after the plan is reserved and before the ledger is locked: counting mistakes may take
        seconds, and somebody who labels on request, days. What is not recorded is dropped.
        """
        noise = self._noise()
        plan = mechanism.plan()
        ledger = MemoryLedger(plan.guarantee) if self.ledger is None else open_ledger(self.ledger)
        ledger.check_noise(noise)
        plan_id = ledger.open_plan(plan, self._plan_key(noise))
        question = _question(mechanism.hypotheses)
        drawn = []
        if not ledger.recorded(plan_id, [question]):
            drawn.append((drawn_by or mechanism).release(records, noise=noise))
        release = FixedPriceRelease.per_answer(mechanism.event, lambda new: drawn)
        (answer,) = ledger.answer(plan_id, [question], release)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = mechanism.hypotheses.n_features
        self.mechanism_, self.guarantee_ = mechanism, plan.guarantee
        self.hypothesis_ = np.array(answer.parameters)
        self.privacy_ = self._statement(
            plan,
            *assumptions,
            mechanism=f"{type(self).__name__} ({plan.mechanism})",
            spent=plan.guarantee.epsilon,
            questions=0,
            secure=answer.secure,
        )
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Public results only: the ledger stays behind once there are any."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "hypothesis_" in state and state["ledger"] is not None:
            state["ledger"] = DetachedLedger()
        return state


class PartlyLabelledLearner(HypothesisLearner):
    """A learner from labelled records and others without; it can also be run inside another."""

    def fit(self, X: Any, y: Any) -> Self:
        """Release a hypothesis.

        Parameters
        ----------
        X : table
            Private.
        y : labels
            0 or 1, private; -1 for records without a label, which is public.
        """
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        records = read_partly(self.hypotheses, X, y)
        mechanism = self.mechanism(len(records.X), len(records.pool))
        return self._release(mechanism, records, WHO_HAS_LABELS)

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for ``labelled`` and ``unlabelled`` records."""
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        return self._mechanism(labelled, unlabelled)

    @abstractmethod
    def _mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism; the class of hypotheses has been checked."""

    def _check_paper_selection(self) -> None:
        if self.selection_epsilon != 1:
            raise InvalidArgument(
                "`selection_epsilon` must be 1 with the constants of the paper, "
                f"got {self.selection_epsilon!r}."
            )


def _question(hypotheses: HypothesisClass) -> bytes:
    """Return the public name of the question: one per class of hypotheses and width."""
    return f"hypothesis: {type(hypotheses).__name__} on {hypotheses.n_features}".encode()


def read_partly(hypotheses: HypothesisClass, X: Any, y: Any) -> PartlyLabelled:
    """Return the records with labels apart from those marked -1, in their order."""
    points = as_points(X, hypotheses.n_features)
    labels = numbers(cells_of(as_container(y)))
    if labels.shape != (len(points),):
        raise InvalidArgument(
            f"`y` must hold one entry for each of {len(points)} records, {UNLABELLED} for those "
            f"without a label, got shape {labels.shape}."
        )
    without = labels == UNLABELLED
    if without.all():
        raise InvalidArgument("`y` must hold at least one label, 0 or 1, got none.")
    return PartlyLabelled.read(
        hypotheses.n_features, points[~without], labels[~without], points[without]
    )
