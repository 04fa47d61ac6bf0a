"""The report of one run: what was asked, released, refused, spent and assumed. Public."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.files.atomic import PathLike, replace_file
from tacit.report.from_json import FORMAT_VERSION, parsed, report_fields, statement_of
from tacit.report.html import html_page
from tacit.report.public_check import PublicCheck
from tacit.report.signal import SignalTest
from tacit.report.statement import PrivacyStatement
from tacit.students.active.curve import LearningCurve

ENDED = {
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
    batches : tuple of int
        How many questions each batch had.
    stopped : str
        Why there were no more: "budget" (all planned were asked), "pool", "strategy", "service"
        (the mechanism stopped) or "caller".
    command : str
        The command that made it, where there was one.
    call : str
        The same in Python: the constructor call, in which objects have the names of parameters.
    curve : LearningCurve, optional
        How the student grew from batch to batch.
    check : PublicCheck, optional
        How the student did on labelled *public* points.
    signal : SignalTest, optional
        Whether the released values hold more than noise.
    """

    statement: PrivacyStatement
    asked: int
    answered: int
    refused: int
    released: Mapping[str, int]
    settings: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    batches: tuple[int, ...] = ()
    stopped: str = "budget"
    command: str = ""
    call: str = ""
    curve: LearningCurve | None = None
    check: PublicCheck | None = None
    signal: SignalTest | None = None

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
            "batches": list(self.batches),
            "stopped": self.stopped,
            "command": self.command,
            "call": self.call,
            "curve": None if self.curve is None else self.curve.to_dict(),
            "check": None if self.check is None else self.check.to_dict(),
            "signal": None if self.signal is None else self.signal.to_dict(),
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
            When it was written in another format, or a field is missing or garbled.
        """
        return cls.from_dict(parsed(text))

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> RunReport:
        """Return the report whose ``to_dict`` went through JSON; fields it lacks have defaults.

        Raises
        ------
        InvalidArgument
            When a field is missing or garbled.
        """
        statement = saved.get("statement")
        statement_read = statement_of(statement if isinstance(statement, Mapping) else {})
        return cls(statement=statement_read, **report_fields(saved))

    def to_html(self, *, frontier: Any = None) -> str:
        """Return the report as one page that needs nothing else.

        Parameters
        ----------
        frontier : optional
            Of the plan: what ``tacit.planning.frontier`` returns, or what
            ``tacit plan --frontier --json`` prints. It is drawn with this run marked.
        """
        return html_page(self, frontier)

    def save_html(self, path: PathLike, *, frontier: Any = None) -> None:
        """Write the page to a file, which is replaced whole or not at all."""
        replace_file(Path(path), self.to_html(frontier=frontier).encode())

    def save_json(self, path: PathLike) -> None:
        """Write the report for programs to a file, which is replaced whole or not at all."""
        replace_file(Path(path), self.to_json().encode())

    def ended(self) -> str:
        """Say why there were no more questions."""
        return ENDED.get(self.stopped, "a reason that this version cannot name")

    def __str__(self) -> str:
        shares = ", ".join(f"{name}: {count}" for name, count in self.released.items())
        settings = "\n".join(f"    {name} = {value}" for name, value in self.settings.items())
        released = (
            f"    {self.asked} asked, {self.answered} answered, {self.refused} refused.\n"
            f"{self._batches()}"
            f"    By class: {shares}.\n"
        )
        if self.corrected:
            released = f"    {self.statement.questions} rounds of corrections of the student.\n"
        tested = "" if self.signal is None else f"    {self.signal}\n"
        return (
            f"{self.statement}\n\nReleased\n{released}{tested}{self._checked()}"
            f"\nSettings\n{settings}"
        )

    @property
    def corrected(self) -> bool:
        """Whether teachers corrected the student instead of voting."""
        return self.statement.released == "corrections"

    def _checked(self) -> str:
        if self.check is None or not self.check.n_points:
            return ""
        low, high = self.check.interval()
        return (
            f"    On {self.check.n_points} labelled public points: accuracy "
            f"{self.check.accuracy:.3f} (95% interval {low:.3f} to {high:.3f}).\n"
        )

    def _batches(self) -> str:
        if len(self.batches) < 2:
            return ""
        return f"    {len(self.batches)} batches, ended by: {self.ended()}.\n"

    def _repr_html_(self) -> str:
        return f"{self.statement._repr_html_()}<pre>{html.escape(str(self))}</pre>"
