"""Small line plots for the documentation, from the figures that are written to ``results/``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def draw(
    name: str,
    *,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    x: str,
    y: str,
    levels: Mapping[str, float] | None = None,
    dashed: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    log_y: bool = False,
) -> None:
    """Write ``docs/images/<name>.svg``: a line per entry, over a logarithmic axis."""
    # The same figures give the same file; letters stay letters, which keeps it small.
    plt.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for label, points in lines.items():
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3.5, label=label)
    axes.set_prop_cycle(None)
    for label, points in (dashed or {}).items():
        axes.plot(*zip(*points, strict=True), linestyle="--", linewidth=1, label=label)
    for label, level in (levels or {}).items():
        axes.axhline(level, color="black", linewidth=0.8, linestyle=":", label=label)
    axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
        axes.margins(y=0.1)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(fontsize=7.5, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
