"""The account of a private data set: what was promised, what was released, and what is left."""

from typing import TYPE_CHECKING, Any

from tacit.ledger.analysts import Account, Analyst, Shown
from tacit.ledger.answers import Tally
from tacit.ledger.composition import Amount, Composition
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open import open_ledger
from tacit.ledger.protocol import Head, Ledger, PlanId, Release
from tacit.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from tacit.ledger.postgres import PostgresLedger

__all__ = [
    "Account",
    "Amount",
    "Analyst",
    "Composition",
    "Head",
    "Ledger",
    "MemoryLedger",
    "PlanId",
    "PostgresLedger",
    "Release",
    "Shown",
    "SqliteLedger",
    "Tally",
    "open_ledger",
]


def __getattr__(name: str) -> Any:
    # Loaded on use: it needs an extra.
    if name == "PostgresLedger":
        from tacit.ledger.open import postgres

        return postgres().PostgresLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
