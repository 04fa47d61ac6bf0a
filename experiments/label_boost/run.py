"""Do the labels that IterLabelBoost needs grow with the domain?

Question: how many labels does each learner need for an error of at most 0.1 in 9 of 10 runs, when
the line has 2^8, 2^16, ... 2^48 whole numbers? Records lie among 200 neighbouring numbers somewhere
on the line, so that of all thresholds only a few are good: what a private learner that knows
nothing but the line has to find out. Three learners, each epsilon 1, pure, one record replaced:
the exponential mechanism over all thresholds on labelled records alone; ``IterLabelBoost`` around
it, with 20,000 records without labels; ``GenericLearner`` with hierarchical counts of those.

    python experiments/label_boost/run.py            # a few minutes
    python experiments/label_boost/run.py --runs 10  # a look; writes nothing

Look for: labels of the exponential mechanism rise in proportion to the bits of the domain; those of
the other two stay flat. Writes results/label_boost.json and docs/images/label_boost.svg.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tacit.hypotheses import IntegerThresholds, Thresholds
from tacit.hypothesis_learners import ExponentialLearner, GenericLearner, IterLabelBoost
from tacit.hypothesis_learners.learner import HypothesisLearner, read_partly
from tacit.mechanisms.sanitize import HierarchicalCounts

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from _record import write  # noqa: E402

BITS = (8, 16, 24, 32, 40, 48)
UNLABELLED = 20_000
EPSILON = 1.0
ERROR = 0.1
SPREAD = 200
LABELS = [round(20 * 1.2**step) for step in range(28)]  # 20 to 2,748


class Direct(HypothesisLearner):
    """The base learner by itself, on the labelled records."""

    ledger = key = None

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: Any, y: Any) -> Direct:
        """Release a hypothesis."""
        records = read_partly(Thresholds(), X, y)
        return self._release(self.base.mechanism(len(records.X), len(records.pool)), records)


def learners(bits: int) -> dict[str, Callable[[], HypothesisLearner]]:
    """Return how each learner is made for a domain."""
    line = IntegerThresholds(2**bits)
    halves = HierarchicalCounts(depth=bits, release_epsilon=EPSILON, size=100)
    return {
        "exponential mechanism": lambda: Direct(ExponentialLearner(line, EPSILON)),
        "IterLabelBoost": lambda: IterLabelBoost(
            Thresholds(), ExponentialLearner(line, 0.2), epsilon=EPSILON, selection_epsilon=1.5
        ),
        "GenericLearner": lambda: GenericLearner(Thresholds(), halves, epsilon=EPSILON),
    }


def error(make: Callable[[], HypothesisLearner], bits: int, labels: int, seed: int) -> float:
    """Return the error of one run, over the distribution itself."""
    rng = np.random.default_rng([bits, labels, seed])
    start = int(rng.integers(2**bits - SPREAD + 1))
    turn = start + int(rng.integers(SPREAD // 4, 3 * SPREAD // 4))
    x = start + rng.integers(SPREAD, size=labels + UNLABELLED)
    y = np.where(np.arange(len(x)) < labels, x >= turn, -1)
    learner = make().fit(x, y)
    assert learner.guarantee_.epsilon <= EPSILON * (1 + 1e-9)
    points = start + np.arange(SPREAD)
    return float((learner.predict(points) != (points >= turn)).mean())


def needed(make: Callable[[], HypothesisLearner], bits: int, runs: int) -> int | None:
    """Return the fewest labels on the list with which 9 of 10 runs succeed, by bisection."""
    low, high = 0, len(LABELS)
    while low < high:
        middle = (low + high) // 2
        wrong = sum(error(make, bits, LABELS[middle], seed) > ERROR for seed in range(runs))
        low, high = (low, middle) if wrong <= runs / 10 else (middle + 1, high)
    return LABELS[low] if low < len(LABELS) else None


def plot(figures: dict[str, list[int | None]]) -> None:
    """Draw labels needed against bits of the domain."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, labels), mark in zip(figures.items(), "os^", strict=True):
        known = [(b, m) for b, m in zip(BITS, labels, strict=True) if m is not None]
        axes.plot(*zip(*known, strict=True), marker=mark, label=name)
    axes.set_xlabel("bits of the domain")
    axes.set_ylabel("labels needed")
    axes.set_xticks(BITS)
    axes.set_ylim(bottom=0)
    axes.legend()
    (ROOT / "docs" / "images").mkdir(exist_ok=True)
    figure.savefig(ROOT / "docs" / "images" / "label_boost.svg", metadata={"Date": None})


def main() -> None:
    """Find the labels each learner needs on each domain."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    figures: dict[str, list[int | None]] = {}
    for bits in BITS:
        for name, make in learners(bits).items():
            figures.setdefault(name, []).append(needed(make, bits, runs))
            print(f"{bits:3} bits  {name:24} {figures[name][-1]}", flush=True)
    if runs < 100:
        return
    settings = {"epsilon": EPSILON, "error": ERROR, "unlabelled": UNLABELLED, "runs": runs}
    plot(figures)
    print(write("label_boost", {"settings": settings, "bits": BITS, "labels_needed": figures}))


if __name__ == "__main__":
    main()
