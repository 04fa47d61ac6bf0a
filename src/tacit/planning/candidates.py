"""Mechanisms that a plan may recommend, each made for a budget and forecast for a vote model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Any

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
)
from tacit.mechanisms.base import VoteMechanism
from tacit.planning.forecast import Forecast, forecast
from tacit.planning.vote_model import VoteModel

AVERAGED_SHARE = 1 / 20
"""What part of the answers' noise a student that fits shares averages, as far as choosing settings
goes: that of a student with about twenty free parameters.

Measured on splits of public benchmark data set aside for this choice: with noise reduced so, the
number of teachers chosen was the best for the noise-aware student, or within 1.3 points of it, at
every epsilon tried.
"""

_MOST_AVERAGED = 30

_WIDEST_BIT = 1000.0
"""Noise from which on the price of the released bit takes too long to find."""

_CONFIDENT_SHARES = (0.05, 0.1, 0.2, 0.3)
_CONFIDENT_RATIOS = (1.0, 2.0, 3.75)
_CUTOFF_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5)


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
        As in ``PATEClassifier(mechanism=...)``.
    mechanism : VoteMechanism
        The object to run: its price is the guarantee.
    n_teachers : int
    shard_size : int
        Records, or people, per teacher.
    questions : int
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
    questions: int
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
            "questions": self.questions,
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


Maker = Callable[[int], Iterator[VoteMechanism]]
"""From a number of teachers to the variants of one mechanism that are worth a look."""


def makers(
    budget: Budget, questions: int, n_classes: int, release: ReleaseKind
) -> dict[str, Maker]:
    """Return the mechanisms to compare, by name, each made for the whole budget."""
    if release is ReleaseKind.SHARE:
        return _share_makers(budget, questions, n_classes)
    by_name = _answering_makers(budget, questions, n_classes)
    if n_classes == 2:  # the laws of refusals are worked out for two classes
        by_name |= {
            "confident": _confident(budget, questions),
            "sparse": _sparse(budget, questions),
        }
    return by_name


def gaussian_maker(budget: Budget, questions: int, n_classes: int, release: ReleaseKind) -> Maker:
    """Return the Gaussian vote alone, without the slower calibration of the released bit."""
    output = Output.SHARE if release is ReleaseKind.SHARE else Output.LABEL
    return _always(
        GaussianVote.for_budget(budget, answers=questions, n_classes=n_classes, output=output)
    )


def _share_makers(budget: Budget, questions: int, n_classes: int) -> dict[str, Maker]:
    gaussian = GaussianVote.for_budget(
        budget, answers=questions, n_classes=n_classes, output=Output.SHARE
    )
    laplace = LaplaceVote.for_budget(
        budget, answers=questions, n_classes=n_classes, output=Output.SHARE
    )
    return {"gaussian": _always(gaussian), "laplace": _always(laplace)}


def _answering_makers(budget: Budget, questions: int, n_classes: int) -> dict[str, Maker]:
    gaussian = GaussianVote.for_budget(budget, answers=questions, n_classes=n_classes)
    if n_classes == 2 and gaussian.sigma < _WIDEST_BIT:
        # The price of the released bit is mostly below that of the count behind it.
        bit = GaussianVote.for_budget(budget, answers=questions, calibration="label")
        gaussian = min(gaussian, bit, key=lambda vote: vote.sigma)
    laplace = LaplaceVote.for_budget(budget, answers=questions, n_classes=n_classes)
    exponential = ExponentialVote.for_budget(budget, answers=questions, n_classes=n_classes)
    return {
        "gaussian": _always(gaussian),
        "laplace": _always(laplace),
        "exponential": _always(exponential),
    }


def _always(mechanism: VoteMechanism) -> Maker:
    return lambda n_teachers: iter((mechanism,))


def _confident(budget: Budget, questions: int) -> Maker:
    drafts = [
        ConfidentVote.for_budget(budget, threshold=0.0, questions=questions, ratio=ratio)
        for ratio in _CONFIDENT_RATIOS
    ]

    def variants(n_teachers: int) -> Iterator[VoteMechanism]:
        for draft in drafts:
            for share in _CONFIDENT_SHARES:
                yield replace(draft, threshold=(0.5 + share / 2) * n_teachers)

    return variants


def _sparse(budget: Budget, questions: int) -> Maker:
    cutoffs = sorted({1, *(max(1, round(share * questions)) for share in _CUTOFF_SHARES)})
    drafts = [SparseVote.for_budget(budget, cutoff=cutoff) for cutoff in cutoffs]

    def variants(n_teachers: int) -> Iterator[VoteMechanism]:
        # A threshold that a unanimous vote does not reach answers nothing; the classifier and the
        # planner leave it out. One such variant stays, so that the table can say so.
        reached = [d for d in drafts if d.threshold <= -(-n_teachers // 2) - 1]
        return iter(reached or drafts[:1])

    return variants


def judged(
    name: str,
    mechanism: VoteMechanism,
    model: VoteModel,
    n_teachers: int,
    size: int,
    questions: int,
    *,
    rough: bool = False,
) -> Candidate:
    """Return a candidate with its forecast."""
    expected = forecast(mechanism, model, n_teachers=n_teachers, questions=questions, rough=rough)
    value = expected.accuracy
    if mechanism.output is Output.SHARE:
        calm = _calmed(mechanism, averaged_answers(questions))
        value = forecast(calm, model, n_teachers=n_teachers).accuracy
    return Candidate(name, mechanism, n_teachers, size, questions, expected, value)


def averaged_answers(questions: int) -> float:
    """Return how many answers' noise a student averages.

    Examples
    --------
    >>> averaged_answers(400), averaged_answers(10), averaged_answers(10_000)
    (20.0, 1.0, 30.0)
    """
    return float(min(max(questions * AVERAGED_SHARE, 1.0), _MOST_AVERAGED))


def _calmed(mechanism: Any, averaged: float) -> VoteMechanism:
    """Return the mechanism with the noise that is left after averaging; for forecasts alone."""
    if isinstance(mechanism, GaussianVote):
        return replace(mechanism, sigma=mechanism.sigma / averaged**0.5)
    calmer: VoteMechanism = replace(mechanism, scale=mechanism.scale / averaged**0.5)
    return calmer


def noise_in_words(mechanism: Any) -> str:
    """Return the settings of the noise, with the letters of the papers.

    Examples
    --------
    >>> noise_in_words(SparseVote(scale=31.7, threshold=901, cutoff=18))
    'lambda 31.7, w 901, T 18'
    """
    match mechanism:
        case GaussianVote():
            return f"sigma {mechanism.sigma:.4g}"
        case LaplaceVote():
            return f"scale {mechanism.scale:.4g}"
        case ConfidentVote():
            return (
                f"threshold {mechanism.threshold:.4g}, sigma1 {mechanism.sigma1:.4g}, "
                f"sigma2 {mechanism.sigma2:.4g}"
            )
        case ExponentialVote():
            return f"epsilon {mechanism.epsilon_per_answer:.4g} per answer"
        case SparseVote():
            return (
                f"lambda {mechanism.scale:.4g}, w {mechanism.threshold:.0f}, T {mechanism.cutoff}"
            )
    return source(mechanism)


def source(mechanism: VoteMechanism) -> str:
    """Return the Python expression that makes the mechanism.

    Examples
    --------
    >>> source(GaussianVote(sigma=20.5, answers=49, output="share"))
    "GaussianVote(sigma=20.5, answers=49, output='share')"
    """
    given = []
    for field in fields(mechanism):  # type: ignore[arg-type]
        value = getattr(mechanism, field.name)
        if field.default is not MISSING and value == field.default:
            continue
        text = value.value if isinstance(value, StrEnum) else value
        given.append(f"{field.name}={text!r}")
    return f"{type(mechanism).__name__}({', '.join(given)})"
