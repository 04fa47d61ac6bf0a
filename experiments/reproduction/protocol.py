"""[LZCW21] Section 5.1: the split, the teachers, and PATE-PSQ and PATE-ASQ on their votes.

Everything that answers is the product's: teachers and votes of ``tacit.teachers``, the Gaussian
vote of Algorithm 1 behind a ledger, ``release_all`` (Algorithm 3) and ``release_in_batches``
(Algorithm 5) with the active learner the paper ran. ``PATEClassifier`` does the same in one call
(see the page); here the teachers of a split are trained once and answer for every row of the table,
each with noise of its own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from tacit.accounting.budget import Budget
from tacit.accounting.price import price
from tacit.data.pool import take
from tacit.data.sets import Labelled
from tacit.estimators.releases import Released
from tacit.estimators.vote_settings import distinct_points
from tacit.estimators.voting import OpenPool, ReleaseTerms, release_all, release_in_batches
from tacit.labeling import question_keys
from tacit.ledger import MemoryLedger
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.noisy_argmax import winners
from tacit.noise import SecureNoise
from tacit.students.active import YanDBAL, ask_in_batches
from tacit.students.passive import fit_on_labels, released_labels
from tacit.teachers import equal_split
from tacit.teachers.train import train_and_count

from .published import EPSILONS, METHODS

RECORDS_PER_TEACHER = 100
CALIBRATIONS = ("exact", "zcdp")
"""Exact: what the paper says Table 4 used. zCDP: its Algorithm 1 as printed."""

LOGISTIC = {
    "logistic": LogisticRegression(),
    "no penalty": LogisticRegression(C=np.inf, max_iter=1000),
}
"""The paper says "linear models" and no more. Teachers are the first of these."""
STUDENTS = (*LOGISTIC, "one-pass")


@dataclass(frozen=True)
class Sizes:
    """Table 3: how many records there are, and what they are for."""

    every: int
    private: int
    pool: int
    budget: int
    test: int

    @classmethod
    def of(cls, n: int) -> Sizes:
        """Return the paper's sizes: 80%, 2% rounded up, the rest; 30% of the pool."""
        private, pool = n * 8 // 10, -(-n // 50)
        return cls(n, private, pool, round(0.3 * pool), n - private - pool)

    @property
    def teachers(self) -> int:
        """About 100 records each."""
        return self.private // RECORDS_PER_TEACHER

    def planned(self, method: str) -> int:
        """How many answers the noise is fixed for."""
        return self.pool if method == "PSQ" else self.budget

    def vote(self, method: str, epsilon: float, calibration: str) -> GaussianVote:
        """Return the mechanism of a private row."""
        budget = Budget(epsilon, 1 / self.private)
        return GaussianVote.for_budget(
            budget, answers=self.planned(method), calibration=calibration
        )


@dataclass(frozen=True)
class Variant:
    """One row of Table 4. ``epsilon`` None: no noise and no guarantee."""

    method: str
    epsilon: float | None
    calibration: str

    @property
    def name(self) -> str:
        """As in the paper."""
        return self.method + ("-NP" if self.epsilon is None else "")


def variants() -> list[Variant]:
    """Return the eight rows of a data set, and the six private ones with the printed noise."""
    found = [
        Variant(method, epsilon, calibration)
        for calibration, epsilon, method in itertools.product(CALIBRATIONS, EPSILONS, METHODS)
    ]
    return [row for row in found if row.epsilon is not None or row.calibration == "exact"]


