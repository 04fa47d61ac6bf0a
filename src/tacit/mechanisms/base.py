"""Mechanisms: public settings, a price, and a sampler beside it.

A mechanism is a frozen object of public settings: it can be printed, compared and saved. Private
votes and noise only pass through calls. ``start`` gives a run, which holds whatever state the
guarantee needs (how many answers are left, a live threshold) and is the only thing that releases.

Two kinds of limit end a run. One that is known before anything is drawn (a batch larger than the
number of answers left) raises ``MechanismStopped``. One that is met on the way (the last refusal
of a sparse vector) shortens the list of answers, since what was drawn has already been paid for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tacit import validation
from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.accounting.price import Price, price
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.mechanisms.counts import IntArray, VoteCounts
from tacit.noise import NoiseSource, Uncopyable

_LEAST_EPSILON = 1e-12


class Mechanism(ABC):
    """Public settings of a release, and the most a whole run of it can cost."""

    name: ClassVar[str]

    @abstractmethod
    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        """Return every event a run can cause, with the most times it can happen."""

    @property
    def output(self) -> Output:
        """What is given away for one question."""
        return Output.LABEL

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each released integer; 0 when none is released."""
        return 0.0

    def epsilon(self, delta: float) -> float:
        """Return the smallest proven epsilon of a whole run at ``delta``."""
        return self._price(delta).epsilon

    def _price(self, delta: float) -> Price:
        return price(dict(self.planned_events()), delta=delta)

    def _plan(self, delta: float, *, width: int, unit: float) -> Plan:
        cost = self._price(delta)
        return Plan(
            mechanism=self.name,
            events=self.planned_events(),
            # At a large delta little noise needs no epsilon at all; a budget has to have one.
            guarantee=Budget(max(cost.epsilon, _LEAST_EPSILON), delta),
            accountant=cost.accountant,
            output=self.output,
            width=width,
            unit=unit,
            sigma=self.deviation,
        )


@dataclass(frozen=True)
class VoteRun:
    """Public sizes that a mechanism is made for: see ``VoteMechanism.for_run``.

    Parameters
    ----------
    budget : Budget
        Of all answers together.
    n_classes, n_teachers, n_questions : int
    output : Output
        What is given away for one question.
    refusals : int
        How many refusals to plan for, where only refusals are paid for.
    price_labels : bool
        Whether a label of two classes may be priced as the bit that it is.
    """

    budget: Budget
    n_classes: int
    n_teachers: int
    n_questions: int
    output: Output = Output.LABEL
    refusals: int = 1
    price_labels: bool = False


class VoteMechanism(Mechanism):
    """Releases the votes of a fixed number of teachers on one question after another."""

    n_classes: int
    can_share: ClassVar[bool] = False
    """Whether noisy shares of the vote can be released in place of labels."""
    prices_alike: ClassVar[bool] = False
    """Whether every question is answered, at one price, hard or easy."""

    @classmethod
    def for_run(cls, run: VoteRun) -> VoteMechanism:
        """Return the mechanism with the least noise that keeps a run within its budget.

        Mechanisms that have a name (``tacit.mechanisms.registry``) define it.
        """
        raise NotImplementedError(f"{cls.__name__} has no name: make one with `for_budget`.")

    @classmethod
    def variants(cls, run: VoteRun) -> Iterable[VoteMechanism]:
        """Return the settings that a plan compares, each within the budget of the run."""
        return (cls.for_run(run),)

    @property
    def capacity(self) -> int | None:
        """How many questions a run may ask; None when that is not known beforehand."""
        return None

    @property
    def smallest_distance(self) -> int:
        """Distance to instability below which a vote counts as unclear; 0 when none does."""
        return 0

    def describe_noise(self) -> str:
        """Return the settings of the noise in words, with the letters of the papers."""
        return repr(self)

    def with_averaged_noise(self, n_answers: float) -> VoteMechanism:
        """Return the mechanism with the noise of a mean of ``n_answers`` answers; for forecasts.

        Mechanisms that release shares define it.
        """
        raise NotImplementedError(f"{type(self).__name__} releases no shares to average.")

    @abstractmethod
    def start(self, *, noise: NoiseSource) -> Run:
        """Return a fresh run of this mechanism."""

    def plan(self, delta: float, *, n_teachers: int | None = None) -> Plan:
        """Return the plan of a whole run, priced at ``delta``, for a ledger to hold.

        ``n_teachers`` gives released counts their unit: needed when the output is a share.
        """
        if self.output is not Output.SHARE:
            return self._plan(delta, width=1, unit=1.0)
        teachers = validation.positive_integer(n_teachers=n_teachers)
        return self._plan(delta, width=self.n_classes, unit=1 / teachers)

    def release(self, counts: VoteCounts, *, noise: NoiseSource) -> list[Answer]:
        """Answer the questions in order with a fresh run.

        Returns one answer per question reached: fewer than asked when the run stops on the way.

        Every call spends the price of a whole run again, also for the same questions: nothing here
        remembers earlier calls or stops at a budget. ``tacit.labeling.Labeler`` with a ledger does
        both: it adds up what is spent, and answers a question a second time for free.
        """
        return self.start(noise=noise).release(counts)

    def _check(self, counts: object) -> None:
        if isinstance(counts, VoteCounts) and counts.n_classes == self.n_classes:
            return
        votes = validation.instance(VoteCounts, counts=counts)
        raise InvalidArgument(
            f"`counts` must have {self.n_classes} columns, the number of classes "
            f"{self.name} was made for, got {votes.n_classes}."
        )


