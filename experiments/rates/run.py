"""How do the rates of the papers compare as records grow?

Draws ``docs/figures/rates.svg`` from ``tacit.planning.rates``: [LZCW21] Table 1 with Remarks 6, 12
and 29, and the first analysis of [BTT18]. Slopes count, not heights: constants and logarithms are
not known.

    python experiments/rates/run.py
"""

from __future__ import annotations

from pathlib import Path

from tacit.planning.plots import plot_rates
from tacit.planning.rates import RISK_RATES

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"


def main() -> None:
    # At tau = 1 the noise condition is as good as realizability: one line each is enough.
    shown = [rate for rate in RISK_RATES if rate.setting != "noise condition"]
    half = [rate for rate in RISK_RATES if rate.setting == "noise condition"]
    plot_rates(FIGURES / "rates.svg", rates=shown)
    plot_rates(FIGURES / "rates_noise.svg", rates=half, tau=0.5)


if __name__ == "__main__":
    main()
