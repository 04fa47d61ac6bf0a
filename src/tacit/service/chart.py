"""A bar chart of answers and refusals by the hour: numbers for a drawing, and for a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 440, 160


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour: where its two parts are drawn, and what they say."""

    ago: int
    answered: int
    refused: int
    x: float
    width: float
    answered_y: float
    answered_height: float
    refused_y: float
    refused_height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """All bars, and the largest total."""

    bars: tuple[Bar, ...]
    largest: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def busy(self) -> tuple[Bar, ...]:
        """The hours in which anything was asked, newest first."""
        return tuple(bar for bar in reversed(self.bars) if bar.answered or bar.refused)


def bars(hours: Sequence[tuple[int, int, int]]) -> Chart:
    """Return the chart of (hours ago, answers, refusals), oldest first.

    Examples
    --------
    >>> chart = bars([(1, 3, 1), (0, 0, 0)])
    >>> chart.largest, chart.bars[0].answered_height, chart.bars[0].refused_height
    (4, 120.0, 40.0)
    """
    largest = max((answered + refused for _, answered, refused in hours), default=0)
    step = WIDTH / max(1, len(hours))
    scale = HEIGHT / max(1, largest)
    made = []
    for at, (ago, answered, refused) in enumerate(hours):
        high, low = answered * scale, refused * scale
        made.append(
            Bar(
                ago, answered, refused, round(at * step, 2), round(0.8 * step, 2),
                round(HEIGHT - high, 2), round(high, 2), round(HEIGHT - high - low, 2),
                round(low, 2),
            )
        )  # fmt: skip
    return Chart(tuple(made), largest)
