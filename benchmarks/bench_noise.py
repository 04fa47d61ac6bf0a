"""How fast noise and selection are, against OpenDP's own vector call in the same process.

Question: what does a request to ``SecureNoise`` cost over a call of OpenDP for as many values?
Look at ``ratio``: 1.2 is the limit at every size, and ``met`` says whether it was kept. Noise is
drawn on demand, so a single value costs a whole call: see ``microseconds_per_request`` at sizes 1
and 10. The two ways alternate and ratios are medians over rounds, so that a slow spell of the
machine hits both alike.

    python benchmarks/bench_noise.py            # about two minutes; writes results/bench_noise.json
    python benchmarks/bench_noise.py --quick    # a few seconds; writes nothing
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import _record
import numpy as np
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from tacit.mechanisms.exact.selection import permute_and_flip, select
from tacit.noise import SecureNoise

SIZES = (1, 10, 1_000, 100_000)
SCALE = 20.0
LIMIT = 1.2


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def opendp_sampler(kind: str) -> Callable[[list[int]], list[int]]:
    """Return OpenDP's own measurement, made without tacit."""
    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64"))
    if kind == "gaussian":
        return make_gaussian(space, l2_distance(T=float), SCALE)
    return make_laplace(space, l1_distance(T=float), SCALE)


def bench_noise(kind: str, size: int, rounds: int) -> dict[str, Any]:
    """Time requests of ``size`` values, and OpenDP's call for as many, in microseconds each."""
    sampler, zeros = opendp_sampler(kind), np.zeros(size, dtype=np.int64)
    draw = getattr(SecureNoise(), kind)
    requests = max(1, 200 // size)  # in each timing
    ways: dict[str, Callable[[], object]] = {
        "opendp": lambda: [sampler(zeros) for _ in range(requests)],
        "tacit": lambda: [draw(SCALE, size) for _ in range(requests)],
    }
    for way in ways.values():
        way()  # warm: libraries loaded
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(seconds(way) / requests * 1e6)
    ratios = [ours / theirs for ours, theirs in zip(times["tacit"], times["opendp"], strict=True)]
    return {
        "kind": kind,
        "size": size,
        "rounds": rounds,
        "microseconds_per_request": {
            name: round(statistics.median(values), 1) for name, values in times.items()
        },
        "ratio": round(statistics.median(ratios), 3),
    }


def bench_selection(n_candidates: int, epsilon: float, rounds: int) -> dict[str, Any]:
    """Time one selection among candidates with distinct scores, in milliseconds."""
    scores = np.random.default_rng(0).permutation(n_candidates)
    noise = SecureNoise()
    figures: dict[str, Any] = {"candidates": n_candidates, "epsilon": epsilon, "rounds": rounds}
    for name, choose in (("select", select), ("permute_and_flip", permute_and_flip)):
        once = partial(choose, scores, epsilon, noise=noise)
        found = [seconds(once) for _ in range(rounds)]
        figures[f"{name}_ms"] = round(statistics.median(found) * 1e3, 3)
        figures[f"{name}_worst_ms"] = round(max(found) * 1e3, 3)
    return figures


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    quick = parser.parse_args().quick
    sizes = SIZES[:3] if quick else SIZES
    noise = []
    for kind in ("gaussian", "laplace"):
        for size in sizes:
            row = bench_noise(kind, size, rounds=max(7, min(31, 200_000 // size)))
            noise.append(row)
            print(f"{kind:9} {size:7}  us/request {row['microseconds_per_request']}", end="  ")
            print(f"ratio {row['ratio']}")
    selection = []
    for n_candidates in (10_000,) if quick else (10_000, 100_000, 1_000_000):
        for epsilon in (1e-5, 0.1, 10.0):
            selection.append(bench_selection(n_candidates, epsilon, rounds=11))
            print(selection[-1])
    worst = {
        kind: max(row["ratio"] for row in noise if row["kind"] == kind)
        for kind in ("gaussian", "laplace")
    }
    met = {name: ratio <= LIMIT for name, ratio in worst.items()}
    for name, ratio in worst.items():
        print(f"{name}: at most {ratio}, limit {LIMIT} {'kept' if met[name] else 'NOT KEPT'}")
    if not quick:
        figures = {"scale": SCALE, "limit": LIMIT, "worst_ratio": worst, "met": met}
        path = _record.write("bench_noise", {**figures, "noise": noise, "selection": selection})
        print(f"written: {path.name}")


if __name__ == "__main__":
    main()
