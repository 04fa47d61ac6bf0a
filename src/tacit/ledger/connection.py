"""One database connection per process: transactions, and safety across forks.

A connection must not be carried across a fork: SQLite's file locks belong to the process that took
them, and two processes on one socket corrupt each other's messages. The connection is therefore
closed before every fork, once no other thread uses it, and reopened on demand on either side.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tacit.errors import LedgerError, LedgerUnavailable
from tacit.ledger.ledger import NESTED
from tacit.ledger.store import CommitUnclear

ENGINE_OPTIONS: dict[str, Any] = {
    "poolclass": NullPool,  # the engine holds no connection, so it survives a fork
    "isolation_level": "AUTOCOMMIT",  # BEGIN and COMMIT are issued explicitly
    "hide_parameters": True,  # no stored value in an error message
}

_FORKED = "This process was forked while the ledger was in use. Open the ledger again in it."


class Database(ABC):
    """The connection to the database of one ledger; one thread uses it at a time."""

    def __init__(self, engine: sa.Engine, timeout: float) -> None:
        self._engine, self.timeout = engine, timeout
        self._connection: sa.Connection | None = None
        self._lock = threading.RLock()
        self._in_use = False
        self._forked_in_use = False
        _DATABASES.add(self)

    @property
    @abstractmethod
    def location(self) -> str:
        """Path or URL for messages, without a password."""

    @abstractmethod
    def begin(self, connection: sa.Connection, *, write: bool) -> None:
        """Begin a transaction that sees one state, or one that excludes all other writers."""

    @abstractmethod
    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """Return a driver's error as one of ours."""

    def refuse_foreign(self, connection: sa.Connection) -> None:  # noqa: B027 - optional
        """Refuse a database without a ledger that is used for something else."""

    def check_integrity(self, connection: sa.Connection) -> None:  # noqa: B027 - optional
        """Raise ``LedgerCorrupt`` when the database itself reports damage."""

    def commit(self, connection: sa.Connection) -> None:
        """Commit a transaction that writes; raise ``CommitUnclear`` when that reports an error."""
        try:
            connection.exec_driver_sql("COMMIT")
        except SQLAlchemyError as error:
            raise CommitUnclear from error

    def roll_back(self, connection: sa.Connection) -> None:
        """End a transaction without writing anything."""
        connection.exec_driver_sql("ROLLBACK")

    def _connect(self) -> sa.Connection:
        return self._engine.connect()

    def _is_current(self) -> bool:
        """Return whether an open connection still leads to the right place."""
        return True

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sa.Connection]:
        """Run the block in a transaction; roll back when it raises.

        Waits for other threads; a second use by the same thread is refused.
        """
        with self._lock:
            if self._forked_in_use:
                raise LedgerUnavailable(_FORKED)
            if self._in_use:
                raise LedgerError(NESTED)
            self._in_use, pid = True, os.getpid()
            try:
                connection = self._begun(write)
                try:
                    yield connection
                    if os.getpid() != pid:
                        raise LedgerUnavailable(_FORKED)
                    if write:
                        self.commit(connection)
                    else:
                        self.roll_back(connection)
                except BaseException as error:
                    if os.getpid() == pid:  # in a forked child the transaction is the parent's
                        self._give_up(connection, error)
                    raise
            except SQLAlchemyError as error:
                raise self.explain(error) from error
            finally:
                self._in_use = False

    def connection(self) -> sa.Connection:
        """Return the connection of this process; open one if necessary."""
        connection = self._connection
        if connection is None or connection.invalidated or not self._is_current():
            self.close()
            self._connection = connection = self._connect()
        return connection

    def _begun(self, write: bool) -> sa.Connection:
        connection = self.connection()
        try:
            self.begin(connection, write=write)
        except DBAPIError as error:
            self.close()
            if not error.connection_invalidated:
                raise
            connection = self.connection()  # the connection was lost while idle
            self.begin(connection, write=write)
        except BaseException:
            self.close()
            raise
        return connection

    def _give_up(self, connection: sa.Connection, error: BaseException) -> None:
        rolled_back = False
        try:
            if not isinstance(error, CommitUnclear):
                with suppress(SQLAlchemyError):
                    self.roll_back(connection)
                    rolled_back = True
        finally:
            if not rolled_back:
                self.close()  # which rolls back, too

    def close(self) -> None:
        """Close the connection of this process, if it has one."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and not self._forked_in_use:
                with suppress(SQLAlchemyError):
                    connection.invalidate()
                with suppress(SQLAlchemyError):
                    connection.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    # -- forks ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Wait until no other thread uses the connection, then close it."""
        self._lock.acquire()
        if not self._in_use:  # else this very thread forks inside a transaction
            self.close()

    def after_fork_in_parent(self) -> None:
        """Let other threads continue."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start without a connection; one that could not be closed is never touched again."""
        self._lock = threading.RLock()
        self._forked_in_use = self._in_use
        if self._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None


_DATABASES: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING: list[list[Database]] = []


def _before_fork() -> None:
    # Remembered until after the fork, so that both sides release exactly these.
    _FORKING.append(list(_DATABASES))
    for database in _FORKING[-1]:
        database.before_fork()


def _after_fork_in_parent() -> None:
    for database in _FORKING.pop():
        database.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for database in _FORKING.pop():
        database.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
