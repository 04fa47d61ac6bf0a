"""How close does the default come to the vote of its own teachers where the truth is not linear?

Question: ``PATEClassifier(learner)`` with everything else at its default releases noisy shares of
the votes, and a student learns from them, linear or with a kernel as the evidence says. How much is
lost against the vote without noise, which is not private, and what would a linear student lose?

    python experiments/curved_boundaries/run.py --seeds 0:5        # to choose
    python experiments/curved_boundaries/run.py --seeds 300:302

Data are generated: 20,000 private records, 1,000 public points, 2,000 for the test; epsilon 1,
delta 1/20,000; one record replaced. Rows go to ``results/curved_boundaries.jsonl``; what is there
is not measured again.
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
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks._record import RESULTS

from tacit import NoiseAwareStudent, PATEClassifier
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.sets.synthetic import CURVED, draw_curved
from tacit.errors import LearnerBottleneckWarning
from tacit.teachers import equal_split
from tacit.teachers.train import train_and_count

ROWS = RESULTS / "curved_boundaries.jsonl"
PRIVATE, POOL, TEST = 20_000, 1_000, 2_000

LEARNERS: dict[str, Any] = {
    "neighbours": KNeighborsClassifier(),
    "svc": SVC(),
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(30),
    "boosting": GradientBoostingClassifier(),
    "histogram boosting": HistGradientBoostingClassifier(),
}


def measure(data: str, learner: str, seed: int) -> dict[str, Any]:
    """Return accuracies of the default, a linear student, and the vote without noise."""
    drawn = draw_curved(data, PRIVATE + POOL + TEST, seed=seed)
    X, y = drawn.X, drawn.y
    private, pool, test = np.split(np.arange(len(X)), [PRIVATE, PRIVATE + POOL])
    classes = np.unique(y)
    clf = PATEClassifier(
        LEARNERS[learner], epsilon=1.0, delta=1 / PRIVATE, classes=classes, random_state=seed,
        verbose=False,
    )  # fmt: skip
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X[private], y[private], X_public=X[pool])
    seconds = time.perf_counter() - start
    released = clf.released_
    coordinates = PoolRepresentation(scale=1.0, flatten=0.0).fit(X[pool])
    linear = NoiseAwareStudent().fit_shares(
        coordinates.transform(X[pool][released.positions]),
        released.shares,
        variance=released.variance,
        classes=classes,
    )
    shards = equal_split(PRIVATE, clf.resolved_params_["n_teachers"], np.random.default_rng(seed))
    votes = train_and_count(
        LEARNERS[learner], X[private], y[private], shards, X[test], classes=classes, seed=seed
    )
    probabilities = clf.predict_proba(X[test])
    counted = votes.private_array()
    return {
        "data": data,
        "learner": learner,
        "seed": seed,
        "default": float(clf.score(X[test], y[test])),
        "linear student": float(linear.score(coordinates.transform(X[test]), y[test])),
        "vote without noise": float(np.mean(classes[counted.argmax(axis=1)] == y[test])),
        "error of shares": float(np.abs(probabilities - counted / votes.n_teachers).mean()),
        "student": clf.resolved_params_["student"],
        "warned": any(w.category is LearnerBottleneckWarning for w in caught),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:5")
    parser.add_argument("--data", default=",".join(CURVED))
    parser.add_argument("--learners", default="neighbours,svc,tree")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    done = {(row["data"], row["learner"], row["seed"]) for row in rows}
    for seed in range(first, last):
        for learner in options.learners.split(","):
            for data in options.data.split(","):
                if (data, learner, seed) in done:
                    continue
                row = measure(data, learner, seed)
                with ROWS.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row, flush=True)


if __name__ == "__main__":
    main()
