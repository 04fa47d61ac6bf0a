"""How good is the classifier with nothing but its defaults?

Question: what accuracy does ``PATEClassifier(learner, epsilon, delta, classes)`` reach on real data
when every other setting is left alone? Data: mushrooms, a9a, Adult as a raw data frame with
boosting teachers, 20 newsgroups as 20 classes. For each split, drawn by
``numpy.random.default_rng(seed).permutation``, the first 80% are private, the next 2% the public
pool (labels unused), the rest the test set. delta is one over the number of private records;
neighbours: one record replaced.

    python experiments/defaults/run.py mushrooms a9a --splits 100:120

Look for: the mean over splits with its standard error, beside the same learner trained on all
private records without privacy.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier
from tacit.data.pool import take
from tacit.data.sets import load_a9a, load_adult, load_mushrooms, load_newsgroups
from tacit.data.sets.two_classes import sublinear_rows, together

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _record import write

EPSILONS = (0.5, 1.0, 2.0)


def _mushrooms() -> tuple[Any, Any, Any]:
    data = load_mushrooms()
    return data.X, data.y, LogisticRegression()


def _a9a() -> tuple[Any, Any, Any]:
    data = together(load_a9a())
    return data.X, data.y, LogisticRegression()


def _adult() -> tuple[Any, Any, Any]:
    import pandas as pd

    data = load_adult()
    X = pd.concat([data.train, data.test], ignore_index=True)
    y = X.pop("income").to_numpy(dtype=str)
    for name in X.select_dtypes(exclude="number").columns:
        X[name] = X[name].astype("category")
    return X, y, HistGradientBoostingClassifier(categorical_features="from_dtype")


def _newsgroups() -> tuple[Any, Any, Any]:
    data = together(load_newsgroups())
    return sublinear_rows(data.X), data.y, LogisticRegression()


DATA: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "mushrooms": _mushrooms,
    "a9a": _a9a,
    "adult-boosting": _adult,
    "newsgroups-20": _newsgroups,
}


def run_split(X: Any, y: Any, learner: Any, seed: int) -> dict[str, float]:
    """Return test accuracies of one split."""
    n = len(y)
    order = np.random.default_rng(seed).permutation(n)
    private, pool, test = np.split(order, [int(0.8 * n), int(0.8 * n) + int(0.02 * n)])
    X_private, y_private = take(X, private), y[private]
    X_test, y_test = take(X, test), y[test]
    found = {"not private": float(learner.fit(X_private, y_private).score(X_test, y_test))}
    for epsilon in EPSILONS:
        clf = PATEClassifier(
            learner, epsilon=epsilon, delta=1 / len(private), classes=np.unique(y), verbose=False
        )
        clf.fit(X_private, y_private, X_public=take(X, pool))
        found[f"epsilon {epsilon:g}"] = float(clf.score(X_test, y_test))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=["mushrooms", "a9a"], help=", ".join(DATA))
    parser.add_argument("--splits", default="100:120", help="first:last+1 seeds")
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    for name in arguments.names:
        X, y, learner = DATA[name]()
        began, rows = time.perf_counter(), []
        for seed in range(first, last):
            rows.append(run_split(X, y, learner, seed))
            print(name, seed, json.dumps({k: round(v, 4) for k, v in rows[-1].items()}), flush=True)
        summary = {
            column: {
                "mean": round(float(np.mean([row[column] for row in rows])), 4),
                "standard_error": round(
                    float(np.std([row[column] for row in rows], ddof=1) / np.sqrt(len(rows))), 4
                )
                if len(rows) > 1
                else None,
            }
            for column in rows[0]
        }
        print(name, json.dumps(summary, indent=1))
        write(
            f"defaults_{name}",
            {
                "splits": [first, last],
                "summary": summary,
                "rows": rows,
                "seconds": round(time.perf_counter() - began, 1),
            },
        )


if __name__ == "__main__":
    main()
