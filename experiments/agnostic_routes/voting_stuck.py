"""Where voting is stuck: does relabelling get teachers to agree on a good hypothesis?

Question: teachers trained on disjoint shards each find a hypothesis with error 0.20 (0.50), yet
their vote has error 0.30 (0.75). What does ``AgnosticOracle`` reach on the same records, with
(1, 1e-6) privacy? Data: ``problem.stuck`` and [LZCW21] Figure 1. The vote is exact, without noise:
no private mechanism is in its way.

    python experiments/agnostic_routes/voting_stuck.py

Look for: the error of the oracle at the best hypothesis' error once there are enough records, at
every one of which the vote stays where it is.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from problem import Problem, figure_1, stuck

from tacit.errors import InvalidArgument
from tacit.hypothesis_learners import AgnosticOracle
from tacit.mechanisms.prediction import consistent_teachers, teacher_votes

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _record import write
from plots import draw

SIZES = (5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000)
TRIALS = 20
EPSILON, DELTA = 1.0, 1e-6
TEACHERS = 150


def vote_error(problem: Problem, X: np.ndarray, y: np.ndarray) -> float:
    """Return the error of the plain majority of teachers trained on shards of all records."""
    teachers = consistent_teachers(problem.hypotheses, X, y == 1, TEACHERS)
    votes = teacher_votes(problem.hypotheses, teachers, problem.points)
    return problem.error((votes[:, 1] >= votes[:, 0]).astype(int))


def oracle_error(problem: Problem, X: np.ndarray, y: np.ndarray) -> float | None:
    """Return the error of an agnostic oracle; None when there are too few records for one."""
    oracle = AgnosticOracle(
        problem.hypotheses, epsilon=EPSILON, delta=DELTA, n_questions=len(problem.points)
    )
    try:
        return problem.error(oracle.fit(X, y).predict(problem.points))
    except InvalidArgument:
        return None


def measure(problem: Problem) -> list[dict[str, Any]]:
    """Return errors at every size, over independent samples."""
    rows = []
    for n in SIZES:
        found: dict[str, list[float]] = {"vote": [], "oracle": []}
        for trial in range(TRIALS):
            X, y = problem.sample(n, np.random.default_rng([n, trial]))
            found["vote"].append(vote_error(problem, X, y))
            error = oracle_error(problem, X, y)
            if error is not None:
                found["oracle"].append(error)
        rows.append(
            {
                "records": n,
                **{
                    name: {
                        "mean": round(float(np.mean(errors)), 4),
                        "largest": round(float(np.max(errors)), 4),
                        "trials": len(errors),
                    }
                    for name, errors in found.items()
                    if errors
                },
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    began = time.perf_counter()
    problems = {"stumps": stuck(), "figure 1": figure_1()}
    results = {
        name: {"best": round(problem.best(), 4), "rows": measure(problem)}
        for name, problem in problems.items()
    }
    write(
        "agnostic_voting_stuck",
        {
            "epsilon": EPSILON,
            "delta": DELTA,
            "trials": TRIALS,
            "problems": results,
            "seconds": round(time.perf_counter() - began, 1),
        },
    )
    rows = results["stumps"]["rows"]
    draw(
        "agnostic_voting_stuck",
        lines={
            "vote of the teachers, no noise": [(r["records"], r["vote"]["mean"]) for r in rows],
            "AgnosticOracle, epsilon 1": [
                (r["records"], r["oracle"]["mean"]) for r in rows if "oracle" in r
            ],
        },
        levels={"best stump": results["stumps"]["best"]},
        x="private records",
        y="error",
    )


if __name__ == "__main__":
    main()
