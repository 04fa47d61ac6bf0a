"""The privacy statement: what is protected, from whom, how well, and on what it rests."""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from tacit.privacy.budget import Neighbouring

_WHAT = {
    Neighbouring.REPLACE: "all values of one {unit}, features and label; how many there are is not",
    Neighbouring.ADD_REMOVE: "whether one {unit} is in the data at all, and all of its values",
    Neighbouring.LABELS: "the label of one {unit}; features are treated as public",
}


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """What a fitted model gives away, as a text a lawyer can read and as fields. Public.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee that holds for everything this run released, fixed before it began.
    spent_epsilon : float
        What the answers actually given would have cost had exactly they been planned. Not a
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

    def rows(self) -> list[tuple[str, str]]:
        """Return the statement as headed paragraphs."""
        what = _WHAT[self.neighbouring].format(unit=self.unit)
        rows = [
            ("What is protected", f"{what[0].upper()}{what[1:]}."),
            (
                "From whom",
                "Everyone who sees the fitted model, its predictions, its report or the released "
                f"answers on {self.questions} public points, whatever else they know. Not from "
                "whoever runs this program or can read its memory.",
            ),
            (
                "How well",
                f"Nobody can raise the odds of a guess about one {self.unit} by more than a factor "
                f"of {math.exp(self.epsilon):.3g} (e to the epsilon), except with probability "
                f"{self.delta:.3g} (delta). In symbols: for all data sets D, D' that differ in one "
                f"{self.unit} ({self.neighbouring}) and all sets A of outcomes, "
                f"P[M(D) in A] <= exp({self.epsilon:.6g}) P[M(D') in A] + {self.delta:.3g}.",
            ),
            ("How it is known", f"{self.mechanism}, priced by {self.accountant}."),
            (
                "Used",
                f"The answers given would have cost epsilon {self.spent_epsilon:.6g} had exactly "
                "they been planned; the guarantee is the budget above, fixed beforehand.",
            ),
        ]
        if self.assumptions:
            rows.append(("It rests on", " ".join(self.assumptions)))
        if not self.secure:
            rows.append(("INSECURE", "The noise came from a test source: there is NO guarantee."))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {**asdict(self), "neighbouring": self.neighbouring.value}

    def __str__(self) -> str:
        lines = [
            f"Privacy statement: ({self.epsilon:.6g}, {self.delta:.3g}) differential privacy",
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
        return (
            f"<section><p><b>({self.epsilon:.6g}, {self.delta:.3g}) differential privacy</b></p>"
            f"<dl>{cells}</dl></section>"
        )
