"""How surely each planted bug is caught: ``python -m tests.support.power results/x.json``."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from tests.support.planted_bugs import BUGS

from tacit import __version__
from tacit.audit.contracts import STATISTICAL_SHARE, findings_of
from tacit.audit.estimates import in_parallel
from tacit.audit.evidence import FALSE_ALARM, p_values
from tacit.audit.subjects import EXAMPLES

__all__ = ["main", "one_case"]

_FIRST_SEEDS = 5

# Bugs that only the source of secure noise has cannot be seen with seeded noise.
_IN_SECURE_NOISE = {"floating_point_noise", "secure_noise_seeded"}


def one_case(case: tuple[str, str, int]) -> dict[str, Any]:
    """Plant one bug for one example, check with several seeds, and count.

    A bug that the certain checks find with each of the first seeds is not tried with more: chance
    plays no part in it.
    """
    name, example, most = case
    bug, caught, certain, margins = BUGS[name], 0, 0, []
    for seed in range(most):
        if certain == seed == _FIRST_SEEDS:
            break
        with bug.plant():
            found = findings_of(EXAMPLES[example], seed=seed, secure=name in _IN_SECURE_NOISE)
        margin = -math.inf
        if found.trials:
            smallest = max(float(p_values(found.trials).min()), 1e-300)
            margin = math.log10(STATISTICAL_SHARE / len(found.trials) / smallest)
        certain += bool(found.problems)
        caught += bool(found.problems) or margin > 0
        margins.append(margin)
    seeds = len(margins)
    return {
        "bug": name,
        "named": bug.named,
        "example": example,
        "seeds": seeds,
        "caught": caught,
        "caught_without_statistics": certain,
        # An exact 95% upper limit on the chance of a miss.
        "miss_at_most": _upper(seeds - caught, seeds),
        # By how many powers of ten the weakest of the seeds cleared the level of the tests.
        "smallest_margin_decades": None if certain == seeds else round(min(margins), 2),
    }


def _upper(misses: int, n: int) -> float:
    from scipy import special

    return 1.0 if misses == n else float(special.betainccinv(misses + 1, n - misses, 0.05))


def main(log: str, seeds: int = 50, jobs: int = -1) -> int:
    """Measure every case, write the log, and return how many cases missed a seed."""
    cases = [(bug.name, example, seeds) for bug in BUGS.values() for example in bug.examples]
    rows = in_parallel(one_case, cases, jobs=jobs, label="planted bugs")
    report = {"version": __version__, "false_alarm_per_check": FALSE_ALARM, "cases": rows}
    Path(log).write_text(json.dumps(report, indent=1) + "\n")
    missed = [row for row in rows if row["caught"] < row["seeds"]]
    for row in missed:
        print(f"{row['bug']} in {row['example']}: {row['caught']} of {row['seeds']}")
    return len(missed)


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1], *map(int, sys.argv[2:]))))
