"""The account of a private data set: what was promised, what was released, and what is left."""

from typing import TYPE_CHECKING, Any

from tacit.privacy.ledger.analysts import Account, Analyst, Shown
from tacit.privacy.ledger.answers import Tally
from tacit.privacy.ledger.composition import Amount, Composition
from tacit.privacy.ledger.memory import MemoryLedger
from tacit.privacy.ledger.open import open_ledger
from tacit.privacy.ledger.protocol import Head, Ledger, PlanId, Release
from tacit.privacy.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from tacit.privacy.ledger.postgres import PostgresLedger

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
        from tacit.privacy.ledger.open import postgres

        return postgres().PostgresLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
