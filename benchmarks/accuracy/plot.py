"""Draw ``docs/images/peers.svg`` from the rows in ``results/accuracy/``: error over epsilon.

    python -m benchmarks.accuracy.plot --splits 200:220

One panel for every data set; every method with the settings that were chosen for all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from benchmarks._record import ROOT
from benchmarks.accuracy.choose import Choice, chosen
from benchmarks.accuracy.data import DATA
from benchmarks.accuracy.methods import METHODS
from benchmarks.accuracy.rows import Row, read
from benchmarks.accuracy.run import EPSILONS
from benchmarks.accuracy.table import accuracies, lines

FIGURE = ROOT / "docs" / "images" / "peers.svg"
# Letters stay letters, which keeps the file small; the salt makes it the same every time.
_STYLE = {"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8.5}
_LOOKS = {
    "tacit-rounds": ("o-", "C0"),
    "tacit-built-in": ("s-", "C2"),
    "tacit": ("^-", "C9"),
    "dp-gd-public": ("v--", "C3"),
    "dp-gd-raw": (">--", "C1"),
    "opacus": ("D--", "C4"),
    "diffprivlib": ("x--", "C5"),
    "psq": ("+:", "C7"),
    "asq": ("1:", "C7"),
    "confident": ("2:", "C7"),
}
"""Ours solid, white boxes dashed, votes as published dotted."""
_WIDEST_ERROR = 0.4
"""Lines that start above this are left out: they are no models, and would press the others flat."""


def draw(rows: Sequence[Row], splits: Collection[int], path: Path = FIGURE) -> None:
    """Write one figure with a panel for every data set that has rows."""
    names = [name for name in DATA if any(row.data == name for row in rows)]
    choices = chosen()
    with plt.rc_context(_STYLE):
        figure, panels = plt.subplots(
            1, len(names), figsize=(2.4 * len(names), 4.2), layout="constrained", squeeze=False
        )
        for axes, data in zip(panels[0], names, strict=True):
            _panel(axes, data, rows, choices, splits)
        panels[0][0].set_ylabel("test error")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, fontsize=7.5, frameon=False
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _panel(
    axes: Any,
    data: str,
    rows: Sequence[Row],
    choices: Mapping[str, Choice],
    splits: Collection[int],
) -> None:
    bare = accuracies(rows, lines("logistic", data, choices)[0], data, 1.0, splits)
    if bare:
        floor = 1 - float(np.mean(list(bare.values())))
        axes.axhline(floor, color="black", lw=0.8, label=METHODS["logistic"].title)
    for name, (style, colour) in _LOOKS.items():
        line = lines(name, data, choices)[0]
        levels = [accuracies(rows, line, data, epsilon, splits) for epsilon in EPSILONS]
        errors = [1 - np.array(list(level.values())) for level in levels if level]
        if len(errors) == len(EPSILONS) and errors[0].mean() < _WIDEST_ERROR:
            axes.errorbar(
                range(len(EPSILONS)),
                [error.mean() for error in errors],
                [error.std() / max(1, len(error) - 1) ** 0.5 for error in errors],
                fmt=style,
                color=colour,
                ms=4,
                lw=1,
                capsize=2,
                label=METHODS[name].title,
            )
    axes.set_yscale("log")
    axes.set_xticks(range(len(EPSILONS)), [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.yaxis.set_major_formatter("{x:g}")
    low, high = axes.get_ylim()
    narrow = high < 10 * low
    axes.yaxis.set_minor_formatter("{x:g}" if narrow else "")
    axes.tick_params(axis="y", which="minor", labelsize=6.5)
    axes.set(xlabel="epsilon", title=data)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", default="200:220", help="first:last+1 seeds")
    arguments = parser.parse_args()
    splits = range(*map(int, arguments.splits.split(":")))
    draw([row for name in METHODS for row in read(name) if row.split in splits], splits)


if __name__ == "__main__":
    main()
