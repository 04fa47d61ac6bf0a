"""An audit of the whole adaptive loop: strategy, service, mechanism, ledger.

Two tables of votes differ by one vote on every question. An adversary that knows both tables
chooses each question after seeing every answer before it, and may stop when it likes. What it saw
must not tell the tables apart better than the price allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from tests.support.audited_runs import audit_runs

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.audit.estimates import AuditResult
from tacit.estimators.releases import Released
from tacit.estimators.voting import OpenPool, release_in_batches
from tacit.labeling import FilteredPoolLabeler, Labeler, PlannedPoolLabeler, PoolLabeler
from tacit.ledger import MemoryLedger
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource

__all__ = ["Adversary", "Loop", "audit_loop"]

N_TEACHERS = 101


@dataclass(frozen=True)
class Adversary:
    """Asks next what the answers so far make most telling. Knows both tables.

    It walks towards the place where the noisy vote is a coin for both tables: up after a 0, down
    after a 1, one question at a time. With ``stop_at`` it stops once the log-likelihood ratio of
    what it has seen passes that value: the strongest thing a stopping rule can do.

    ``X_pool`` must hold the class-1 count of every point on the first table, known to it.
    """

    sigma: float
    stop_at: float = math.inf

    def select(
        self,
        X_pool: Any,
        asked: NDArray[np.intp],
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """Return one question. See ``Strategy``."""
        ones = np.asarray(X_pool)[:, 0]
        if abs(label_evidence(ones[asked], labels, self.sigma)) > self.stop_at:
            return np.array([], dtype=np.intp)
        aim = N_TEACHERS / 2 + np.sum(np.where(labels == 1, -1.0, 1.0))
        gaps = np.abs(ones - aim)
        gaps[asked] = np.inf
        return np.array([gaps.argmin()], dtype=np.intp)


def label_evidence(ones: Any, labels: Any, sigma: float) -> float:
    """Return the log-likelihood ratio of released bits: first table against second."""
    first, second = ((np.asarray(ones) + up - N_TEACHERS / 2) / sigma for up in (0, 1))
    signs = np.where(np.asarray(labels) == 1, 1.0, -1.0)
    return float(np.sum(special.log_ndtr(signs * first) - special.log_ndtr(signs * second)))


def sharper(labels: NDArray[np.int64], size: int, even: float) -> float:
    """A noise rule that leans on the answers: sharp after a 1, blunt after a 0."""
    return even * (0.8 if len(labels) and labels[-1] == 1 else 1.3)


class PricedOnce(GaussianVote):
    """The Gaussian vote, whose plan is priced once for all the runs of an audit."""

    def plan(self, delta: float, *, n_teachers: int | None = None) -> Plan:
        return _plan(self, delta, n_teachers)


@lru_cache(maxsize=8)
def _plan(vote: GaussianVote, delta: float, n_teachers: int | None) -> Plan:
    return GaussianVote.plan(vote, delta, n_teachers=n_teachers)


@lru_cache(maxsize=8)
def _planned_vote(budget: Budget, questions: int, output: Output) -> GaussianVote:
    return PricedOnce.for_budget(budget, answers=questions, output=output)


@dataclass(frozen=True)
class Loop:
    """One setting of the loop to audit.

    Parameters
    ----------
    budget : Budget
    questions : int
        Planned answers.
    stop_at : float
        See ``Adversary``.
    output : Output
    adaptive : bool
        Whether a noise rule chooses the noise of every batch, behind a filter.
    service : function of (loop, votes, noise), optional
        What answers instead of the real service: for planting a fault.
    """

    budget: Budget
    questions: int = 12
    stop_at: float = math.inf
    output: Output = Output.LABEL
    adaptive: bool = False
    service: Callable[[Loop, VoteCounts, NoiseSource], PoolLabeler] | None = None

    def sigma(self) -> float:
        """Return the noise of the planned run."""
        return self._vote().sigma

    def _vote(self) -> GaussianVote:
        return _planned_vote(self.budget, self.questions, self.output)

    def open(self, votes: VoteCounts, noise: NoiseSource) -> PoolLabeler:
        """Return the service on a fresh ledger."""
        if self.service is not None:
            return self.service(self, votes, noise)
        names = [str(row).encode() for row in range(len(votes))]
        ledger = MemoryLedger(
            self.budget,
            composition="zcdp" if self.adaptive else "basic",
            allow_insecure=not noise.secure,
        )
        if self.adaptive:
            return FilteredPoolLabeler(
                votes,
                names,
                sharper,
                budget=self.budget,
                planned=self.questions,
                ledger=ledger,
                noise=noise,
                output=self.output,
                key="audit",
            )
        labeler = Labeler(
            self._vote(),
            ledger,
            delta=self.budget.delta,
            noise=noise,
            n_teachers=N_TEACHERS,
            key="audit",
        )
        return PlannedPoolLabeler(votes, names, labeler)

    def evidence(self, seen: Released, ones: NDArray[np.int64]) -> float:
        """Return the log-likelihood ratio of all that was released."""
        at = ones[seen.positions]
        if self.output is Output.LABEL:
            labels = [answer.label for answer in seen.answers]
            return label_evidence(at, labels, self.sigma())
        total = 0.0
        for count, answer in zip(at, seen.answers, strict=True):
            assert answer.values is not None
            total += (1 - 2 * (answer.values[1] - count)) / (2 * answer.sigma**2)
        return total


@dataclass(frozen=True)
class _Once:
    """Runs the loop on one of the two tables, and returns what the adversary learns."""

    loop: Loop
    second: bool

    def __call__(self, noise: NoiseSource, rng: np.random.Generator) -> Hashable:
        loop, n = self.loop, 3 * self.loop.questions
        ones = N_TEACHERS // 2 - n // 2 + np.arange(n)
        told = ones + int(self.second)
        votes = VoteCounts(np.column_stack([N_TEACHERS - told, told]), N_TEACHERS)
        pool = OpenPool(np.arange(n), loop.open(votes, noise))
        adversary = Adversary(loop.sigma(), loop.stop_at)
        seen = release_in_batches(
            pool,
            adversary,
            ones[:, None].astype(float),
            loop.questions,
            rng,
            planned=loop.questions,
            n_batches=loop.questions,
            n_classes=2,
        )
        # A few values that still tell the tables apart.
        return round(4 * loop.evidence(seen, ones))


def audit_loop(loop: Loop, *, samples: int, **how: Any) -> AuditResult:
    """Measure epsilon of the whole loop; ``how`` is handed on to ``audit_runs``.

    Examples
    --------
    >>> found = audit_loop(
    ...     Loop(Budget(1.0, 1e-5), questions=4), samples=200, seed=0, jobs=1, progress=False
    ... )
    >>> found.epsilon_lower <= 1.0
    True
    """
    return audit_runs(
        _Once(loop, False), _Once(loop, True), delta=loop.budget.delta, samples=samples, **how
    )
