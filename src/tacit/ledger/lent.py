"""One connection per process, lent to one thread at a time, and what becomes of it in a fork."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Generic, NoReturn, TypeVar

from tacit.errors import LedgerUnavailable

Connection = TypeVar("Connection")

_ALL: weakref.WeakSet[LentConnection[object]] = weakref.WeakSet()


class LentConnection(ABC, Generic[Connection]):
    """A connection that is opened when it is needed.

    A connection must not meet a fork: SQLite's locks belong to the process, and a child that
    inherits its bookkeeping believes in locks it does not hold; a child that shares a socket
    speaks into its parent's conversation. So the connection is closed before every fork, when no
    thread is using it, and opened again on either side.
    """

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._lock = threading.RLock()
        self._lent = 0
        self._pid = os.getpid()
        self._forked_while_lent = False
        _ALL.add(self)  # type: ignore[arg-type]

    @abstractmethod
    def _open(self) -> Connection:
        """Connect."""

    @abstractmethod
    def _shut(self, connection: Connection) -> None:
        """Close a connection; never raises."""

    def _still_good(self) -> bool:
        """Return whether the connection may be used again."""
        return True

    def borrow(self) -> _Loan[Connection]:
        """Return a context in which this thread has the connection."""
        return _Loan(self)

    def lend(self) -> tuple[Connection, threading.RLock]:
        """Give this thread the connection, and the lock with which to ``take_back``."""
        if self._pid != os.getpid() or self._forked_while_lent:
            self._refuse_unsafe_fork()
        lock = self._lock
        lock.acquire()
        try:
            connection = self._connection
            if connection is None or not (self._lent or self._still_good()):
                self.close()
                connection = self._connection = self._open()
        except BaseException:
            lock.release()
            raise
        self._lent += 1
        return connection, lock

    def take_back(self, lock: threading.RLock) -> None:
        """Let other threads have the connection."""
        self._lent -= 1
        lock.release()

    def close(self) -> None:
        """Close the connection, if this process has one."""
        if self._pid != os.getpid() or self._forked_while_lent:
            return
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._shut(connection)

    def __del__(self) -> None:
        # What could not even be opened has no connection to close.
        if getattr(self, "_connection", None) is not None:
            self.close()

    def _refuse_unsafe_fork(self) -> NoReturn:
        raise LedgerUnavailable(
            "This process was forked while the ledger was in use. Open the ledger again in the new "
            "process."
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
            self._keep_for_ever(self._connection)

    def _keep_for_ever(self, connection: Connection) -> None:
        """See that the connection is not closed in this process, where it is another's."""
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


class _Loan(Generic[Connection]):
    """The connection in the hands of one thread. Not a generator: every answer waits for it."""

    __slots__ = ("_lender", "_lock")

    def __init__(self, lender: LentConnection[Connection]) -> None:
        self._lender = lender

    def __enter__(self) -> Connection:
        # The lock is kept: the lender gets another one in a process that is forked meanwhile.
        connection, self._lock = self._lender.lend()
        return connection

    def __exit__(self, *_: object) -> None:
        self._lender.take_back(self._lock)


def _before_fork() -> None:
    # Held until after the fork, so that both sides let go of exactly these.
    _FORKING.append(list(_ALL))
    for one in _FORKING[-1]:
        one.before_fork()


def _after_fork_in_parent() -> None:
    for one in _FORKING.pop():
        one.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for one in _FORKING.pop():
        one.after_fork_in_child()
    _FORKING.clear()


_FORKING: list[list[LentConnection[object]]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
