"""Measure the privacy of the whole adaptive loop against an adversary, with secure noise.

    python benchmarks/adaptive_loop.py --samples 20000

Every run goes through strategy, service, mechanism and ledger. Look for: no measured epsilon above
the price, and the planted fault well above it. Figures go to ``results/adaptive_loop.json``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from _record import write

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.statistical.test_adaptive_loop import BUDGET, LOOPS, too_little_noise
from tests.support.adaptive_loop import Loop, audit_loop

from tacit.accounting.answer import Output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=20_000, help="runs on each table of votes")
    samples = parser.parse_args().samples
    figures = {}
    for name, loop in LOOPS.items():
        figures[name] = audit_loop(loop, samples=samples).epsilon_lower
        print(name, figures[name], flush=True)
    # Its answers carry a guarantee they do not keep, so it may draw from test noise only.
    faulty = Loop(BUDGET, questions=16, output=Output.SHARE, service=too_little_noise)
    caught = audit_loop(faulty, samples=samples, seed=1).epsilon_lower
    print("planted fault", caught)
    write(
        "adaptive_loop",
        {
            "price": {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta},
            "samples": samples,
            "confidence": 0.9999,
            "measured epsilon, lower bounds": {k: round(v, 4) for k, v in figures.items()},
            "planted fault": round(caught, 4),
        },
    )


if __name__ == "__main__":
    main()
