"""One SQLite file: opening, sharing, and what can go wrong."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger.lent import LentConnection
from tacit.ledger.recent import RecentRows


class SqliteFile(LentConnection[sqlite3.Connection]):
    """The connection to a file, and what is remembered of its newest rows."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float, may_create: bool) -> None:
        self.path = _checked_path(path)
        self._place = str(self.path)
        self._timeout = timeout
        self._file: tuple[int, int] | None = None
        self.recent = RecentRows()
        if may_create:
            _create_private(self.path)
        elif not self.path.is_file():
            raise InvalidArgument(
                f"There is no ledger at {str(self.path)!r}. Create it once, with the lifetime "
                f"budget of the data set: tacit.open_ledger({str(self.path)!r}, "
                "budget=Budget(...))."
            )
        super().__init__()

    def _still_good(self) -> bool:
        # A file that was moved or deleted can still be written to, unseen by everybody else.
        return _identity(self._place) == self._file

    def _open(self) -> sqlite3.Connection:
        self._file = _identity(self._place)
        if self._file is None:
            # SQLite would make an empty one: a ledger with its whole budget back.
            raise LedgerUnavailable(f"The ledger {str(self.path)!r} is not there any more.")
        try:
            return _connect(self.path, self._timeout)
        except sqlite3.Error as error:
            raise self.explained(error) from error

    def _shut(self, connection: sqlite3.Connection) -> None:
        connection.close()

    def explained(self, error: sqlite3.Error) -> Exception:
        """Return an error of SQLite's as one clear error of ours."""
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_CORRUPT"):
            return LedgerCorrupt(f"The ledger {str(self.path)!r} is damaged: restore a copy.")
        reason, step = next(
            (words for start, words in _REASONS.items() if name.startswith(start)), _UNKNOWN
        )
        return LedgerUnavailable(
            f"The ledger {str(self.path)!r} cannot be used: {reason}. Nothing was released. {step}"
        )


# -- opening -----------------------------------------------------------------------------------

_UNKNOWN = ("the database reported an error", "Look at the cause below, then try again.")
_REASONS = {
    "SQLITE_BUSY": ("another process is writing to it", "Try again, or raise `timeout`."),
    "SQLITE_LOCKED": ("another process is writing to it", "Try again, or raise `timeout`."),
    "SQLITE_NOTADB": ("the file is not a database", "Choose another path for the ledger."),
    "SQLITE_READONLY": ("the file or its folder cannot be written", "Check the permissions."),
    "SQLITE_PERM": ("the file or its folder cannot be written", "Check the permissions."),
    "SQLITE_CANTOPEN": ("the file cannot be opened", "Check the path and the permissions."),
    "SQLITE_FULL": ("the disk is full", "Make room, then ask again."),
    "SQLITE_IOERR": ("the disk reported an error", "Check the disk, then ask again."),
}


def _checked_path(path: str | os.PathLike[str]) -> Path:
    if os.fspath(path) in ("", ":memory:"):
        raise InvalidArgument("`path` must name a file; use MemoryLedger for one in memory.")
    # Absolute, so that the ledger stays the same file when the working folder changes.
    found = Path(os.path.abspath(os.fspath(path)))
    if not found.parent.is_dir():
        raise LedgerUnavailable(f"The folder {str(found.parent)!r} of the ledger does not exist.")
    if found.exists() and not found.is_file():
        raise LedgerUnavailable(
            f"{str(found)!r} is not a file; choose another path for the ledger."
        )
    return found


def _create_private(path: Path) -> None:
    """Create the file if it is not there, for its owner only; SQLite copies that to its others."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise LedgerUnavailable(
            f"The ledger {str(path)!r} cannot be created: {error.strerror}. Check the folder's "
            "permissions."
        ) from error
    os.close(descriptor)
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)  # or the file's name could be lost with the power
    finally:
        os.close(folder)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
    # The switch does not wait for other processes that are just doing the same, so it is repeated.
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
