"""One run, told: what was asked, released, refused, spent and assumed. Public."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import InvalidArgument
from tacit.report.statement import PrivacyStatement

FORMAT_VERSION = 1

_ENDED = {
    "budget": "all planned questions were asked",
    "pool": "no point of the pool was left",
    "strategy": "the strategy had no more questions",
    "service": "the mechanism stopped",
    "caller": "the caller wanted no more for now",
}


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did, without anything private.

    Parameters
    ----------
    statement : PrivacyStatement
    asked, answered, refused : int
    released : mapping of class to int
        How many released labels each class got (for shares: by the largest noisy share).
    settings : mapping
        Every setting in force, "auto" resolved.
    versions : mapping
        Of the packages that matter.
    rounds : tuple of int
        How many questions each round had.
    stopped : str
        Why there were no more: "budget" (all planned were asked), "pool", "strategy", "service"
        (the mechanism stopped) or "caller".
    """

    statement: PrivacyStatement
    asked: int
    answered: int
    refused: int
    released: Mapping[str, int]
    settings: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    rounds: tuple[int, ...] = ()
    stopped: str = "budget"

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {
            "format_version": FORMAT_VERSION,
            "statement": self.statement.to_dict(),
            "asked": self.asked,
            "answered": self.answered,
            "refused": self.refused,
            "released": dict(self.released),
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "rounds": list(self.rounds),
            "stopped": self.stopped,
        }

    def to_json(self) -> str:
        """Return the report for programs."""
        return json.dumps(self.to_dict(), indent=2, default=str)

    @classmethod
    def from_json(cls, text: str) -> RunReport:
        """Return the report that ``to_json`` wrote.

        Raises
        ------
        InvalidArgument
            When it was written in another format.
        """
        fields = json.loads(text)
        found = fields.pop("format_version", None) if isinstance(fields, dict) else None
        if found != FORMAT_VERSION:
            raise InvalidArgument(
                f"`text` must be a report in format {FORMAT_VERSION}, got format {found!r}."
            )
        statement = PrivacyStatement.from_dict(fields.pop("statement"))
        fields["rounds"] = tuple(fields.get("rounds", ()))
        return cls(statement=statement, **fields)

    def __str__(self) -> str:
        shares = ", ".join(f"{name}: {count}" for name, count in self.released.items())
        settings = "\n".join(f"    {name} = {value}" for name, value in self.settings.items())
        return (
            f"{self.statement}\n\nReleased\n"
            f"    {self.asked} asked, {self.answered} answered, {self.refused} refused.\n"
            f"{self._rounds()}"
            f"    By class: {shares}.\n\nSettings\n{settings}"
        )

    def _rounds(self) -> str:
        if len(self.rounds) < 2:
            return ""
        return f"    {len(self.rounds)} rounds, ended by: {_ENDED.get(self.stopped, '?')}.\n"

    def _repr_html_(self) -> str:
        return f"{self.statement._repr_html_()}<pre>{html.escape(str(self))}</pre>"
