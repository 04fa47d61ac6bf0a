"""What a fit released: everything here has passed a mechanism and is public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.report import PrivacyStatement
from tacit.students.passive import known_variance, released_labels
from tacit.teachers.corrections import Standpoint
from tacit.teachers.partition import IndexArray


@dataclass(frozen=True)
class PricedRelease:
    """Answers that left through a mechanism, and what they cost.

    ``planned`` is the number of answers the noise was fixed for, ``usage`` the number of times each
    event occurred.
    """

    answers: Sequence[Answer]
    guarantee: Budget
    accountant: str
    usage: dict[Event, int]
    planned: int


@dataclass(frozen=True)
class Released(PricedRelease):
    """Answered questions, and which points of the pool they are about.

    ``batches`` has the number of questions of each batch, ``stopped`` why there are no more (see
    ``BatchedAnswers``; "caller": no more were requested).
    """

    positions: IndexArray
    output: Output
    batches: tuple[int, ...]
    stopped: str


@dataclass(frozen=True)
class ReleasedRounds(PricedRelease):
    """One noisy mean correction per round.

    ``radii`` has what one unit of each answer is worth, ``deviation`` the standard deviation of the
    noise in that unit, ``standpoints`` where the student stood in each round.
    """

    radii: tuple[float, ...]
    deviation: float
    standpoints: tuple[Standpoint, ...]


@dataclass(frozen=True)
class ReleasedVotes:
    """What a fit released, in the form a student learns from. Public, and paid for.

    Parameters
    ----------
    positions : array of int
        Rows of ``X_public`` (of ``X`` when the records' own features were the pool), in the order
        in which they were asked about.
    labels : array of int
        Index in ``classes`` of every released label (for shares: of the largest); -1 if refused.
    shares : array of shape (n_answers, n_classes), or None
        Noisy shares of the vote, when those were released.
    variance : float, or array of length n_answers
        Known variance of every share; one per answer where a rule chose the noise; 0 for labels.
    classes : array
    privacy : PrivacyStatement
        The guarantee of this release.
    batches : tuple of int
        The number of questions of each batch.
    """

    positions: IndexArray
    labels: NDArray[np.int64]
    shares: NDArray[np.float64] | None
    variance: float | NDArray[np.float64]
    classes: NDArray[Any]
    privacy: PrivacyStatement
    batches: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReleasedCorrections:
    """What a fit in rounds released: one noisy mean correction per round. Public, and paid for.

    Parameters
    ----------
    corrections : array of shape (n_rounds, n_coordinates, n_contrasts)
        In the metric of each round, in units of its radius.
    radii : tuple of float
        What one unit is worth, round by round.
    deviation : float
        Standard deviation of the noise on every number, in the same unit.
    classes : array
    privacy : PrivacyStatement
    """

    corrections: NDArray[np.float64]
    radii: tuple[float, ...]
    deviation: float
    classes: NDArray[Any]
    privacy: PrivacyStatement


def released_values(
    release: Released | ReleasedRounds,
    rows: IndexArray | None,
    classes: NDArray[Any],
    privacy: PrivacyStatement,
) -> ReleasedVotes | ReleasedCorrections:
    """Return a release as arrays; ``rows`` are the records that form the pool, if any."""
    answers = release.answers
    if isinstance(release, ReleasedRounds):
        shape = (len(answers), -1, len(classes) - 1)
        corrections = np.array([answer.share for answer in answers]).reshape(shape)
        return ReleasedCorrections(corrections, release.radii, release.deviation, classes, privacy)
    has_shares = release.output is Output.SHARE and len(answers) > 0
    return ReleasedVotes(
        positions=release.positions if rows is None else rows[release.positions],
        labels=released_labels(answers),
        shares=np.array([answer.share for answer in answers]) if has_shares else None,
        variance=known_variance(answers) if has_shares else 0.0,
        classes=classes,
        privacy=privacy,
        batches=release.batches,
    )
