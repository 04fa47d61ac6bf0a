"""Write the tables of ``docs/results/peers.md`` from the rows in ``results/accuracy/``.

    python -m benchmarks.accuracy.table --splits 200:220

Means over splits with their standard errors, and differences to one of our routes, paired by split.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._record import ROOT
from benchmarks.accuracy.choose import CHOSEN, Choice, chosen
from benchmarks.accuracy.data import DATA
from benchmarks.accuracy.methods import METHODS
from benchmarks.accuracy.rows import FOLDER, Row, as_text, read
from benchmarks.accuracy.run import EPSILONS

PAGE = ROOT / "docs" / "results" / "peers.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
REFERENCE = "tacit-built-in"
"""The route of ours that differences are taken to."""
Line = tuple[str, str, str]
"""A line of a table: method, settings as text, and how they were chosen."""
Accuracies = dict[int, float]


def lines(name: str, data: str, choices: Mapping[str, Choice]) -> list[Line]:
    """Return a method's lines: what was chosen for all data sets, and what else may interest."""
    method, choice = METHODS[name], choices.get(name)
    if choice is None:
        how = f", {method.first or 'not tuned'}" if method.tuned else ""
        return [(name, as_text(method.settings[0]), how)]
    wanted = {"": choice["all"]}
    if method.first:
        wanted[f", {method.first}"] = method.settings[0]
    if data in choice["each"]:
        wanted[", chosen on this set"] = choice["each"][data]
    found: dict[str, str] = {}
    for how, settings in wanted.items():
        found.setdefault(as_text(settings), how)  # the same settings are one line
    return [(name, text, how) for text, how in found.items()]


def accuracies(
    rows: Sequence[Row], line: Line, data: str, epsilon: float, splits: Collection[int]
) -> Accuracies:
    """Return the accuracy on every split; without privacy it is the same at every epsilon."""
    name, text, _ = line
    level = epsilon if METHODS[name].private else None
    return {
        row.split: row.accuracy
        for row in rows
        if (row.method, row.data, row.epsilon, row.settings) == (name, data, level, text)
        and row.split in splits
    }


def mean_and_error(values: Sequence[float]) -> str:
    """Return ``mean ± standard error``, or the mean alone of a single value.

    Examples
    --------
    >>> mean_and_error([0.5, 0.7])
    '.6000 ± .1000'
    >>> mean_and_error([])
    '-'
    """
    if not values:
        return "-"
    mean = _short(float(np.mean(values)))
    if len(values) == 1:
        return mean
    return f"{mean} ± {_short(float(np.std(values, ddof=1) / len(values) ** 0.5))}"


def _short(value: float) -> str:
    return f"{value:.4f}".replace("0.", ".", 1)


def difference(one: Accuracies, two: Accuracies) -> Accuracies:
    """Return one minus two on every split that both have."""
    return {split: one[split] - two[split] for split in sorted(one.keys() & two.keys())}


def tables(
    rows: Sequence[Row],
    choices: Mapping[str, Choice],
    splits: Collection[int],
    reference: str,
    names: Sequence[str] = tuple(DATA),
) -> str:
    """Return two tables for every data set, as Markdown."""
    return "\n".join(_for_data(rows, choices, splits, reference, data) for data in names)


def _for_data(
    rows: Sequence[Row],
    choices: Mapping[str, Choice],
    splits: Collection[int],
    reference: str,
    data: str,
) -> str:
    every = [line for name in METHODS for line in lines(name, data, choices)]
    found = {
        line: [accuracies(rows, line, data, epsilon, splits) for epsilon in EPSILONS]
        for line in every
    }
    found = {line: levels for line, levels in found.items() if any(levels)}
    ours = next((levels for line, levels in found.items() if line[0] == reference), None)
    text = [f"### {data}", "", *_table(found)]
    if ours is not None:
        others = {
            line: [difference(one, two) for one, two in zip(levels, ours, strict=True)]
            for line, levels in found.items()
            if line[0] != reference
        }
        title = METHODS[reference].title
        text += [
            f"Minus *{title}*, paired by split (above 0: better than it):",
            "",
            *_table(others),
        ]
    return "\n".join(text)


def _table(found: Mapping[Line, Sequence[Accuracies]]) -> list[str]:
    head = " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS)
    text = [f"| method | {head} |", "|---|" + "---|" * len(EPSILONS)]
    most = max((len(level) for levels in found.values() for level in levels), default=0)
    for (name, _, how), levels in found.items():
        cells = " | ".join(mean_and_error(list(level.values())) for level in levels)
        splits = max(map(len, levels))
        counted = f" ({splits} splits)" if splits < most else ""
        text.append(f"| {METHODS[name].title}{how}{counted} | {cells} |")
    return [*text, ""]


def settings_used(choices: Mapping[str, Choice]) -> str:
    """Return a table of what was chosen for all data sets."""
    text = ["| method | tried | on splits | chosen for all data sets |", "|---|---|---|---|"]
    for name, choice in choices.items():
        chosen_ = ", ".join(f"{key} {value}" for key, value in choice["all"].items())
        splits = f"{choice['splits'][0]} to {choice['splits'][-1]}"
        text.append(f"| {METHODS[name].title} | {choice['tried']} | {splits} | {chosen_} |")
    return "\n".join([*text, ""])


def put(page: str, made: str) -> str:
    """Return the page with what stands between the marks replaced."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"


def made(splits: Collection[int], reference: str, folder: Path = FOLDER) -> str:
    """Return all tables from the rows and the choices on disk."""
    choices: dict[str, Any] = chosen() if CHOSEN.exists() else {}
    known = {name: choice for name, choice in choices.items() if name in METHODS}
    rows = [row for name in METHODS for row in read(name, folder) if row.split in splits]
    if not rows:
        return "These splits have not been measured yet.\n"
    names = [name for name in DATA if any(row.data == name for row in rows)]
    found = tables(rows, known, splits, reference, names)
    return found + "\n### Settings\n\n" + settings_used(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", default="200:220", help="first:last+1 seeds")
    parser.add_argument("--reference", choices=METHODS, default=REFERENCE)
    parser.add_argument("--print", action="store_true", help="show the tables, write nothing")
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    found = made(range(first, last), arguments.reference)
    if arguments.print:
        print(found)
    else:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
