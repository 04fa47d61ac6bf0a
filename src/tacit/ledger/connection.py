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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tacit.errors import LedgerError, LedgerUnavailable
from tacit.ledger import messages
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
    def begin_read(self, connection: sa.Connection) -> None:
        """Begin a transaction that sees one state from beginning to end."""

    @abstractmethod
    def begin_write(self, connection: sa.Connection) -> None:
        """Begin a transaction that excludes all other writers."""

    @abstractmethod
    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """Return a driver's error as one of ours."""

    @abstractmethod
    def refuse_foreign(self, connection: sa.Connection) -> None:
        """Refuse a database without a ledger that is used for something else."""

    def check_integrity(self, connection: sa.Connection) -> None:  # noqa: B027 - optional
        """Raise ``LedgerCorrupt`` when the database itself reports damage."""

    def _connect(self) -> sa.Connection:
        return self._engine.connect()

    def _is_current(self) -> bool:
        """Return whether an open connection still leads to the right place."""
        return True

    @contextmanager
    def transaction(
        self, begin: Callable[[sa.Connection], None], commit: Callable[[sa.Connection], None]
    ) -> Iterator[sa.Connection]:
        """Run the block in a transaction; roll back when it raises."""
        with self.errors(), self.exclusive():
            connection = self._begin(begin)
            pid = os.getpid()
            try:
                yield connection
                if os.getpid() != pid:
                    raise LedgerUnavailable(_FORKED)
                commit(connection)
            except BaseException as error:
                if os.getpid() == pid:  # in a forked child the transaction is the parent's
                    self._roll_back(connection, unclear=isinstance(error, CommitUnclear))
                raise

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait for other threads; refuse a second use by the same thread."""
        with self._lock:
            if self._forked_in_use:
                raise LedgerUnavailable(_FORKED)
            if self._in_use:
                raise LedgerError(messages.NESTED)
            self._in_use = True
            try:
                yield
            finally:
                self._in_use = False

    def connection(self) -> sa.Connection:
        """Return the connection of this process; open one if necessary."""
        connection = self._connection
        if connection is not None and not (connection.closed or connection.invalidated):
            if self._is_current():
                return connection
        self.close()
        self._connection = self._connect()
        return self._connection

    def _begin(self, begin: Callable[[sa.Connection], None]) -> sa.Connection:
        connection = self.connection()
        try:
            begin(connection)
        except DBAPIError as error:
            self.close()
            if not error.connection_invalidated:
                raise
            connection = self.connection()  # the connection was lost while idle
            begin(connection)
        except BaseException:
            self.close()
            raise
        return connection

    def _roll_back(self, connection: sa.Connection, *, unclear: bool) -> None:
        rolled_back = False
        try:
            if not unclear:
                with suppress(SQLAlchemyError):
                    roll_back(connection)
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

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of the database."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self.explain(error) from error

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


def commit(connection: sa.Connection) -> None:
    """Commit a transaction that writes.

    Raises
    ------
    CommitUnclear
        When the database reports an error.
    """
    try:
        connection.exec_driver_sql("COMMIT")
    except SQLAlchemyError as error:
        raise CommitUnclear from error


def roll_back(connection: sa.Connection) -> None:
    """Discard a transaction."""
    connection.exec_driver_sql("ROLLBACK")


def end_read(connection: sa.Connection) -> None:
    """End a transaction that only reads."""
    connection.exec_driver_sql("COMMIT")


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
