"""What one process remembers of a ledger: the accounts as they stood at the newest row it saw.

Most of what a request reads is the last row of its plan and of its analyst, each checked against
the row before. While the newest row is still the one that this process saw last, nothing was added,
and they say what they said: row numbers are a primary key, and a decision that rests on row n is
recorded as row n + 1 or not at all (``docs/proofs/ledger.md``, claim 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from tacit.ledger.analysts import Account
from tacit.ledger.answers import Usage
from tacit.ledger.chain import Row

_MOST = 64
"""Accounts of each kind that are remembered; any other is read."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Known(NamedTuple):
    """The newest row, and accounts as they stand at it. Never changed: the next one replaces it.

    Parameters
    ----------
    head : Row
    usage : mapping of a plan's number to its state
    accounts : mapping of a plan's number and an analyst's name to the analyst's row and account
    """

    head: Row
    usage: Mapping[int, Usage] = MappingProxyType({})
    accounts: Mapping[tuple[int, str], tuple[Row, Account]] = MappingProxyType({})

    def after(self, rows: Sequence[Row], plan: int, usage: Usage) -> Known:
        """Return what is known once these rows, if any, are added, and the state of their plan."""
        head = rows[-1] if rows else self.head
        return Known(head, _with(self.usage, plan, usage), self.accounts)

    def with_account(self, rows: Sequence[Row], plan: int, row: Row, account: Account) -> Known:
        """Return what is known once these rows are added, and the account that they belong to."""
        known = _with(self.accounts, (plan, account.name), (row, account))
        return Known(rows[-1], self.usage, known)


def _with(known: Mapping[Key, Value], key: Key, value: Value) -> Mapping[Key, Value]:
    found = {**known, key: value}
    if len(found) > _MOST:
        del found[next(iter(found))]
    return found
