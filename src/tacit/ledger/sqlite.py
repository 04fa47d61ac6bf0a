"""A ledger in an SQLite file: the default for anything that lasts.

Write-ahead logging with full synchronisation: a commit returns once it is on the disk. One writer
at a time, over all threads and processes (``BEGIN IMMEDIATE``): what is left is read and spent in
one transaction, so two processes never spend the same room.
"""

from __future__ import annotations

import operator
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.ledger.chain import Kind, Row
from tacit.ledger.composition import Composition
from tacit.ledger.recent import RecentRows
from tacit.ledger.rows import RowLedger
from tacit.ledger.schema import ADDRESS, ADDRESS_SIZE, LISTED, PUT_ON_LISTS, listed, migrate
from tacit.ledger.sqlite_file import SqliteFile
from tacit.ledger.store import (
    BODY,
    HASH,
    CommitUnclear,
    Store,
    Wanted,
    alike,
    append_all,
)
from tacit.privacy.budget import Budget


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
        return _SqliteRows(self._file, "BEGIN DEFERRED", _end)

    def _writing(self, wanted: Wanted | None = None) -> AbstractContextManager[_SqliteRows]:
        return _SqliteRows(self._file, "BEGIN IMMEDIATE", self._commit, wanted)

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
        if not store.lists_agree():
            raise LedgerCorrupt(
                "The lists of keys and owners do not agree with the rows: restore a copy."
            )

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
        with _SqliteRows(file, "BEGIN IMMEDIATE", _end) as store:
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


