"""How much faster teachers vote together than one by one, in the same process.

Question: what does asking all teachers at once save over a loop of ``predict``? Look at ``ratio``,
the loop's time over that of ``TeacherEnsemble.count``, and at ``met``: at least 1,000 for one
question to 400 logistic teachers and 10 for 2,000 questions; at least 10 for one question to 250
trees and 250 boosters. The loop is the shortest possible one: predictions, compared and added up
with none of the checks that a private vote needs. ``crossing`` shows where walking all trees at
once stops paying, with the fused way forced; the limits in ``tacit.teachers.fused_trees`` come
from it. Ways alternate and figures are medians over rounds.

    python benchmarks/bench_votes.py            # about two minutes; writes results/bench_votes.json
    python benchmarks/bench_votes.py --quick    # seconds; writes nothing
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import _record
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from tacit.teachers import TeacherEnsemble, equal_split, fused_trees, train_teachers

SHARD = 100
FEATURES = 50
LEARNERS: dict[str, tuple[Any, int]] = {
    "logistic": (LogisticRegression(), 400),
    "tree": (DecisionTreeClassifier(), 250),
    "forest": (RandomForestClassifier(10), 100),
    "booster": (HistGradientBoostingClassifier(), 250),
}
LIMITS = {
    ("logistic", 1): 1000.0,
    ("logistic", 2000): 10.0,
    ("tree", 1): 10.0,
    ("booster", 1): 10.0,
}


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return how long one call takes, on average over a few."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def teachers(kind: str, n_teachers: int) -> TeacherEnsemble:
    """Train teachers on made-up records: a noisy linear rule."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_teachers * SHARD, FEATURES))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    shards = equal_split(len(X), n_teachers, rng)
    return train_teachers(LEARNERS[kind][0], X, y, shards, classes=[0, 1], seed=0)


def loop(ensemble: TeacherEnsemble) -> Callable[[Any], Any]:
    """Return a bare loop of ``predict`` that adds up votes for the second class."""
    models = [teacher.model for teacher in ensemble.private_teachers()]

    def ask(X: Any) -> Any:
        return sum(model.predict(X) for model in models)

    return ask


def compare(kind: str, ensemble: TeacherEnsemble, n_questions: int, rounds: int) -> dict[str, Any]:
    """Time both ways on the same questions."""
    X = np.random.default_rng(1).normal(size=(n_questions, FEATURES))
    ask = loop(ensemble)
    if not np.array_equal(ask(X), ensemble.count(X).private_array()[:, 1]):
        raise SystemExit(f"{kind}: the two ways disagree")
    times = 50 if n_questions == 1 else 1
    pairs = [
        (seconds(lambda: ask(X)), seconds(lambda: ensemble.count(X), times)) for _ in range(rounds)
    ]
    return {
        "teachers": f"{ensemble.n_teachers} {kind}",
        "questions": n_questions,
        "loop_ms": round(statistics.median(one for one, _ in pairs) * 1e3, 3),
        "count_ms": round(statistics.median(two for _, two in pairs) * 1e3, 4),
        "ratio": round(statistics.median(one / two for one, two in pairs), 1),
    }


def crossing(kind: str, ensemble: TeacherEnsemble, rounds: int) -> list[dict[str, Any]]:
    """Time walking all trees at once against the other way, for more and more questions."""
    name = {"tree": "TREES", "forest": "FORESTS", "booster": "BOOSTERS"}[kind]
    rows = []
    for n_questions in (1, 4, 16, 64, 256):
        X = np.random.default_rng(2).normal(size=(n_questions, FEATURES))
        found = {}
        for way, most in (("together", 10**9), ("otherwise", 0)):
            with mock.patch.object(fused_trees, f"MOST_QUESTIONS_{name}", most):
                found[way] = statistics.median(
                    seconds(partial(ensemble.count, X)) for _ in range(rounds)
                )
        rows.append(
            {
                "teachers": f"{ensemble.n_teachers} {kind}",
                "questions": n_questions,
                **{f"{way}_ms": round(value * 1e3, 3) for way, value in found.items()},
            }
        )
    return rows


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few teachers; write nothing")
    quick = parser.parse_args().quick
    votes: list[dict[str, Any]] = []
    crossings: list[dict[str, Any]] = []
    met: dict[str, bool] = {}
    with threadpool_limits(1):  # both ways on one thread
        for kind, (_, n_teachers) in LEARNERS.items():
            ensemble = teachers(kind, 20 if quick else n_teachers)
            for n_questions in (1, 2000):
                row = compare(kind, ensemble, n_questions, rounds=3 if quick else 9)
                votes.append(row)
                print(row)
                if (kind, n_questions) in LIMITS:
                    met[f"{row['teachers']}, {n_questions} questions"] = (
                        row["ratio"] >= LIMITS[kind, n_questions]
                    )
            if kind != "logistic":
                crossings += crossing(kind, ensemble, rounds=2 if quick else 5)
                for row in crossings[-5:]:
                    print("  ", row)
    for name, kept in met.items():
        print(f"{name}: {'kept' if kept else 'NOT KEPT'}")
    if not quick:
        limits = {f"{kind}, {asked} questions": limit for (kind, asked), limit in LIMITS.items()}
        figures = {"threads": 1, "shard": SHARD, "features": FEATURES, "limit": limits, "met": met}
        path = _record.write("bench_votes", {**figures, "votes": votes, "crossing": crossings})
        print(f"written: {path.name}")


if __name__ == "__main__":
    main()
