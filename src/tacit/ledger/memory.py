"""A ledger in memory: for notebooks, demonstrations and tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from tacit.accounting.budget import Budget
from tacit.errors import LedgerError
from tacit.ledger.chain import Address, Row, RowKind
from tacit.ledger.composition import Composition
from tacit.ledger.ledger import NESTED, Ledger
from tacit.ledger.store import Store

_NOT_SHARED = (
    "An in-memory ledger cannot be shared by parallel fits or other processes: each copy would "
    "spend the whole budget again. Give `ledger=` a path instead, such as 'ledger.sqlite'."
)


class MemoryLedger(Ledger):
    """A ledger that lasts as long as the process. Safe to share between threads.

    It fulfils the contract of ``Ledger`` except durability: the record, and with it the budget of
    the data set, is lost when the process ends. Use a path for anything that is really released.

    Parameters
    ----------
    budget : Budget
        Lifetime budget of the data set.
    composition : {"basic", "zcdp"}, default "basic"
    allow_insecure : bool, default True
        Whether answers from test noise may be recorded; they are marked in every case.

    Examples
    --------
    >>> ledger = MemoryLedger(Budget(1.0, 1e-5))
    >>> ledger.remaining()
    Amount(epsilon=1.0, delta=1e-05, rho=None)
    >>> ledger.head().seq
    0
    """

    def __init__(
        self,
        budget: Budget,
        *,
        composition: Composition | str = Composition.BASIC,
        allow_insecure: bool = True,
    ) -> None:
        super().__init__(allow_insecure)
        self._rows = _MemoryStore()
        self._lock = threading.RLock()
        self._in_transaction = False
        self._pid = os.getpid()
        with self._writing() as store:
            self._create_or_check(store, budget, composition)

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        self._refuse_other_process()
        with self._lock:
            yield self._rows

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        self._refuse_other_process()
        with self._lock:
            if self._in_transaction:
                raise LedgerError(NESTED)
            self._in_transaction, length = True, len(self._rows)
            try:
                yield self._rows
            except BaseException:
                self._rows.truncate(length)
                raise
            finally:
                self._in_transaction = False

    def close(self) -> None:
        """Do nothing: there are no files or connections."""

    def _refuse_other_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerError(_NOT_SHARED)

    def __reduce__(self) -> NoReturn:
        raise LedgerError(_NOT_SHARED)

    def __repr__(self) -> str:
        return f"MemoryLedger(budget={self.budget}, composition='{self.composition}')"


class _MemoryStore:
    """A list of rows with an index by address and one by owner."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._by_address: dict[Address, Row] = {}
        self._by_owner: dict[tuple[int, int], list[Row]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def newest(self, also: Collection[int] = ()) -> dict[int, Row]:
        return self.at([len(self._rows) - 1, *sorted(also, reverse=True)])

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        return {seq: self._rows[seq] for seq in seqs if 0 <= seq < len(self._rows)}

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)

    def owned(self, kind: RowKind, owner: int) -> list[Row]:
        return list(self._by_owner.get((kind, owner), ()))

    def keyed(self, addresses: Collection[Address]) -> dict[Address, Row]:
        return {at: self._by_address[at] for at in addresses if at in self._by_address}

    def last(self, kind: RowKind, owner: int) -> Row | None:
        rows = self._by_owner.get((kind, owner))
        return rows[-1] if rows else None

    def append(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._rows.append(row)
            self._by_address[row.address] = row
            self._by_owner.setdefault((row.kind, row.owner), []).append(row)

    def truncate(self, length: int) -> None:
        """Remove every row from ``length`` on."""
        while len(self._rows) > length:
            row = self._rows.pop()
            del self._by_address[row.address]
            self._by_owner[row.kind, row.owner].pop()
