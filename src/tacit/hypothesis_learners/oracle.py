"""Many answers from private records, no worse than the best hypothesis: relabel, then vote.

Proof: ``docs/proofs/relabelling.md`` and ``docs/proofs/sparse_vote.md``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.hypotheses.points import FloatArray
from tacit.hypothesis_learners.answering import AnsweringLearner
from tacit.hypothesis_learners.opened_plan import OpenedPlan
from tacit.hypothesis_learners.records import BinaryRecords
from tacit.hypothesis_learners.relabelled_settings import (
    VoteRequirements,
    paper_mechanism,
    practical_mechanism,
)
from tacit.ledger import FixedPriceRelease, Ledger
from tacit.mechanisms.relabelled import RelabelledVote
from tacit.noise import NoiseSource


class VotingOracle(AnsweringLearner):
    """An oracle that answers by a vote of teachers on relabelled records."""

    cutoff: int | str
    mechanism_: RelabelledVote
    _paper_sets_guarantee = True

    def _paper_vote(self, n_records: int, budget: Budget, questions: int) -> RelabelledVote:
        alpha, beta = self._paper_alpha(), self._paper_beta("chance of failure")
        return paper_mechanism(
            self.hypotheses, n_records, budget, questions=questions, alpha=alpha, beta=beta
        )

    def _requirements(
        self, n_records: int, budget: Budget, questions: int, questions_per_refusal: int
    ) -> VoteRequirements:
        if self.cutoff == "auto":
            cutoff = math.ceil(questions / questions_per_refusal)
        else:
            cutoff = validation.positive_integer(cutoff=self.cutoff)
        selection_epsilon = validation.positive(selection_epsilon=self.selection_epsilon)
        return VoteRequirements(
            self.hypotheses, n_records, budget, questions, cutoff, selection_epsilon
        )


class AgnosticOracle(VotingOracle):
    """Answers many questions, nearly as well as the best hypothesis of a class would.

    A vote of teachers trained on the records as they are may be up to three times worse than the
    best hypothesis: teachers may each find a good one, but not the same one. Here a random part
    of the records is first relabelled by one good hypothesis, drawn in secret; teachers trained on
    that agree, and the sparse vector answers clear votes free of charge.

    Parameters
    ----------
    hypotheses : HypothesisClass
    epsilon, delta : float
        The budget of everything this oracle will ever answer.
    n_questions : int
        How many questions to plan for; only sets sizes, it is no limit.
    cutoff : int or "auto"
        How many refusals there may be before it stops. "auto": one in a hundred questions.
    selection_epsilon : float
        Of the exponential mechanism that selects the relabelling hypothesis.
    subset : int or "auto"
        How many records are drawn. "auto": as many as leave most records to each teacher.
    n_teachers : int or "auto"
    resample : bool, default False
        Draw the relabelled records again with replacement, as the paper does.
    constants : {"practical", "paper"}
        ``paper``: the settings of [NB20] Algorithm 3 for ``alpha`` and ``beta``; refuses, with the
        size needed, when there are too few records.
    alpha, beta : float, optional
        For ``paper``.
    ledger, key
        As for ``PrivatePredictor``.

    Attributes
    ----------
    mechanism_ : RelabelledVote
        The settings in force. Public.
    guarantee_ : Budget
    privacy_ : PrivacyStatement

    Notes
    -----
    Privacy: neighbours ``replace``, one record. Everything answered is one release, charged with
    its first answer. After that the relabelling lives in this object only: opened again under the
    same key, elsewhere or later, recorded answers come back and new questions are refused. The
    relabelling hypothesis is never released: it depends on the records' own points.

    References
    ----------
    [NB20] Algorithm 3. Departures: the distance of [LZCW21] in the sparse vector (the margin moves
    by 2); no resampling by default; prices computed, which allows a five times larger subset.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> x = np.random.default_rng(0).random(20_000)
    >>> oracle = AgnosticOracle(Thresholds(), n_questions=10_000, cutoff=1, epsilon=2.0, delta=1e-5)
    >>> oracle.fit(x, x >= 0.5).predict([0.1, 0.9]).tolist()
    [0, 1]
    >>> oracle.guarantee_.epsilon <= 2.0
    True
    """

    n_questions: int
    subset: int | str
    n_teachers: int | str
    resample: bool

    def __init__(
        self,
        hypotheses: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        n_questions: int = 100,
        cutoff: int | str = "auto",
        selection_epsilon: float = 1.0,
        subset: int | str = "auto",
        n_teachers: int | str = "auto",
        resample: bool = False,
        constants: str = "practical",
        alpha: float | None = None,
        beta: float | None = None,
        ledger: Any = None,
        key: str | None = None,
    ) -> None:
        self._store_parameters(locals())

    def _settle(self, n_records: int, budget: Budget) -> None:
        questions = validation.positive_integer(n_questions=self.n_questions)
        if self._uses_paper_constants():
            self.mechanism_ = self._paper_vote(n_records, budget, questions)
            return
        requirements = replace(
            self._requirements(n_records, budget, questions, 100),
            teachers=self.n_teachers,
            resample=self.resample,
        )
        self.mechanism_ = practical_mechanism(requirements, self.subset)

    def _plan(self) -> Plan:
        return self.mechanism_.plan()

    def _open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> RelabelledAnswers:
        return RelabelledAnswers(
            self.mechanism_, self._plan(), self._records, ledger, noise=noise, key=key
        )


class RelabelledAnswers(OpenedPlan):
    """One relabelling opened on a ledger."""

    def __init__(
        self,
        mechanism: RelabelledVote,
        plan: Plan,
        records: BinaryRecords,
        ledger: Ledger,
        *,
        noise: NoiseSource,
        key: str,
    ) -> None:
        n_features = mechanism.hypotheses.n_features
        super().__init__(plan, ledger, n_features=n_features, noise=noise, key=key)
        self._run = mechanism.start(records.X, records.y, noise=noise)

    def _release(self, table: FloatArray) -> FixedPriceRelease:
        run, counts = self._run, self._run.count(table)
        return FixedPriceRelease(
            run.most_it_can_cost, lambda new: run.release(counts[list(new)]), run.abandon
        )