def _end(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def _roll_back(connection: sqlite3.Connection) -> None:
    # SQLite rolls back by itself after some errors; a second one must not hide the first.
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        pass


_COLUMNS = "seq, row_format, kind, owner, body, hash"
_OF_ROW = ", ".join(f"r.{column}" for column in _COLUMNS.split(", "))
_SELECT = f"SELECT {_COLUMNS} FROM ledger_row"
_ALL = f"{_SELECT} ORDER BY seq"
_HEAD = f"{_SELECT} WHERE seq = (SELECT max(seq) FROM ledger_row)"
_AT = f"{_SELECT} WHERE seq = ?"
_RECENT_OF = f"{_SELECT} WHERE seq > {LISTED} AND kind = ?1 AND owner = ?2"
_LISTED_OF = (
    f"SELECT {_OF_ROW} FROM ledger_owned AS o CROSS JOIN ledger_row AS r ON r.seq = o.seq "
    "WHERE o.kind = ?1 AND o.owner = ?2 AND r.kind = ?1 AND r.owner = ?2"
)
_OWNED = (
    f"{_LISTED_OF} AND o.seq > ?3 ORDER BY o.seq",
    f"{_RECENT_OF} AND seq > ?3 ORDER BY seq",
)
_LAST = (
    f"{_RECENT_OF} ORDER BY seq DESC LIMIT 1",
    f"{_LISTED_OF} ORDER BY o.seq DESC LIMIT 1",
)
_KEYS_AFTER = "SELECT kind, owner, substr(body, 1, 32), seq FROM ledger_row WHERE seq > ?"
_APPEND = f"INSERT INTO ledger_row ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
# Many rows of one kind and size in one statement, end to end: quicker than one by one, and other
# threads are let in once, not after every row, when each would keep us waiting for its turn to end.
_APPEND_ALL = f"""
    WITH RECURSIVE place (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM place WHERE n + 1 < ?1)
    INSERT INTO ledger_row ({_COLUMNS})
    SELECT ?2 + n, ?3, ?4, ?5, substr(?7, n * ?6 + 1, ?6), substr(?8, n * 32 + 1, 32) FROM place
"""
_LISTS_AGREE = f"""
    SELECT NOT EXISTS (
        SELECT 1 FROM ledger_row AS r WHERE r.seq <= {LISTED} AND NOT (
            EXISTS (SELECT 1 FROM ledger_key AS k WHERE k.address = {ADDRESS} AND k.kind = r.kind
                    AND k.owner = r.owner AND k.seq = r.seq)
            AND EXISTS (SELECT 1 FROM ledger_owned AS o WHERE o.kind = r.kind
                        AND o.owner = r.owner AND o.seq = r.seq)
        )
    )
"""
_ANSWER = int(Kind.ANSWER)
_ADDRESS_OF = operator.itemgetter(slice(ADDRESS_SIZE))
"""Of a key: what it is found by on the list."""

_MANY = 4
_AT_ONCE = 500
"""Keys in one statement."""


class _SqliteRows:
    """A transaction on the connection to a file, and the rows seen through it.

    What is ``wanted`` is looked for at once. Not a generator, and one object for all: every answer
    goes through here, and pays for each step.
    """

    __slots__ = (
        "_absent",
        "_begin",
        "_commit",
        "_execute",
        "_file",
        "_head",
        "_lock",
        "_pid",
        "_recent",
        "_recent_holds",
        "_wanted",
        "connection",
    )

    def __init__(
        self,
        file: SqliteFile,
        begin: str,
        commit: Callable[[sqlite3.Connection], None],
        wanted: Wanted | None = None,
    ) -> None:
        self._file, self._begin, self._commit, self._wanted = file, begin, commit, wanted
        self._recent, self._recent_holds = file.recent, False
        self._head: Row | None = None
        self._absent: tuple[int, Collection[bytes]] | None = None

    def __enter__(self) -> Self:
        # The lock is kept: the file gets another one in a process that is forked meanwhile.
        connection, self._lock = self._file.lend()
        try:
            self.connection, self._pid = connection, os.getpid()
            if connection.in_transaction:
                raise LedgerError("A release must not use the ledger that records it.")
            self._execute = connection.execute
            try:
                self._execute(self._begin)
                if self._wanted is not None:
                    self._look_for(self._wanted.plan, self._wanted.keys)
            except BaseException:
                _roll_back(connection)
                raise
            return self
        except BaseException as error:
            self._file.take_back(self._lock)
            if isinstance(error, sqlite3.Error):
                raise self._file.explained(error) from error
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                try:
                    if os.getpid() != self._pid:
                        raise LedgerUnavailable(
                            "A release must not fork and go on in the new process."
                        )
                    self._commit(self.connection)
                    return
                except BaseException as failure:
                    raised = failure
            else:
                raised = error
            if os.getpid() == self._pid:
                # In a process forked meanwhile the transaction belongs to the parent: hands off.
                _roll_back(self.connection)
        except BaseException:
            self._file.close()  # interrupted on the way back: closing takes back, too
            raise
        finally:
            self._file.take_back(self._lock)
        if isinstance(raised, CommitUnclear):
            # What the connection believes is unclear too: the next one reads the file.
            self._file.close()
        if isinstance(raised, sqlite3.Error):
            raise self._file.explained(raised) from raised
        if raised is not error:
            raise raised

    def _look_for(self, plan: int, keys: Collection[bytes]) -> None:
        """See whether this process knows the newest row, and whether no key is recorded.

        Nearly always both are so: one statement, then, is all that is read.
        """
        newest = self._recent.newest
        if newest is None or len(keys) > _AT_ONCE:
            return
        query = _newest_and_listed(len(keys))
        found = self._execute(query, (_ANSWER, plan, *map(_ADDRESS_OF, keys))).fetchone()
        if found == (*newest, 0):  # the row is the same, and no address is on the list
            self._head, self._recent_holds = newest, True
            if not self._recent.places(_ANSWER, plan, keys):
                self._absent = (plan, keys)

    def head(self) -> Row | None:
        return self._one(_HEAD) if self._head is None else self._head

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        found = (self._one(_AT, int(seq)) for seq in seqs)
        return {row.seq: row for row in found if row is not None}

    def rows(self) -> Iterator[Row]:
        return map(Row._make, self._execute(_ALL))

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        for query in _OWNED:
            yield from map(Row._make, self._execute(query, (int(kind), owner, after)))

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        if kind == _ANSWER and (owner, keys) == self._absent:
            return {}
        found: dict[bytes, Row] = {}
        for row in self._listed(kind, owner, list(keys)):
            if row.key in keys:  # else the two agree in the half that is on the list
                found[row.key] = row
        recent = self._recent if self._recent_holds else self._recent_rows()
        places = recent.places(kind, owner, keys)
        if places:
            found |= {row.key: row for row in self._all_at(places)}
        return found

    def _all_at(self, places: Collection[int]) -> Iterable[Row]:
        rows = self.at(places)
        for lost in set(places) - rows.keys():
            raise LedgerCorrupt(f"Row {lost} is missing.", row=lost)
        return rows.values()

    def _listed(self, kind: Kind, owner: int, keys: Sequence[bytes]) -> Iterator[Row]:
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            values = (int(kind), owner, *map(_ADDRESS_OF, some))
            yield from map(Row._make, self._execute(_keyed(len(some)), values))

    def _recent_rows(self) -> RecentRows:
        """Return what is remembered of the rows beyond the lists, once it holds."""
        head, recent = self.head(), self._recent
        if head is not None:
            if head != recent.newest:
                self._read_on(recent, head)
            self._recent_holds = True
        return recent

    def _read_on(self, recent: RecentRows, head: Row) -> None:
        if recent.newest and self._one(_AT, recent.newest.seq) != recent.newest:
            recent.forget()
        recent.read(self._execute(_KEYS_AFTER, (recent.last_known(head),)), head)

    def last(self, kind: Kind, owner: int) -> Row | None:
        found = (self._one(query, int(kind), owner) for query in _LAST)
        return next(filter(None, found), None)

    def append(self, rows: Sequence[Row]) -> None:
        self._head = self._absent = None  # not the newest any more
        first, on_lists = rows[0].seq, listed(rows[-1].seq)
        if self._recent_holds:
            self._recent.add(rows, on_lists)
        if len(rows) == 1:
            self._execute(_APPEND, rows[0])
        else:
            self._append_many(rows)
        if on_lists >= first:
            for statement in PUT_ON_LISTS:
                self._execute(statement, (listed(first - 1), on_lists))

    def _append_many(self, rows: Sequence[Row]) -> None:
        for (version, kind, owner, size), some in alike(rows):
            if len(some) < _MANY:
                for row in some:
                    self._execute(_APPEND, row)
            else:
                bodies, hashes = b"".join(map(BODY, some)), b"".join(map(HASH, some))
                form = (len(some), some[0].seq, version, kind, owner, size)
                self._execute(_APPEND_ALL, (*form, bodies, hashes))

    def expect(self, wanted: Wanted, seen: int) -> None:
        """Nothing to fetch: the rows are here."""

    def intact(self) -> bool:
        found = self._execute("PRAGMA integrity_check(1)").fetchone()
        return bool(found == ("ok",))

    def lists_agree(self) -> bool:
        """Return whether every row that should be on the lists is there."""
        (found,) = self._execute(_LISTS_AGREE).fetchone()
        return bool(found)

    def _one(self, query: str, *values: object) -> Row | None:
        found = self._execute(query, values).fetchone()
        return None if found is None else Row._make(found)


@lru_cache(maxsize=64)
def _keyed(number: int) -> str:
    """Return the query for rows of a kind (1) and owner (2) with so many addresses (3 and on)."""
    return (
        f"SELECT {_OF_ROW} FROM ledger_key AS k CROSS JOIN ledger_row AS r ON r.seq = k.seq "
        f"WHERE {_at_addresses(number)} AND r.kind = ?1 AND r.owner = ?2"
    )


@lru_cache(maxsize=64)
def _newest_and_listed(number: int) -> str:
    """Return the query for the newest row, and whether one of so many addresses is listed."""
    listed = f"EXISTS (SELECT 1 FROM ledger_key AS k WHERE {_at_addresses(number)})"
    return f"SELECT {_COLUMNS}, {listed} FROM ledger_row ORDER BY seq DESC LIMIT 1"


def _at_addresses(number: int) -> str:
    among = ",".join(f"?{place}" for place in range(3, 3 + number))
    return f"k.kind = ?1 AND k.owner = ?2 AND k.address IN ({among})"
