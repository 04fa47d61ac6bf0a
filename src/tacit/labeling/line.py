"""Callers in line: whoever's turn it is answers for all that wait, in one transaction.

A durable commit takes longer than everything else. Threads that ask while one is under way would
each wait for a commit of their own, one after the other; instead, the next one takes along all that
have come by then.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence

from tacit.errors import AllowanceExceeded, BudgetExceeded
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.answer import Answer
from tacit.privacy.ledger.analysts import Analyst

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

    __slots__ = ("answers", "counted", "error", "on_behalf", "questions", "votes")

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
        """Return whether one transaction can be for both: it is on behalf of one analyst."""
        if self.on_behalf != other.on_behalf:
            return False
        mine, theirs = self.votes, other.votes
        return mine is None or theirs is None or mine.n_classes == theirs.n_classes


AnswerAll = Callable[[Asked], list[Answer]]


class Line:
    """Callers that wait their turn, in the order they came.

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
        self._turn = threading.Lock()
        self._waiting: deque[Asked] = deque()

    def ask(self, asked: Asked, answer: AnswerAll) -> list[Answer]:
        """Wait for a turn, or until somebody has answered on his; return the answers.

        ``answer`` answers what one or several ask, and is called by one thread at a time. Its
        answers may be fewer than the questions.
        """
        self._waiting.append(asked)
        try:
            with self._turn:
                while asked.pending:
                    self._serve_some(answer)
        except BaseException:  # interrupted: nobody waits for it any more
            with contextlib.suppress(ValueError):
                self._waiting.remove(asked)
            raise
        return asked.result()

    def _serve_some(self, answer: AnswerAll) -> None:
        group = self._next()
        try:
            _serve(group, answer)
        except BaseException:
            # Interrupted: the others, who are waiting, go back to where they were.
            self._waiting.extendleft(one for one in reversed(group) if one.pending)
            raise

    def _next(self) -> list[Asked]:
        """Take the first of the line, and those behind it who can be served along."""
        waiting = self._waiting
        first = waiting.popleft()
        group, size = [first], len(first.questions)
        while waiting and first.goes_with(waiting[0]):
            size += len(waiting[0].questions)
            if size > _TOGETHER:
                break
            group.append(waiting.popleft())
        return group


def _serve(group: Sequence[Asked], answer: AnswerAll) -> None:
    try:
        answers = answer(_joined(group))
    except (BudgetExceeded, AllowanceExceeded) as error:
        if len(group) == 1:
            group[0].error = error
            return
        # Together they were too many; by itself each may still fit, or be free.
        for one in group:
            _serve([one], answer)
    except Exception as error:
        for one in group:
            one.error = error
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
