"""The privacy account of a data set: reserved guarantees, recorded answers, and what is left."""

from typing import TYPE_CHECKING, Any

from tacit.ledger.answering import FixedPriceRelease, Release
from tacit.ledger.chain import Head, PlanId
from tacit.ledger.composition import Amount, Composition
from tacit.ledger.ledger import Ledger
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open import open_ledger
from tacit.ledger.tallies import Analyst, AnalystAccount, Tally

if TYPE_CHECKING:
    from tacit.ledger.postgres import PostgresLedger
    from tacit.ledger.sqlite import SqliteLedger

__all__ = [
    "AnalystAccount",
    "Amount",
    "Analyst",
    "Composition",
    "FixedPriceRelease",
    "Head",
    "Ledger",
    "MemoryLedger",
    "PlanId",
    "PostgresLedger",
    "Release",
    "SqliteLedger",
    "Tally",
    "open_ledger",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: SQLAlchemy takes a while.
    if name == "SqliteLedger":
        from tacit.ledger.sqlite import SqliteLedger

        return SqliteLedger
    if name == "PostgresLedger":
        from tacit.ledger.postgres import PostgresLedger

        return PostgresLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
