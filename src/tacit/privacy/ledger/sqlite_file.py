"""One SQLite file, one connection per process: opening, sharing, forking, and what can go wrong."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerUnavailable

_FILES: weakref.WeakSet[SqliteFile] = weakref.WeakSet()


class SqliteFile:
    """The connection to a file, lent to one thread at a time.

    SQLite must not meet a fork with the file open: its locks belong to the process, and a child
    that inherits its bookkeeping believes in locks it does not hold. So the connection is closed
    before every fork, when no thread is using it, and opened again on either side.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float, may_create: bool) -> None:
        self.path = _checked_path(path)
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._file: tuple[int, int] | None = None
        self._lent = 0
        self._pid = os.getpid()
        self._forked_while_lent = False
        if may_create:
            _create_private(self.path)
        elif not self.path.is_file():
            raise InvalidArgument(
                f"There is no ledger at {str(self.path)!r}. Create it once, with the lifetime "
                f"budget of the data set: tacit.open_ledger({str(self.path)!r}, "
                "budget=Budget(...))."
            )
        _FILES.add(self)

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection to this thread."""
        self._refuse_unsafe_fork()
        with self._lock:
            connection = self._opened()
            self._lent += 1
            try:
                yield connection
            finally:
                self._lent -= 1

    def _opened(self) -> sqlite3.Connection:
        # A file that was moved or deleted can still be written to, unseen by everybody else.
        if self._connection is not None and not self._lent and _identity(self.path) != self._file:
            self.close()
        if self._connection is None:
            self._file = _identity(self.path)
            if self._file is None:
                # SQLite would make an empty one: a ledger with its whole budget back.
                raise LedgerUnavailable(f"The ledger {str(self.path)!r} is not there any more.")
            self._connection = _connect(self.path, self._timeout)
        return self._connection

    def close(self) -> None:
        """Close the connection, if this process has one."""
        if self._pid != os.getpid() or self._forked_while_lent:
            return
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __del__(self) -> None:
        # A file that could not even be opened has no connection to close.
        if getattr(self, "_connection", None) is not None:
            self.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one clear error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> Exception:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_CORRUPT"):
            return LedgerCorrupt(f"The ledger {str(self.path)!r} is damaged: restore a copy.")
        reason, step = next(
            (words for start, words in _REASONS.items() if name.startswith(start)), _UNKNOWN
        )
        return LedgerUnavailable(
            f"The ledger {str(self.path)!r} cannot be used: {reason}. Nothing was released. {step}"
        )

    def _refuse_unsafe_fork(self) -> None:
        if self._pid != os.getpid() or self._forked_while_lent:
            raise LedgerUnavailable(
                "This process was forked while the ledger was in use. Open the ledger again in "
                "the new process, by its path."
            )

    # -- around a fork -------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait until no other thread uses the connection, then close it."""
        self._lock.acquire()
        # Lent and yet locked by us: this very thread forks in the middle of a transaction.
        if not self._lent:
            self.close()

    def after_fork_in_parent(self) -> None:
        """Let other threads go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew; what could not be closed is never touched again, not even to close it."""
        self._lock = threading.RLock()
        self._forked_while_lent = bool(self._lent)
        self._pid = os.getpid()
        if self._connection is not None:
            _keep_for_ever(self._connection)


def _before_fork() -> None:
    # Held until after the fork, so that both sides let go of exactly these.
    _FORKING.append(list(_FILES))
    for file in _FORKING[-1]:
        file.before_fork()


def _after_fork_in_parent() -> None:
    for file in _FORKING.pop():
        file.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for file in _FORKING.pop():
        file.after_fork_in_child()
    _FORKING.clear()


_FORKING: list[list[SqliteFile]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _keep_for_ever(connection: sqlite3.Connection) -> None:
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


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


def _identity(path: Path) -> tuple[int, int] | None:
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
