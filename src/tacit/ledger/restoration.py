"""The record that a ledger came out of a backup, and what became of the spend that is not in it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tacit.ledger.chain import HASH_SIZE, Row
from tacit.ledger.composition import Amount
from tacit.privacy.budget import Budget


@dataclass(frozen=True, slots=True)
class Restoration:
    """What a restored ledger says about itself.

    Parameters
    ----------
    lost : int or None
        How many rows were on the lost ledger and are not in the backup: 0 when the backup reaches
        the newest head that was kept, None when nobody knows.
    """

    lost: int | None

    def encode(self, before: Row) -> bytes:
        """Return the row's body; it starts with the hash of the last row of the backup."""
        return before.hash + json.dumps({"lost": self.lost}).encode()

    @classmethod
    def decode(cls, body: bytes) -> Restoration:
        """Read back what ``encode`` wrote."""
        lost = json.loads(body[HASH_SIZE:])["lost"]
        if not (lost is None or (isinstance(lost, int) and lost >= 0)):
            raise ValueError("a number of lost rows that is none")
        return cls(lost)


def lifetime(budget: Budget, restored: int) -> Amount:
    """Return what holds for everything ever released after so many restores with lost spend.

    Each restore starts a second account beside the one that was lost. Neither goes beyond the
    budget, and together they are covered by the sum (``docs/proofs/ledger.md``, claim 4).
    """
    accounts = restored + 1
    return Amount(accounts * budget.epsilon, min(1.0, accounts * budget.delta))
