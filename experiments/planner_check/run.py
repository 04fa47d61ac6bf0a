"""Is the planner right, before anything private is touched?

Question: from sizes, the budget and 300 labelled public points, does the planner say beforehand how
many of the released labels will be right, and does it choose a good number of teachers? Data:
mushrooms, a9a, 20 newsgroups as two classes (rec.* and misc.forsale against the rest). For each
split, drawn by ``numpy.random.default_rng(seed).permutation``, the first 80% are private, the next
2% the public pool (labels unused), the rest the test set, of which the first 300 are the labelled
public points: they are in neither the private records nor the pool nor the points scored. delta is
one over the number of private records. Questions are asked at random, all at once
(``Votes(query=None)``): a student that chooses them asks about harder points, of which nothing is
predicted.

All predictions of a data set are written to ``results/planner_predictions_<name>.json`` first; only
then is a teacher trained. Compared with: a constant guess, the cross-validated accuracy of the
learner on the same 300 points, whatever the budget.

    python experiments/planner_check/run.py mushrooms newsgroups a9a --splits 300:320 --jobs 8

Look for: predicted and observed shares of correct released labels within 0.03 of each other (means
over the splits), well below the error of the guess; and test accuracy with the recommended number
of teachers within 0.015 of the best of a search over shard sizes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from tacit import Budget, PATEClassifier, PoolRepresentation, Votes
from tacit.data.pool import take
from tacit.data.sets import load_two_classes
from tacit.planning.planner import plan_run
from tacit.planning.vote_curve import measure_votes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import RESULTS, write

EPSILONS = (0.5, 1.0, 2.0)
LABELLED = 300
SEARCHED = {
    "mushrooms": (10, 15, 20, 30, 40, 50, 75, 100, 150),
    "newsgroups": (30, 50, 75, 100, 150, 200),
    "a9a": (35, 50, 75, 100, 150),
}


class Split:
    """The parts of one split."""

    def __init__(self, X: Any, y: Any, seed: int) -> None:
        n = len(y)
        order = np.random.default_rng(seed).permutation(n)
        private, pool, rest = np.split(order, [int(0.8 * n), int(0.8 * n) + int(0.02 * n)])
        self.seed, self.n_private = seed, len(private)
        self.private = take(X, private), y[private]
        self.pool = take(X, pool), y[pool]
        self.labelled = take(X, rest[:LABELLED]), y[rest[:LABELLED]]
        self.test = take(X, rest[LABELLED:]), y[rest[LABELLED:]]

    def budget(self, epsilon: float) -> Budget:
        return Budget(epsilon, 1 / self.n_private)


def predict(X: Any, y: Any, seed: int) -> dict[str, Any]:
    """Return what the planner says about one split; sees no private record."""
    split = Split(X, y, seed)
    points, labels = split.labelled
    began = time.perf_counter()
    curve = measure_votes(
        LogisticRegression(),
        points,
        labels,
        classes=[0, 1],
        rng=np.random.default_rng([seed, 1]),
        pool=split.pool[0],
        representation=PoolRepresentation(),
    )
    share = labels.mean()
    found: dict[str, Any] = {
        "seed": seed,
        "guess": float(cross_val_score(LogisticRegression(), points, labels, cv=5).mean()),
    }
    for epsilon in EPSILONS:
        plan = plan_run(
            n_records=split.n_private,
            n_points=len(split.pool[1]),
            budget=split.budget(epsilon),
            curve=curve,
            baseline=float(max(share, 1 - share)),
        )
        found[f"epsilon {epsilon:g}"] = plan.best.to_dict(split.budget(epsilon).delta)
    found["seconds"] = round(time.perf_counter() - began, 1)
    return found


def run(X: Any, y: Any, name: str, predicted: dict[str, Any], epsilon: float) -> dict[str, Any]:
    """Return what happened on one split at one epsilon."""
    split = Split(X, y, predicted["seed"])
    plan = predicted[f"epsilon {epsilon:g}"]
    correct, accuracy = fit(split, epsilon, plan["n_teachers"])
    return {
        "correct": correct,
        "accuracy": accuracy,
        "searched": {
            str(size): fit(split, epsilon, split.n_private // size)[1] for size in SEARCHED[name]
        },
    }


def fit(split: Split, epsilon: float, n_teachers: int) -> tuple[float, float]:
    """Return the share of correct released labels, and the student's accuracy on the test part."""
    budget = split.budget(epsilon)
    clf = PATEClassifier(
        LogisticRegression(),
        epsilon=budget.epsilon,
        delta=budget.delta,
        classes=[0, 1],
        n_teachers=n_teachers,
        method=Votes(query=None),
        verbose=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a search also meets settings that answer one class only
        clf.fit(*split.private, X_public=split.pool[0])
    released = clf.released_
    correct = float(np.mean(released.labels == split.pool[1][released.positions]))
    return correct, float(clf.score(*split.test))


def summary(predicted: list[Any], happened: list[Any]) -> dict[str, Any]:
    """Compare predictions with what happened, epsilon by epsilon."""
    found = {}
    for epsilon in (f"epsilon {value:g}" for value in EPSILONS):
        said = np.array([row[epsilon]["predicted"]["correct"] for row in predicted])
        guess = np.array([row["guess"] for row in predicted])
        seen = np.array([row[epsilon]["correct"] for row in happened])
        accuracy = np.array([row[epsilon]["accuracy"] for row in happened])
        searched = {
            size: float(np.mean([row[epsilon]["searched"][size] for row in happened]))
            for size in happened[0][epsilon]["searched"]
        }
        best = max(searched, key=lambda size: searched[size])
        teachers = [row[epsilon]["n_teachers"] for row in predicted]
        found[epsilon] = {
            "predicted_correct": _round(said.mean()),
            "observed_correct": _round(seen.mean()),
            "error_of_the_mean": _round(abs(said.mean() - seen.mean())),
            "mean_error_per_split": _round(np.abs(said - seen).mean()),
            "splits_within_0.03": _round(np.mean(np.abs(said - seen) <= 0.03)),
            "guess_error_of_the_mean": _round(abs(guess.mean() - seen.mean())),
            "guess_mean_error_per_split": _round(np.abs(guess - seen).mean()),
            "recommended_teachers": [min(teachers), max(teachers)],
            "accuracy_recommended": _round(accuracy.mean()),
            "accuracy_searched": {size: _round(value) for size, value in searched.items()},
            "best_shard_searched": int(best),
            "accuracy_short_of_best": _round(searched[best] - accuracy.mean()),
        }
    return found


def _round(value: Any) -> float:
    return round(float(value), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(SEARCHED), help=", ".join(SEARCHED))
    parser.add_argument("--splits", default="300:320", help="first:last+1 seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    workers = Parallel(n_jobs=arguments.jobs)
    for name in arguments.names:
        data = load_two_classes(name)
        X, y = data.X, data.y
        began = time.perf_counter()
        predicted = workers(delayed(predict)(X, y, seed) for seed in range(first, last))
        write(f"planner_predictions_{name}", {"splits": [first, last], "predictions": predicted})
        print(name, "predictions written", flush=True)
        # Read back: what is scored is what was written.
        written = json.loads((RESULTS / f"planner_predictions_{name}.json").read_text())
        tasks = [(row, epsilon) for row in written["predictions"] for epsilon in EPSILONS]
        found = workers(delayed(run)(X, y, name, row, epsilon) for row, epsilon in tasks)
        happened: dict[int, dict[str, Any]] = {}
        for (row, epsilon), one in zip(tasks, found, strict=True):
            happened.setdefault(row["seed"], {"seed": row["seed"]})[f"epsilon {epsilon:g}"] = one
        compared = summary(written["predictions"], list(happened.values()))
        print(name, json.dumps(compared, indent=1), flush=True)
        write(
            f"planner_check_{name}",
            {
                "splits": [first, last],
                "summary": compared,
                "rows": list(happened.values()),
                "seconds": round(time.perf_counter() - began, 1),
            },
        )


if __name__ == "__main__":
    main()
