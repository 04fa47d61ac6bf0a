"""Small charts as SVG text: bars and lines that take their colours from the page around them.

Every chart has a title and a description for those who do not see it. Texts are escaped here;
callers pass plain strings.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 640
_ROW = 26
_VALUE = 110
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 44
_LONGEST = 20


def escaped(text: object) -> str:
    """Return text that is safe in a page: markup escaped, unprintable characters replaced.

    Examples
    --------
    >>> escaped("<b>"), escaped(chr(27) + "[2J"), escaped(chr(0xD800))
    ('&lt;b&gt;', '\\ufffd[2J', '\\ufffd')
    """
    printable = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in str(text))
    return html.escape(printable)


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A segment of a bar: its length, the CSS class of its colour, and its title."""

    value: float
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class BarRow:
    """One horizontal bar: its name, its parts in order, and the text at its end."""

    name: str
    parts: tuple[BarSegment, ...]
    text: str


def bars(
    title: str, rows: Sequence[BarRow], *, total: float | None = None, width: int = WIDTH
) -> str:
    """Return horizontal bars, one per row, on one scale.

    Parameters
    ----------
    total : float, optional
        The value of a full bar, drawn as a frame behind each; by default the longest is full.
    width : int
        Of the drawing; a quarter of it is for names.
    """
    names = width // 4
    longest = max((sum(part.value for part in row.parts) for row in rows), default=0)
    full = max(total if total is not None else longest, 1e-12)
    scale = (width - names - _VALUE) / full
    drawn = []
    for place, row in enumerate(rows):
        y, x = place * _ROW, float(names)
        drawn.append(
            f'<text class="name" x="{names - 10}" y="{y + 17}" text-anchor="end">'
            f"{escaped(_short(row.name))}<title>{escaped(row.name)}</title></text>"
        )
        if total is not None:
            drawn.append(
                f'<rect class="frame" x="{names}" y="{y + 4}" width="{full * scale:.1f}" '
                'height="18" rx="2"/>'
            )
        for part in row.parts:
            wide = max(0.0, part.value * scale)
            drawn.append(
                f'<rect class="{part.style}" x="{x:.1f}" y="{y + 4}" width="{wide:.1f}" '
                f'height="18" rx="2"><title>{escaped(part.title)}</title></rect>'
            )
            x += wide
        end = names + full * scale if total is not None else x
        drawn.append(
            f'<text class="value" x="{end + 8:.1f}" y="{y + 17}">{escaped(row.text)}</text>'
        )
    description = "; ".join(f"{row.name}: {row.text}" for row in rows)
    return _svg(title, description, width, _ROW * len(rows), "".join(drawn))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart; a missing value leaves a gap."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line at ``x``, with a point on it where ``y`` is known."""

    name: str
    x: float
    y: float | None = None


