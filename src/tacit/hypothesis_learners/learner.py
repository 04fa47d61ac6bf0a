"""What learners that release one hypothesis share: records in, a public hypothesis out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Neighbouring
from tacit.accounting.events import Event
from tacit.data.cells import numbers
from tacit.data.containers import as_container, cells_of
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import as_points
from tacit.hypothesis_learners.asking import ASSUMPTIONS, check_noise
from tacit.ledger import MemoryLedger, open_ledger
from tacit.ledger.protocol import DetachedLedger
from tacit.mechanisms.learning import LearningMechanism, PartlyLabelled
from tacit.noise import NoiseSource, SecureNoise
from tacit.report.statement import PrivacyStatement

UNLABELLED = -1
"""The label that says: this record has none."""

WHO_HAS_LABELS = "Which records have labels may be known."


@runtime_checkable
class BaseLearner(Protocol):
    """What can be run inside another learner: settings, made into a mechanism for given sizes."""

    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for so many labelled and unlabelled records."""


class HypothesisLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    ledger: Any
    key: str | None

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 0 or 1 for every point; the hypothesis is public, so this costs nothing."""
        if not hasattr(self, "hypothesis_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        found = self.mechanism_.hypotheses.predict(self.hypothesis_, X)
        return found.astype(np.int64)

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
        check_noise(ledger, noise)
        plan_id = ledger.open_plan(plan, self.key or f"fit-{noise.bits(64):016x}")
        question, drawn = _question(mechanism.hypotheses), None
        if not ledger.recorded(plan_id, [question]):
            drawn = (drawn_by or mechanism).release(records, noise=noise)
        (answer,) = ledger.answer(plan_id, [question], _Once(mechanism.event, drawn))
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = mechanism.hypotheses.n_features
        self.mechanism_, self.guarantee_ = mechanism, plan.guarantee
        self.hypothesis_ = np.array(answer.parameters)
        self.privacy_ = PrivacyStatement(
            epsilon=plan.guarantee.epsilon,
            delta=plan.guarantee.delta,
            spent_epsilon=plan.guarantee.epsilon,
            neighbouring=Neighbouring.REPLACE,
            unit="record",
            mechanism=f"{type(self).__name__} ({plan.mechanism})",
            accountant=plan.accountant,
            questions=0,
            assumptions=(*ASSUMPTIONS, *assumptions),
            secure=answer.secure,
        )
        return self

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override this, and everything they make says so."""
        return SecureNoise()

    def __getstate__(self) -> dict[str, Any]:
        """Public results only: the ledger stays behind once there are any."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "hypothesis_" in state and state["ledger"] is not None:
            state["ledger"] = DetachedLedger()
        return state


class PartlyLabelledLearner(HypothesisLearner):
    """A learner from labelled records and others without; it can also be run inside another."""

    hypotheses: Any

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

    @abstractmethod
    def mechanism(self, labelled: int, unlabelled: int) -> LearningMechanism:
        """Return the mechanism for so many labelled and unlabelled records."""


def _question(hypotheses: HypothesisClass) -> bytes:
    """Name what is asked for: under one key, a hypothesis of another class is not given back."""
    return f"hypothesis: {type(hypotheses).__name__} on {hypotheses.n_features}".encode()


class _Once:
    """Hands over the one answer of a plan; none when it is on the ledger already."""

    def __init__(self, event: Event, drawn: Answer | None) -> None:
        self._event, self._drawn = event, drawn

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return {self._event: questions}

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return [] if self._drawn is None else [self._drawn]

    def abandon(self) -> None:
        """Nothing is kept."""


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