class Split:
    """One split of a data set, with the votes of its teachers on the distinct points of the pool.

    Equal points are one question with one answer, so a few of the paper's questions fall away.
    ``c0`` says how cautious the active learner is.
    """

    def __init__(self, data: Labelled, seed: int, c0: float = YanDBAL.c0) -> None:
        self.sizes, self.seed, self.c0 = Sizes.of(len(data.y)), seed, c0
        order = np.random.default_rng(seed).permutation(len(data.y))
        cuts = [self.sizes.private, self.sizes.private + self.sizes.pool]
        private, pool, test = np.split(order, cuts)
        self.records, self.labels = take(data.X, private), data.y[private]
        pool = pool[distinct_points(question_keys(take(data.X, pool)))]
        self.points, self.truth = take(data.X, pool), data.y[pool]
        self.names = question_keys(self.points)
        self.test, self.test_labels = take(data.X, test), data.y[test]
        self.votes = train_and_count(
            LogisticRegression(),
            self.records,
            self.labels,
            equal_split(self.sizes.private, self.sizes.teachers, np.random.default_rng([seed, 1])),
            self.points,
            classes=[0, 1],
            seed=seed,
            progress=False,
        )

    def run(self, variant: Variant) -> dict[str, Any]:
        """Return what one row of the table is on this split."""
        asked, labels, told = self._private(variant) if variant.epsilon else self._plain(variant)
        return {
            "method": variant.name,
            "epsilon": variant.epsilon,
            "calibration": variant.calibration,
            **told,
            "asked": len(asked),
            "right": _rounded(np.mean(labels == self.truth[asked])),
            "students": self._students(asked, labels),
        }

    def references(self) -> dict[str, Any]:
        """Return what needs no teacher: all records without privacy, and the larger class."""
        model = LogisticRegression(max_iter=1000).fit(self.records, self.labels)
        larger = int(self.labels.mean() >= 0.5)
        return {
            "all records, not private": _rounded(model.score(self.test, self.test_labels)),
            "larger class": _rounded(np.mean(self.test_labels == larger)),
        }

    def _private(self, variant: Variant) -> tuple[Any, Any, dict[str, Any]]:
        """Return questions, released labels, and what they cost."""
        assert variant.epsilon is not None
        budget = Budget(variant.epsilon, 1 / self.sizes.private)
        vote = self.sizes.vote(variant.method, variant.epsilon, variant.calibration)
        terms = ReleaseTerms(vote, budget, MemoryLedger(budget), "reproduction", SecureNoise())
        service = terms.open(self.votes, self.names, vote.answers)
        pool = OpenPool(np.arange(len(self.names)), service)
        released = release_all(pool) if variant.method == "PSQ" else self._chosen(pool)
        spent = price(released.usage, delta=budget.delta).epsilon
        told = {"sigma": round(vote.sigma, 4), "spent": round(spent, 4)}
        return released.positions, released_labels(released.answers), told

    def _chosen(self, pool: OpenPool) -> Released:
        return release_in_batches(
            pool,
            self._learner(),
            self.points,
            self.sizes.budget,
            np.random.default_rng([self.seed, 2]),
            planned=self.sizes.budget,
            n_batches=1,
            n_classes=2,
        )

    def _plain(self, variant: Variant) -> tuple[Any, Any, dict[str, Any]]:
        """Return questions and the teachers' plain majority: not private."""
        majority = winners(self.votes.private_array())
        if variant.method == "PSQ":
            return np.arange(len(majority)), majority, {}
        found = ask_in_batches(
            self._learner(),
            self.points,
            lambda asked: majority[asked],
            self.sizes.budget,
            np.random.default_rng([self.seed, 2]),
            n_batches=1,
        )
        return found.positions, found.labels, {}

    def _learner(self) -> YanDBAL:
        return YanDBAL(seed=self.seed, c0=self.c0)

    def _students(self, asked: Any, labels: Any) -> dict[str, Any]:
        """Return how good the linear students are, all of the same answers.

        "logistic" and "no penalty": logistic regression on the answers. "one-pass": the model of
        the active learner itself, one pass of importance-aware steps over the answers and the
        labels it inferred.
        """
        given = take(self.points, asked)
        weights = self._learner().coefficients(self.points, asked, labels)
        predicted = {
            **{
                name: np.asarray(fit_on_labels(model, given, labels).predict(self.test))
                for name, model in LOGISTIC.items()
            },
            "one-pass": (self.test @ weights >= 0).astype(int),
        }
        return {
            name: {
                "accuracy": _rounded(np.mean(found == self.test_labels)),
                "balanced": _rounded(balanced_accuracy_score(self.test_labels, found)),
            }
            for name, found in predicted.items()
        }


def _rounded(value: Any) -> float:
    return round(float(value), 5)