def lines(
    title: str,
    xs: Sequence[float],
    series: Sequence[Line],
    *,
    x_name: str,
    y_name: str,
    logarithmic: bool = False,
    floor: float | None = None,
    mark: Mark | None = None,
) -> str:
    """Return lines over one axis of numbers; values are shares and shown as percentages.

    Parameters
    ----------
    logarithmic : bool
        Whether the horizontal axis is; then the ticks are the numbers given.
    floor : float, optional
        A horizontal line for comparison; the key of the chart names it.
    """
    height = 300
    values = [value for line in series for value in line.values if value is not None]
    values += [] if floor is None else [floor]
    values += [] if mark is None or mark.y is None else [mark.y]
    low = max(0.0, math.floor(min(values, default=0.0) * 10 - 0.5) / 10)
    across = _Scale([*xs, *([] if mark is None else [mark.x])], _LEFT, WIDTH - _RIGHT, logarithmic)
    up = _Scale([low, 1.0], height - _BOTTOM, _TOP, logarithmic=False)
    drawn = [_axes(across, up, low, xs if logarithmic else across.ticks(), x_name, y_name, height)]
    if floor is not None:
        y = up(floor)
        drawn.append(f'<path class="floor" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
    if mark is not None:
        drawn.append(_mark(mark, across, height))
    for number, line in enumerate(series):
        drawn.append(_line(number, line, xs, across, up))
    if mark is not None and mark.y is not None:
        place = f'cx="{across(mark.x):.1f}" cy="{up(mark.y):.1f}"'
        drawn.append(f'<circle class="here" {place} r="8"/>')
    description = "; ".join(_line_description(line, xs) for line in series)
    return _svg(title, description, WIDTH, height, "".join(drawn))


def swatch(number: int) -> str:
    """Return the sample of a line that stands in the key of a chart."""
    return (
        '<svg class="swatch" viewBox="0 0 34 14" width="34" height="14" aria-hidden="true">'
        f'<path class="line line{number % 6}" d="M1 7H33"/>{_dot(number, 17, 7)}</svg>'
    )


# ---- parts of charts --------------------------------------------------------------------------


class _Scale:
    """From numbers to places on the drawing."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, logarithmic: bool
    ) -> None:
        self._log = logarithmic
        self.low, self.high = min(values), max(values)
        ends = [self._on_axis(self.low), self._on_axis(self.high)]
        self._from, self._span = ends[0], (ends[1] - ends[0]) or 1.0
        self._start, self._end = start, end

    def _on_axis(self, value: float) -> float:
        return math.log(value) if self._log else value

    def __call__(self, value: float) -> float:
        part = (self._on_axis(value) - self._from) / self._span
        return self._start + part * (self._end - self._start)

    def ticks(self) -> list[float]:
        """Return about five round numbers on it."""
        step = 10 ** math.floor(math.log10(max(self.high - self.low, 1)))
        while (self.high - self.low) / step < 4:
            step /= 2
        first = math.ceil(self.low / step)
        return [at * step for at in range(first, math.floor(self.high / step) + 1)][:20]


def _axes(
    across: _Scale, up: _Scale, low: float, ticks: Sequence[float], x_name: str, y_name: str,
    height: int,
) -> str:  # fmt: skip
    drawn = []
    steps = round((1 - low) * 10)
    for tenth in range(0, steps + 1, 2 if steps > 5 else 1):
        value = low + tenth / 10
        y = up(value)
        drawn.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{value:.0%}</text>"
        )
    base = height - _BOTTOM
    for value in ticks:
        drawn.append(
            f'<text class="tick" x="{across(value):.1f}" y="{base + 16}" text-anchor="middle">'
            f"{value:g}</text>"
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    drawn.append(
        f'<path class="axis" d="M{_LEFT} {_TOP}V{base}H{WIDTH - _RIGHT}"/>'
        f'<text class="tick" x="{middle}" y="{height - 8}" text-anchor="middle">'
        f"{escaped(x_name)}</text>"
        f'<text class="tick" transform="translate(12 {(_TOP + base) / 2}) rotate(-90)" '
        f'text-anchor="middle">{escaped(y_name)}</text>'
    )
    return "".join(drawn)


def _line(number: int, line: Line, xs: Sequence[float], across: _Scale, up: _Scale) -> str:
    path, dots, pen = "", "", "M"
    for x, value in zip(xs, line.values, strict=True):
        if value is None:
            pen = "M"
            continue
        path += f"{pen}{across(x):.1f} {up(value):.1f}"
        dots += _dot(number, across(x), up(value), f"{line.name}: {value:.1%} at {x:g}")
        pen = "L"
    return f'<path class="line line{number % 6}" d="{path}"/>{dots}' if path else ""


def _dot(number: int, x: float, y: float, description: str = "") -> str:
    """A mark of its own for each line, so that lines are distinct without colours."""
    shape = (
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
        "m-3.5-3.5h7v7h-7z",
        "m0-4.5l4.5 8h-9z",
        "m0-5l5 5l-5 5l-5-5z",
        "m0 4.5l4.5-8h-9z",
        "m-1.3-4.5h2.6v9h-2.6z",
    )[number % 6]
    title = f"<title>{escaped(description)}</title>" if description else ""
    return f'<path class="dot dot{number % 6}" d="M{x:.1f} {y:.1f}{shape}">{title}</path>'


def _mark(mark: Mark, across: _Scale, height: int) -> str:
    x = across(mark.x)
    left = x > WIDTH / 2
    anchor, at = ("end", x - 8) if left else ("start", x + 8)
    return (
        f'<path class="mark" d="M{x:.1f} {_TOP}V{height - _BOTTOM}"/>'
        f'<text class="marked" x="{at:.1f}" y="{height - _BOTTOM - 8}" text-anchor="{anchor}">'
        f"{escaped(mark.name)}</text>"
    )


def _line_description(line: Line, xs: Sequence[float]) -> str:
    pairs = zip(xs, line.values, strict=True)
    return f"{line.name}: " + ", ".join(f"{v:.0%} at {x:g}" for x, v in pairs if v is not None)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\u2026"


def _svg(title: str, description: str, width: int, height: int, drawn: str) -> str:
    return (
        f'<svg class="chart" style="max-width:{1.15 * width:.0f}px" viewBox="0 0 {width} {height}" '
        'role="img" '
        f'aria-label="{escaped(f"{title}. {description}")}">'
        f"<desc>{escaped(description)}</desc>{drawn}</svg>"
    )
