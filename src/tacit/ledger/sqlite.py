"""A ledger in an SQLite file: the default for anything that lasts.

Write-ahead logging with full synchronisation: a commit returns once it is on the disk. One writer
at a time, over all threads and processes (``BEGIN IMMEDIATE``): what is left is read and spent in
one transaction, so two processes never spend the same room.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.files.private import create_private_file
from tacit.ledger.chain import Row
from tacit.ledger.composition import Composition
from tacit.ledger.connection import ENGINE_OPTIONS, Database
from tacit.ledger.sql import SqlLedger, explained, no_ledger, write_rows

_WRITING = ("another process is writing to it", "Try again, or raise `timeout`.")
_PERMISSIONS = ("the file or its folder cannot be written", "Check the permissions.")
_REASONS = {
    "SQLITE_BUSY": _WRITING,
    "SQLITE_LOCKED": _WRITING,
    "SQLITE_NOTADB": ("the file is not a database", "Choose another path for the ledger."),
    "SQLITE_READONLY": _PERMISSIONS,
    "SQLITE_PERM": _PERMISSIONS,
    "SQLITE_CANTOPEN": ("the file cannot be opened", "Check the path and the permissions."),
    "SQLITE_FULL": ("the disk is full", "Make room, then ask again."),
    "SQLITE_IOERR": ("the disk reported an error", "Check the disk, then ask again."),
}


class SqliteLedger(SqlLedger):
    """A ledger kept in one SQLite file. Safe to share between threads and processes.

    Parameters
    ----------
    path : str or path
        Of the file; its folder must exist and be on a local disk. A new file is readable and
        writable by its owner only.
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
        self.path = _checked_path(path)
        if budget is not None:
            _create_private(self.path)
        elif not self.path.is_file():
            raise InvalidArgument(no_ledger(str(self.path)))
        super().__init__(
            SqliteDatabase(self.path, timeout=timeout),
            budget=budget,
            composition=composition,
            allow_insecure=allow_insecure,
        )


class SqliteDatabase(Database):
    """The connection to an SQLite file that exists."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None
        engine = sa.create_engine(
            "sqlite://", creator=lambda: _connect(path, timeout), **ENGINE_OPTIONS
        )
        super().__init__(engine, timeout)

    @property
    def location(self) -> str:
        """The absolute path."""
        return str(self._path)

    def begin(self, connection: sa.Connection, *, write: bool) -> None:
        """Begin a transaction: with the write lock, or with the state that its first query sees."""
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN DEFERRED")

    def refuse_foreign(self, connection: sa.Connection) -> None:
        """Refuse a file that has tables."""
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").scalar():
            raise LedgerUnavailable(
                "The file is an SQLite database, but not a ledger; it was left alone. Choose a "
                "path of its own for the ledger."
            )

    def check_integrity(self, connection: sa.Connection) -> None:
        """Let SQLite compare its pages and indexes."""
        if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
            raise LedgerCorrupt("The file is damaged: its pages or indexes do not agree.")

    def _connect(self) -> sa.Connection:
        self._identity = _identity(self._path)
        if self._identity is None:
            # SQLite would create an empty file: a ledger with its whole budget back.
            raise LedgerUnavailable(f"The ledger {self.location!r} no longer exists.")
        return super()._connect()

    def _is_current(self) -> bool:
        # A file that was moved or deleted can still be written to, unseen by everybody else.
        return _identity(self._path) == self._identity

    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """Return an error by SQLite's name for it."""
        name = getattr(getattr(error, "orig", None), "sqlite_errorname", "")
        reason = next((words for start, words in _REASONS.items() if name.startswith(start)), None)
        return explained(self.location, reason, damaged=name.startswith("SQLITE_CORRUPT"))


def restore_file(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Write a whole ledger to a file that does not exist yet; nothing is left of a failure."""
    place = _checked_path(path)
    if not _create_private(place):
        raise InvalidArgument(f"There is something at {str(place)!r} already; it was left alone.")
    try:
        write_rows(SqliteDatabase(place, timeout=30.0), rows)
    except BaseException:
        for suffix in ("", "-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
        raise


def _checked_path(path: str | os.PathLike[str]) -> Path:
    if os.fspath(path) in ("", ":memory:"):
        raise InvalidArgument("`path` must name a file; use MemoryLedger for one in memory.")
    # Absolute, so that the ledger stays the same file when the working folder changes.
    place = Path(os.path.abspath(os.fspath(path)))
    if not place.parent.is_dir():
        raise LedgerUnavailable(f"The folder {str(place.parent)!r} of the ledger does not exist.")
    if place.exists() and not place.is_file():
        raise LedgerUnavailable(
            f"{str(place)!r} is not a file; choose another path for the ledger."
        )
    return place


def _create_private(path: Path) -> bool:
    """Create the file; return False if it exists."""
    try:
        return create_private_file(path)
    except OSError as error:
        raise LedgerUnavailable(
            f"The ledger {str(path)!r} cannot be created: {error.strerror}. Check the folder's "
            "permissions."
        ) from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _use_wal(connection, timeout)
        for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    # The switch does not wait for other processes that do the same, so it is repeated.
    until = time.monotonic() + timeout
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise LedgerUnavailable(
                "The ledger's disk does not support write-ahead logging (a network folder?). Keep "
                "the ledger on a local disk."
            )
        return
