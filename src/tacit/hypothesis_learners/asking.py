"""What all learners that answer questions share: records in, answers out through a ledger."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget, Neighbouring
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.accounting.price import price
from tacit.accounting.pure import pure_epsilon_for
from tacit.errors import LedgerError, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import as_points
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.labeling import question_keys
from tacit.labeling.source import Answering
from tacit.ledger import Ledger, MemoryLedger, open_ledger
from tacit.ledger.analysts import Analyst
from tacit.ledger.messages import INSECURE_REFUSED
from tacit.mechanisms.prediction import PredictionMechanism
from tacit.noise import NoiseSource, SecureNoise, Uncopyable
from tacit.report.statement import PrivacyStatement

ASSUMPTIONS = (
    "Features and labels of the records were not looked at to choose the settings.",
    "Which records were sampled, and every other draw, stays inside this process.",
)

CONSTANTS = ("practical", "paper")

REFUSED = -1
"""What ``predict`` gives for a question that was refused."""


class AskedLearner(BaseEstimator, ABC):  # type: ignore[misc]
    """Holds private records and answers questions about public points, each one priced."""

    hypotheses: HypothesisClass
    epsilon: float
    delta: float
    ledger: Any
    key: str | None

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
        """Reserve the plan on a ledger, or go on with the one opened under this key.

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
        return self.open(ledger, noise=noise, key=self.key or f"fit-{noise.bits(64):016x}")

    @abstractmethod
    def _settle(self, n_records: int, budget: Budget) -> None:
        """Choose all settings from public numbers alone."""

    @abstractmethod
    def _plan(self) -> Plan:
        """Return the plan for the settings in force."""

    @abstractmethod
    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> Answering:
        """Open the plan, and train what answers need."""

    def _account(self, budget: Budget) -> Budget:
        """The lifetime budget of an account of its own."""
        return budget

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
    def plan_(self) -> Plan:
        """What may be released at most, and the guarantee for all of it. Public."""
        return self._fitted_plan()

    @property
    def guarantee_(self) -> Budget:
        """The (epsilon, delta) of everything that will be answered, for the settings in force."""
        return self._fitted_plan().guarantee

    @property
    def privacy_(self) -> PrivacyStatement:
        """What is protected, from whom, how well, and what it rests on. Public."""
        plan, opened = self._fitted_plan(), self._opened
        found: dict[Event, int] = {}
        asked = 0
        if opened is not None:
            found, tally = opened.ledger.usage(opened.plan_id), opened.ledger.tally(opened.plan_id)
            asked = tally.answered + tally.refused
        usage = {event: times for event, times in found.items() if times}
        spent = price(usage, delta=plan.guarantee.delta).epsilon if usage else 0.0
        return PrivacyStatement(
            epsilon=plan.guarantee.epsilon,
            delta=plan.guarantee.delta,
            spent_epsilon=min(spent, plan.guarantee.epsilon),
            neighbouring=Neighbouring.REPLACE,
            unit="record",
            mechanism=plan.mechanism,
            accountant=plan.accountant,
            questions=asked,
            assumptions=ASSUMPTIONS,
            secure=opened is None or self._secure,
        )

    def _fitted_plan(self) -> Plan:
        if not hasattr(self, "_records"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        return self._plan()

    def _answering(self) -> Answering:
        self._fitted_plan()
        if self._opened is not None:
            return self._opened
        return self._open_on(MemoryLedger(self._account(Budget(self.epsilon, self.delta))))

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override this, and everything they make says so."""
        return SecureNoise()

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_records"):
            self._refuse()
        return dict(super().__getstate__())

    def _refuse(self) -> NoReturn:
        raise PrivateValueError(
            f"A fitted {type(self).__name__} holds private records: it is not pickled, copied or "
            "saved. Its answers are on the ledger."
        )


class PerQuestionLearner(AskedLearner):
    """Draws every answer by itself, under constants of its own or those of the paper."""

    mechanism_: PredictionMechanism

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        answers: int = 1,
        constants: str = "practical",
        alpha: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self.hypotheses = hypotheses
        self.epsilon = epsilon
        self.delta = delta
        self.answers = answers
        self.constants = constants
        self.alpha = alpha
        self.ledger = ledger
        self.key = key

    def _settle(self, n_records: int, budget: Budget) -> None:
        answers = validation.positive_integer(answers=self.answers)
        each = pure_epsilon_for(budget.epsilon, budget.delta, answers) * (1 - 1e-9)
        alpha = None
        if validation.one_of(CONSTANTS, constants=self.constants) == "paper":
            alpha = validation.probability("Give the excess error to reach.", alpha=self.alpha)
        self.mechanism_ = self._chosen(n_records, each, answers, alpha)

    @abstractmethod
    def _chosen(
        self, n_records: int, epsilon: float, answers: int, alpha: float | None
    ) -> PredictionMechanism:
        """Return what answers, each for ``epsilon``; ``alpha`` asks for the paper's constants."""

    def _plan(self) -> Plan:
        return self.mechanism_.plan(self.delta)

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> PerQuestion:
        return PerQuestion(
            self.mechanism_, self._records, ledger, delta=self.delta, noise=noise, key=key
        )


class PerQuestion(Uncopyable):
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
        check_noise(ledger, noise)
        self._mechanism, self._records = mechanism, records
        self._noise, self.ledger = noise, ledger
        self.plan_id = ledger.open_plan(mechanism.plan(delta), key)
        self.plan = ledger.plan(self.plan_id)
        self._lock = threading.Lock()

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost."""
        table = as_points(points, self._mechanism.hypotheses.n_features)

        def draw(rows: Sequence[int]) -> list[Answer]:
            records = self._records
            return self._mechanism.release(
                records.X, records.y, table[list(rows)], noise=self._noise
            )

        with self._lock:
            release = PaidEach(self._mechanism.event, draw)
            return self.ledger.answer(self.plan_id, list(questions), release, on_behalf=on_behalf)

    def __repr__(self) -> str:
        return f"PerQuestion({self._mechanism.name}, {self.ledger!r})"


class PaidEach:
    """Draws for a ledger; every new question costs one event."""

    def __init__(self, event: Event, draw: Callable[[Sequence[int]], list[Answer]]) -> None:
        self._event, self._draw = event, draw

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return {self._event: questions}

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return self._draw(new)

    def abandon(self) -> None:
        """Nothing is kept between answers."""


def check_noise(ledger: Ledger, noise: NoiseSource) -> None:
    """Refuse test noise on a ledger that does not allow it."""
    if not noise.secure and not ledger.allow_insecure:
        raise LedgerError(INSECURE_REFUSED)
