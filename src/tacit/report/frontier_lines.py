"""The frontier of a plan, as a report draws it: from the planner's object or from its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class FrontierLines:
    """Predicted accuracy against epsilon, one line per mechanism. Public."""

    delta: float
    baseline: float
    epsilons: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, frontier: Any) -> FrontierLines:
        """Read a frontier.

        Parameters
        ----------
        found : Frontier, or mapping
            What ``tacit.planning.frontier`` returns, its ``to_dict()``, or the whole of what
            ``tacit plan --frontier --json`` prints.

        Raises
        ------
        InvalidArgument
            When it is none of these.
        """
        fields = frontier.to_dict() if hasattr(frontier, "to_dict") else frontier
        if isinstance(fields, Mapping):
            fields = fields.get("frontier", fields)
        try:
            lines = cls(
                delta=_number(fields["delta"]),
                baseline=_share(fields["baseline"]),
                epsilons=tuple(_number(value) for value in fields["epsilons"]),
                lines={
                    str(name): tuple(_share(point["predicted"]["value"]) for point in line)
                    for name, line in fields["lines"].items()
                },
                remarks=tuple(str(remark) for remark in fields.get("remarks", ())),
            )
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise _refused() from error
        sizes = {len(line) for line in lines.lines.values()}
        rising = list(lines.epsilons) == sorted(set(lines.epsilons))
        if sizes != {len(lines.epsilons)} or not rising:
            raise _refused()
        return lines


def _number(value: Any) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise ValueError
    return number


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError
    return number


def _refused() -> InvalidArgument:
    return InvalidArgument(
        "`frontier` must be a frontier of tacit.planning, or what `tacit plan --frontier --json` "
        "prints. Make it again with that command."
    )
