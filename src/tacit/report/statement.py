"""The privacy statement: what is protected, from whom, how well, and on what it rests."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tacit.accounting.budget import Neighbouring

_WHAT = {
    Neighbouring.REPLACE: "All values of {one}, features and labels. How many {many} there are is "
    "not protected.",
    Neighbouring.ADD_REMOVE: "Whether {one} {are} in the data at all, and all values.",
    Neighbouring.LABELS: "{The_label}, and nothing else. Features are not protected, nor "
    "who is in the data.",
}
_DIFFER = {
    Neighbouring.REPLACE: "one of which has {one} replaced by another's",
    Neighbouring.ADD_REMOVE: "one of which has {one} more than the other",
    Neighbouring.LABELS: "that differ in {label}",
}
_UNITS = {
    "record": {
        "one": "one record",
        "are": "is",
        "many": "records",
        "label": "the label of one record",
        "The_label": "The label of one record",
    },
    "person": {
        "one": "all records of one person",
        "are": "are",
        "many": "people",
        "label": "the labels of one person's records",
        "The_label": "The labels of one person's records",
    },
}
_LARGEST_EXPONENT = 700.0


def rounded_up(value: float, digits: int) -> str:
    """Return a number with so many significant digits, never below the number itself.

    Examples
    --------
    >>> rounded_up(1.53374e-4, 3), rounded_up(1.0, 6), rounded_up(2.01375, 3)
    ('0.000154', '1', '2.02')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))  # what the float is written as, not its binary expansion
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(place, rounding=ROUND_CEILING)):.{digits}g}"


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """What a fitted model gives away, as a text a lawyer can read and as fields. Public.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee that holds for everything this run released, fixed before it began.
    spent_epsilon : float
        What the answers actually given would have cost if only these had been planned. Not a
        guarantee: see ``docs/proofs/composition.md``.
    neighbouring : Neighbouring
    unit : str
        "record", or "person" when records were grouped.
    mechanism, accountant : str
    questions : int
        How many public points were asked about.
    assumptions : tuple of str
        What the guarantee rests on besides the proof.
    secure : bool
        Whether all noise came from the operating system's secure source.
    planned : int, optional
        How many questions the budget was planned for; those not asked are left for later.
    released : {"answers", "corrections"}
        What ``questions`` and ``planned`` count: points asked about, or rounds in which teachers
        corrected the student.

    Examples
    --------
    >>> statement = PrivacyStatement(
    ...     epsilon=1.0, delta=1e-5, spent_epsilon=1.0, neighbouring=Neighbouring.REPLACE,
    ...     unit="record", mechanism="GaussianVote", accountant="exact", questions=300,
    ...     assumptions=(), secure=True,
    ... )
    >>> print(str(statement).splitlines()[0])
    Privacy statement: (1, 1e-05) differential privacy
    """

    epsilon: float
    delta: float
    spent_epsilon: float
    neighbouring: Neighbouring
    unit: str
    mechanism: str
    accountant: str
    questions: int
    assumptions: tuple[str, ...]
    secure: bool
    planned: int | None = None
    released: str = "answers"

    def rows(self) -> list[tuple[str, str]]:
        """Return the statement as headed paragraphs."""
        words = _UNITS[self.unit]
        rows = [
            ("What is protected", _WHAT[self.neighbouring].format(**words)),
            (
                "From whom",
                "Everyone who sees the fitted model, its predictions, its report or the "
                f"{self._what_left()}, whatever else they know. Not from whoever runs this "
                "program, reads its memory or times it.",
            ),
            ("How well", self._how_well(words)),
            ("How it is known", f"{self.mechanism}, priced by {self.accountant}."),
            ("Budget and spent", self._budget_and_spent()),
            (
                "What is not promised",
                "That nothing can be concluded about a person from what the data as a whole "
                "show: that holds with or without this person's data. It does not cover other "
                "releases from the same data, whose costs add to this one.",
            ),
        ]
        if self.assumptions:
            rows.append(("It rests on", " ".join(self.assumptions)))
        if not self.secure:
            rows.insert(0, ("INSECURE", "The noise came from a test source: NO guarantee holds."))
        return rows

    def _what_left(self) -> str:
        if self.released == "corrections":
            return f"mean corrections released in {self.questions} rounds"
        return f"released answers on {self.questions} public points"

    def _budget_and_spent(self) -> str:
        one, many = (
            ("round", "rounds") if self.released == "corrections" else ("question", "questions")
        )
        budget, delta = rounded_up(self.epsilon, 6), rounded_up(self.delta, 3)
        spent = rounded_up(self.spent_epsilon, 6)
        words = (
            f"Budget: epsilon {budget} at delta {delta}, fixed before the first {one}; this is "
            f"the guarantee, whatever was asked and whenever it stopped. Spent: the answers given "
            f"would have cost epsilon {spent} if only these answers had been planned. That is a "
            "reading, not a guarantee, because when to stop may depend on the answers."
        )
        if self.planned is not None and self.planned > self.questions:
            words += (
                f" {self.planned - self.questions} of {self.planned} planned {many} were not "
                "asked; asking them later stays within this budget."
            )
        return words

    def differ(self) -> str:
        """Say how two neighbouring data sets differ."""
        return _DIFFER[self.neighbouring].format(**_UNITS[self.unit])

    def _how_well(self, words: dict[str, str]) -> str:
        if self.epsilon < _LARGEST_EXPONENT:
            factor = f"{rounded_up(math.exp(self.epsilon), 3)} (e to the epsilon)"
        else:
            factor = f"exp({rounded_up(self.epsilon, 6)}), which is no protection at all"
        guessed = words["label" if self.neighbouring is Neighbouring.LABELS else "one"]
        return (
            f"For all data sets D and D', {self.differ()}, and all sets A of outcomes, "
            f"P[M(D) in A] <= exp({rounded_up(self.epsilon, 6)}) P[M(D') in A] + "
            f"{rounded_up(self.delta, 3)}, and the "
            "same with D and D' exchanged. In words: what is released changes the odds of any "
            f"guess about {guessed} by a factor of at most {factor}, up to a failure of "
            f"probability about {rounded_up(self.delta, 3)} (delta)."
        )

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> PrivacyStatement:
        """Return the statement that ``to_dict`` was called on."""
        return cls(
            **{
                **fields,
                "neighbouring": Neighbouring(fields["neighbouring"]),
                "assumptions": tuple(fields["assumptions"]),
            }
        )

    def title(self) -> str:
        """Return the guarantee in one line."""
        mark = "" if self.secure else "INSECURE, NO GUARANTEE: "
        epsilon, delta = rounded_up(self.epsilon, 6), rounded_up(self.delta, 3)
        return f"{mark}({epsilon}, {delta}) differential privacy"

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {**asdict(self), "neighbouring": self.neighbouring.value}

    def __str__(self) -> str:
        lines = [
            f"Privacy statement: {self.title()}",
            "",
        ]
        for head, words in self.rows():
            body = textwrap.fill(words, 90, initial_indent="    ", subsequent_indent="    ")
            lines += [head, body]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<dt><b>{html.escape(head)}</b></dt><dd>{html.escape(words)}</dd>"
            for head, words in self.rows()
        )
        return f"<section><p><b>{html.escape(self.title())}</b></p><dl>{cells}</dl></section>"
