"""Rows of a ledger: how they are encoded, and the hash chain that links them.

The hash of a row covers the hash of the row before it, so editing, removing, inserting or moving a
row breaks the chain at that place. Every row but the first has an owner: a plan belongs to the
creation, an answer to its plan. A body starts with a key of 32 bytes, which is unique among the
rows of one kind and owner.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, NewType

from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.errors import LedgerCorrupt, LedgerFormatError
from tacit.ledger.composition import Amount, Composition

FORMAT_VERSION = 1
HASH_SIZE = 32
NO_HASH = bytes(HASH_SIZE)

# The hash covers, besides the body: a domain tag, the previous hash, format version, kind, sequence
# number, owner and the length of the body.
_HEADER = struct.Struct(f">12s{HASH_SIZE}sHHQQQ")
_DOMAIN = b"tacit-ledger"


Address = tuple[int, int, bytes]
PlanId = NewType("PlanId", int)
"""Number of the row that opened a plan."""


class RowKind(IntEnum):
    """What a row records; its owner in brackets."""

    CREATED = 0  # budget and composition, once [itself]
    PLAN = 1  # a reserved guarantee [the creation]
    ANSWER = 2  # an answer and its price [its plan]
    ANALYST = 3  # the first question of an analyst under a plan [the plan]
    SHOWN = 4  # an answer shown to an analyst [the analyst's row]
    RESTORED = 5  # the rows before this one were restored from a backup [the creation]


class Row(NamedTuple):
    """One row of a ledger, in the order of its columns."""

    seq: int
    format_version: int
    kind: int
    owner: int
    body: bytes
    hash: bytes

    @property
    def key(self) -> bytes:
        """The first 32 bytes of the body."""
        return self.body[:HASH_SIZE]

    @property
    def address(self) -> Address:
        """Kind, owner and key: unique in the ledger."""
        return self.kind, self.owner, self.key

    def check(self, previous_hash: bytes | None) -> None:
        """Check the format of the row, and its hash after that of the row before (None: no row)."""
        if self.format_version != FORMAT_VERSION:
            other = "a newer one" if self.format_version > FORMAT_VERSION else "an older one"
            raise LedgerFormatError(
                f"The ledger is written in format {self.format_version}; this version of tacit "
                f"reads format {FORMAT_VERSION}. Nothing was changed. Use the version of tacit "
                f"that wrote it, or {other}."
            )
        if self.seq and previous_hash is None:
            raise LedgerCorrupt(f"Row {self.seq - 1} is missing.", row=self.seq - 1)
        columns = (self.format_version, self.kind, self.seq, self.owner)
        if self.hash != _row_hash(previous_hash or NO_HASH, *columns, self.body):
            raise LedgerCorrupt(
                f"Row {self.seq} was changed, inserted or moved, or the row before it.",
                row=self.seq,
            )


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row of a ledger: its number and its hash. Public.

    A head exported to another place lets ``verify`` detect later that a row up to it was changed,
    or that the ledger was put back to an earlier state.

    Examples
    --------
    >>> Head(seq=0, hash="ab" * 32)
    Head(seq=0, hash='abababab...')
    """

    seq: int
    hash: str

    @classmethod
    def of(cls, row: Row) -> Head:
        """Return the head of a ledger whose newest row is this one."""
        return cls(row.seq, row.hash.hex())

    def __repr__(self) -> str:
        return f"Head(seq={self.seq}, hash='{self.hash[:8]}...')"


def _row_hash(previous: bytes, version: int, kind: int, seq: int, owner: int, body: bytes) -> bytes:
    header = _HEADER.pack(_DOMAIN, previous, version, kind, seq, owner, len(body))
    return hashlib.sha256(header + body).digest()


def link(previous: Row | None, kind: RowKind, body: bytes, owner: int = 0) -> Row:
    """Return a new row that comes right after ``previous``."""
    seq, digest = (0, NO_HASH) if previous is None else (previous.seq + 1, previous.hash)
    version, number = FORMAT_VERSION, int(kind)
    row_hash = _row_hash(digest, version, number, seq, owner, body)
    return Row(seq, version, number, owner, body, row_hash)


def key_hash(key: bytes | str) -> bytes:
    """Return the 32 bytes under which a question, a plan or an analyst is looked up."""
    return hashlib.sha256(key.encode() if isinstance(key, str) else bytes(key)).digest()


@dataclass(frozen=True, slots=True)
class Creation:
    """The first row: what was fixed when the ledger was created."""

    ledger_id: str
    budget: Budget
    composition: Composition

    def encode(self) -> bytes:
        """Return the body of the row."""
        fields = {
            "budget": {"delta": self.budget.delta, "epsilon": self.budget.epsilon},
            "composition": self.composition.value,
            "ledger_id": self.ledger_id,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, body: bytes) -> Creation:
        """Read what ``encode`` wrote."""
        fields = json.loads(body)
        return cls(
            ledger_id=str(fields["ledger_id"]),
            budget=Budget(**fields["budget"]),
            composition=Composition(fields["composition"]),
        )


@dataclass(frozen=True, slots=True)
class Restoration:
    """The row that a restore appends.

    Parameters
    ----------
    lost : int or None
        Rows of the lost ledger that are not in the backup: 0 when the backup ends with the newest
        known head, None when the number is not known.
    """

    lost: int | None

    def encode(self, previous: Row) -> bytes:
        """Return the body of the row; its key is the hash of the last row of the backup."""
        return previous.hash + json.dumps({"lost": self.lost}).encode()

    @classmethod
    def decode(cls, body: bytes) -> Restoration:
        """Read what ``encode`` wrote."""
        lost = json.loads(body[HASH_SIZE:])["lost"]
        if not (lost is None or (isinstance(lost, int) and lost >= 0)):
            raise ValueError("an impossible number of lost rows")
        return cls(lost)


def lifetime_amount(budget: Budget, lossy_restores: int) -> Amount:
    """Return the guarantee for everything ever released after so many restores with lost spend.

    Each such restore starts another account beside the lost one. Neither exceeds the budget, and
    together they are covered by the sum (``docs/proofs/ledger.md``, claim 4).
    """
    accounts = lossy_restores + 1
    return Amount(accounts * budget.epsilon, min(1.0, accounts * budget.delta))


def encode_plan(plan: Plan, key: bytes) -> bytes:
    """Return the body of a plan's row: the hash of its key, then its JSON form."""
    return key + plan.to_json().encode()


def decode_plan(body: bytes) -> Plan:
    """Read what ``encode_plan`` wrote."""
    return Plan.from_json(body[HASH_SIZE:].decode())


def encode_analyst(name: str) -> bytes:
    """Return the body of an analyst's row: the hash of the name, then the name."""
    return key_hash(name) + name.encode()


def decode_analyst(body: bytes) -> str:
    """Return the name; raises ``ValueError`` when its hash is another's."""
    name = body[HASH_SIZE:].decode()
    if key_hash(name) != body[:HASH_SIZE]:
        raise ValueError("a name with another's hash")
    return name
