"""How answers are encoded: fixed size per plan, with running totals.

All bodies of one plan have the same size, so the length of a file, a page or a message does not
reveal whether a question was answered or refused. Each body carries the totals of its plan up to
and including that answer, so the state of a plan is read from its last row.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.errors import LedgerError
from tacit.ledger.chain import HASH_SIZE


class Tally(NamedTuple):
    """Number of answers given under a plan. Public."""

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
        used = self.used
        if answer.cost:
            used = Counter(dict(used))
            used.update(answer.cost)
        return Usage(dict(used), self.tally.plus(answer))

    def room(self, plan: Plan) -> dict[Event, int]:
        """Return how often each event may still happen."""
        return {event: most - self.used[event] for event, most in plan.events}


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded answer, and the state of its plan after it."""

    key: bytes
    answer: Answer
    usage: Usage


class AnswerCodec:
    """Encodes and decodes the answers of one plan.

    Layout, big-endian: key (32 bytes), answered or refused (1), secure or not (1); for each event
    of the plan how often this answer caused it (4 each), then how often it has happened so far (8
    each); answers, refusals and insecure answers so far (8 each); values (8 each, signed, zero for
    a refusal).
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._events = [event for event, _ in plan.events]
        n = len(self._events)
        self._layout = struct.Struct(f">{HASH_SIZE}sBB{n}I{n}Q3Q{plan.width}q")

    def encode_all(
        self, keys: Iterable[bytes], answers: Iterable[Answer], before: Usage
    ) -> tuple[list[bytes], Usage]:
        """Return the bodies of answers given one after the other, and the state after the last."""
        bodies, usage = [], before
        for key, answer in zip(keys, answers, strict=False):
            self._check(answer)
            usage = usage.plus(answer)
            bodies.append(self._encode(key, answer, usage))
        return bodies, usage

    def _encode(self, key: bytes, answer: Answer, usage: Usage) -> bytes:
        charges = [answer.cost.count(event) for event in self._events]
        totals = [usage.used[event] for event in self._events]
        values = answer.values or (0,) * self.plan.width
        flags = (not answer.refused, answer.secure)
        try:
            return self._layout.pack(key, *flags, *charges, *totals, *usage.tally, *values)
        except struct.error:
            raise LedgerError(
                "An answer does not fit its row: a value takes more than 64 bits. Nothing was "
                "recorded or released."
            ) from None

    def decode(self, body: bytes) -> Entry:
        """Read what ``encode_all`` wrote; raises ``ValueError`` for anything else."""
        try:
            key, answered, secure, *numbers = self._layout.unpack(body)
        except struct.error:
            raise ValueError("a body of another size") from None
        n, plan = len(self._events), self.plan
        charges, used, tally = numbers[:n], numbers[n : 2 * n], numbers[2 * n : 2 * n + 3]
        answer = Answer(
            output=plan.output,
            values=tuple(numbers[2 * n + 3 :]) if answered else None,
            unit=plan.unit,
            sigma=plan.sigma,
            cost=tuple(
                event
                for event, times in zip(self._events, charges, strict=True)
                for _ in range(times)
            ),
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


def without_cost(answer: Answer) -> Answer:
    """Return the answer as it is given again: free."""
    return replace(answer, cost=()) if answer.cost else answer