class Run(Uncopyable, ABC):
    """One run of a mechanism: releases answers until its plan is used up.

    It cannot be copied: two copies would each spend what is left. It is used by one thread at a
    time; whoever shares it holds a lock around ``release``.
    """

    @abstractmethod
    def most_it_can_cost(self, questions: int) -> Mapping[Event, int]:
        """Return the most that answering so many further questions can cost.

        Known before anything is drawn, from public state alone: a ledger refuses on this basis.
        """

    @abstractmethod
    def release(self, counts: VoteCounts) -> list[Answer]:
        """Answer the questions in order. Shorter than asked when the run stops on the way.

        Raises
        ------
        MechanismStopped
            When nothing more can be answered; nothing is drawn.
        """

    def abandon(self) -> None:
        """Forget live noise: called when it is unclear whether an answer was recorded."""
        return None  # most runs hold no noise between answers


class Allowance:
    """How many answers (or tests, or releases) are left of the planned number."""

    def __init__(self, planned: int, unit: str = "answers") -> None:
        self.left = planned
        self._what = unit

    def take(self, wanted: int) -> None:
        """Use up ``wanted`` of them, or raise and use none."""
        if wanted > self.left:
            raise MechanismStopped(
                f"{wanted} more {self._what} were asked for, but only {self.left} of the planned "
                f"{self._what} are left. Plan for more with a new budget, or ask fewer."
            )
        self.left -= wanted


class PaidPerAnswer(Run):
    """A run that pays for each answer alike: counts answers and stops at the planned number."""

    def __init__(self, answers: int, cost: Mapping[Event, int]) -> None:
        self._allowance = Allowance(answers)
        self._cost = dict(cost)

    @property
    def left(self) -> int:
        """How many answers are left. Public."""
        return self._allowance.left

    def most_it_can_cost(self, questions: int) -> Mapping[Event, int]:
        """Every question may cost the full price of one answer."""
        return {event: times * questions for event, times in self._cost.items()}

    def _take(self, questions: int) -> None:
        self._allowance.take(questions)


def label_answers(labels: IntArray, cost: tuple[Event, ...], *, secure: bool) -> list[Answer]:
    """Return one label answer per entry, each at the same cost."""
    return [label_answer(label, cost, secure=secure) for label in labels.tolist()]


def label_answer(label: int | None, cost: tuple[Event, ...], *, secure: bool) -> Answer:
    """Return a released label, or a refusal when it is None."""
    values = None if label is None else (label,)
    return Answer(Output.LABEL, values, unit=1.0, sigma=0.0, cost=cost, secure=secure)
