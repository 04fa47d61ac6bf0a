"""How many labels the disagreement-based strategies ask for, without privacy noise.

Exact version space: 1,001 thresholds on 2,000 points, 100 trials, without and with 10% label noise.
The linear learner of [LZCW21]: mushrooms, 80% for teachers of about 100 records, 2% as the pool,
at most 49 questions, 30 splits, labels being the teachers' majority, or the true ones. Figures go
to ``results/active_strategies.json``.

    TACIT_DATA_DIR=... python experiments/active_strategies/run.py
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit.data.pool import take
from tacit.data.sets import load_mushrooms
from tacit.students.active import ExactCAL, YanDBAL, ask_in_batches

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import write

TRIALS, SPLITS = 100, 30
BUDGET = 49
PUBLISHED = {"questions": 47.3, "accuracy": 0.9146}


def thresholds(noise: float, seed: int) -> tuple[int, bool]:
    """Return how many labels were asked, and whether the full sample's minimiser came back."""
    rng = np.random.default_rng([seed, round(100 * noise)])
    x, cuts = rng.random(2000), np.linspace(0, 1, 1001)
    flipped = rng.random(2000) < noise
    truth = (x >= cuts[rng.integers(100, 900)]) ^ flipped
    predictions = x[None, :] >= cuts[:, None]
    cal = ExactCAL(predictions, vc_dimension=1, seed=seed)
    found = ask_in_batches(cal, x[:, None], lambda at: truth[at], 2000, rng, n_batches=1)
    mistakes = (predictions != truth).sum(axis=1)
    best = cal.best(found.positions, found.labels)
    return len(found.positions), bool(mistakes[best] == mistakes.min())


def mushroom_split(seed: int) -> list[dict[str, Any]]:
    """Return questions and accuracy of each variant on one split."""
    data = load_mushrooms()
    y = (data.y == 2).astype(int)
    order = np.random.default_rng(seed).permutation(len(y))
    private, pool, test = np.split(order, [int(0.8 * len(y)), int(0.8 * len(y)) + 162])
    shards = np.array_split(private, len(private) // 100)
    votes = np.array(
        [LogisticRegression().fit(data.X[s], y[s]).predict(data.X[pool]) for s in shards]
    )
    answers = {"teachers": (votes.mean(axis=0) >= 0.5).astype(int), "truth": y[pool]}
    points, rows = take(data.X, pool), []
    for labels, train_on, mistakes in itertools.product(
        answers, ("seen", "queried"), ("in-pass", "after")
    ):
        learner = YanDBAL(train_on=train_on, mistakes=mistakes, seed=seed)
        row: dict[str, Any] = {"labels": labels, "train_on": train_on, "mistakes": mistakes}
        for name, limit in (("questions", BUDGET), ("questions without a limit", len(pool))):
            found = ask_in_batches(
                learner,
                points,
                lambda at, given=answers[labels]: given[at],
                limit,
                np.random.default_rng(0),
                n_batches=1,
            )
            row[name] = len(found.positions)
            if name == "questions":
                w = learner.coefficients(points, found.positions, found.labels)
                row["accuracy"] = float(np.mean((data.X[test] @ w >= 0) == y[test]))
        rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means and standard errors of each variant."""
    told = []
    for key in dict.fromkeys((r["labels"], r["train_on"], r["mistakes"]) for r in rows):
        mine = [r for r in rows if (r["labels"], r["train_on"], r["mistakes"]) == key]
        entry: dict[str, Any] = dict(zip(("labels", "train_on", "mistakes"), key, strict=True))
        for column in ("questions", "questions without a limit", "accuracy"):
            values = np.array([r[column] for r in mine], dtype=float)
            error = values.std(ddof=1) / np.sqrt(len(values))
            entry[column] = [round(float(values.mean()), 4), round(float(error), 4)]
        told.append(entry)
    return told


def main() -> None:
    began, exact = time.perf_counter(), {}
    for noise in (0.0, 0.1):
        trials = [thresholds(noise, seed) for seed in range(TRIALS)]
        asked = np.array([n for n, _ in trials])
        exact[f"label noise {noise:g}"] = {
            "trials": TRIALS,
            "questions": round(float(asked.mean()), 2),
            "standard_error": round(float(asked.std(ddof=1) / np.sqrt(TRIALS)), 2),
            "range": [int(asked.min()), int(asked.max())],
            "full_sample_minimiser": sum(hit for _, hit in trials),
        }
        print(exact, flush=True)
    rows = [row for seed in range(SPLITS) for row in mushroom_split(seed)]
    mushrooms = summary(rows)
    print(*mushrooms, sep="\n")
    write(
        "active_strategies",
        {
            "exact_cal": exact,
            "yan_dbal_mushrooms": {
                "splits": SPLITS,
                "pool": 162,
                "budget": BUDGET,
                "published": PUBLISHED,
                "mean_and_standard_error": mushrooms,
            },
            "seconds": round(time.perf_counter() - began, 1),
        },
    )


if __name__ == "__main__":
    main()
