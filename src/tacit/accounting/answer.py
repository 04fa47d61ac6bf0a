"""Answers: what has left through the door, and what it cost."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.accounting.events import Event


class Output(StrEnum):
    """What a mechanism gives away for one question."""

    LABEL = "label"
    SHARE = "share"
    VECTOR = "vector"
    HYPOTHESIS = "hypothesis"


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """One released answer, or a refusal. Public.

    Parameters
    ----------
    output : Output
        What ``values`` are: one class index, the noisy count of every class, grid coordinates, or
        the parameters of a hypothesis, each as the 64 bits of a double.
    values : tuple of int, or None for a refusal
    unit : float
        What one unit of ``values`` is worth: 1 for labels, ``1 / n_teachers`` for shares, the grid
        step for vectors.
    sigma : float
        Standard deviation of the noise on every value, in the same integer units; 0 for labels.
    cost : tuple of Event
        What this answer added to the spend: empty when it was free.
    secure : bool
        False when the noise came from a test source: such an answer has no guarantee.
    """

    output: Output
    values: tuple[int, ...] | None
    unit: float
    sigma: float
    cost: tuple[Event, ...]
    secure: bool

    @property
    def refused(self) -> bool:
        """Whether the mechanism declined to answer."""
        return self.values is None

    @property
    def label(self) -> int | None:
        """Index of the released class (for shares: of the largest noisy count); None if refused."""
        if self.values is None:
            return None
        if self.output is Output.LABEL:
            return self.values[0]
        if self.output is not Output.SHARE:
            return None
        # Ties go to the lowest class, except in two classes, where n1 >= K/2 means class 1
        # [LZCW21, Algorithm 1].
        if len(self.values) == 2:
            return int(self.values[1] >= self.values[0])
        return max(range(len(self.values)), key=lambda c: (self.values[c], -c))  # type: ignore[index]

    @property
    def share(self) -> tuple[float, ...] | None:
        """Released values in their own unit (noisy shares of the vote, or coordinates)."""
        if self.values is None or self.output in (Output.LABEL, Output.HYPOTHESIS):
            return None
        return tuple(value * self.unit for value in self.values)

    @property
    def parameters(self) -> tuple[float, ...] | None:
        """Parameters of the released hypothesis; None for any other output."""
        if self.values is None or self.output is not Output.HYPOTHESIS:
            return None
        return struct.unpack(
            f">{len(self.values)}d", struct.pack(f">{len(self.values)}q", *self.values)
        )

    @property
    def variance(self) -> float:
        """Known variance of each entry of ``share``."""
        return (self.sigma * self.unit) ** 2

    def without_cost(self) -> Answer:
        """Return the answer as it is given again: free."""
        return replace(self, cost=()) if self.cost else self

    def __repr__(self) -> str:
        mark = "" if self.secure else ", INSECURE: test noise, no guarantee"
        if self.refused:
            return f"Answer(refused{mark})"
        if self.output is Output.LABEL:
            return f"Answer(label={self.label}{mark})"
        text = self.share if self.parameters is None else self.parameters
        return f"Answer({self.output}={text}{mark})"


def total_cost(answers: Iterable[Answer]) -> Counter[Event]:
    """Return what the answers cost together."""
    return Counter(event for answer in answers for event in answer.cost)
