"""Rows of a ledger: how they are written as bytes, and the hash chain that ties them together.

Every row's hash covers the hash before it, so a row that is edited, removed, inserted or moved
breaks the chain there. Every row but the first belongs to another one, its owner: a plan to the
creation, an answer to its plan. A body that can be looked up starts with a key of 32 bytes, which
occurs once among the rows of one kind and one owner.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tacit.ledger.composition import Composition
from tacit.privacy.budget import Budget
from tacit.privacy.plan import Plan

FORMAT_VERSION = 2
HASH_SIZE = 32
NO_HASH = bytes(HASH_SIZE)

# What the hash of a row covers besides its body: the hash before it, format version, kind, number,
# owner and the body's length. The leading words keep these hashes apart from any other use of one.
_LINK = struct.Struct(f">12s{HASH_SIZE}sHHQQQ")
_DOMAIN = b"tacit-ledger"


class Kind(IntEnum):
    """What a row records; in brackets what it belongs to."""

    CREATED = 0  # the budget, once [itself]
    PLAN = 1  # a guarantee reserved [the creation]
    ANSWER = 2  # an answer and its price [its plan]
    ANALYST = 3  # somebody asks under a plan for the first time [the plan]
    SHOWN = 4  # an answer shown to an analyst [the analyst's row]
    RESTORED = 5  # the rows above came out of a backup [the creation]


class Row(NamedTuple):
    """One row of a ledger, its columns in order; ``owner`` is the row that it belongs to."""

    seq: int
    format_version: int
    kind: int
    owner: int
    body: bytes
    hash: bytes

    def follows(self, before: bytes) -> bool:
        """Return whether this row's hash is right after a row with the hash ``before``."""
        form = (self.format_version, self.kind, self.owner)
        (right,) = _hashes(before, self.seq, *form, (self.body,))
        return self.hash == right

    @property
    def key(self) -> bytes:
        """What the row is found by, among those of its kind and owner."""
        return self.body[:HASH_SIZE]


def link(before: Row | None, kind: Kind, body: bytes, owner: int = 0) -> Row:
    """Return a new row that comes right after ``before``."""
    (row,) = link_all(before, kind, (body,), owner)
    return row


def link_all(before: Row | None, kind: Kind, bodies: Sequence[bytes], owner: int) -> list[Row]:
    """Return new rows, each right after the one before it, the first after ``before``."""
    seq, digest = (0, NO_HASH) if before is None else (before.seq + 1, before.hash)
    form = (FORMAT_VERSION, int(kind), owner)
    hashes = _hashes(digest, seq, *form, bodies)
    columns = (itertools.count(seq), *map(itertools.repeat, form), bodies, hashes)
    return list(map(_row, zip(*columns, strict=False)))


_row = functools.partial(tuple.__new__, Row)
"""Makes a row of its columns, in less time than ``Row._make``."""


def _hashes(
    before: bytes, seq: int, version: int, kind: int, owner: int, bodies: Iterable[bytes]
) -> list[bytes]:
    """Return the hashes of rows alike, from number ``seq`` on, after one that has ``before``."""
    pack, sha256 = _LINK.pack, hashlib.sha256
    found = []
    for body in bodies:
        head = pack(_DOMAIN, before, version, kind, seq, owner, len(body))
        before = sha256(head + body).digest()
        found.append(before)
        seq += 1
    return found


def key_hash(key: bytes | str) -> bytes:
    """Return the 32 bytes by which a question, a plan or an analyst is found again."""
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


def decode_plan(body: bytes) -> Plan:
    """Read back the plan."""
    return Plan.from_json(body[HASH_SIZE:].decode())
