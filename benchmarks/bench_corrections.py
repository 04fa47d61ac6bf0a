"""Built-in teachers, fitted all at once, against one scikit-learn fit per shard: the same records.

    python benchmarks/bench_corrections.py

Five records a shard, 100 coordinates. The loop fits one LogisticRegression per shard, alone, which
is the least it could do (a correction needs the pool in every fit too). Look for: a ratio of 20 or
more, and time that grows with n and no faster. Figures go to ``results/bench_corrections.json``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from _record import write
from sklearn.linear_model import LogisticRegression

from tacit.teachers.corrections import Coordinates, LogisticCorrections
from tacit.teachers.corrections.coordinates import with_constant
from tacit.teachers.corrections.metric import Metric
from tacit.teachers.corrections.records import RecordsInMemory

SHARD = 5
WIDTH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 40_000])
    parser.add_argument("--loop", type=int, default=400, help="shards that the loop fits")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    coordinates = Coordinates().fit(points := rng.normal(size=(1000, WIDTH)))
    pool = with_constant(coordinates.transform(points))
    metric = Metric.of(pool, rng.normal(size=(WIDTH + 1, 1)) / 10, 2)
    found = {}
    for n in asked.sizes:
        X = rng.normal(size=(n, WIDTH))
        # Both classes in every shard: scikit-learn refuses a shard of one.
        y = np.tile([0, 1, 0, 1, 1], n // SHARD)
        shards = np.split(np.arange(n), n // SHARD)

        def all_at_once(X: object = X, y: object = y, shards: object = shards) -> None:
            records = RecordsInMemory(X, y, shards, coordinates, together=True)
            teachers = LogisticCorrections(records, pool, n_classes=2, shard_size=SHARD)
            for _ in teachers.contributions(metric):
                pass

        table = coordinates.transform(X)

        def one_by_one(table: object = table, y: object = y, shards: object = shards) -> None:
            for shard in shards[: asked.loop]:
                LogisticRegression().fit(table[shard], y[shard])

        ours = _seconds(all_at_once) / len(shards)
        theirs = _seconds(one_by_one) / min(asked.loop, len(shards))
        found[n] = {
            "microseconds per shard, all at once": round(1e6 * ours, 1),
            "microseconds per shard, one by one": round(1e6 * theirs, 1),
            "ratio": round(theirs / ours, 1),
        }
        print(n, found[n], flush=True)
    write(
        "bench_corrections",
        {
            "records per shard": SHARD,
            "coordinates": WIDTH,
            "load of the machine": round(os.getloadavg()[0], 1),
            "by number of records": found,
        },
    )


def _seconds(work: Callable[[], None], times: int = 3) -> float:
    """Return the least processor time of a few runs: others may be using the machine."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    main()
