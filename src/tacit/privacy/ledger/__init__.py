"""The account of a private data set: what was promised, what was released, and what is left."""

from tacit.privacy.ledger.analysts import Account, Analyst, Shown
from tacit.privacy.ledger.answers import Tally
from tacit.privacy.ledger.composition import Amount, Composition
from tacit.privacy.ledger.memory import MemoryLedger
from tacit.privacy.ledger.open import open_ledger
from tacit.privacy.ledger.protocol import Head, Ledger, PlanId, Release
from tacit.privacy.ledger.sqlite import SqliteLedger

__all__ = [
    "Account",
    "Amount",
    "Analyst",
    "Composition",
    "Head",
    "Ledger",
    "MemoryLedger",
    "PlanId",
    "Release",
    "Shown",
    "SqliteLedger",
    "Tally",
    "open_ledger",
]
