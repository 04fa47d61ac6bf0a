"""A ledger in an SQLite file: the default for anything that lasts.

Write-ahead logging with full synchronisation: a commit returns once it is on the disk. One writer
at a time, over all threads and processes (``BEGIN IMMEDIATE``): what is left is read and spent in
one transaction, so two processes never spend the same room.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.privacy.budget import Budget
from tacit.privacy.ledger.chain import Kind, Row
from tacit.privacy.ledger.composition import Composition
from tacit.privacy.ledger.rows import RowLedger
from tacit.privacy.ledger.schema import ADDRESS, ADDRESS_SIZE, migrate
from tacit.privacy.ledger.sqlite_file import SqliteFile
from tacit.privacy.ledger.store import CommitUnclear, Store, Wanted, alike, append_all


class SqliteLedger(RowLedger):
    """A ledger kept in one SQLite file. Safe to share between threads and processes.

    Parameters
    ----------
    path : str or path
        Where the file is or shall be; its folder must exist and be on a local disk. A new file can
        be read and written by its owner only.
    budget : Budget, optional
        Lifetime budget of the data set: needed to create a ledger, checked against the file's own
        when one exists.
    composition : {"basic", "zcdp"}, optional
        As with ``budget``; "basic" for a new ledger.
    allow_insecure : bool, default False
        Whether answers from test noise may be recorded; they stay marked for good.
    timeout : float, default 30
        How many seconds to wait for another process that is writing.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = SqliteLedger(Path(folder.name) / "ledger.sqlite", budget=Budget(1.0, 1e-5))
    >>> ledger.remaining()
    Amount(epsilon=1.0, delta=1e-05, rho=None)
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Budget | None = None,
        composition: Composition | str | None = None,
        allow_insecure: bool = False,
        timeout: float = 30.0,
    ) -> None:
        super().__init__(allow_insecure)
        self._timeout = timeout
        self._file = SqliteFile(path, timeout=timeout, may_create=budget is not None)
        try:
            # The schema and the first row come with one commit: a crash leaves a ledger or nothing.
            with self._writing() as store:
                migrate(store.connection)
                self._created = self._create(store, budget, composition)
        except CommitUnclear as error:
            raise LedgerUnavailable(
                f"The ledger {str(self.path)!r} could not be written. Check the disk (full? "
                "read-only?), then open it again."
            ) from error

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._file.path

    def _reading(self) -> AbstractContextManager[_SqliteRows]:
        return _transaction(self._file, "BEGIN DEFERRED", _end)

    def _writing(self, wanted: Wanted | None = None) -> AbstractContextManager[_SqliteRows]:
        return _transaction(self._file, "BEGIN IMMEDIATE", self._commit, wanted)

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            _end(connection)
        except sqlite3.Error as error:
            raise CommitUnclear from error

    def _verify_store(self, store: Store) -> None:
        assert isinstance(store, _SqliteRows)
        if not store.intact():
            raise LedgerCorrupt("The file is damaged: its pages or indexes do not agree.")

    def _verify_keys(self, store: Store) -> None:
        assert isinstance(store, _SqliteRows)
        if not store.keys_agree():
            raise LedgerCorrupt("The lists of keys do not agree with the rows: restore a copy.")

    def close(self) -> None:
        """Close the file; it is opened again when the ledger is next used."""
        self._file.close()

    def __reduce__(self) -> tuple[Callable[..., SqliteLedger], tuple[Any, ...]]:
        settings = (str(self.path), self.ledger_id, self.allow_insecure, self._timeout)
        return _reopen, settings

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self.path)!r})"


def _reopen(path: str, ledger_id: str, allow_insecure: bool, timeout: float) -> SqliteLedger:
    # No budget is given: a file that has gone must not come back as a new ledger.
    ledger = SqliteLedger(path, allow_insecure=allow_insecure, timeout=timeout)
    if ledger.ledger_id != ledger_id:
        ledger.close()
        raise LedgerUnavailable(f"Another ledger has taken the place of {path!r}.")
    return ledger


