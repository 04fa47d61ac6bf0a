"""Print the tables of ``docs/queries-per-budget.md`` from the files in ``results/``.

python experiments/queries_per_budget/tables.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import RESULTS

BAR = "0.95"
FAMILIES = (
    "gaussian, priced as labels",
    "gaussian, priced as counts",
    "exponential",
    "laplace",
    "confident",
    "distance test, every question paid",
    "sparse vector, tight threshold",
    "sparse vector, paper's threshold",
)


def read(part: str) -> dict[str, Any]:
    """Return one of the result files."""
    found: dict[str, Any] = json.loads((RESULTS / f"queries_per_budget_{part}.json").read_text())
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(estimate: Sequence[float], digits: int = 0) -> str:
    """Return a mean with its standard error; a digit more where the error is below one."""
    mean, error = estimate
    places = max(digits, 1 if error < 1 else 0)
    return f"{mean:,.{places}f} ± {error:.{places}f}"


def labels(names: Sequence[str]) -> str:
    """Return right labels at the bar (best of the sweep), then by the rule with the share right."""
    sets = read("labels")["sets"]

    def best(name: str, family: str) -> str:
        if family not in sets[name]:
            return ""
        found = sets[name][family]["best of the sweep, by share right"][BAR]
        if found is None:
            return "0"
        reached = found["asked"][0] >= 0.999 * sets[name]["questions"]
        return number(found["right"]) + (" (all)" if reached else "")

    def rule(name: str, family: str) -> str:
        if family not in sets[name]:
            return ""
        found = sets[name][family]["rule"]
        if found is None:
            return "none"
        share = found["share right"]
        return number(found["right"]) + (f" at {share:.2f}" if share is not None else "")

    head = ["", *(f"{name} (K = {sets[name]['teachers']})" for name in names)]
    by_looking = table(head, ([f, *(best(n, f) for n in names)] for f in FAMILIES))
    by_rule = table(head, ([f, *(rule(n, f) for n in names)] for f in FAMILIES))
    return f"best of the sweep at {BAR}\n\n{by_looking}\nby the rule\n\n{by_rule}"


def hard() -> str:
    """Return the three parts on hard questions."""
    curves = read("generated")["lines"]
    alphas = [f"{row['alpha']:.2g}" for row in curves["2 w"]["curve"]]
    ideal = [f"{row['T/alpha']:,.0f}" for row in curves["2 w"]["curve"]]
    rows = [
        [name, f"{line['false refusal']:.2g}", *(number(row["answered"]) for row in line["curve"])]
        for name, line in curves.items()
    ]
    first = table(
        ["easy distance", "refused although easy", *alphas], [["T/alpha", "0", *ideal], *rows]
    )
    second = table(
        ["distance", "composition", "gaussian", "T", "beats composition", "beats gaussian"],
        (
            [
                f"{row['distance']:,}",
                f"{row['composition']:,}",
                f"{row['gaussian, priced as labels']:,}",
                str(row["largest cut-off with w below the distance"]),
                str(row["beats composition below alpha"]),
                str(row["beats gaussian below alpha"]),
            ]
            for row in read("crossovers")["rows"]
        ),
    )
    third = table(
        ["votes", "alpha", "T/alpha", "sparse vector", "gaussian"],
        (
            [
                name,
                f"{row['alpha']:.2g}",
                f"{row['T/alpha']:,.0f}",
                number(row["answered"]),
                str(row["gaussian at share right .95"]),
            ]
            for name, line in read("thinned")["votes"].items()
            for row in line["curve"]
        ),
    )
    return f"{first}\n{second}\n{third}"


def overlap() -> str:
    """Return what is refused of what is asked."""
    rows = []
    for name, found in read("overlap")["sets"].items():
        rows.append(
            [
                name,
                f"{found['teachers'][0]:.0f}",
                f"{found['cut-off'][0]:.0f}, {found['threshold'][0]:.0f}",
                *(
                    number(found[key], 3)
                    for key in (
                        "refused, random",
                        "refused, margin",
                        "refused, diverse-margin",
                        "diverse-margin - random",
                        "refusals asked, random",
                        "refusals asked, margin",
                        "refusals asked, diverse-margin",
                    )
                ),
            ]
        )
    head = ["set", "K", "T, w", "random", "margin", "diverse", "diverse - random"]
    return table([*head, "asked: random", "margin", "diverse"], rows)


def vote_dependent() -> str:
    """Return the best setting at the bar, with every epsilon beside it."""
    rows = []
    for path in sorted(RESULTS.glob("queries_per_budget_vote_dependent_*.json")):
        found = json.loads(path.read_text())
        name = path.stem.rpartition("_")[2]
        best = found["best of the sweep, by share right"][BAR]
        row = found["settings"][best]
        rows.append(
            [
                name,
                best,
                number(row["right"]),
                number(row["worst-case epsilon of the same labels"], 2),
                number(row["released value"], 2),
                number(row["released upper"], 2),
                number(row["released worst case"], 2),
            ]
        )
    head = ["votes", "best setting", "right labels", "worst-case epsilon"]
    return table([*head, "released value", "released upper", "released worst case"], rows)


def main() -> None:
    print(labels(["mnist", "svhn", "adult"]))
    for name in ("mushrooms", "a9a", "newsgroups-2"):
        print(labels([f"{name}, {kind}" for kind in ("paper", "default", "small shards")]))
    print(hard())
    print(overlap())
    print(vote_dependent())


if __name__ == "__main__":
    main()
