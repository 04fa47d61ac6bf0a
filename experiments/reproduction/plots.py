"""The plots of the reproduction: small SVG files, the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from .published import METHODS, STAND_IN

# Letters stay letters, which keeps the files small.
STYLE = {"svg.hashsalt": "tacit", "svg.fonttype": "none", "font.size": 8.5}
PLACES = (0.5, 1.0, 2.0, None)
LINES = (
    ("logistic", "logistic", "exact", "o-", "C0"),
    ("logistic, no penalty", "no penalty", "exact", "^-", "C2"),
    ("one-pass", "one-pass", "exact", "s-", "C1"),
    ("logistic, noise as printed", "logistic", "zcdp", "o:", "C0"),
)
"""What is drawn of Table 4: label, student, calibration, style, colour."""


@contextmanager
def _two_panels(out: Path, name: str, *, sharey: bool = False) -> Iterator[Any]:
    """Give two axes side by side, and write them to ``docs/images`` at the end."""
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=sharey, layout="constrained")
        yield panels
        for axes in panels:
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(fontsize=7, frameon=False)
        path = out / "docs" / "images" / f"reproduction_{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def table4(
    out: Path, name: str, stem: str, rows: Sequence[dict[str, Any]], larger_class: float
) -> None:
    """Draw accuracy over epsilon, the paper's beside ours, a panel for each method."""
    ordered = sorted(rows, key=lambda row: PLACES.index(row["epsilon"]))
    with _two_panels(out, stem, sharey=True) as panels:
        for axes, method in zip(panels, METHODS, strict=True):
            _accuracies(axes, name, [row for row in ordered if row["method"].startswith(method)])
            axes.axhline(larger_class, color="grey", lw=0.8, ls=":", label="larger class")
            axes.set_xticks(range(len(PLACES)), ["0.5", "1", "2", "no noise"])
            axes.set(xlabel="epsilon", title=f"PATE-{method}, {name}")
        panels[0].set_ylabel("test accuracy")


def _accuracies(axes: Any, name: str, rows: Sequence[dict[str, Any]]) -> None:
    for label, student, calibration, style, colour in LINES:
        mine = [row for row in rows if row["calibration"] == calibration]
        places = [PLACES.index(row["epsilon"]) for row in mine]
        means = [row[student]["accuracy"][0] for row in mine]
        halves = [row[student]["accuracy"][1] or 0.0 for row in mine]
        axes.errorbar(
            places, means, halves, fmt=style, color=colour, ms=3.5, lw=1, capsize=2, label=label
        )
    paper = [row for row in rows if row["calibration"] == "exact" and row["paper"]]
    if paper:
        said = f"paper, on {STAND_IN[name]}" if name in STAND_IN else "paper"
        places = [PLACES.index(row["epsilon"]) for row in paper]
        axes.plot(places, [row["paper"] for row in paper], "kx--", ms=5, lw=0.8, label=said)


def margins(out: Path, name: str, edges: Any, shares: Mapping[str, Any]) -> None:
    """Draw two histograms over splits: bars are means, whiskers 95% intervals."""
    with _two_panels(out, name) as panels:
        for axes, (label, (means, halves)) in zip(panels, shares.items(), strict=True):
            low, high = edges[label][:-1], edges[label][1:]
            axes.bar(low, means, np.subtract(high, low), align="edge", color="C0", label=label)
            middle = np.add(low, high) / 2
            axes.errorbar(middle, means, halves, fmt="none", ecolor="black", elinewidth=0.7)
            axes.set(xlabel=label, ylabel="share of the queries")


def cumulated(out: Path, name: str, panels_of: Mapping[str, Any]) -> None:
    """Draw cumulated agreement with h* over cumulated margin, in one panel each."""
    with _two_panels(out, name) as panels:
        for axes, (title, (x, means, halves)) in zip(panels, panels_of.items(), strict=True):
            axes.errorbar(x, means, halves, fmt="o", ms=2.5, lw=0.8, capsize=1.5, label="30 splits")
            axes.plot([0, max(x)], [0, max(x)], "k:", lw=0.8, label="every majority agrees with h*")
            axes.set(xlabel="cumulated margin", ylabel="cumulated agreement with h*", title=title)


def votes(out: Path, name: str, panels_of: Mapping[str, Any]) -> None:
    """Draw errors over the number of voters: measured with intervals, and computed."""
    with _two_panels(out, name) as panels:
        for axes, (title, drawn) in zip(panels, panels_of.items(), strict=True):
            for label, (x, means, halves) in drawn["measured"].items():
                axes.errorbar(x, means, halves, fmt="o", ms=3.5, capsize=2, label=label)
            for label, (x, values) in drawn["computed"].items():
                axes.plot(x, values, lw=0.9, label=label)
            for label, level in drawn["levels"].items():
                axes.axhline(level, color="grey", lw=0.8, ls=":", label=label)
            axes.set(xlabel="voters", ylabel="error", title=title, xscale="log", ylim=(0, None))
