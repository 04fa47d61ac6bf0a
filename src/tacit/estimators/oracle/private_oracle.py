"""PrivateOracle: the model stays inside, questions come in, answers or refusals go out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget, Neighbouring
from tacit.accounting.price import price
from tacit.data import PointReader, Schema
from tacit.errors import LedgerError, PrivateValueError
from tacit.estimators.assumptions import oracle_assumptions, restore_assumptions
from tacit.estimators.checks import noisy_budget, refuse_silent
from tacit.estimators.combinations import check_oracle_combination
from tacit.estimators.inputs import source_of
from tacit.estimators.oracle import settings
from tacit.estimators.oracle.budget_left import BudgetLeft
from tacit.estimators.oracle.estimate import check_affordable, estimate_error, mean_error
from tacit.estimators.oracle.inputs import oracle_reader, read_oracle_inputs
from tacit.estimators.oracle.terms import OracleTerms
from tacit.estimators.oracle.training import train_oracle, try_learner
from tacit.labeling.question import question_keys
from tacit.labeling.source import Answering, AnswerSource, VotingSource
from tacit.ledger import Analyst, Ledger, MemoryLedger, Tally, open_ledger
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.mechanisms.registry import make_mechanism
from tacit.mechanisms.sparse_vector import SparseVote
from tacit.noise import NoiseSource, SecureNoise
from tacit.report import PrivacyStatement


class PrivateOracle(BaseEstimator):  # type: ignore[misc]
    """Answers questions about public points from private records, until a budget is spent.

    Teachers are trained on disjoint shards of the records and stay inside; every answer is a
    priced release of their vote, recorded on a ledger before it leaves ([BTT18] Algorithm 2,
    [LZCW21] Algorithm 2 with the default mechanism). Questions may depend on earlier answers. A
    question asked before gets the same answer, free of charge.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``
        Trained on every shard.
    epsilon, delta : float
        The budget of everything this oracle will ever answer.
    classes : array of labels
        The possible labels, which must be public; see ``PATEClassifier``.
    schema : Schema, optional
        What every column holds. By default it is inferred from ``X_public``; without either, only
        numbers are read and everything else is missing.
    protect : {"records", "labels"}
    neighbouring : {"replace", "add-remove"}
        See ``Neighbouring``. ``add-remove`` needs ``groups`` and a number of teachers.
    mechanism : "sparse", "gaussian", "laplace", "confident", "exponential", or a mechanism
        ``sparse`` answers clear votes for free, refuses the others, and pays for refusals only.
        The others pay for every question.
    n_questions : int
        How many questions to plan for. A limit for the mechanisms that pay per question; under
        ``sparse`` it only sets the number of refusals.
    cutoff : int, "auto" or "estimate"
        How many refusals ``sparse`` plans for. "auto": a tenth of the questions. "estimate": from
        a private estimate of the teachers' error, which takes a fifth of the budget [BTT18,
        Remark 1]. Neither goes beyond what leaves clear votes answerable.
    n_teachers : int or "auto"
    ledger : path, URL or Ledger, optional
        Where spends add up. By default an account of this oracle alone, in memory; saving the
        oracle (``tacit.save_oracle``) gives it one that lasts.
    key : str, optional
        Name of its plan on the ledger. The same name, ledger and settings go on with the answers
        and the budget of an earlier fit; by default every fit gets a name of its own.
    n_jobs, random_state, verbose
        As for ``PATEClassifier``.

    Attributes
    ----------
    classes_ : ndarray
    terms_ : OracleTerms
        Everything public and fixed: budget, mechanism, key, assumptions, settings in force.

    Notes
    -----
    Privacy: everything ever answered is together (epsilon, delta) private, against all who ask,
    for the relation in ``privacy_``. The object holds the teachers, so it cannot be pickled; its
    repr shows settings only. It may be used by several threads.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2)); y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> oracle = PrivateOracle(
    ...     LogisticRegression(), epsilon=2.0, delta=1e-6, classes=["no", "yes"], n_teachers=600
    ... ).fit(X, y)
    >>> oracle.ask([[2.0, 1.0], [-1.5, -1.0]]).tolist()
    ['yes', 'no']
    >>> oracle.budget_left().total >= 1
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        schema: Any = None,
        protect: str = "records",
        neighbouring: str = "replace",
        mechanism: Any = "sparse",
        n_questions: int = 1000,
        cutoff: int | str = "auto",
        n_teachers: int | str = "auto",
        ledger: Any = None,
        key: str | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.schema = schema
        self.protect = protect
        self.neighbouring = neighbouring
        self.mechanism = mechanism
        self.n_questions = n_questions
        self.cutoff = cutoff
        self.n_teachers = n_teachers
        self.ledger = ledger
        self.key = key
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, groups: Any = None, X_public: Any = None) -> Self:
        """Train the teachers and reserve the budget; nothing is answered yet.

        Parameters
        ----------
        X : table, or ShardFolder
            Private records. Taken as numbers unless ``X_public`` shows another form. Those of
            ``tacit.data.shards.open_shards`` are read by the workers that train on them, one
            teacher per shard; ``neighbouring`` must be "add-remove" then.
        y : array of labels
            Private. A label that is not in ``classes`` is ignored. Left out with shards.
        groups : array, optional
            Whom each record belongs to: one person's records are protected together.
        X_public : table, optional
            A few public points that show what a point looks like: needed for texts and for data
            frames with columns other than numbers, and with shards. At least two per class.
        """
        budget, noise = noisy_budget(self.epsilon, self.delta), self._noise()
        neighbouring = check_oracle_combination(self, source_of(X), has_groups=groups is not None)
        questions = validation.positive_integer(n_questions=self.n_questions)
        answers, part = settings.shares(budget, estimated=self.cutoff == "estimate")
        reader = oracle_reader(self, X, y, groups, X_public)
        inputs = read_oracle_inputs(self, neighbouring, X, y, groups, X_public, reader, noise)
        protection, classes = inputs.protection, inputs.classes
        n_teachers = settings.teachers(self.n_teachers, protection, budget.epsilon)
        try_learner(self.learner, reader, inputs)
        # If the error is estimated, the most that can be planned for stands in until it is known.
        vote = self._vote(answers, n_teachers, len(classes), questions, error=1.0)
        test = None if part is None else mean_error(part, n_teachers)
        ledger = self._ledger(budget)
        key, estimate = self._key(noise), None
        ledger.check_noise(noise)
        if ledger.find_plan(key) is None:
            check_affordable(ledger, budget, vote.plan(answers.delta, n_teachers=n_teachers), test)
        teachers, rates = train_oracle(self, inputs, n_teachers, tested=test is not None)
        if test is not None and part is not None and rates is not None:
            estimate = estimate_error(test, rates, ledger, part, noise, key)
            vote = self._vote(answers, n_teachers, len(classes), questions, error=estimate.cautious)
        terms = OracleTerms(
            budget=budget,
            mechanism=vote,
            delta=answers.delta,
            key=key,
            neighbouring=protection.neighbouring,
            unit=protection.unit,
            assumptions=oracle_assumptions(protection, own_ledger=self.ledger is None),
            settings=self._chosen(vote, n_teachers, protection.neighbouring),
            estimate=estimate,
        )
        source = VotingSource(teachers, vote, classes, delta=answers.delta)
        return self._open(terms, reader, source, ledger, noise)

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override it; their releases are marked as insecure."""
        return SecureNoise()

    def _ledger(self, budget: Budget) -> Ledger:
        return MemoryLedger(budget) if self.ledger is None else open_ledger(self.ledger)

    def _key(self, noise: NoiseSource) -> str:
        return f"oracle-{noise.bits(64):016x}" if self.key is None else self.key

    def _vote(
        self, budget: Budget, n_teachers: int, n_classes: int, questions: int, *, error: float
    ) -> VoteMechanism:
        """Return the mechanism; ``error``, a released number, matters if it is estimated."""
        refusals = 1
        if isinstance(self.mechanism, str) and self.mechanism == "sparse":
            refusals = settings.cutoff(
                self.cutoff, budget, n_teachers=n_teachers, questions=questions, error=error
            )
        vote = make_mechanism(
            self.mechanism,
            VoteRun(budget, n_classes, n_teachers, questions, refusals=max(1, refusals)),
        )
        refuse_silent(vote, n_teachers)
        return vote

    def _chosen(
        self, vote: VoteMechanism, n_teachers: int, relation: Neighbouring
    ) -> Mapping[str, Any]:
        return {
            "learner": type(self.learner).__name__,
            "n_teachers": n_teachers,
            "n_questions": self.n_questions,
            "mechanism": repr(vote),
            "cutoff": vote.cutoff if isinstance(vote, SparseVote) else None,
            "neighbouring": relation.value,
            "protect": self.protect,
        }

    # ---- open -----------------------------------------------------------------------------------

    @classmethod
    def from_source(
        cls,
        source: AnswerSource,
        *,
        terms: OracleTerms,
        like: Any,
        ledger: Any,
        missing: bool = False,
    ) -> PrivateOracle:
        """Return an oracle over another source of answers: the same questions, ledger and report.

        Parameters
        ----------
        source : AnswerSource
            Whatever answers: votes counted elsewhere (``VotingSource`` with voters of your own),
            or a learner that releases answers by itself.
        terms : OracleTerms
            What it promises; ``terms.key`` names its plan.
        like : table
            Public points that show what a point looks like.
        ledger : path, URL or Ledger
        missing : bool
            Whether questions may have missing values.
        """
        oracle = cls(epsilon=terms.budget.epsilon, delta=terms.budget.delta, ledger=ledger)
        reader = PointReader(Schema.infer(like), missing=missing)
        return oracle._open(terms, reader, source, open_ledger(ledger), oracle._noise())

    def _open(
        self,
        terms: OracleTerms,
        reader: PointReader,
        source: AnswerSource,
        ledger: Ledger,
        noise: NoiseSource,
    ) -> Self:
        self._answering: Answering | None = source.open(ledger, noise=noise, key=terms.key)
        self.classes_: NDArray[Any] = source.classes
        self.terms_ = terms
        self.reader: PointReader = reader
        self._source, self._secure = source, noise.secure
        # An account in memory is handed over when the oracle is saved: not during a question.
        in_memory = isinstance(ledger, MemoryLedger)
        self._turn: AbstractContextManager[Any] = threading.RLock() if in_memory else nullcontext()
        return self

    def opened(self) -> Answering:
        """Return the oracle's source as it was opened on the ledger: plan, number and account."""
        answering: Answering | None = getattr(self, "_answering", None)
        if answering is not None:
            return answering
        if not hasattr(self, "terms_"):
            raise NotFittedError("This PrivateOracle is not fitted yet: call fit first.")
        raise LedgerError(
            "This oracle was saved, and its account went with it: two copies would spend the "
            "budget twice. Go on with the one that tacit.load_oracle returns."
        )

    @contextmanager
    def handing_over(self) -> Iterator[None]:
        """Block questions inside the block, and close this oracle afterwards: another one goes on.

        After an error in the block the oracle answers as before.
        """
        with self._turn:
            yield
            self._answering = None

    # ---- questions ------------------------------------------------------------------------------

    def ask(self, X: Any, *, on_behalf: Analyst | None = None) -> np.ma.MaskedArray[Any, Any]:
        """Answer questions in order; those asked before get the same answer, free.

        Parameters
        ----------
        X : table
            Public points, of the form of the records. One or many.
        on_behalf : Analyst, optional
            Who will be shown the answers, for the ledger to record and to keep within an allowance.

        Returns
        -------
        masked array
            Labels of ``classes_``, masked where the mechanism refused; ``tolist()`` has None there.
            Shorter than asked when the budget ended on the way.

        Raises
        ------
        InvalidArgument
            When the points are not of the form of the records. Nothing was asked.
        BudgetExceeded
            When the questions do not fit in what is left. Nothing was drawn. Questions that were
            answered before are still free.
        AllowanceExceeded
            When the analyst may not be shown so much now. Nothing was drawn or shown.
        LedgerUnavailable
            When the answers could not be recorded. None was released.
        """
        points = self.read(X)
        return self.labels(self.ask_read(points, question_keys(points), on_behalf=on_behalf))

    def read(self, X: Any) -> Any:
        """Return public points checked and in the form of the records; asks nothing."""
        self.opened()
        return self.reader.questions(X)

    def ask_read(
        self, points: Any, questions: list[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions about points that ``read`` returned, named by ``question_keys``."""
        if not questions:
            self.opened()
            return []
        with self._turn:
            return self.opened().ask(points, questions, on_behalf=on_behalf)

    def labels(self, answers: list[Answer]) -> np.ma.MaskedArray[Any, Any]:
        """Return answers as labels of ``classes_``, masked where they are refusals."""
        labels = [answer.label for answer in answers]
        refused = np.array([label is None for label in labels], dtype=bool)
        values = self.classes_.take([label or 0 for label in labels])
        return np.ma.MaskedArray(values, mask=refused)

    # ---- what is public -------------------------------------------------------------------------

    def budget_left(self) -> BudgetLeft:
        """Return what of the plan is used, and what is left."""
        opened = self.opened()
        return BudgetLeft.of(opened.plan, opened.ledger.usage(opened.plan_id))

    def tally(self) -> Tally:
        """Return how many questions were answered and how many refused so far."""
        opened = self.opened()
        return opened.ledger.tally(opened.plan_id)

    @property
    def privacy_(self) -> PrivacyStatement:
        """The guarantee against everybody who asks, and how much of it is used so far."""
        opened = self.opened()
        used = {e: n for e, n in opened.ledger.usage(opened.plan_id).items() if n}
        terms, plan = self.terms_, opened.plan
        tally = self.tally()
        extra = terms.estimate.guarantee if terms.estimate else None
        spent = price(used, delta=plan.guarantee.delta).epsilon if used else 0.0
        accounts = _accounts(opened.ledger)
        return PrivacyStatement(
            epsilon=accounts * (plan.guarantee.epsilon + (extra.epsilon if extra else 0.0)),
            delta=min(1.0, accounts * (plan.guarantee.delta + (extra.delta if extra else 0.0))),
            spent_epsilon=spent + (extra.epsilon if extra else 0.0),
            neighbouring=terms.neighbouring,
            unit=terms.unit,
            mechanism=plan.mechanism,
            accountant=plan.accountant,
            questions=tally.answered + tally.refused,
            assumptions=(*terms.assumptions, *restore_assumptions(accounts - 1)),
            secure=self._secure and not tally.insecure,
        )

    def private_source(self) -> AnswerSource:
        """Return what answers: for saving. Private."""
        self.opened()
        return self._source

    def close(self) -> None:
        """Let go of the ledger's files and connections."""
        self.opened().ledger.close()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "terms_")

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "terms_"):
            self._refuse_copy()
        state: dict[str, Any] = dict(super().__getstate__())
        return state

    def _refuse_copy(self) -> NoReturn:
        raise PrivateValueError(
            "A fitted PrivateOracle holds private teachers: it cannot be pickled or copied. "
            "tacit.save_oracle keeps it in a directory that only its owner can read."
        )


def _accounts(ledger: Ledger) -> int:
    """Return on how many accounts a plan may have been spent: one, and one for each lost one.

    A ledger restored without all that had been spent lets its plans be spent again
    (``docs/proofs/ledger.md``, claim 4).
    """
    return round(ledger.lifetime().epsilon / ledger.budget.epsilon)
