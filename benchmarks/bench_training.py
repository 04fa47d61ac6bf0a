"""What training adds to a bare joblib loop of ``fit``, and how much memory many teachers need.

Question 1: what do seeds, silence, guards and counting cost? ``ratio`` is the time of
``train_teachers`` (and of ``train_and_count`` with 100 questions, beside a loop that also
predicts) over ``Parallel(delayed(fit))``; 1.2 is the limit. Ways alternate in one process, and
ratios are medians over rounds.

Question 2: does memory grow with the number of teachers? Each K runs in a process of its own, with
shards of a fixed size; ``above_input_mib`` is the peak of resident memory over what it was once
the records and a first, small run were there (read from /proc, so on Linux only). ``met`` asks for
at most 1.25 times the first plus 8 MiB.

    python benchmarks/bench_training.py          # six minutes; writes results/bench_training.json
    python benchmarks/bench_training.py --quick  # less than a minute; writes nothing
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _record
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from tacit.teachers import equal_split, train_and_count, train_teachers

SHARD = 100
FEATURES = 50
LIMIT = 1.2
GROWTH, SLACK_MIB = 1.25, 8.0
SIZES = (100, 1_000, 10_000)


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def records(n_teachers: int, features: int = FEATURES) -> tuple[Any, Any, Any]:
    """Return made-up records, labels and shards."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_teachers * SHARD, features))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    return X, y, equal_split(len(X), n_teachers, rng)


def fit(learner: Any, X: Any, y: Any) -> Any:
    """Fit a fresh copy."""
    return clone(learner).fit(X, y)


def fit_and_predict(learner: Any, X: Any, y: Any, questions: Any) -> Any:
    """Fit a fresh copy and predict."""
    return clone(learner).fit(X, y).predict(questions)


def overhead(name: str, learner: Any, n_teachers: int, n_jobs: int, rounds: int) -> dict[str, Any]:
    """Time the four ways. The bare loop has one thread per fit too: limited here, by loky there."""
    X, y, shards = records(n_teachers)
    questions = X[:100]

    def loop() -> Any:
        return Parallel(n_jobs)(delayed(fit)(learner, X[at], y[at]) for at in shards)

    def loop_and_predict() -> Any:
        found = Parallel(n_jobs)(
            delayed(fit_and_predict)(learner, X[at], y[at], questions) for at in shards
        )
        return sum(found)

    common = {"classes": [0, 1], "seed": 0, "n_jobs": n_jobs, "progress": False}
    ways: dict[str, Callable[[], object]] = {
        "loop": loop,
        "train_teachers": lambda: train_teachers(learner, X, y, shards, **common),
        "loop_and_predict": loop_and_predict,
        "train_and_count": lambda: train_and_count(learner, X, y, shards, questions, **common),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    with threadpool_limits(1):
        for way in ways.values():
            way()  # warm: workers started, modules loaded
        for turn in range(rounds):
            # Back and forth, so that no way always follows the same other.
            for way in list(ways)[:: 1 if turn % 2 else -1]:
                times[way].append(seconds(ways[way]))
    return {
        "learner": name,
        "teachers": n_teachers,
        "n_jobs": n_jobs,
        "seconds": {way: round(statistics.median(found), 4) for way, found in times.items()},
        "ratio": {
            "train_teachers": _ratio(times["train_teachers"], times["loop"]),
            "train_and_count": _ratio(times["train_and_count"], times["loop_and_predict"]),
        },
    }


def _ratio(mine: list[float], theirs: list[float]) -> float:
    return round(statistics.median(a / b for a, b in zip(mine, theirs, strict=True)), 3)


def peak(n_teachers: int) -> dict[str, Any]:
    """Return the peak of memory above the input, in MiB, of this process."""
    X, y, shards = records(n_teachers, features=20)
    questions = X[:2000].copy()
    learner = LogisticRegression()
    common = {"classes": [0, 1], "seed": 0, "progress": False}
    train_and_count(learner, X, y, shards[:2], questions, **common)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the records
    before = _status_mib("VmRSS")
    train_and_count(learner, X, y, shards, questions, **common)
    return {"teachers": n_teachers, "above_input_mib": round(_status_mib("VmHWM") - before, 2)}


def _status_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 2**10


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(json.dumps(peak(options.peak)))
        return
    learners = {
        "logistic": LogisticRegression(),
        "tree": DecisionTreeClassifier(),
        "booster": HistGradientBoostingClassifier(max_iter=20),
    }
    rows = []
    for name, learner in learners.items():
        for n_jobs in (1, 2):
            n_teachers, rounds = (40, 3) if options.quick else (200, 7 if name == "booster" else 25)
            rows.append(overhead(name, learner, n_teachers, n_jobs, rounds))
            print(rows[-1])
    memory = []
    for n_teachers in SIZES[:2] if options.quick else SIZES:
        command = [sys.executable, __file__, "--peak", str(n_teachers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        memory.append(json.loads(done.stdout))
        print(memory[-1])
    worst = max(ratio for row in rows for ratio in row["ratio"].values())
    allowed = GROWTH * memory[0]["above_input_mib"] + SLACK_MIB
    met = {
        "overhead": worst <= LIMIT,
        "memory flat": all(row["above_input_mib"] <= allowed for row in memory),
    }
    print(f"worst ratio {worst}, limit {LIMIT}; {met}")
    if not options.quick:
        figures = {"shard": SHARD, "limit": LIMIT, "worst_ratio": worst, "met": met}
        path = _record.write("bench_training", {**figures, "overhead": rows, "memory": memory})
        print(f"written: {path.name}")


if __name__ == "__main__":
    main()
