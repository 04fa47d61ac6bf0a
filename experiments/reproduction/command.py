"""What the commands of the reproduction share: options, places, means and tables."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._record import ROOT, write


def parser(about: str | None, *, splits: str = "0:30") -> argparse.ArgumentParser:
    """Return a parser with the options every command has."""
    made = argparse.ArgumentParser(description=(about or "").split("\n")[0])
    made.add_argument("--splits", default=splits, help="first:last+1 seeds of default_rng")
    made.add_argument("--jobs", type=int, default=1, help="processes")
    made.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs")
    made.add_argument("--out", type=Path, default=ROOT, help="where results/ and docs/ are")
    return made


def seeds(text: str) -> range:
    """Return the seeds of "first:last+1".

    Seeds 100 to 119 and 200 to 219 are kept for other experiments, whose splits no choice may
    have seen.
    """
    first, last = map(int, text.split(":"))
    kept = [seed for seed in range(first, last) if 100 <= seed < 120 or 200 <= seed < 220]
    if kept:
        raise SystemExit(f"Splits {kept[0]} to {kept[-1]} are kept for other experiments.")
    return range(first, last)


def interval(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95% interval, 1.96 standard errors."""
    found = np.array(list(values), dtype=float)
    if len(found) < 2:
        return float(found.mean()), float("nan")
    return float(found.mean()), float(1.96 * found.std(ddof=1) / np.sqrt(len(found)))


def shown(values: Iterable[float], digits: int = 4) -> str:
    """Return mean and 95% interval as text."""
    mean, half = interval(values)
    if half == 0:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def write_table(out: Path, name: str, text: str) -> None:
    """Write a table where the documentation includes it from."""
    path = out / "docs" / "figures" / f"reproduction_{name}.inc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_summary(out: Path, module: str, name: str, figures: dict[str, Any]) -> None:
    """Write ``results/reproduction_<name>.json`` with command, commit and machine."""
    said = shlex.join(["python", "-m", module.removesuffix(".__main__"), *sys.argv[1:]])
    write(f"reproduction_{name}", {"command": said, **figures}, folder=out / "results")
