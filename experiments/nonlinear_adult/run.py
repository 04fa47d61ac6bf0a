"""How close does a private student come to boosting on Adult, as the table it is?

Question: boosting without privacy beats every linear model on Adult, because income bends with age,
hours and capital gains. A student of corrections is linear in a public representation: which one,
learnt from the 976 points of the pool alone, lets it bend as far, and what does it cost?

    python experiments/nonlinear_adult/run.py --splits 0:5                   # to choose
    python experiments/nonlinear_adult/run.py --splits 200:220 --routes pool,steps

with ``TACIT_DATA_DIR`` set. Splits as in ``benchmarks/accuracy``: 80% private, 2% pool, the rest
test; delta is one over the number of private records; neighbours: one record replaced. Rows go to
``results/nonlinear_adult.jsonl``; what is there is not measured again.

Look for: private accuracy beside the same representation without privacy (what noise costs), and
that beside boosting (what the representation lacks). Routes with trees, forests and boosting as
teachers (``trees-20`` and so on: records a shard) show whether teachers that bend help.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks._record import RESULTS
from benchmarks.accuracy.data import Parts, Split, load
from benchmarks.accuracy.routes import boosting

from tacit import Corrections, PATEClassifier, PoolRepresentation, StepFeatures

ROWS = RESULTS / "nonlinear_adult.jsonl"
EPSILONS = (0.5, 1.0, 2.0)
NOT_PRIVATE = None

Route = Callable[[Split], tuple[Parts, PoolRepresentation]]


def pool(split: Split) -> tuple[Parts, PoolRepresentation]:
    """Return the default representation: the student is linear in the numbers."""
    return split.numbers, PoolRepresentation(scale=4.0)


def steps(n_steps: int, n_components: int, flatten: float = 0.25) -> Route:
    """Return a representation by steps of numbers."""

    def route(split: Split) -> tuple[Parts, PoolRepresentation]:
        # Fitted on the pool, and each record by itself: the same as inside the classifier, faster.
        features = split.given.map(StepFeatures(n_steps).fit(split.given.pool).transform)
        return features, PoolRepresentation(n_components, scale=4.0, flatten=flatten)

    return route


ROUTES: dict[str, Route] = {
    "pool": pool,
    "steps": steps(30, 400),
    "steps-100": steps(100, 400),
    "steps-150-coordinates": steps(30, 150),
    "steps-flatter": steps(30, 400, 0.5),
}


TEACHERS: dict[str, tuple[Any, int]] = {
    "trees-8": (DecisionTreeClassifier(min_samples_leaf=40), 8),
    "trees-20": (DecisionTreeClassifier(min_samples_leaf=40), 20),
    "forests-40": (ExtraTreesClassifier(10, min_samples_leaf=40), 40),
    "boosting-80": (GradientBoostingClassifier(n_estimators=10), 80),
}
"""Learners as teachers in rounds, with steps for them and the student, and records a shard.

Leaves count rows of the pool, each twice, so 40 rows are 2% of it.
"""


def taught(split: Split, name: str, epsilon: float) -> float:
    """Return the accuracy of a student that trees correct."""
    learner, shard = TEACHERS[name]
    model = PATEClassifier(
        learner,
        epsilon=epsilon,
        delta=split.delta,
        classes=[0, 1],
        method=Corrections(),
        n_teachers=split.n // shard,
        representation=StepFeatures(),
        random_state=split.seed,
        verbose=False,
    )
    model.fit(split.given.private, split.labels, X_public=split.given.pool)
    return split.accuracy(model.predict(split.given.test))


def private(
    split: Split, given: Parts, representation: PoolRepresentation, epsilon: float
) -> float:
    """Return the accuracy of built-in teachers with their defaults in a representation."""
    model = PATEClassifier(
        epsilon=epsilon,
        delta=split.delta,
        classes=[0, 1],
        representation=representation,
        random_state=split.seed,
        verbose=False,
    )
    model.fit(given.private, split.labels, X_public=given.pool)
    return split.accuracy(model.predict(given.test))


def ceiling(split: Split, given: Parts, representation: PoolRepresentation) -> float:
    """Return the accuracy of logistic regression without privacy in a representation."""
    represent = representation.fit(given.pool).transform
    model = LogisticRegression(solver="newton-cholesky")
    model.fit(represent(given.private), split.labels)
    return split.accuracy(model.predict(represent(given.test)))


def boosted(split: Split) -> float:
    """Return the accuracy of boosting without privacy, on the table as it comes."""
    model = boosting().fit(split.given.private, split.labels)
    return split.accuracy(model.predict(split.given.test))


def rows(routes: Iterable[str], splits: Iterable[int], epsilons: Iterable[float]) -> None:
    """Make every row that is not there yet."""
    known = {(row["route"], row["epsilon"], row["split"]) for row in read()}
    for seed in splits:
        split = Split(*load("adult"), seed)
        for name in routes:
            missing = [
                level
                for level in (NOT_PRIVATE, *epsilons)
                if (name, level, seed) not in known
                and not (name == "boosting" and level)
                and not (name in TEACHERS and level is NOT_PRIVATE)
            ]
            if not missing:
                continue
            given, representation = ROUTES[name](split) if name in ROUTES else (None, None)
            for epsilon in missing:
                began = time.process_time()
                if name in TEACHERS:
                    accuracy = taught(split, name, epsilon)
                elif given is None or representation is None:
                    accuracy = boosted(split)
                elif epsilon is NOT_PRIVATE:
                    accuracy = ceiling(split, given, representation)
                else:
                    accuracy = private(split, given, representation, epsilon)
                _append(
                    {
                        "route": name,
                        "epsilon": epsilon,
                        "split": seed,
                        "accuracy": round(accuracy, 5),
                        "seconds": round(time.process_time() - began, 1),
                    }
                )


def read() -> list[dict[str, Any]]:
    """Return the rows that are there."""
    if not ROWS.exists():
        return []
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


def _append(row: dict[str, Any]) -> None:
    with ROWS.open("a", encoding="utf-8") as log:
        log.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def summary(routes: Iterable[str], splits: Iterable[int], epsilons: Iterable[float]) -> None:
    """Print means over splits, standard errors, and paired differences to the linear student."""
    found = {(row["route"], row["epsilon"], row["split"]): row["accuracy"] for row in read()}
    splits = list(splits)
    for name in routes:
        for epsilon in (NOT_PRIVATE, *epsilons):
            pairs = [
                (found[name, epsilon, seed], found.get(("pool", epsilon, seed), np.nan))
                for seed in splits
                if (name, epsilon, seed) in found
            ]
            if pairs:
                here, linear = np.array(pairs).T
                print(
                    f"{name:24} {epsilon or 'not private'!s:12} {_mean(here)}   "
                    f"over linear {_mean(here - linear)}   ({len(here)} splits)"
                )


def _mean(values: NDArray[np.float64]) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.4f} ({error:.4f})"


def main() -> None:
    offered = ["boosting", *ROUTES, *TEACHERS]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", default="0:5", help="first:last+1 seeds")
    parser.add_argument("--routes", default=",".join(offered), help=", ".join(offered))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    arguments = parser.parse_args()
    routes = arguments.routes.split(",")
    unknown = [name for name in routes if name not in offered]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(offered)}")
    first, last = map(int, arguments.splits.split(":"))
    epsilons = [float(level) for level in arguments.epsilons.split(",")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows(routes, range(first, last), epsilons)
    summary(routes, range(first, last), epsilons)


if __name__ == "__main__":
    main()
