"""How do the rates of the papers compare as records grow?

Draws ``docs/figures/rates.svg`` from ``tacit.planning.rates``: [LZCW21] Table 1 with Remarks 6, 12
and 29, and the first analysis of [BTT18]. Slopes count, not heights: constants and logarithms are
not known.

    python experiments/rates/run.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tacit.planning.rates import RISK_RATES, RiskRate

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


def main() -> None:
    # At tau = 1 the noise condition is as good as realizability: one line each is enough.
    shown = [rate for rate in RISK_RATES if rate.setting != "noise condition"]
    half = [rate for rate in RISK_RATES if rate.setting == "noise condition"]
    plot_rates(FIGURES / "rates.svg", shown)
    plot_rates(FIGURES / "rates_noise.svg", half, tau=0.5)


def plot_rates(
    path: Path,
    rates: Sequence[RiskRate],
    *,
    dimension: float = 10.0,
    tau: float = 1.0,
    theta: float = 5.0,
) -> None:
    """Draw the rates of excess error against each other, constants and logarithms left out."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    scaled = np.logspace(3, 9, 60)
    for rate in rates:
        values = [rate.at(n, dimension=dimension, tau=tau, theta=theta) for n in scaled]
        style = {"realizable": "-", "noise condition": "--"}.get(rate.setting, ":")
        label = f"{rate.method}, {rate.setting} [{rate.paper}]"
        axes.plot(scaled, np.minimum(values, 1.0), style, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("records times epsilon")
    axes.set_ylabel("excess error, up to constants and logarithms")
    axes.set_title(
        f"d = {dimension:g}, tau = {tau:g}, theta = {theta:g}: slopes count, not heights"
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    # No date and no random names in the file: the same picture gives the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
