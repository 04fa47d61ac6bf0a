"""How much does stability cost? The error of ``StablePredictor`` against the number of records.

Question: [DF20] Theorem 1 says that n = O(d log(1/alpha)/(gamma alpha) + (d + log(1/beta))/alpha^2)
records are enough for a gamma-stable predictor with excess error alpha. Read the other way round,
n records of a class of dimension d give an excess error of at most about the alpha that solves
d/(gamma alpha) + d/alpha^2 = n, with all constants and logarithms set to 1. Does the measured
excess error stay below that? Data: x uniform on [0, 1], label 1 from 0.5 on, one label in ten
wrong; thresholds, d = 1. The error is computed from the probabilities on a fine grid.

    python experiments/agnostic_routes/stable_error.py

Look for: every measured line below its dashed one of the same colour.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit.hypotheses import Thresholds
from tacit.hypothesis_learners import StablePredictor

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _record import write
from plots import draw

GAMMAS = (0.3, 0.1, 0.03)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
TRIALS = 20
NOISE = 0.1
GRID = (np.arange(1000) + 0.5) / 1000


def bound(n: int, gamma: float, d: int = 1) -> float:
    """Return the alpha that solves ``d/(gamma alpha) + d/alpha^2 = n``."""
    # n alpha^2 - (d/gamma) alpha - d = 0
    half = d / (2 * gamma * n)
    return half + math.sqrt(half**2 + d / n)


def excess(n: int, gamma: float, trial: int) -> float:
    """Return the excess error of one predictor, averaged over its own draws."""
    rng = np.random.default_rng([n, trial])
    x = rng.random(n)
    y = (x >= 0.5) ^ (rng.random(n) < NOISE)
    stable = StablePredictor(Thresholds(), stability=gamma).fit(x, y)
    wrong = np.abs(stable.probability(GRID) - (GRID >= 0.5)).mean()
    return float((1 - 2 * NOISE) * wrong)


def main() -> None:
    began = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for gamma in GAMMAS:
        for n in SIZES:
            errors = [excess(n, gamma, trial) for trial in range(TRIALS)]
            mean, spread = float(np.mean(errors)), float(np.std(errors, ddof=1))
            rows.append(
                {
                    "gamma": gamma,
                    "records": n,
                    "excess": round(mean, 5),
                    "standard_error": round(spread / math.sqrt(TRIALS), 5),
                    "largest": round(max(errors), 5),
                    "bound": round(bound(n, gamma), 5),
                    "below": bool(mean < bound(n, gamma)),
                }
            )
            print(rows[-1], flush=True)
    write(
        "agnostic_stable_error",
        {
            "trials": TRIALS,
            "label_noise": NOISE,
            "rows": rows,
            "all_below": all(row["below"] for row in rows),
            "seconds": round(time.perf_counter() - began, 1),
        },
    )

    def line(gamma: float, column: str) -> list[tuple[float, float]]:
        return [(r["records"], r[column]) for r in rows if r["gamma"] == gamma]

    draw(
        "agnostic_stable_error",
        lines={f"measured, stability {gamma}": line(gamma, "excess") for gamma in GAMMAS},
        dashed={f"d/(γα) + d/α² = n, {gamma}": line(gamma, "bound") for gamma in GAMMAS},
        x="records",
        y="excess error",
        log_y=True,
    )


if __name__ == "__main__":
    main()
