"""How answers and accounts are encoded: fixed size per plan, with running totals.

All bodies of one plan have the same size, so the length of a file, a page or a message does not
reveal whether a question was answered or refused. Each body carries the totals up to and including
its answer, so the state of a plan or of an analyst is read from the last row alone.
"""

from __future__ import annotations

import struct

from tacit.accounting.answer import Answer
from tacit.accounting.plan import Plan
from tacit.errors import LedgerError
from tacit.ledger.chain import HASH_SIZE
from tacit.ledger.tallies import AnalystAccount, Tally


class PlanCodec:
    """Encodes and decodes the rows of one plan.

    Both layouts are big-endian and start with the key of the question (32 bytes). An answer:
    answered or refused (1), secure or not (1), how often each event of the plan happened for it
    (4 each), the tally of the plan after it, values (8 each, signed, zero for a refusal). An answer
    shown to an analyst: period (8), the analyst's tally in all, that in the period. A tally:
    answers, refusals, insecure ones, and every event of the plan (8 each).
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._events = [event for event, _ in plan.events]
        n = len(self._events)
        self._answer = struct.Struct(f">{HASH_SIZE}sBB{n}I{3 + n}Q{plan.width}q")
        self._shown = struct.Struct(f">{HASH_SIZE}sQ{2 * (3 + n)}Q")

    def encode_answer(self, key: bytes, answer: Answer, tally: Tally) -> bytes:
        """Return the body of an answer; ``tally`` includes it."""
        plan = self._plan
        # Output, unit and sigma are read back from the plan, so they must be the plan's.
        if not (
            answer.output == plan.output
            and answer.unit == plan.unit
            and answer.sigma == plan.sigma
            and (answer.refused or len(answer.values or ()) == plan.width)
            and all(event in self._events for event in answer.cost)
        ):
            raise LedgerError(
                f"{plan.mechanism} gave an answer of another kind than its plan describes. Nothing "
                "was recorded or released; make the plan from the mechanism that draws."
            )
        charges = [answer.cost.count(event) for event in self._events]
        values = answer.values or (0,) * plan.width
        flags = (not answer.refused, answer.secure)
        try:
            return self._answer.pack(key, *flags, *charges, *self._numbers(tally), *values)
        except struct.error:
            raise LedgerError(
                "An answer does not fit its row: a value takes more than 64 bits. Nothing was "
                "recorded or released."
            ) from None

    def decode_answer(self, body: bytes) -> tuple[Answer, Tally]:
        """Return a recorded answer, and the tally of its plan; ``ValueError`` for another body."""
        _, answered, secure, *numbers = _unpack(self._answer, body)
        n, plan = len(self._events), self._plan
        cost = tuple(
            event for event, times in zip(self._events, numbers, strict=False) for _ in range(times)
        )
        values = tuple(numbers[3 + 2 * n :]) if answered else None
        answer = Answer(plan.output, values, plan.unit, plan.sigma, cost, bool(secure))
        return answer, self._tally(numbers[n : 3 + 2 * n])

    def encode_shown(self, key: bytes, account: AnalystAccount) -> bytes:
        """Return the body of an answer shown to an analyst; ``account`` includes it."""
        total, in_period = self._numbers(account.total), self._numbers(account.in_period)
        return self._shown.pack(key, account.period, *total, *in_period)

    def decode_shown(self, name: str, body: bytes) -> AnalystAccount:
        """Return an analyst's account; ``ValueError`` for another body."""
        _, period, *numbers = _unpack(self._shown, body)
        half = len(numbers) // 2
        return AnalystAccount(
            name, self._tally(numbers[:half]), period, self._tally(numbers[half:])
        )

    def _numbers(self, tally: Tally) -> list[int]:
        events = (tally.events[event] for event in self._events)
        return [tally.answered, tally.refused, tally.insecure, *events]

    def _tally(self, numbers: list[int]) -> Tally:
        answered, refused, insecure, *events = numbers
        return Tally(answered, refused, insecure, dict(zip(self._events, events, strict=True)))


def _unpack(layout: struct.Struct, body: bytes) -> tuple[int, ...]:
    try:
        return layout.unpack(body)
    except struct.error:
        raise ValueError("a body of another size") from None
