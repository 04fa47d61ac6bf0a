"""How answers are written: one size per plan, with running counts, so that none is ever summed up.

The body of an answer has a size that depends on its plan only: the length of a file, a page or a
message says nothing about whether a question was answered or refused. Each carries how often every
event has happened under the plan and how many answers there were: the last row of a plan tells
its whole state.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tacit.errors import LedgerError
from tacit.ledger.chain import HASH_SIZE
from tacit.privacy.answer import Answer
from tacit.privacy.events import Event
from tacit.privacy.plan import Plan


class Tally(NamedTuple):
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


class Usage(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded answer, with the state of its plan after it."""

    key: bytes
    answer: Answer
    usage: Usage


_TALLY = struct.Struct(">3Q").pack
_NONE = Tally()
_Last = tuple[Answer | None, Mapping[Event, int] | None, bytes, bytes, Tally]


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
        start, end = f"BB{n}I{n}Q", f"{plan.width}q"
        self._layout = struct.Struct(f">{HASH_SIZE}s{start}3Q{end}")
        self._start, self._end = struct.Struct(f">{start}"), struct.Struct(f">{end}")
        self._no_values = (0,) * plan.width
        # The last answer, what was used after it, what its row had around the tally, and what it
        # added to that.
        self._last: _Last = (None, None, b"", b"", _NONE)

    @property
    def size(self) -> int:
        """Bytes of one answer."""
        return self._layout.size

    def encode_all(
        self, keys: Iterable[bytes], answers: Iterable[Answer], before: Usage
    ) -> tuple[list[bytes], Usage]:
        """Return the bodies of answers given one after the other, and the state after the last.

        Each body has the state after its answer, as ``before.plus`` would have it.
        """
        try:
            return self._written(keys, answers, before)
        except struct.error:
            raise LedgerError(
                "An answer does not fit its row: a value takes more than 64 bits. Nothing was "
                "recorded or released."
            ) from None

    def _written(
        self, keys: Iterable[bytes], answers: Iterable[Answer], before: Usage
    ) -> tuple[list[bytes], Usage]:
        used, (answered, refused, insecure) = before
        bodies, (last, used_then, start, end, (yes, no, unsafe)) = [], self._last
        for key, answer in zip(keys, answers, strict=False):
            # Free answers alike are often one object, and their rows differ in key and tally only.
            if answer is not last or used is not used_then or answer.cost:
                used, start, end = self._around_tally(answer, used)
                last, used_then, (yes, no, unsafe) = answer, used, _NONE.plus(answer)
            answered += yes
            refused += no
            insecure += unsafe
            bodies.append(key + start + _TALLY(answered, refused, insecure) + end)
        self._last = last, used_then, start, end, Tally(yes, no, unsafe)
        return bodies, Usage(used, Tally(answered, refused, insecure))

    def _around_tally(
        self, answer: Answer, used: Mapping[Event, int]
    ) -> tuple[Mapping[Event, int], bytes, bytes]:
        """Return what is used after an answer, and what its row has before and after the tally."""
        self._check(answer)
        charges = [answer.cost.count(event) for event in self._events]
        if answer.cost:
            used = {e: used[e] + more for e, more in zip(self._events, charges, strict=True)}
        given = answer.values is not None
        totals = [used[event] for event in self._events]
        start = self._start.pack(given, answer.secure, *charges, *totals)
        return used, start, self._end.pack(*(answer.values or self._no_values))

    def decode(self, body: bytes) -> Entry:
        """Read back what ``encode_all`` wrote; raises ``ValueError`` for anything else."""
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
        if not (
            answer.output == plan.output
            and answer.unit == plan.unit
            and answer.sigma == plan.sigma
            and (answer.values is None or len(answer.values) == plan.width)
            and all(event in self._events for event in answer.cost)
        ):
            raise LedgerError(
                f"{plan.mechanism} gave an answer of another kind than its plan describes. Nothing "
                "was recorded or released; make the plan from the mechanism that draws."
            )


def free(answer: Answer) -> Answer:
    """Return the answer as it is given again: at no cost this time."""
    if not answer.cost:
        return answer
    return Answer(answer.output, answer.values, answer.unit, answer.sigma, (), answer.secure)
