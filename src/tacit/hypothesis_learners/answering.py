"""What all learners that answer questions share: records in, answers out through a ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.accounting.price import price
from tacit.accounting.pure import pure_epsilon_for
from tacit.errors import LedgerError, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import FloatArray, as_points
from tacit.hypothesis_learners.estimator import HypothesisEstimator
from tacit.hypothesis_learners.opened_plan import OpenedPlan
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.labeling import question_keys
from tacit.labeling.source import Answering
from tacit.ledger import FixedPriceRelease, Ledger, MemoryLedger, open_ledger
from tacit.mechanisms.prediction import PredictionMechanism
from tacit.noise import NoiseSource
from tacit.report.statement import PrivacyStatement

REFUSED = -1
"""What ``predict`` gives for a question that was refused."""


class AnsweringLearner(HypothesisEstimator, ABC):
    """Holds private records and answers questions about public points, each one priced."""

    hypotheses: HypothesisClass
    _paper_sets_guarantee: ClassVar[bool] = False
    """Whether the paper's constants lead to a guarantee of their own, whatever ``epsilon`` is."""

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the records and choose the settings; nothing is released.

        The budget is reserved now when ``ledger`` was given, otherwise with the first question.

        Parameters
        ----------
        X : table of numbers
            Private.
        y : labels, 0 or 1
            Private. Whatever is not 1 counts as 0.
        """
        validation.instance(HypothesisClass, hypotheses=self.hypotheses)
        budget = Budget(self.epsilon, self.delta)
        self._records = BinaryRecords.read(self.hypotheses, X, y)
        self._settle(len(self._records), budget)
        self._opened: Answering | None = None
        if self.ledger is not None:
            self._open_on(open_ledger(self.ledger))
        return self

    def open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> Answering:
        """Reserve the plan on a ledger, or resume the one opened under this key.

        This makes it a source of answers: ``PrivateOracle.from_source`` takes it.

        Raises
        ------
        LedgerError
            When it is open already: on two ledgers it would spend twice.
        """
        self._fitted_plan()
        if self._opened is not None:
            raise LedgerError(
                f"This {type(self).__name__} is open on a ledger already; on another it would "
                "spend the budget twice. Fit a new one."
            )
        self._secure = noise.secure
        self._opened = self._open(ledger, noise=noise, key=key)
        return self._opened

    def _open_on(self, ledger: Ledger) -> Answering:
        noise = self._noise()
        return self.open(ledger, noise=noise, key=self._plan_key(noise))

    @abstractmethod
    def _settle(self, n_records: int, budget: Budget) -> None:
        """Choose all settings from public numbers alone."""

    @abstractmethod
    def _plan(self) -> Plan:
        """Return the plan for the settings in force."""

    @abstractmethod
    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> Answering:
        """Open the plan, and train what answers need."""

    @property
    def classes(self) -> NDArray[Any]:
        """What an answer's label is the index of. Public."""
        return np.array([0, 1])

    def ask(self, X: Any) -> list[Answer]:
        """Answer one question per row of ``X``. Public points; the answers are public.

        A point asked before gets the answer it got, free of charge. Shorter than asked when the
        run stopped on the way.

        Raises
        ------
        BudgetExceeded
            When new questions do not fit in what is left; nothing was drawn.
        """
        points = as_points(X, self.hypotheses.n_features)
        return self._answering().ask(points, question_keys(points))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the label of every answer; -1 for a refusal, or when nothing is left to answer."""
        answers = self.ask(X)
        labels = [REFUSED if answer.label is None else answer.label for answer in answers]
        rows = len(as_points(X, self.hypotheses.n_features))
        return np.array(labels + [REFUSED] * (rows - len(labels)), dtype=np.int64)

    @property
    def guarantee_(self) -> Budget:
        """The (epsilon, delta) of everything that will be answered, for the settings in force."""
        return self._fitted_plan().guarantee

    @property
    def privacy_(self) -> PrivacyStatement:
        """What is protected, from whom, how well, and what it rests on. Public."""
        plan, opened = self._fitted_plan(), self._opened
        spent, questions = 0.0, 0
        if opened is not None:
            usage = opened.ledger.usage(opened.plan_id)
            tally = opened.ledger.tally(opened.plan_id)
            questions = tally.answered + tally.refused
            if usage := {event: times for event, times in usage.items() if times}:
                spent = price(usage, delta=plan.guarantee.delta).epsilon
        return self._statement(
            plan,
            mechanism=plan.mechanism,
            spent=spent,
            questions=questions,
            secure=opened is None or self._secure,
        )

    def _fitted_plan(self) -> Plan:
        self._check_fitted("_records")
        return self._plan()

    def _answering(self) -> Answering:
        self._fitted_plan()
        if self._opened is not None:
            return self._opened
        account = Budget(self.epsilon, self.delta)
        if self._paper_sets_guarantee and self.constants == "paper":
            account = self._plan().guarantee
        return self._open_on(MemoryLedger(account))

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_records"):
            raise PrivateValueError(
                f"A fitted {type(self).__name__} holds private records: it is not pickled, copied "
                "or saved. Its answers are on the ledger."
            )
        return dict(super().__getstate__())


class PerQuestionLearner(AnsweringLearner):
    """Draws every answer by itself, under constants of its own or those of the paper."""

    n_questions: int
    mechanism_: PredictionMechanism

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        n_questions: int = 1,
        constants: str = "practical",
        alpha: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _settle(self, n_records: int, budget: Budget) -> None:
        n_questions = validation.positive_integer(n_questions=self.n_questions)
        each = pure_epsilon_for(budget.epsilon, budget.delta, n_questions) * (1 - 1e-9)
        alpha = self._paper_alpha() if self._uses_paper_constants() else None
        self.mechanism_ = self._chosen(n_records, each, n_questions, alpha)

    @abstractmethod
    def _chosen(
        self, n_records: int, epsilon: float, n_questions: int, alpha: float | None
    ) -> PredictionMechanism:
        """Return what answers, each for ``epsilon``; ``alpha`` asks for the paper's constants."""

    def _plan(self) -> Plan:
        return self.mechanism_.plan(self.delta)

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> PerQuestionAnswers:
        return PerQuestionAnswers(
            self.mechanism_, self._records, ledger, delta=self.delta, noise=noise, key=key
        )


class PerQuestionAnswers(OpenedPlan):
    """Answers that are drawn and paid for one by one, on a ledger.

    Parameters
    ----------
    mechanism : PredictionMechanism
    records : BinaryRecords
        Private.
    ledger, noise, key
        As for ``tacit.labeling.Labeler``.
    delta : float
        At which the plan is priced.
    """

    def __init__(
        self,
        mechanism: PredictionMechanism,
        records: BinaryRecords,
        ledger: Ledger,
        *,
        delta: float,
        noise: NoiseSource,
        key: str,
    ) -> None:
        n_features = mechanism.hypotheses.n_features
        super().__init__(mechanism.plan(delta), ledger, n_features=n_features, noise=noise, key=key)
        self._mechanism, self._records = mechanism, records

    def _release(self, table: FloatArray) -> FixedPriceRelease:
        def draw(rows: Sequence[int]) -> list[Answer]:
            records, points = self._records, table[list(rows)]
            return self._mechanism.release(records.X, records.y, points, noise=self._noise)

        return FixedPriceRelease.per_answer(self._mechanism.event, draw)
