"""[LZCW21] Table 3: sizes of the data sets, and the noise they lead to.

    python -m experiments.reproduction.table3

Look for: the same numbers as printed. The columns of noise are not in the paper: sigma of the
Gaussian vote at each epsilon, by exact calibration (what Table 4 used) and by the zCDP formula of
Algorithm 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks._record import ROOT

from tacit.errors import DataUnavailable

from .command import markdown, write_summary, write_table
from .data import load
from .protocol import CALIBRATIONS, Sizes
from .published import EPSILONS, METHODS, TABLE_3

HEAD = ("data", "all", "private", "pool", "budget", "test", "features", "as printed")


def measured(name: str, path: Path | None) -> tuple[tuple[int, ...], str]:
    """Return the row of Table 3 as the files here give it, and how it compares."""
    data = load(name, path)
    sizes = Sizes.of(len(data.y))
    row = (sizes.every, sizes.private, sizes.pool, sizes.budget, sizes.test, data.X.shape[1])
    if name not in TABLE_3:
        return row, "not in the paper"
    return row, "yes" if row == TABLE_3[name] else f"no: {TABLE_3[name]}"


def noise(sizes: Sizes) -> list[dict[str, Any]]:
    """Return sigma of every private row of Table 4."""
    return [
        {
            "method": method,
            "answers": sizes.planned(method),
            "epsilon": epsilon,
            **{name: round(sizes.vote(method, epsilon, name).sigma, 3) for name in CALIBRATIONS},
        }
        for method in METHODS
        for epsilon in EPSILONS
        if epsilon is not None
    ]


def noise_table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return a line per data set and method: sigma at the three epsilons, both ways."""
    rows = []
    for name, sigmas in found.items():
        for method in METHODS:
            mine = [one for one in sigmas if one["method"] == method]
            both = [" / ".join(f"{one[how]:.1f}" for one in mine) for how in CALIBRATIONS]
            rows.append([name, method, mine[0]["answers"], *both])
    head = ("data", "method", "answers", "sigma, exact", "sigma, zCDP as printed")
    return markdown(head, rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", nargs="*", default=[*TABLE_3, "newsgroups"])
    parser.add_argument("--path", type=Path, help="the file of real-sim")
    parser.add_argument("--out", type=Path, default=ROOT, help="where results/ and docs/ are")
    given = parser.parse_args(arguments)
    rows, skipped = {}, {}
    for name in given.data:
        try:
            rows[name] = measured(name, given.path)
        except DataUnavailable as reason:
            skipped[name] = str(reason)
    shown = [
        (name, *(f"{n:,}" for n in row), as_printed) for name, (row, as_printed) in rows.items()
    ]
    # Sizes are public: the noise for a set that is not here is known all the same.
    everything = {name: row[0] for name, (row, _) in rows.items()}
    everything |= {name: TABLE_3[name][0] for name in skipped if name in TABLE_3}
    sigmas = {name: noise(Sizes.of(n)) for name, n in everything.items()}
    tables = markdown(HEAD, shown) + "\n" + noise_table(sigmas)
    print(tables)
    for name, reason in skipped.items():
        print(f"skipped {name}: {reason}")
    write_table(given.out, "table3", tables)
    write_summary(
        given.out,
        "experiments.reproduction.table3",
        "table3",
        {
            "rows": {name: [list(row), printed] for name, (row, printed) in rows.items()},
            "skipped": sorted(skipped),
            "sigma": sigmas,
        },
    )


if __name__ == "__main__":
    main()
