"""Predicted accuracy against epsilon, for every mechanism a plan may recommend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.mechanisms import SparseVote
from tacit.planning.candidates import Candidate, ReleaseKind
from tacit.planning.planner import plan_run
from tacit.planning.vote_curve import VoteCurve

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

SHARES = "gaussian shares"
"""Name of the line for shares of the vote, averaged by a student that knows their noise."""


@dataclass(frozen=True)
class Frontier:
    """The best of every mechanism at every epsilon. Public.

    Parameters
    ----------
    delta : float
    baseline : float
        Accuracy of always guessing one class.
    epsilons : tuple of float
    lines : dict of str to tuple of Candidate
        One candidate per epsilon for every mechanism; labels but for ``"gaussian shares"``.
    """

    delta: float
    baseline: float
    epsilons: tuple[float, ...]
    lines: dict[str, tuple[Candidate, ...]]

    def values(self, name: str) -> tuple[float, ...]:
        """Return predicted accuracies of one mechanism, in the order of the epsilons."""
        return tuple(candidate.value for candidate in self.lines[name])

    def remarks(self) -> tuple[str, ...]:
        """Say where the sparse vector wins, and where nothing works, in words."""
        remarks = []
        if "sparse" in self.lines:
            remarks.append(self._about_sparse())
        best = [max(self.values(name)[i] for name in self.lines) for i in range(len(self.epsilons))]
        useless = [e for e, value in zip(self.epsilons, best, strict=True)
                   if value < self.baseline + 0.02]  # fmt: skip
        if useless:
            remarks.append(
                f"At epsilon {max(useless):g} and below no mechanism beats guessing one class "
                f"({self.baseline:.0%}) by two points: there a white-box method, or no release, "
                "is the better choice."
            )
        return tuple(remarks)

    def _about_sparse(self) -> str:
        wins = [
            epsilon
            for epsilon, sparse, gaussian in zip(
                self.epsilons, self.values("sparse"), self.values("gaussian"), strict=True
            )
            if sparse > gaussian
        ]
        if wins:
            epsilons = ", ".join(f"{epsilon:g}" for epsilon in wins)
            return (
                f"The sparse vector beats Gaussian noise at epsilon {epsilons}: these are very "
                "many very easy questions, which it answers for free."
            )
        last = self.lines["sparse"][-1]
        if not isinstance(last.mechanism, SparseVote):
            raise InvalidArgument("`lines` must hold sparse-vector votes under that name.")
        return (
            f"The sparse vector never beats Gaussian noise here: at epsilon {self.epsilons[-1]:g} "
            f"its threshold is {last.mechanism.threshold:.0f} votes, where a unanimous vote of "
            f"{last.n_teachers:,} teachers has a distance of {last.n_teachers // 2}, and hard "
            "questions use up its refusals. It is for very many very easy questions."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values, for JSON."""
        return {
            "delta": self.delta,
            "baseline": self.baseline,
            "epsilons": list(self.epsilons),
            "lines": {
                name: [candidate.to_dict(self.delta) for candidate in line]
                for name, line in self.lines.items()
            },
            "remarks": list(self.remarks()),
        }


def frontier(
    *,
    n_records: int,
    n_points: int,
    delta: float,
    curve: VoteCurve,
    epsilons: Sequence[float] = EPSILONS,
    n_questions: int | None = None,
    baseline: float | None = None,
) -> Frontier:
    """Return predicted accuracy against epsilon for all mechanisms.

    Parameters
    ----------
    n_records, n_points, curve, n_questions, baseline
        As for ``plan_run``.
    delta : float
    epsilons : sequence of float

    Privacy
    -------
    Uses no private data.

    Examples
    --------
    >>> curve = VoteCurve.guessed({20: 0.75, 100: 0.85})
    >>> found = frontier(
    ...     n_records=20_000, n_points=100, delta=1e-5, curve=curve, epsilons=[0.5, 2.0]
    ... )
    >>> values = found.values("gaussian")
    >>> values[0] < values[1]
    True
    """
    given = tuple(sorted({validation.positive(epsilons=epsilon) for epsilon in epsilons}))
    if not given:
        raise InvalidArgument("`epsilons` must name at least one, got none.")
    lines: dict[str, list[Candidate]] = {}
    base = 0.0
    for epsilon in given:
        for release in ReleaseKind:
            plan = plan_run(
                n_records=n_records,
                n_points=n_points,
                budget=Budget(epsilon, delta),
                curve=curve,
                n_questions=n_questions,
                release=release,
                baseline=baseline,
                advise=False,
            )
            if plan.best is None:
                raise InvalidArgument(
                    f"`n_records` and `n_points` must allow two teachers and a question, got "
                    f"{n_records} and {n_points}: there is no frontier to draw."
                )
            base = plan.baseline
            for candidate in (plan.best, *plan.others):
                if release is ReleaseKind.LABEL:
                    lines.setdefault(candidate.name, []).append(candidate)
                elif candidate.name == "gaussian":
                    lines.setdefault(SHARES, []).append(candidate)
    ordered = {name: tuple(line) for name, line in sorted(lines.items())}
    return Frontier(delta, base, given, ordered)
