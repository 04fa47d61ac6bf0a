"""A ledger in memory: for notebooks, demonstrations and tests."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import NoReturn

from tacit.errors import LedgerError
from tacit.ledger.chain import Kind, Row
from tacit.ledger.composition import Composition
from tacit.ledger.rows import RowLedger
from tacit.ledger.store import Store, Wanted
from tacit.privacy.budget import Budget

_NOT_SHARED = (
    "An in-memory ledger cannot be shared by parallel fits or other processes: each copy would "
    "spend the whole budget again. Give `ledger=` a path instead, such as 'ledger.sqlite'."
)


class MemoryLedger(RowLedger):
    """A ledger that lasts as long as the process. Safe to share between threads.

    It keeps every promise of ``Ledger`` but one: what it recorded is forgotten when the process
    ends, and the data set's budget with it. Use a path for anything that is released for good.

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
        self._rows = _Rows()
        self._lock = threading.RLock()
        self._busy = False
        self._pid = os.getpid()
        with self._writing() as store:
            self._created = self._create(store, budget, composition)

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        self._refuse_other_process()
        with self._lock:
            yield self._rows

    @contextmanager
    def _writing(self, wanted: Wanted | None = None) -> Iterator[Store]:
        self._refuse_other_process()
        with self._lock:
            if self._busy:
                raise LedgerError("A release must not use the ledger that records it.")
            self._busy, kept = True, len(self._rows)
            try:
                yield self._rows
            except BaseException:
                self._rows.cut(kept)
                raise
            finally:
                self._busy = False

    def close(self) -> None:
        """Nothing to let go of."""

    def _refuse_other_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerError(_NOT_SHARED)

    def __reduce__(self) -> NoReturn:
        raise LedgerError(_NOT_SHARED)

    def __repr__(self) -> str:
        return f"MemoryLedger(budget={self.budget}, composition='{self.composition}')"


class _Rows:
    """A list of rows, found by number, by key, and by kind and owner."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._keyed: dict[tuple[int, int, bytes], Row] = {}
        self._owned: dict[tuple[int, int], list[Row]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def head(self) -> Row | None:
        return self._rows[-1] if self._rows else None

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        return {seq: self._rows[seq] for seq in seqs if 0 <= seq < len(self._rows)}

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        found = self._owned.get((kind, owner), [])
        return iter(found[bisect_right(found, after, key=attrgetter("seq")) :])

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        found = {key: self._keyed.get((kind, owner, key)) for key in keys}
        return {key: row for key, row in found.items() if row is not None}

    def last(self, kind: Kind, owner: int) -> Row | None:
        found = self._owned.get((kind, owner))
        return found[-1] if found else None

    def append(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._rows.append(row)
            self._keyed[row.kind, row.owner, row.key] = row
            self._owned.setdefault((row.kind, row.owner), []).append(row)

    def expect(self, wanted: Wanted, seen: int) -> None:
        """Nothing to fetch: the rows are here."""

    def cut(self, length: int) -> None:
        """Take back every row from ``length`` on."""
        while len(self._rows) > length:
            row = self._rows.pop()
            self._keyed.pop((row.kind, row.owner, row.key), None)
            self._owned[row.kind, row.owner].pop()
