"""How answers are written: one size per plan, with running counts, so that none is ever summed up.

The body of an answer has a size that depends on its plan only: the length of a file, a page or a
message says nothing about whether a question was answered or refused. Each carries how often every
event has happened under the plan and how many answers there were: the last row of a plan tells
its whole state.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tacit.errors import LedgerError
from tacit.privacy.answer import Answer
from tacit.privacy.events import Event
from tacit.privacy.ledger.chain import HASH_SIZE
from tacit.privacy.plan import Plan


@dataclass(frozen=True, slots=True)
class Tally:
    """How many answers a plan has given; every one of them is public."""

    answered: int = 0
    refused: int = 0
    insecure: int = 0

    def plus(self, answer: Answer) -> Tally:
        """Return the counts with one more answer."""
        return Tally(
            self.answered + (not answer.refused),
            self.refused + answer.refused,
            self.insecure + (not answer.secure),
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """State of a plan: how often each of its events has happened, and its tally."""

    used: Mapping[Event, int]
    tally: Tally = Tally()

    @classmethod
    def none(cls, plan: Plan) -> Usage:
        """Return the state of a plan that was just opened."""
        return cls(dict.fromkeys(plan.most, 0))

    def plus(self, answer: Answer) -> Usage:
        """Return the state after one more answer."""
        used = Counter(dict(self.used))
        used.update(answer.cost)
        return Usage(dict(used), self.tally.plus(answer))

    def along(self, answers: Iterable[Answer]) -> Iterator[Usage]:
        """Return the state after each of some answers."""
        state = self
        for answer in answers:
            state = state.plus(answer)
            yield state


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded answer, with the state of its plan after it."""

    key: bytes
    answer: Answer
    usage: Usage


class AnswerCodec:
    """Writes and reads the answers of one plan; every body has the same size.

    The layout, big-endian: key (32 bytes), answered or refused (1), secure or not (1), then for
    each event of the plan how often this answer caused it (4 each) and how often it has happened in
    the plan so far (8 each), the plan's answers, refusals and insecure answers so far (8 each), and
    the values (8 each, signed; zero for a refusal).
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._events = [event for event, _ in plan.events]
        n = len(self._events)
        self._layout = struct.Struct(f">{HASH_SIZE}sBB{n}I{n}Q3Q{plan.width}q")

    @property
    def size(self) -> int:
        """Bytes of one answer."""
        return self._layout.size

    def encode(self, entry: Entry) -> bytes:
        """Return an answer's body."""
        answer, usage = entry.answer, entry.usage
        self._check(answer)
        charges = Counter(answer.cost)
        values = (0,) * self.plan.width if answer.values is None else answer.values
        try:
            return self._layout.pack(
                entry.key,
                not answer.refused,
                answer.secure,
                *(charges[event] for event in self._events),
                *(usage.used[event] for event in self._events),
                usage.tally.answered,
                usage.tally.refused,
                usage.tally.insecure,
                *values,
            )
        except struct.error:
            raise LedgerError(
                "An answer does not fit its row: a value takes more than 64 bits. Nothing was "
                "recorded or released."
            ) from None

    def decode(self, body: bytes) -> Entry:
        """Read back what ``encode`` wrote; raises ``ValueError`` for anything else."""
        try:
            key, answered, secure, *numbers = self._layout.unpack(body)
        except struct.error:
            raise ValueError("a body of another size") from None
        n = len(self._events)
        charges, used, tally = numbers[:n], numbers[n : 2 * n], numbers[2 * n : 2 * n + 3]
        cost = tuple(
            e for e, times in zip(self._events, charges, strict=True) for _ in range(times)
        )
        plan = self.plan
        answer = Answer(
            output=plan.output,
            values=tuple(numbers[2 * n + 3 :]) if answered else None,
            unit=plan.unit,
            sigma=plan.sigma,
            cost=cost,
            secure=bool(secure),
        )
        usage = Usage(dict(zip(self._events, used, strict=True)), Tally(*tally))
        return Entry(key, answer, usage)

    def _check(self, answer: Answer) -> None:
        # Output, unit and sigma are read back from the plan, so they must be the plan's.
        plan = self.plan
        same = (answer.output, answer.unit, answer.sigma) == (plan.output, plan.unit, plan.sigma)
        right_width = answer.values is None or len(answer.values) == plan.width
        if not (same and right_width and set(answer.cost) <= set(self._events)):
            raise LedgerError(
                f"{plan.mechanism} gave an answer of another kind than its plan describes. Nothing "
                "was recorded or released; make the plan from the mechanism that draws."
            )


def free(answer: Answer) -> Answer:
    """Return the answer as it is given again: at no cost this time."""
    return Answer(answer.output, answer.values, answer.unit, answer.sigma, (), answer.secure)
