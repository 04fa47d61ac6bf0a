"""How long one draw of the exponential mechanism over a cover of hypotheses takes.

Question: do covers too large to list stay practical? Look at ``seconds`` (counting the mistakes of
every hypothesis of the cover and drawing one, together, in processor time of one core, so that
other work on the machine does not count) and ``met``: under 2 s over the threshold
cover of a million points, under 10 s for rectangles around 500 points in the plane, under 5 s for
stumps on mushrooms and a9a with the cover from the public pool. ``listed`` is the time of the plain
way, predicting with every hypothesis, on a part of the cover and scaled up; ``ratio`` compares the
two in the same run.

    python benchmarks/bench_hypotheses.py   # a minute; the real data need TACIT_DATA_DIR
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import _record
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from tacit.data.sets import load_a9a, load_mushrooms
from tacit.errors import DataUnavailable
from tacit.hypotheses import HypothesisClass, Intervals, Rectangles, Stumps, Thresholds
from tacit.mechanisms import select_hypothesis
from tacit.noise import SecureNoise

ROUNDS = 3
SHOWN = 200  # hypotheses predicted with one by one


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    with threadpool_limits(1):
        start = time.process_time()
        work()
        return time.process_time() - start


def draw(hypotheses: HypothesisClass, cover: Any, X: Any, y: Any) -> int:
    """Draw a hypothesis and return how large the cover was."""
    counts = hypotheses.mistake_counts(cover, X, y)
    select_hypothesis(counts, epsilon=0.1, noise=SecureNoise())
    return counts.size


def listed(hypotheses: HypothesisClass, cover: Any, X: Any, y: Any, size: int) -> float:
    """Return how long predicting with every hypothesis would take, from some of them."""
    points = np.asarray(cover, dtype=float).reshape(len(cover), -1)
    rows = np.concatenate([block[:SHOWN] for block in islice(hypotheses.candidates(points), 3)])
    some = rows[:SHOWN]
    taken = seconds(lambda: [(hypotheses.predict(h, X) != y).sum() for h in some])
    return taken / len(some) * size


def measure(
    hypotheses: HypothesisClass, cover: Any, X: Any, y: Any, limit: float
) -> dict[str, Any]:
    """Return the figures of one case."""
    size = draw(hypotheses, cover, X, y)
    taken = statistics.median(seconds(lambda: draw(hypotheses, cover, X, y)) for _ in range(ROUNDS))
    plain = listed(hypotheses, cover, X, y, size)
    return {
        "hypotheses": size,
        "cover_points": len(cover),
        "records": len(y),
        "seconds": round(taken, 3),
        "limit": limit,
        "met": taken < limit,
        "listed": float(f"{plain:.3g}"),
        "ratio": float(f"{plain / taken:.3g}"),
    }


def example_figures() -> dict[str, dict[str, Any]]:
    """Measure on uniform points with a tenth of the labels turned around."""
    rng = np.random.default_rng(0)
    x = rng.random(10**6)
    flipped = rng.random(10**6) < 0.1
    square = rng.random((500, 2))
    inside = ((square > 0.2) & (square < 0.7)).all(axis=1)
    return {
        "thresholds, 1e6 points": measure(Thresholds(), x, x, (x > 0.4) ^ flipped, 2.0),
        "intervals, 1e6 points": measure(
            Intervals(), x, x, ((x > 0.2) & (x < 0.7)) ^ flipped, 10.0
        ),
        "rectangles, 500 points": measure(
            Rectangles(2), square, square, inside ^ flipped[:500], 10.0
        ),
    }


def real() -> dict[str, dict[str, Any]]:
    """Measure stumps on real records: 80% of them are private, 2%, without labels, the pool."""
    mushrooms, a9a = load_mushrooms(), load_a9a()
    records = {
        "mushrooms": (mushrooms.X.toarray(), mushrooms.y == 1),
        "a9a": (
            sp.vstack([a9a.train.X, a9a.test.X]).toarray(),
            np.concatenate([a9a.train.y, a9a.test.y]) == 1,
        ),
    }
    found = {}
    for name, (X, y) in records.items():
        order = np.random.default_rng(0).permutation(len(y))
        private, pool = np.split(order, [int(0.8 * len(y)), int(0.82 * len(y))])[:2]
        found[f"stumps, {name}"] = measure(Stumps(X.shape[1]), X[pool], X[private], y[private], 5.0)
    return found


def main() -> None:
    """Run all cases and write the record."""
    figures = example_figures()
    try:
        figures |= real()
    except DataUnavailable as missing:
        print(f"left out: {missing}")
    for name, row in figures.items():
        size = f"{row['hypotheses']} hypotheses"
        print(f"{name:24} {row['seconds']:7.3f} s  {size:24} met: {row['met']}")
    print(_record.write("bench_hypotheses", {"cases": figures}))


if __name__ == "__main__":
    main()
