"""What strict reading costs: a million records of 20 columns, beside pandas' own conversion.

Two containers: a data frame in memory, and cells of a CSV file as text. In each, the library's
reader (every cell by itself, by a public schema) and what pandas does to get the same types.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from _record import write

from tacit.data import PointReader, Schema


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Return records: ten decimals, five whole numbers, five categories."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"d{k}": rng.normal(size=n).round(6) for k in range(10)}
    columns |= {f"w{k}": rng.integers(0, 100, n) for k in range(5)}
    columns |= {f"c{k}": rng.choice(["red", "green", "blue", "010"], n) for k in range(5)}
    return pd.DataFrame(columns)


def seconds(work: Callable[[], Any], repeat: int) -> float:
    """Return the shortest of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def measure(n: int, repeat: int) -> dict[str, float]:
    """Return seconds for each way."""
    frame = table(n)
    reader = PointReader(Schema.infer(table(1000, seed=1)))
    text = frame.astype(str).astype(object)
    csv = frame.to_csv(index=False)
    types = {name: "category" for name in frame.columns if name.startswith("c")}
    numbers = {name: "float64" for name in frame.columns if not name.startswith("c")}
    return {
        "frame, this reader": seconds(lambda: reader.records(frame), repeat),
        "frame, pandas astype": seconds(lambda: frame.astype({**types, **numbers}), repeat),
        "text cells, this reader": seconds(lambda: reader.records(text), repeat),
        "text cells, pandas astype": seconds(lambda: text.astype({**types, **numbers}), repeat),
        "pandas read_csv": seconds(lambda: pd.read_csv(io.StringIO(csv)), repeat),
    }


def main() -> None:
    """Measure at three sizes; write the figures with command, commit and machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for n in given.sizes:
        figures = measure(n, given.repeat)
        found[str(n)] = {name: round(one, 4) for name, one in figures.items()}
        for name, one in figures.items():
            print(f"{n:>9} records  {name:<26} {one:8.3f} s  {1e6 * one / n / 20:6.3f} us a cell")
    write("bench_reading", {"pandas": pd.__version__, "columns": 20, "seconds": found})


if __name__ == "__main__":
    main()
