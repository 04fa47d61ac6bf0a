"""Rows of a ledger: how they are written as bytes, and the hash chain that ties them together.

Every row's hash covers the hash before it, so a row that is edited, removed, inserted or moved
breaks the chain there. The body of an answer has a size that depends on its plan only: the length
of a file, a page or a message says nothing about whether a question was answered or refused.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from tacit.errors import LedgerError
from tacit.privacy.answer import Answer
from tacit.privacy.budget import Budget
from tacit.privacy.events import Event
from tacit.privacy.ledger.composition import Composition
from tacit.privacy.plan import Plan

FORMAT_VERSION = 1
HASH_SIZE = 32
NO_HASH = bytes(HASH_SIZE)

# What the hash of a row covers besides its body: the hash before it, format version, kind, number,
# plan and the body's length. The leading words keep these hashes apart from any other use of one.
_LINK = struct.Struct(f">12s{HASH_SIZE}sHHQQQ")
_DOMAIN = b"tacit-ledger"


class Kind(IntEnum):
    """What a row records."""

    CREATED = 0
    PLAN = 1
    ANSWER = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a ledger.

    ``plan`` is the number of the row in which the answer's plan was opened; for the other kinds it
    is the row's own number.
    """

    seq: int
    format_version: int
    kind: int
    plan: int
    body: bytes
    hash: bytes

    def follows(self, before: bytes) -> bool:
        """Return whether this row's hash is right after a row with the hash ``before``."""
        return self.hash == _hash(
            before, self.format_version, self.kind, self.seq, self.plan, self.body
        )


def link(before: Row | None, kind: Kind, body: bytes, plan: int | None = None) -> Row:
    """Return a new row that comes right after ``before``."""
    seq = 0 if before is None else before.seq + 1
    previous = NO_HASH if before is None else before.hash
    owner = seq if plan is None else plan
    digest = _hash(previous, FORMAT_VERSION, kind, seq, owner, body)
    return Row(seq, FORMAT_VERSION, int(kind), owner, body, digest)


def _hash(before: bytes, version: int, kind: int, seq: int, plan: int, body: bytes) -> bytes:
    head = _LINK.pack(_DOMAIN, before, version, kind, seq, plan, len(body))
    return hashlib.sha256(head + body).digest()


def key_hash(key: bytes | str) -> bytes:
    """Return the 32 bytes by which a question or a plan is found again."""
    return hashlib.sha256(key.encode() if isinstance(key, str) else bytes(key)).digest()


@dataclass(frozen=True, slots=True)
class Creation:
    """The first row: what was promised once and for all."""

    ledger_id: str
    budget: Budget
    composition: Composition

    def encode(self) -> bytes:
        """Return the row's body."""
        return json.dumps(
            {
                "budget": {"delta": self.budget.delta, "epsilon": self.budget.epsilon},
                "composition": self.composition.value,
                "ledger_id": self.ledger_id,
            },
            sort_keys=True,
            separators=(",", ":"),
        ).encode()

    @classmethod
    def decode(cls, body: bytes) -> Creation:
        """Read back what ``encode`` wrote."""
        found = json.loads(body)
        return cls(
            ledger_id=str(found["ledger_id"]),
            budget=Budget(**found["budget"]),
            composition=Composition(found["composition"]),
        )


def encode_plan(plan: Plan, key: bytes) -> bytes:
    """Return the body of a plan's row: the hash of its key, then its text form."""
    return key + plan.to_json().encode()


def decode_plan(body: bytes) -> tuple[bytes, Plan]:
    """Return the key's hash and the plan."""
    return body[:HASH_SIZE], Plan.from_json(body[HASH_SIZE:].decode())


@dataclass(slots=True)
class Tally:
    """How many answers a plan has given; every one of them is public."""

    answered: int = 0
    refused: int = 0
    insecure: int = 0

    def add(self, body: bytes) -> None:
        """Count one answer's body."""
        if body[HASH_SIZE]:
            self.answered += 1
        else:
            self.refused += 1
        self.insecure += not body[HASH_SIZE + 1]


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded answer, with how often each event of its plan had happened after it."""

    key: bytes
    answer: Answer
    used: dict[Event, int]


class AnswerCodec:
    """Writes and reads the answers of one plan; every body has the same size.

    The layout, big-endian: key (32 bytes), answered or refused (1), secure or not (1), then for
    each event of the plan how often this answer caused it (4 each) and how often it has happened in
    the plan so far (8 each), and the values (8 each, signed; zero for a refusal).
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._events = [event for event, _ in plan.events]
        n = len(self._events)
        self._layout = struct.Struct(f">{HASH_SIZE}sBB{n}I{n}Q{plan.width}q")

    @property
    def size(self) -> int:
        """Bytes of one answer."""
        return self._layout.size

    def encode(self, key: bytes, answer: Answer, used: Mapping[Event, int]) -> bytes:
        """Return an answer's body; ``used`` counts this answer too."""
        self._check(answer)
        charges = Counter(answer.cost)
        values = (0,) * self.plan.width if answer.values is None else answer.values
        try:
            return self._layout.pack(
                key,
                not answer.refused,
                answer.secure,
                *(charges[event] for event in self._events),
                *(used[event] for event in self._events),
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
        charges, used, values = numbers[:n], numbers[n : 2 * n], numbers[2 * n :]
        cost = tuple(
            e for e, times in zip(self._events, charges, strict=True) for _ in range(times)
        )
        plan = self.plan
        answer = Answer(
            output=plan.output,
            values=tuple(values) if answered else None,
            unit=plan.unit,
            sigma=plan.sigma,
            cost=cost,
            secure=bool(secure),
        )
        return Entry(key, answer, dict(zip(self._events, used, strict=True)))

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
