"""What does ``PATEClassifier()`` reach with everything at its default, and no learner?

Question: built-in teachers correct a student on columns, steps and kernels of the pool, as many
coordinates as records and budget carry. How good is it on tables, texts, few records, and where the
truth is not linear, next to a method without privacy?

    python experiments/built_in/run.py --data mushrooms,circles --splits 300:305

with ``TACIT_DATA_DIR`` set. Real data: splits as in ``benchmarks/accuracy`` (80% private, 2% pool,
the rest test); ``a9a-1000`` has 1,000 private records and 900 public points. Generated data: 20,000
private records, 1,000 public points, 2,000 for the test. delta is one over the number of records;
one record replaced. The method without privacy is an SVC for generated data (as it comes, on
standardised columns). Rows go to ``results/built_in.jsonl``; what is there is not measured again.

    python experiments/built_in/run.py --table
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks._record import RESULTS, commit, machine
from benchmarks.accuracy.data import load

from tacit import PATEClassifier
from tacit.data.pool import take
from tacit.data.sets.synthetic import CURVED, draw_curved

ROWS = RESULTS / "built_in.jsonl"
EPSILONS = (0.5, 1.0, 2.0)
REAL = ("mushrooms", "a9a", "newsgroups", "adult")
SMALL = ("a9a-1000", "a9a-3000", "mushrooms-1000", "mushrooms-3000")


def draw(name: str, seed: int) -> tuple[Any, Any, list[Any]]:
    """Return points, labels, and the positions of private records, pool and test points."""
    if name in CURVED:
        drawn = draw_curved(name, 23_000, seed=seed)
        return drawn.X, drawn.y, np.split(np.arange(23_000), [20_000, 21_000])
    source, _, size = name.partition("-")
    X, y = load(source)
    order = np.random.default_rng(seed).permutation(len(y))
    if size:
        private, pool, test = np.split(order, [int(size), int(size) + 900])
        return X, y, [private, pool, test[:5000]]
    n_private, n_pool = int(0.8 * len(y)), int(0.02 * len(y))
    return X, y, np.split(order, [n_private, n_private + n_pool])


def measure(name: str, seed: int, epsilons: list[float]) -> dict[str, Any]:
    """Return accuracies of one split."""
    X, y, (private, pool, test) = draw(name, seed)
    row: dict[str, Any] = {"data": name, "split": seed}
    if name in CURVED:
        model = make_pipeline(StandardScaler(), SVC()).fit(X[private], y[private])
        row["not private"] = round(float(model.score(X[test], y[test])), 4)
    row["majority"] = round(float(np.bincount(y[test]).max() / len(test)), 4)
    for epsilon in epsilons:
        clf = PATEClassifier(
            epsilon=epsilon, delta=1 / len(private), classes=np.unique(y), random_state=seed,
            verbose=False,
        )  # fmt: skip
        begun = time.perf_counter()
        clf.fit(take(X, private), y[private], X_public=take(X, pool))
        row[f"seconds {epsilon:g}"] = round(time.perf_counter() - begun, 1)
        row[f"epsilon {epsilon:g}"] = round(float(clf.score(take(X, test), y[test])), 4)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return means and standard errors over splits, one line for every data set."""
    columns = ["epsilon 0.5", "epsilon 1", "epsilon 2", "not private", "majority"]
    lines = [f"| data | splits | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        cells = [_cell([row[column] for row in own if column in row]) for column in columns]
        lines.append(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1) / np.sqrt(len(values)):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=",".join([*REAL, *SMALL, *CURVED]))
    parser.add_argument("--splits", default="300:305", help="first:last+1 seeds")
    parser.add_argument("--epsilons", default="0.5,1,2")
    parser.add_argument("--table", action="store_true", help="print what was measured, and end")
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    epsilons = [float(one) for one in arguments.epsilons.split(",")]
    lines = ROWS.read_text().splitlines() if ROWS.exists() else []
    if arguments.table:
        print(table([json.loads(line) for line in lines]))
        return
    measured = {(row["data"], row["split"]) for row in map(json.loads, lines)}
    for seed in range(first, last):
        for name in arguments.data.split(","):
            if (name, seed) in measured:
                continue
            row = {**measure(name, seed, epsilons), "commit": commit(), "machine": machine()}
            with ROWS.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps(row) + "\n")
            print({key: row[key] for key in row if key not in ("commit", "machine")}, flush=True)


if __name__ == "__main__":
    main()
