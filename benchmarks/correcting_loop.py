"""Measure the privacy of the whole loop of corrections against the worst teacher, securely.

    python benchmarks/correcting_loop.py --samples 20000

Every run goes through metric, teachers, clipped mean, ledger and student. Look for: no measured
epsilon above the price, and the planted fault (a replaced vector priced at one radius) above it.
Figures go to ``results/correcting_loop.json``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from _record import write

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.correcting_loop import CorrectingLoop, audit_corrections

from tacit.accounting.budget import Budget

BUDGET = Budget(1.0, 0.12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=20_000, help="runs on each data set")
    samples = parser.parse_args().samples
    figures = {}
    for rounds in (1, 4):
        found = audit_corrections(CorrectingLoop(BUDGET, rounds), samples=samples)
        figures[f"{rounds} rounds"] = round(found.epsilon_lower, 4)
        print(rounds, "rounds", found.epsilon_lower, flush=True)
    # Half the noise: what a sensitivity of r in the place of 2r would give. Test noise only.
    faulty = CorrectingLoop(BUDGET, rounds=4, noise_factor=0.5)
    caught = audit_corrections(faulty, samples=samples, seed=1).epsilon_lower
    print("planted fault", caught)
    write(
        "correcting_loop",
        {
            "price": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta},
            "samples": samples,
            "confidence": 0.9999,
            "measured epsilon, lower bounds": figures,
            "planted fault, sensitivity of one radius": round(caught, 4),
        },
    )


if __name__ == "__main__":
    main()
