"""Mechanisms that a plan may recommend, each made for a budget and forecast for a vote model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any

from tacit.accounting.answer import Output
from tacit.accounting.plan import Plan
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.registry import MECHANISMS
from tacit.planning.forecast import Forecast, can_forecast, forecast
from tacit.planning.vote_model import VoteModel

AVERAGED_SHARE = 1 / 20
"""What part of the answers' noise a student that fits shares averages, as far as choosing settings
goes: that of a student with about twenty free parameters.

Measured on splits of public benchmark data set aside for this choice: with noise reduced so, the
number of teachers chosen was the best for the noise-aware student, or within 1.3 points of it, at
every epsilon tried.
"""

_MOST_AVERAGED = 30


class ReleaseKind(StrEnum):
    """What a plan releases: shares, for a student that averages, or labels."""

    SHARE = "share"
    LABEL = "label"


@dataclass(frozen=True)
class Candidate:
    """One way to run, and what is expected of it. Public.

    Parameters
    ----------
    name : str
        As in ``Votes(mechanism=...)``.
    mechanism : VoteMechanism
        The object to run: its price is the guarantee.
    n_teachers : int
    shard_size : int
        Records, or people, per teacher.
    n_questions : int
    forecast : Forecast
        Of the released labels (for shares: of the largest).
    value : float
        What candidates are compared by: the accuracy of the forecast, for shares with the noise
        that is left when a student has averaged.
    """

    name: str
    mechanism: VoteMechanism
    n_teachers: int
    shard_size: int
    n_questions: int
    forecast: Forecast
    value: float

    def plan(self, delta: float) -> Plan:
        """Return what a ledger would hold for this run, priced at ``delta``."""
        return self.mechanism.plan(delta, n_teachers=self.n_teachers)

    def to_dict(self, delta: float) -> dict[str, Any]:
        """Return everything in plain values."""
        cost = self.plan(delta)
        return {
            "mechanism": self.name,
            "call": source(self.mechanism),
            "n_teachers": self.n_teachers,
            "shard_size": self.shard_size,
            "n_questions": self.n_questions,
            "epsilon": cost.guarantee.epsilon,
            "delta": cost.guarantee.delta,
            "accountant": cost.accountant,
            "predicted": {
                "correct": self.forecast.correct,
                "answered": self.forecast.answered,
                "refused": self.forecast.refused,
                "unreached": self.forecast.unreached,
                "accuracy": self.forecast.accuracy,
                "value": self.value,
            },
        }


def compared(release: ReleaseKind, n_classes: int) -> dict[str, type[VoteMechanism]]:
    """Return the mechanisms that can release this and be forecast, by name."""
    return {
        name: kind
        for name, kind in MECHANISMS.items()
        if can_forecast(kind, n_classes) and (kind.can_share or release is ReleaseKind.LABEL)
    }


def evaluate(
    name: str,
    mechanism: VoteMechanism,
    model: VoteModel,
    n_teachers: int,
    shard_size: int,
    n_questions: int,
    *,
    rough: bool = False,
) -> Candidate:
    """Return a candidate with its forecast."""
    expected = forecast(
        mechanism, model, n_teachers=n_teachers, n_questions=n_questions, rough=rough
    )
    value = expected.accuracy
    if mechanism.output is Output.SHARE:
        averaged = mechanism.with_averaged_noise(averaged_answers(n_questions))
        value = forecast(averaged, model, n_teachers=n_teachers).accuracy
    return Candidate(name, mechanism, n_teachers, shard_size, n_questions, expected, value)


def averaged_answers(n_questions: int) -> float:
    """Return how many answers' noise a student averages.

    Examples
    --------
    >>> averaged_answers(400), averaged_answers(10), averaged_answers(10_000)
    (20.0, 1.0, 30.0)
    """
    return float(min(max(n_questions * AVERAGED_SHARE, 1.0), _MOST_AVERAGED))


def source(mechanism: VoteMechanism) -> str:
    """Return the Python expression that makes the mechanism.

    Examples
    --------
    >>> from tacit.mechanisms import GaussianVote
    >>> source(GaussianVote(sigma=20.5, answers=49, output="share"))
    "GaussianVote(sigma=20.5, answers=49, output='share')"
    """
    settings = []
    for field in fields(mechanism):  # type: ignore[arg-type]
        value = getattr(mechanism, field.name)
        if field.default is not MISSING and value == field.default:
            continue
        text = value.value if isinstance(value, StrEnum) else value
        settings.append(f"{field.name}={text!r}")
    return f"{type(mechanism).__name__}({', '.join(settings)})"
