"""How fast noise and selection are, against OpenDP's own vector call in the same process.

Question: what does drawing through ``SecureNoise`` cost over one call of OpenDP for all values?
Look at ``ratio``: 1.2 is the limit for vectors, for requests of ten and for single draws, the last
two served from blocks; ``met`` says which kept it at every size. A single draw pays 1 to 2
microseconds of Python on top of its value, which is more than a fifth of a Laplace value. Ways
alternate and ratios are medians over rounds, so that a slow spell of the machine hits all alike.

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

from tacit.privacy.noise import SecureNoise
from tacit.privacy.selection import permute_and_flip, select

SIZES = (1_000, 10_000, 100_000)
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
    """Time ``size`` values four ways; microseconds per value and ratios to OpenDP's vector call."""
    sampler, zeros = opendp_sampler(kind), [0] * size
    draw = getattr(SecureNoise(), kind)
    ways: dict[str, Callable[[], object]] = {
        "opendp_vector": lambda: sampler(zeros),
        "vector": lambda: draw(SCALE, size),
        "single_from_blocks": lambda: [draw(SCALE, 1) for _ in range(size)],
        "tens_from_blocks": lambda: [draw(SCALE, 10) for _ in range(size // 10)],
    }
    for way in ways.values():
        way()  # warm: libraries loaded, blocks at full size
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(seconds(way) / size * 1e6)
    medians = {name: statistics.median(found) for name, found in times.items()}
    ratios = {
        name: statistics.median(
            mine / theirs for mine, theirs in zip(times[name], times["opendp_vector"], strict=True)
        )
        for name in ways
        if name != "opendp_vector"
    }
    return {
        "kind": kind,
        "size": size,
        "rounds": rounds,
        "microseconds_per_value": {name: round(value, 3) for name, value in medians.items()},
        "ratio": {name: round(value, 3) for name, value in ratios.items()},
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
    sizes = SIZES[:1] if quick else SIZES
    noise = []
    for kind in ("gaussian", "laplace"):
        for size in sizes:
            found = bench_noise(kind, size, rounds=max(7, min(31, 200_000 // size)))
            noise.append(found)
            print(f"{kind:9} {size:7}  us/value {found['microseconds_per_value']}", end="  ")
            print(f"ratio {found['ratio']}")
    selection = []
    for n_candidates in (10_000,) if quick else (10_000, 100_000, 1_000_000):
        for epsilon in (1e-5, 0.1, 10.0):
            selection.append(bench_selection(n_candidates, epsilon, rounds=11))
            print(selection[-1])
    worst = {
        f"{kind} {way}": max(row["ratio"][way] for row in noise if row["kind"] == kind)
        for kind in ("gaussian", "laplace")
        for way in noise[0]["ratio"]
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
