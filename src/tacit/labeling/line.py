"""Callers in line: one transaction for all that wait.

A durable commit takes longer than everything else. Threads that ask while one is under way would
each wait for a commit of their own, one after the other; instead, the first of them then answers
for all that have come by then.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence

from tacit.errors import LedgerUnavailable
from tacit.ledger.analysts import Analyst
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.answer import Answer

_TOGETHER = 1000
"""Questions in one transaction at most, unless a single caller asks more."""


class Asked:
    """What one caller asks at once, and what has become of it.

    Parameters
    ----------
    questions : list of bytes
        Public names.
    votes : VoteCounts or None
        On those questions that were counted. Private.
    counted : sequence of int
        Where these are among the questions, in ascending order.
    on_behalf : Analyst, optional
    """

    __slots__ = ("_gate", "answers", "counted", "error", "leads", "on_behalf", "questions", "votes")

    def __init__(
        self,
        questions: list[bytes],
        votes: VoteCounts | None,
        counted: Sequence[int],
        on_behalf: Analyst | None,
    ) -> None:
        self.questions, self.on_behalf = questions, on_behalf
        self.votes, self.counted = votes, counted
        self.answers: list[Answer] | None = None
        self.error: Exception | None = None
        self.leads = False
        self._gate: threading.Lock | None = None  # shut while the caller waits

    @property
    def pending(self) -> bool:
        """Whether it has neither answers nor an error."""
        return self.answers is None and self.error is None

    def result(self) -> list[Answer]:
        """Return the answers, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.answers is not None
        return self.answers

    def goes_with(self, other: Asked) -> bool:
        """Return whether one transaction can be for both, and each gets what it would get alone.

        A transaction is on behalf of one analyst, and an allowance is used in the order asked.
        """
        if self.on_behalf != other.on_behalf or self._has_allowance():
            return False
        mine, theirs = self.votes, other.votes
        if mine is None or theirs is None:
            return mine is theirs
        return mine.n_classes == theirs.n_classes

    def _has_allowance(self) -> bool:
        return self.on_behalf is not None and self.on_behalf.allowance is not None

    def shut(self) -> None:
        """Prepare to wait."""
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        """Wait until ``wake``; if that came before, do not."""
        assert self._gate is not None
        self._gate.acquire()

    def wake(self) -> None:
        """Let the caller go on, if it waits."""
        if self._gate is not None and self._gate.locked():
            self._gate.release()


AnswerAll = Callable[[Asked], list[Answer]]


class Line:
    """Callers that wait, in the order they came; the first of them leads.

    Examples
    --------
    >>> asked = Asked([b"first", b"second"], None, [], None)
    >>> Line().ask(asked, lambda asked: [name.decode() for name in asked.questions])
    ['first', 'second']
    """

    def __init__(self) -> None:
        self.forget()
        _LINES.add(self)

    def forget(self) -> None:
        """Start anew in a process that was forked: whoever waited is waiting in the parent."""
        self._mutex = threading.Lock()  # held for a few steps, never while somebody is answered
        self._waiting: list[Asked] = []

    def ask(self, asked: Asked, answer: AnswerAll) -> list[Answer]:
        """Wait until a leader has answered, or lead and answer for others, too.

        ``answer`` answers what one or several ask, and is called by one thread at a time. Its
        answers may be fewer than the questions.
        """
        try:
            self._join(asked)
            if not asked.leads:
                asked.wait()
            if asked.leads:
                if len(self._waiting) == 1:
                    asked.answers = answer(asked)
                else:
                    _serve(self._group(), answer)
                self._leave(asked)
        except BaseException:
            self._leave(asked)
            raise
        return asked.result()

    def _join(self, asked: Asked) -> None:
        with self._mutex:
            if self._waiting:
                asked.shut()
            else:
                asked.leads = True
            self._waiting.append(asked)

    def _group(self) -> list[Asked]:
        """Return the leader and those who can be served along; they stay in line until they are."""
        with self._mutex:
            leader, *others = self._waiting
            group, size = [leader], len(leader.questions)
            for one in others:
                if leader.goes_with(one):
                    size += len(one.questions)
                    if size > _TOGETHER:
                        break
                    group.append(one)
            return group

    def _leave(self, asked: Asked) -> None:
        """Go; a leader lets everybody go who was served, and has the next in line lead.

        Interrupted on its way, it may be called again.
        """
        with self._mutex:
            if len(self._waiting) == 1 and self._waiting[0] is asked:
                self._waiting.clear()
                return
            if not asked.leads:
                self._waiting = [one for one in self._waiting if one is not asked]
                return
            for one in self._waiting:
                if not one.pending:
                    one.wake()
            self._waiting = [one for one in self._waiting if one.pending and one is not asked]
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake()
            asked.leads = False


def _serve(group: Sequence[Asked], answer: AnswerAll) -> None:
    try:
        answers = answer(_joined(group))
    except Exception as error:
        if len(group) == 1:
            group[0].error = error
        elif isinstance(error, LedgerUnavailable):
            for one in group:  # an error each: threads write into what they raise
                one.error = LedgerUnavailable(*error.args)
                one.error.__cause__ = error
        else:
            # Together they were too many, or one asked amiss: each by itself may be answered.
            for one in group:
                _serve([one], answer)
    else:
        _hand_out(group, answers, answer)


def _joined(group: Sequence[Asked]) -> Asked:
    """Return what several callers ask as if one did, in their order."""
    if len(group) == 1:
        return group[0]
    questions: list[bytes] = []
    counted: list[int] = []
    for one in group:
        counted += [len(questions) + position for position in one.counted]
        questions += one.questions
    votes = [one.votes for one in group if one.votes is not None]
    together = VoteCounts.joined(votes) if votes else None
    return Asked(questions, together, counted, group[0].on_behalf)


def _hand_out(group: Sequence[Asked], answers: list[Answer], answer: AnswerAll) -> None:
    start = 0
    for one in group:
        part = answers[start : start + len(one.questions)]
        start += len(one.questions)
        if part or len(group) == 1:
            one.answers = part
        else:  # the budget ended before this one was reached: by itself it may still be free
            _serve([one], answer)


_LINES: weakref.WeakSet[Line] = weakref.WeakSet()


def _forget_in_child() -> None:
    for line in list(_LINES):
        line.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
