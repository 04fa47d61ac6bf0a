"""What is checked: mechanisms with settings at which mistakes show, and standard votes.

The noise is small (per answer epsilon is about 0.5 to 2) and so are the numbers of teachers: a
mistake then moves probabilities by per cents, not by millionths. The votes are the same for every
mechanism: near ties and far from them, on either side.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tacit.accounting.answer import Output
from tacit.accounting.calibrate import Calibration
from tacit.audit.reference_laws import Counts, noise_of
from tacit.errors import InvalidArgument
from tacit.mechanisms import (
    ClippedMean,
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    Mechanism,
    Selection,
    SparseVote,
    StableRelease,
    StableVote,
    VoteMechanism,
    exponential,
)

__all__ = [
    "EXAMPLES",
    "SelectionSubject",
    "Subject",
    "all_rows",
    "as_subject",
    "far_and_near",
    "few_enough",
    "moved",
    "neighbours",
    "questionnaire",
    "shrunk",
]

Select = Callable[..., Selection]

_MOST_JOINT_ANSWERS = 2000


@dataclass(frozen=True)
class Subject:
    """A mechanism, the number of teachers that vote, and the delta at which a run is priced."""

    mechanism: Mechanism
    n_teachers: int = 20
    delta: float = 1e-3


@dataclass(frozen=True)
class SelectionSubject:
    """A function of ``tacit.mechanisms.exponential`` that selects by scores, and its epsilon."""

    function: str
    epsilon: float

    @property
    def select(self) -> Select:
        """The function as it is now."""
        function: Select = getattr(exponential, self.function)
        return function


EXAMPLES: dict[str, Subject | SelectionSubject] = {
    "gaussian-label": Subject(GaussianVote(2.0, answers=6)),
    "gaussian-share": Subject(GaussianVote(1.5, answers=6, output=Output.SHARE)),
    "gaussian-label-price": Subject(GaussianVote(2.0, answers=6, calibration=Calibration.LABEL)),
    "gaussian-odd": Subject(GaussianVote(6.5, answers=6), n_teachers=25),
    "gaussian-3-label": Subject(GaussianVote(2.0, 3, answers=6)),
    "gaussian-3-share": Subject(GaussianVote(2.5, 3, answers=6, output=Output.SHARE)),
    "laplace-label": Subject(LaplaceVote(2.5, answers=6)),
    "laplace-3-label": Subject(LaplaceVote(3.0, 3, answers=6)),
    "laplace-3-share": Subject(LaplaceVote(2.0, 3, answers=6, output=Output.SHARE)),
    "confident": Subject(ConfidentVote(13, 2.5, 1.5, 2, questions=6, answers=3)),
    "confident-3": Subject(ConfidentVote(9.5, 2.0, 2.5, 3, questions=6)),
    "exponential": Subject(ExponentialVote(0.8, answers=6)),
    "exponential-3": Subject(ExponentialVote(1.2, 3, answers=6)),
    "stable-vote": Subject(StableVote(1.5, 12, 2, answers=6), n_teachers=40, delta=2e-3),
    "stable-vote-3": Subject(StableVote(2.0, 4, 3, answers=6), n_teachers=25, delta=0.4),
    "stable-release": Subject(StableRelease(1.5, 12, releases=4), delta=2e-3),
    "sparse": Subject(SparseVote(2.0, 30.0, cutoff=2), n_teachers=81, delta=2e-3),
    "sparse-low": Subject(SparseVote(2.0, 7.0, cutoff=2), n_teachers=31, delta=0.4),
    "sparse-3": Subject(SparseVote(1.5, 20.5, 3, n_classes=3), n_teachers=60, delta=5e-3),
    "exponential-mechanism": SelectionSubject("exponential_mechanism", 1.0),
    "permute-and-flip": SelectionSubject("permute_and_flip", 1.5),
    "clipped-mean": Subject(ClippedMean(2.0, 9.0, 2, n_teachers=5, levels=8, releases=3), 5),
}
"""Every shipped mechanism, by the name ``tacit audit`` uses."""


def as_subject(
    subject: Subject | SelectionSubject | Mechanism | str,
    n_teachers: int | None = None,
    delta: float | None = None,
) -> Subject | SelectionSubject:
    """Return a subject from its name, from a mechanism, or as it is."""
    if isinstance(subject, Subject | SelectionSubject):
        return subject
    if isinstance(subject, Mechanism):
        mechanism = _with_a_few_answers(subject)
        return Subject(
            mechanism,
            n_teachers or _enough_teachers(mechanism),
            delta if delta is not None else _enough_delta(mechanism),
        )
    if subject not in EXAMPLES:
        raise InvalidArgument(f"`subject` must be one of {', '.join(EXAMPLES)}, got {subject!r}.")
    example = EXAMPLES[subject]
    if delta is None or isinstance(example, SelectionSubject):
        return example
    return dataclasses.replace(example, delta=delta)


def _with_a_few_answers(mechanism: Any) -> Mechanism:
    """Return the mechanism with room for the standard questions, if it has less."""
    if not dataclasses.is_dataclass(type(mechanism)):
        raise InvalidArgument(
            f"`subject` must be a frozen data class of public settings, got a "
            f"{type(mechanism).__name__}."
        )
    room = {
        name: max(6, value)
        for name in ("answers", "questions")
        if isinstance(value := getattr(mechanism, name, None), int)
    }
    roomier: Mechanism = dataclasses.replace(mechanism, **room)
    return roomier


def spread(mechanism: Mechanism) -> float:
    """Return how far from a tie noise still matters: the largest scale the settings name."""
    if isinstance(mechanism, ExponentialVote):
        return 2 / mechanism.epsilon_per_answer
    if isinstance(mechanism, VoteMechanism):
        return max((scale for _, scale in noise_of(mechanism).values()), default=2.0)
    return 1.0


def _enough_teachers(mechanism: Mechanism) -> int:
    if isinstance(mechanism, ClippedMean):
        return mechanism.n_teachers
    bar = 2 * getattr(mechanism, "threshold", 0)
    return max(20, math.ceil(bar + 8 * spread(mechanism)))


def _enough_delta(mechanism: Mechanism) -> float:
    failure = sum(event.delta * most for event, most in mechanism.planned_events())
    return min(0.99, 1.25 * failure + 1e-5)


# ---- votes -----------------------------------------------------------------------------------


def all_rows(n_teachers: int, n_classes: int) -> Iterator[Counts]:
    """Yield every vote that so many teachers can give."""
    if n_classes == 1:
        yield (n_teachers,)
        return
    for first in range(n_teachers + 1):
        for rest in all_rows(n_teachers - first, n_classes - 1):
            yield (first, *rest)


def row_of_margin(n_teachers: int, n_classes: int, margin: int, top: int, second: int) -> Counts:
    """Return votes where ``top`` leads ``second`` by ``margin``, others sharing up to a fifth.

    In two classes a margin of the wrong parity is one more.
    """
    margin = min(margin, n_teachers)
    others = [c for c in range(n_classes) if c not in (top, second)]
    row = [0] * n_classes
    for place in range(_spare(n_teachers, margin, len(others))):
        row[others[place % len(others)]] += 1
    left = n_teachers - sum(row)
    row[second] = (left - margin) // 2
    row[top] = left - row[second]
    return tuple(row)


def _spare(n_teachers: int, margin: int, n_others: int) -> int:
    """Return how many votes other classes can have without coming second or spoiling the margin."""
    if n_others == 0:
        return 0
    for spare in range(n_teachers // 5, -1, -1):
        left = n_teachers - spare - margin
        if left >= 0 and left % 2 == 0 and math.ceil(spare / n_others) <= left // 2:
            return spare
    return 0


def far_and_near(subject: Subject) -> list[Counts]:
    """Return standard votes: ties, one and two votes off, around every threshold, unanimity."""
    mechanism, teachers = subject.mechanism, subject.n_teachers
    assert isinstance(mechanism, VoteMechanism)
    bar = math.floor(getattr(mechanism, "threshold", 0))
    scale = math.ceil(spread(mechanism))
    margins = {0, 1, 2, 3, 4, scale, 2 * scale, 3 * scale, teachers}
    if bar:
        margins |= {2 * bar + shift for shift in range(-3, 5)}  # a distance is half a margin
        margins |= {2 * bar - teachers + shift for shift in (-1, 0, 1)}  # a count near the bar
    rows: dict[Counts, None] = {}
    for margin in sorted(m for m in margins if 0 <= m <= teachers):
        for top in sorted({0, 1, mechanism.n_classes - 1}):
            second = (top + 1) % mechanism.n_classes
            rows[row_of_margin(teachers, mechanism.n_classes, margin, top, second)] = None
    return list(rows)


def bar_margin(mechanism: VoteMechanism, n_teachers: int) -> int:
    """Return the margin at which votes are near the threshold of a mechanism that has one."""
    bar = math.floor(getattr(mechanism, "threshold", 0))
    if isinstance(mechanism, ConfidentVote):  # its bar is for the largest count, not the distance
        return max(2, 2 * bar - n_teachers)
    return min(2 * bar + 2, n_teachers)


def questionnaire(subject: Subject) -> list[Counts]:
    """Return the questions that are asked one after another: near ties and far from them."""
    mechanism, teachers = subject.mechanism, subject.n_teachers
    assert isinstance(mechanism, VoteMechanism)
    classes, scale = mechanism.n_classes, spread(mechanism)
    bar = math.floor(getattr(mechanism, "threshold", 0))
    if bar:  # two in a row near the bar: what one threshold decides hangs together
        near = bar_margin(mechanism, teachers)
        margins = [near, max(0, near - 2), 0, teachers, min(near + 2, teachers)]
    else:
        margins = [0, math.ceil(scale), teachers, math.ceil(1.5 * scale), 2]
    tops = [1, 0, 1, classes - 1, 0]
    return [
        row_of_margin(teachers, classes, margin, top, (top + 1) % classes)
        for margin, top in zip(margins, tops, strict=True)
    ]


def few_enough(mechanism: VoteMechanism, rows: list[Counts]) -> list[Counts]:
    """Return as many of the questions as have ``_MOST_JOINT_ANSWERS`` joint answers at most."""
    answers = mechanism.n_classes + 1
    return rows[: max(1, int(math.log(_MOST_JOINT_ANSWERS) / math.log(answers)))]


def shrunk(subject: Subject) -> Subject:
    """Return the subject with room for a few questions: plans of thousands take long to use up."""
    limits = {"answers": 6, "questions": 6, "cutoff": 3, "releases": 4}
    smaller = {
        name: min(limit, value)
        for name, limit in limits.items()
        if isinstance(value := getattr(subject.mechanism, name, None), int)
    }
    mechanism: Any = subject.mechanism
    return dataclasses.replace(subject, mechanism=dataclasses.replace(mechanism, **smaller))


def neighbours(counts: Counts) -> list[Counts]:
    """Return the votes that one teacher's change of mind can give, among the three top classes."""
    top = sorted(range(len(counts)), key=lambda c: -counts[c])[:3]
    return [
        moved(counts, source, target)
        for source in top
        for target in top
        if source != target and counts[source]
    ]


def moved(counts: Counts, source: int, target: int) -> Counts:
    """Return the votes after one moved from class ``source`` to class ``target``."""
    row = list(counts)
    row[source] -= 1
    row[target] += 1
    return tuple(row)