def fill(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Write a whole ledger to a file that is not there yet; it appears when it is complete."""
    place = Path(os.path.abspath(os.fspath(path)))
    refusal = f"There is something at {str(place)!r} already; it was left alone."
    if place.exists():
        raise InvalidArgument(refusal)
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    file = SqliteFile(unfinished, timeout=30.0, may_create=True)
    try:
        with _transaction(file, "BEGIN IMMEDIATE", _end) as store:
            migrate(store.connection)
            append_all(store, rows)
        file.close()
        os.link(unfinished, place)  # unlike a rename it never replaces a file
    except FileExistsError:
        raise InvalidArgument(refusal) from None
    except OSError as error:
        raise LedgerUnavailable(
            f"The ledger {str(place)!r} was not written: {error.strerror}."
        ) from error
    finally:
        file.close()
        for name in (unfinished.name, f"{unfinished.name}-wal", f"{unfinished.name}-shm"):
            unfinished.with_name(name).unlink(missing_ok=True)


@contextmanager
def _transaction(
    file: SqliteFile,
    begin: str,
    commit: Callable[[sqlite3.Connection], None],
    wanted: Wanted | None = None,
) -> Iterator[_SqliteRows]:
    # One context for all of it, since every answer goes through here and pays for each.
    try:
        with file.borrow() as connection:
            if connection.in_transaction:
                raise LedgerError("A release must not use the ledger that records it.")
            pid = os.getpid()
            connection.execute(begin)
            try:
                yield _SqliteRows(connection, wanted)
                if os.getpid() != pid:
                    raise LedgerUnavailable("A release must not fork and go on in the new process.")
                commit(connection)
            except BaseException:
                # In a process forked meanwhile the transaction belongs to the parent: hands off.
                if os.getpid() == pid:
                    _roll_back(connection)
                raise
    except sqlite3.Error as error:
        raise file.explained(error) from error
    except CommitUnclear:
        # What the connection believes is unclear too: the next one reads the file.
        file.close()
        raise


def _end(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def _roll_back(connection: sqlite3.Connection) -> None:
    # SQLite rolls back by itself after some errors; a second one must not hide the first.
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        pass


_COLUMNS = "seq, format_version, kind, owner, body, hash"
_OF_ROW = ", ".join(f"r.{column}" for column in _COLUMNS.split(", "))
_SELECT = f"SELECT {_COLUMNS} FROM ledger_row"
_ALL = f"{_SELECT} ORDER BY seq"
_HEAD = f"{_SELECT} WHERE seq = (SELECT max(seq) FROM ledger_row)"
_AT = f"{_SELECT} WHERE seq = ?"
_OWNED = f"{_SELECT} WHERE kind = ? AND owner = ? AND seq > ? ORDER BY seq"
_LAST = f"{_SELECT} WHERE kind = ? AND owner = ? ORDER BY seq DESC LIMIT 1"
_KEY_LISTS = ("ledger_recent_key", "ledger_key")
_APPEND = f"INSERT INTO ledger_row ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
# Many rows of one kind and size in one statement, end to end: quicker than one by one, and other
# threads are let in once, not after every row, when each would keep us waiting for its turn to end.
_APPEND_ALL = f"""
    WITH RECURSIVE place (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM place WHERE n + 1 < ?1)
    INSERT INTO ledger_row ({_COLUMNS})
    SELECT ?2 + n, ?3, ?4, ?5, substr(?7, n * ?6 + 1, ?6), substr(?8, n * 32 + 1, 32) FROM place
"""
_LISTED = " OR ".join(
    f"EXISTS (SELECT 1 FROM {keys} AS k WHERE k.address = {ADDRESS} AND k.kind = r.kind "
    "AND k.owner = r.owner AND k.seq = r.seq)"
    for keys in _KEY_LISTS
)
_KEYS_AGREE = f"SELECT NOT EXISTS (SELECT 1 FROM ledger_row AS r WHERE NOT ({_LISTED}))"
_MANY = 4
_AT_ONCE = 500
"""Keys in one statement."""


class _SqliteRows:
    """Rows seen through the transaction that is open on a connection.

    What is ``wanted`` is fetched at once, with the newest row, if one statement can do it.
    """

    def __init__(self, connection: sqlite3.Connection, wanted: Wanted | None = None) -> None:
        self.connection = connection
        self._execute = connection.execute
        self._wanted: Wanted | None = None
        self._fetched: list[Row] = []
        if wanted is not None and len(wanted.keys) <= _AT_ONCE:
            values = (int(Kind.ANSWER), wanted.plan, *_addresses(wanted.keys))
            query = f"{_HEAD} UNION ALL {_keyed(len(wanted.keys))}"
            self._fetched = [Row._make(row) for row in self._execute(query, values)]
            self._wanted = wanted

    def head(self) -> Row | None:
        if self._wanted is not None:
            return self._fetched[0] if self._fetched else None
        return self._one(_HEAD)

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        found = (self._one(_AT, int(seq)) for seq in seqs)
        return {row.seq: row for row in found if row is not None}

    def rows(self) -> Iterator[Row]:
        return map(Row._make, self._execute(_ALL))

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        return map(Row._make, self._execute(_OWNED, (int(kind), owner, after)))

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        known = self._wanted
        if known and (kind, owner) == (Kind.ANSWER, known.plan) and known.keys.issuperset(keys):
            return {row.key: row for row in self._fetched[1:] if row.key in keys}
        found: dict[bytes, Row] = {}
        names = list(keys)
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            values = (int(kind), owner, *_addresses(some))
            for row in map(Row._make, self._execute(_keyed(len(some)), values)):
                if row.key in keys:  # not only the half that is on the list
                    found[row.key] = row
        return found

    def last(self, kind: Kind, owner: int) -> Row | None:
        return self._one(_LAST, int(kind), owner)

    def append(self, rows: Sequence[Row]) -> None:
        self._wanted = None  # what was fetched is not the newest any more
        if len(rows) == 1:
            self._execute(_APPEND, rows[0])
            return
        for (version, kind, owner, size), some in alike(rows):
            if len(some) < _MANY:
                for row in some:
                    self._execute(_APPEND, row)
            else:
                bodies = b"".join([row.body for row in some])
                hashes = b"".join([row.hash for row in some])
                form = (len(some), some[0].seq, version, kind, owner, size)
                self._execute(_APPEND_ALL, (*form, bodies, hashes))

    def expect(self, wanted: Wanted, seen: int) -> None:
        """Nothing to fetch: the rows are here."""

    def intact(self) -> bool:
        found = self._execute("PRAGMA integrity_check(1)").fetchone()
        return bool(found == ("ok",))

    def keys_agree(self) -> bool:
        """Return whether every row is on one of the lists of keys."""
        (found,) = self._execute(_KEYS_AGREE).fetchone()
        return bool(found)

    def _one(self, query: str, *values: object) -> Row | None:
        found = self._execute(query, values).fetchone()
        return None if found is None else Row._make(found)


def _addresses(keys: Iterable[bytes]) -> Iterator[bytes]:
    return (key[:ADDRESS_SIZE] for key in keys)


@lru_cache(maxsize=8)
def _keyed(number: int) -> str:
    """Return the query for rows of a kind (1) and owner (2) with so many addresses (3 and on)."""
    among = ",".join(f"?{place}" for place in range(3, 3 + number))
    return " UNION ALL ".join(
        f"SELECT {_OF_ROW} FROM {keys} AS k CROSS JOIN ledger_row AS r ON r.seq = k.seq "
        f"WHERE k.kind = ?1 AND k.owner = ?2 AND k.address IN ({among})"
        for keys in _KEY_LISTS
    )
