"""Pictures of frontiers. Needs matplotlib: the extra ``plots``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from tacit.errors import InvalidArgument
from tacit.planning.frontier import SHARES, Frontier


def plot_frontier(curves: Frontier, path: str | Path) -> Path:
    """Draw predicted accuracy against epsilon to a file; its ending names the format."""
    figure, axes = _figure()
    for name in curves.lines:
        style = "--" if name == SHARES else "-"
        axes.plot(curves.epsilons, curves.values(name), style, marker="o", label=name)
    axes.axhline(curves.baseline, color="grey", linewidth=1, label="guessing one class")
    axes.set_xscale("log")
    axes.set_xticks(curves.epsilons, [f"{epsilon:g}" for epsilon in curves.epsilons])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"epsilon (delta {curves.delta:g})")
    axes.set_ylabel("predicted accuracy of the labels")
    axes.set_title("Refused questions count as guesses; shares as averaged by a student")
    return _save(figure, axes, path)


def check_path(path: str | Path) -> None:
    """Refuse, before any work, a picture that could not be drawn or written."""
    figure, _ = _figure()
    _format(figure, Path(path))
    if not Path(path).resolve().parent.is_dir():
        raise InvalidArgument(f"`path` must be in a folder that exists, got {str(path)!r}.")


def _figure() -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidArgument(
            "`plot` needs matplotlib: pip install '.[plots]' in the checkout."
        ) from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    return figure, figure.add_subplot()


def _style() -> Any:
    import matplotlib

    # Letters stay letters: smaller files, and text that can be searched.
    return matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit"})


def _format(figure: Any, path: Path) -> str:
    kind = path.suffix.lstrip(".").lower()
    known = sorted(figure.canvas.get_supported_filetypes())
    if kind not in known:
        raise InvalidArgument(
            f"`path` must end in a format that can be drawn ({', '.join(known)}), got "
            f"{path.name!r}."
        )
    return str(kind)


def _save(figure: Any, axes: Any, path: str | Path) -> Path:
    """Write the picture in one go: a file is complete or not there."""
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    target = Path(path)
    kind = _format(figure, target)
    drawn = io.BytesIO()
    # No date and no random names in the file: the same picture gives the same bytes.
    metadata = {"Date": None} if kind == "svg" else None
    with _style():
        figure.savefig(drawn, format=kind, metadata=metadata)
    try:
        target.write_bytes(drawn.getvalue())
    except OSError as error:
        raise InvalidArgument(
            f"`path` {str(target)!r} cannot be written: {error.strerror}."
        ) from error
    return target
