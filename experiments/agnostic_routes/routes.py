"""All routes on one problem: error against the number of private records.

Question: what does each way of learning privately over a class of hypotheses reach, with the same
budget, on records for which the vote of teachers is stuck? Data: ``problem.stuck``, whose five
points are the questions. Budget: epsilon 1, delta 1e-6 for all five answers together. A refusal
counts as wrong. Missing points: the route refuses so few records.

    python experiments/agnostic_routes/routes.py

Look for: who gets to the best stump's 0.20, and with how many records.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from problem import Problem, stuck

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.hypotheses import PublicCover
from tacit.hypothesis_learners import (
    AgnosticOracle,
    AgnosticPredictor,
    ExponentialLearner,
    IterLabelBoost,
    PrivatePredictor,
    RealizablePredictor,
    SemiPrivateLearner,
    UniversalOracle,
)
from tacit.mechanisms import GaussianVote, VoteCounts
from tacit.mechanisms.prediction import consistent_teachers, teacher_votes
from tacit.noise import SecureNoise

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _record import write
from plots import draw

BUDGET = Budget(1.0, 1e-6)
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
# One draw per question is a noisy thing to average; thousands of teachers per answer are slow.
TRIALS = {"PrivatePredictor": 80, "AgnosticPredictor": 10}
USUAL_TRIALS = 20
SLOW, SLOW_SIZES = "AgnosticPredictor", SIZES[:-2]
Answers = np.ndarray
Route = Callable[[Problem, np.ndarray, np.ndarray], Answers]


def non_private(problem: Problem, X: np.ndarray, y: np.ndarray) -> Answers:
    """Return the answers of the best hypothesis on all records, without privacy."""
    best = problem.hypotheses.minimise(X, y)
    return problem.hypotheses.predict(best.hypothesis, problem.points)


def gaussian_vote(problem: Problem, X: np.ndarray, y: np.ndarray) -> Answers:
    """Return noisy votes of teachers with about forty records each."""
    n_teachers = max(1, len(X) // 40)
    teachers = consistent_teachers(problem.hypotheses, X, y == 1, n_teachers)
    votes = VoteCounts(teacher_votes(problem.hypotheses, teachers, problem.points), n_teachers)
    vote = GaussianVote.for_budget(BUDGET, answers=len(problem.points))
    return np.array([answer.label for answer in vote.release(votes, noise=SecureNoise())])


def semi_private(problem: Problem, X: np.ndarray, y: np.ndarray) -> Answers:
    """Return the answers of a hypothesis chosen from the dichotomies of public points."""
    learner = SemiPrivateLearner(problem.hypotheses, epsilon=BUDGET.epsilon)
    return learner.fit(X, y, X_public=problem.points).predict(problem.points)


def label_boost(problem: Problem, X: np.ndarray, y: np.ndarray) -> Answers:
    """Return the answers of a hypothesis learnt from labels on one record in ten.

    The base learner knows the domain, all points of three binary features, and nothing else.
    """
    domain = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    base = ExponentialLearner(PublicCover(problem.hypotheses, domain), epsilon=0.5)
    few = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    learner = IterLabelBoost(problem.hypotheses, base, epsilon=BUDGET.epsilon)
    return learner.fit(X, few).predict(problem.points)


def asked(make: Any, **settings: Any) -> Route:
    """Return a route that fits a learner and asks it about the points."""

    def answers(problem: Problem, X: np.ndarray, y: np.ndarray) -> Answers:
        learner = make(problem.hypotheses, epsilon=BUDGET.epsilon, delta=BUDGET.delta, **settings)
        return learner.fit(X, y).predict(problem.points)

    return answers


ROUTES: dict[str, Route] = {
    "no privacy": non_private,
    "teachers, GaussianVote": gaussian_vote,
    "RealizablePredictor": asked(RealizablePredictor, n_questions=5),
    "SemiPrivateLearner": semi_private,
    "IterLabelBoost, 1 label in 10": label_boost,
    "PrivatePredictor": asked(PrivatePredictor, n_questions=5),
    "AgnosticPredictor": asked(AgnosticPredictor, n_questions=5),
    "AgnosticOracle": asked(AgnosticOracle, n_questions=5),
    "UniversalOracle": asked(UniversalOracle, n_first=4, cutoff=1),
}


def measure(problem: Problem, name: str, n: int) -> dict[str, Any] | None:
    """Return the errors of a route over independent samples; None when it refuses."""
    errors = []
    for trial in range(TRIALS.get(name, USUAL_TRIALS)):
        X, y = problem.sample(n, np.random.default_rng([n, trial]))
        try:
            errors.append(problem.error(ROUTES[name](problem, X, y)))
        except InvalidArgument:
            return None
    return {
        "route": name,
        "records": n,
        "error": round(float(np.mean(errors)), 4),
        "standard_error": round(float(np.std(errors) / np.sqrt(len(errors))), 4),
        "trials": len(errors),
    }


def main() -> None:
    began, problem = time.perf_counter(), stuck()
    rows = []
    for name in ROUTES:
        for n in SLOW_SIZES if name == SLOW else SIZES:
            found = measure(problem, name, n)
            if found is not None:
                rows.append(found)
                print(found, flush=True)
    write(
        "agnostic_routes",
        {
            "epsilon": BUDGET.epsilon,
            "delta": BUDGET.delta,
            "best": round(problem.best(), 4),
            "rows": rows,
            "seconds": round(time.perf_counter() - began, 1),
        },
    )
    draw(
        "agnostic_routes",
        lines={
            name: [(r["records"], r["error"]) for r in rows if r["route"] == name]
            for name in ROUTES
        },
        levels={"best stump": problem.best()},
        x="private records",
        y="error on five questions",
    )


if __name__ == "__main__":
    main()
