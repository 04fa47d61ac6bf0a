"""Choose every method's settings from its rows on development splits.

    python -m benchmarks.accuracy.choose --splits 0:5

One choice for all data sets and epsilons: the best mean accuracy over all of them. Beside it, for
each data set, the settings that were best there: an optimistic bound, since nobody could choose so
without spending budget. Both go to ``chosen.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.methods import METHODS, Method
from benchmarks.accuracy.rows import FOLDER, Row, as_text, read

CHOSEN = Path(__file__).with_name("chosen.json")
Choice = dict[str, Any]


def choose(method: Method, rows: Sequence[Row], splits: Collection[int]) -> Choice:
    """Return what was best over all data sets, and on each; only settings tried everywhere count.

    Parameters
    ----------
    rows : sequence of Row
        Of this method.
    splits : collection of int
        Those that may be looked at.
    """
    offered = [as_text(settings) for settings in method.settings]
    seen = [row for row in rows if row.split in splits and row.settings in offered]
    names = sorted({row.data for row in seen})
    means = {
        settings: {name: _mean(seen, settings, name) for name in names} for settings in offered
    }
    # max takes the first of equals, in the order of the list.
    overall = max(offered, key=lambda settings: np.mean(list(means[settings].values())))
    each = {name: max(offered, key=lambda s: means[s][name]) for name in names}
    return {
        "all": json.loads(overall),
        "each": {name: json.loads(settings) for name, settings in each.items()},
        "tried": len(offered),
        "data": names,
        "splits": sorted({row.split for row in seen}),
    }


def _mean(rows: Sequence[Row], settings: str, name: str) -> float:
    """Return the mean accuracy; settings that were not tried wherever others were cannot win."""
    places = {(row.split, row.epsilon) for row in rows if row.data == name}
    found = [row.accuracy for row in rows if row.settings == settings and row.data == name]
    return float(np.mean(found)) if len(found) == len(places) else -np.inf


def chosen(path: Path = CHOSEN) -> dict[str, Choice]:
    """Return what was chosen."""
    found: dict[str, Choice] = json.loads(path.read_text())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", default="0:5", help="first:last+1 seeds")
    tuned = [name for name, method in METHODS.items() if method.tuned]
    parser.add_argument("--methods", default=",".join(tuned), help=", ".join(tuned))
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    found = chosen() if CHOSEN.exists() else {}
    for name in arguments.methods.split(","):
        rows = read(name, FOLDER)
        if rows:
            found[name] = choose(METHODS[name], rows, range(first, last))
            print(name, json.dumps(found[name]["all"]))
    CHOSEN.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
