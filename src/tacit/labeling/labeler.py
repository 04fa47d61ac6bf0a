"""Where votes, noise and the ledger meet: the one path by which an answer leaves."""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tacit import validation
from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument
from tacit.ledger import Analyst, Ledger, PlanId
from tacit.ledger.answering import first_positions
from tacit.ledger.composition import within
from tacit.mechanisms.base import PaidPerAnswer, Run, VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource, Uncopyable

MOST_REMEMBERED = 10_000
"""Answers that a labeler returns again without counting votes or reading the ledger."""

CountVotes = Callable[[Sequence[int]], VoteCounts]


class Labeler(Uncopyable):
    """Answers questions with a mechanism, on a ledger. Batch and online use share it.

    Making a labeler opens its plan: the guarantee of the whole run is reserved before any noise is
    drawn. With the key of an earlier plan it resumes that plan, also in another process.

    Parameters
    ----------
    mechanism : VoteMechanism
    ledger : Ledger
    delta : float
        Share of the ledger's delta for which the run is priced.
    noise : NoiseSource
        Test noise is refused unless the ledger was opened with ``allow_insecure=True``.
    n_teachers : int
        The public number of teachers.
    key : bytes or str
        Public name of the run. The same key resumes a run; a new run needs a new one.

    Privacy
    -------
    The guarantee is that of the mechanism's plan, for neighbours that move one vote of every
    question. Votes are counted before the ledger is locked and read only when it draws. If
    recording fails after a draw, the run is abandoned with its live noise, and a new one, which
    pays for itself, takes its place within the same plan.

    Examples
    --------
    >>> from tacit.mechanisms import GaussianVote
    >>> from tacit.accounting.budget import Budget
    >>> from tacit.ledger import MemoryLedger
    >>> from tacit.noise import SecureNoise
    >>> labeler = Labeler(
    ...     GaussianVote(sigma=30.0, answers=10),
    ...     MemoryLedger(Budget(1.0, 1e-5)),
    ...     delta=1e-5,
    ...     noise=SecureNoise(),
    ...     n_teachers=1000,
    ...     key="documentation",
    ... )
    >>> labeler.ask(VoteCounts([[2, 998]], n_teachers=1000), [b"a public point"])
    [Answer(label=1)]
    """

    def __init__(
        self,
        mechanism: VoteMechanism,
        ledger: Ledger,
        *,
        delta: float,
        noise: NoiseSource,
        n_teachers: int,
        key: bytes | str,
    ) -> None:
        ledger.check_noise(noise)
        self._mechanism, self._ledger, self._noise = mechanism, ledger, noise
        self._n_teachers = validation.positive_integer(n_teachers=n_teachers)
        self._answered: dict[bytes, Answer] = {}  # without their cost: charged once
        self._lock = threading.Lock()  # one thread at a time draws from the run
        _LABELERS.add(self)
        self._plan_id = ledger.open_plan(mechanism.plan(delta, n_teachers=n_teachers), key)
        self._plan = ledger.plan(self._plan_id)
        self._renew()

    @property
    def plan(self) -> Plan:
        """What may be released at most, and the guarantee for all of it."""
        return self._plan

    @property
    def plan_id(self) -> PlanId:
        """The plan's number on the ledger."""
        return self._plan_id

    @property
    def ledger(self) -> Ledger:
        """The account it spends from."""
        return self._ledger

    def ask(
        self,
        counts: VoteCounts | CountVotes,
        questions: Sequence[bytes],
        *,
        on_behalf: Analyst | None = None,
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost.

        Safe to call from several threads, which take turns. One call is one transaction: many
        questions at once cost little more than one.

        Parameters
        ----------
        counts : VoteCounts, or a function from positions to VoteCounts
            The votes on each question, one row each; or a function that counts the votes on the
            questions at some positions, called once for those that have no answer yet. Private.
        questions : sequence of bytes
            Public names of the questions, such as ``question_key`` of each point: the same point
            must have the same name.
        on_behalf : Analyst, optional
            Who will be shown the answers; recorded with them, also for answers given before.

        Returns
        -------
        list of Answer
            Public, and recorded. Shorter than asked when the run stopped early.

        Raises
        ------
        BudgetExceeded
            When the plan has no room; nothing was drawn.
        AllowanceExceeded
            When the analyst's allowance does not cover it; nothing was drawn or shown.
        LedgerUnavailable
            When the answers could not be recorded; none was released.
        """
        questions = list(questions)
        known = ((question, self._answered.get(question)) for question in questions)
        answered = {question: answer for question, answer in known if answer is not None}
        # A question answered elsewhere or long ago is not among them: its votes are counted in
        # vain, and the ledger returns the stored answer.
        missing = list(first_positions(questions, answered).values())
        votes = self._count(counts, missing, len(questions))
        if not missing and on_behalf is None:
            return [answered[question] for question in questions]
        with self._lock:
            if os.getpid() != self._pid:
                # Two processes must not share a live threshold: the child starts its own.
                self._renew()
            release = _Release(self, votes, missing)
            answers = self._ledger.answer(self._plan_id, questions, release, on_behalf=on_behalf)
            self._remember(questions, answers)
            return answers

    def _remember(self, questions: Sequence[bytes], answers: Sequence[Answer]) -> None:
        for question, answer in zip(questions, answers, strict=False):
            self._answered[question] = answer.without_cost()
        while len(self._answered) > MOST_REMEMBERED:
            del self._answered[next(iter(self._answered))]

    def _count(
        self, counts: VoteCounts | CountVotes, missing: Sequence[int], n_questions: int
    ) -> VoteCounts | None:
        """Return the votes on the questions at the positions that have no answer."""
        if isinstance(counts, VoteCounts):
            self._check(counts, n_questions)
            return counts[list(missing)] if missing else None
        if not missing:
            return None
        votes = counts(missing)
        self._check(votes, len(missing))
        return votes

    def _check(self, counts: object, rows: int) -> None:
        votes = validation.instance(VoteCounts, counts=counts)
        if votes.n_questions != rows:
            raise InvalidArgument(
                f"`counts` must have one row per question, {rows}, got {votes.n_questions}."
            )
        if votes.n_teachers != self._n_teachers:
            raise InvalidArgument(
                f"`counts` must be of {self._n_teachers} teachers, as planned, got "
                f"{votes.n_teachers}."
            )

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._run = self._mechanism.start(noise=self._noise)

    @property
    def run(self) -> Run:
        """The run that is drawn from at present; replaced after a failure to record."""
        return self._run

    def _abandon(self) -> None:
        """Drop the run; what the plan has left is read from the ledger."""
        self._run.abandon()
        self._renew()

    def __repr__(self) -> str:
        return f"Labeler({self._mechanism!r}, {self._ledger!r})"


class _Release:
    """Draws from a labeler's run, within what the plan has left."""

    def __init__(self, labeler: Labeler, votes: VoteCounts | None, counted: Sequence[int]) -> None:
        self._labeler, self._run = labeler, labeler.run
        self._votes, self._counted = votes, counted
        self._fits = False

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        run = self._run
        full = run.most_it_can_cost(questions)
        self._fits = within(full, room)
        if self._fits or isinstance(run, PaidPerAnswer):
            return full
        single = run.most_it_can_cost(1)
        if not within(single, room):
            return single
        # Such a run may stop early: it is drawn from step by step and stays within the room.
        return {event: min(times, room.get(event, 0)) for event, times in full.items()}

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        run, votes = self._run, self._votes
        if votes is None:
            return []
        row_of = {position: row for row, position in enumerate(self._counted)}
        votes = votes[[row_of[position] for position in new]]
        if self._fits:
            return run.release(votes)
        return _release_one_by_one(run, votes, room)

    def abandon(self) -> None:
        self._labeler._abandon()


def _release_one_by_one(run: Run, votes: VoteCounts, room: Mapping[Event, int]) -> list[Answer]:
    answers: list[Answer] = []
    left = Counter(dict(room))
    for row in range(len(votes)):
        if not within(run.most_it_can_cost(1), left):
            break
        drawn = run.release(votes[row : row + 1])
        if not drawn:
            break
        answers += drawn
        left.subtract(event for answer in drawn for event in answer.cost)
    return answers


_LABELERS: weakref.WeakSet[Labeler] = weakref.WeakSet()


def _unlock_in_child() -> None:
    # A lock that another thread held at the fork would never be released in the child.
    for labeler in list(_LABELERS):
        labeler._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
