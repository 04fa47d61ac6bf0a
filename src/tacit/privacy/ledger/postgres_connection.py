"""The connection to a PostgreSQL server: opening, transactions, and what can go wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.privacy.ledger.lent import LentConnection
from tacit.privacy.ledger.store import CommitUnclear

# Locks of a transaction are numbers; this word and the schema's number make one of our own.
_LOCK_SPACE = int.from_bytes(b"taci") << 32

_START = sa.text("""
    SELECT current_setting('fsync') AS fsync,
           current_setting('synchronous_commit') AS synchronous_commit,
           coalesce(
               (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('tacit_ledger_row')),
               to_regnamespace(quote_ident(current_schema()))::oid
           )::bigint AS schema
""")
_SETTINGS = sa.text("""
    SELECT set_config('lock_timeout', :wait, false),
           set_config('idle_in_transaction_session_timeout', :idle, false),
           set_config('synchronous_commit', :commit, false)
""")
_LOCK = sa.text("SELECT pg_advisory_xact_lock(:key)")


class PostgresConnection(LentConnection[sa.Connection]):
    """The connection to the database that keeps a ledger."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self.url = _checked_url(url)
        self._timeout = timeout
        self._engine = sa.create_engine(
            self.url,
            poolclass=sa.NullPool,
            pool_reset_on_return=None,  # closing does it
            connect_args={
                "connect_timeout": max(2, int(min(timeout, 10))),
                "fallback_application_name": "tacit",
                "client_encoding": "utf8",
            },
        )
        self._key = 0
        super().__init__()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self.url.render_as_string(hide_password=True)

    # -- connecting ----------------------------------------------------------------------------

    def _open(self) -> sa.Connection:
        connection = self._engine.connect()
        try:
            self._key = _LOCK_SPACE + self._prepare(connection)
        except BaseException:
            self._shut(connection)
            raise
        return connection

    def _prepare(self, connection: sa.Connection) -> int:
        """Set what the promise of a durable commit needs; return the number of the schema."""
        with connection.begin():
            found = connection.execute(_START).one()
            if found.fsync != "on":
                raise LedgerUnavailable(
                    f"The server of the ledger {self.shown!r} runs with fsync off: it may lose "
                    "what it has confirmed, and the record of a spend with it. Turn fsync on."
                )
            if found.schema is None:
                raise LedgerUnavailable(
                    f"The database of the ledger {self.shown!r} has no schema on its search path. "
                    "Create one for the ledger."
                )
            weak = found.synchronous_commit == "off"
            milliseconds = int(self._timeout * 1000)
            connection.execute(
                _SETTINGS,
                {
                    "wait": str(max(1, milliseconds)),
                    # A process that hangs in the middle must not keep all others waiting for ever.
                    "idle": str(max(60_000, 2 * milliseconds)),
                    "commit": "on" if weak else found.synchronous_commit,
                },
            )
        return int(found.schema)

    def _shut(self, connection: sa.Connection) -> None:
        try:
            connection.invalidate()
            connection.close()
        except SQLAlchemyError:
            pass

    def _keep_for_ever(self, connection: sa.Connection) -> None:
        super()._keep_for_ever(connection)
        driver = connection.connection.driver_connection
        if driver is not None and not driver.closed:
            # Our copy only: while it is open, the server would not notice that the parent died.
            os.close(driver.fileno())

    # -- transactions --------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state."""
        with self.errors(), self.borrow() as connection:
            with self._transaction(connection, write=False) as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction, alone among the writers of all hosts."""
        with self.errors():
            try:
                with self.borrow() as connection:
                    with self._transaction(connection, write=True) as connection:
                        yield connection
            except CommitUnclear:
                self.close()
                raise

    @contextmanager
    def _transaction(self, connection: sa.Connection, *, write: bool) -> Iterator[sa.Connection]:
        if connection.in_transaction():
            raise LedgerError("A release must not use the ledger that records it.")
        connection = self._begin(connection, write)
        pid = os.getpid()
        try:
            yield connection
            if os.getpid() != pid:
                raise LedgerUnavailable("A release must not fork and go on in the new process.")
            if write:
                _commit(connection)
            else:
                connection.rollback()
        except BaseException:
            # In a process forked meanwhile the transaction belongs to the parent: hands off.
            if os.getpid() == pid:
                self._drop(connection)
            raise

    def _begin(self, connection: sa.Connection, write: bool) -> sa.Connection:
        try:
            self._first_words(connection, write)
        except DBAPIError as error:
            if not error.connection_invalidated:
                self._drop(connection)
                raise
            # The server was restarted, or the network cut us off, while nothing was going on.
            self._drop(connection)
            self._connection = connection = self._open()
            self._first_words(connection, write)
        return connection

    def _first_words(self, connection: sa.Connection, write: bool) -> None:
        # Under "read committed" every statement sees what was committed when it starts: those
        # after the lock see all that its last holder wrote.
        connection.execution_options(
            isolation_level="READ COMMITTED" if write else "REPEATABLE READ",
            postgresql_readonly=not write,
        )
        connection.begin()
        if write:
            connection.execute(_LOCK, {"key": self._key})
        else:
            connection.execute(sa.text("SELECT 1"))

    def _drop(self, connection: sa.Connection) -> None:
        """Take the transaction back; a connection in doubt is closed, which does the same."""
        try:
            if not connection.invalidated:
                connection.rollback()
                return
        except SQLAlchemyError:
            pass
        self.close()

    # -- errors --------------------------------------------------------------------------------

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the database's errors into one clear error of ours."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self._explain(error) from error

    def _explain(self, error: SQLAlchemyError) -> LedgerError:
        state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
        if state in ("XX001", "XX002"):
            return LedgerCorrupt(f"The ledger {self.shown!r} is damaged: restore a copy.")
        reason, step = next(
            (words for start, words in _REASONS.items() if state.startswith(start)),
            _UNKNOWN if state else _NO_CONNECTION,
        )
        return LedgerUnavailable(
            f"The ledger {self.shown!r} cannot be used: {reason}. Nothing was released. {step}"
        )


def _commit(connection: sa.Connection) -> None:
    driver = connection.connection.driver_connection
    if driver is None or driver.info.transaction_status != TransactionStatus.INTRANS:
        # After an error the server would answer COMMIT with a rollback, and no complaint.
        raise LedgerUnavailable("The transaction of the ledger failed. Nothing was released.")
    try:
        connection.commit()
    except SQLAlchemyError as error:
        raise CommitUnclear from error


_NO_CONNECTION = (
    "there is no connection to its server",
    "Check that the server runs, that the URL is right and that the user may log in, then ask "
    "again.",
)
_UNKNOWN = ("the database reported an error", "Look at the cause below, then try again.")
_REASONS = {
    "08": _NO_CONNECTION,
    "57P": ("its server is stopping or starting", "Wait a little, then ask again."),
    "53100": ("the server's disk is full", "Make room, then ask again."),
    "53": ("its server is out of resources", "Wait a little, then ask again."),
    "55P03": ("another process is writing to it", "Try again, or raise `timeout`."),
    "57014": ("the statement was cancelled", "Ask again."),
    "25006": ("its server is read-only (a standby?)", "Use the URL of the primary server."),
    "42501": ("the user may not do this", "Grant SELECT and INSERT on its tables."),
    "42P01": ("its tables are not there any more", "Restore a backup."),
    "23505": ("another process wrote to it without its lock", "Find out which, then ask again."),
    "58": ("the server's disk reported an error", "Check the disk, then ask again."),
}


def _checked_url(url: str) -> sa.URL:
    try:
        found = sa.make_url(url)
    except ArgumentError:
        raise InvalidArgument(
            "`url` must look like postgresql://user@host:5432/database."
        ) from None
    if found.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise InvalidArgument(
            f"`url` must start with postgresql:// or postgresql+psycopg://, got "
            f"{found.drivername!r}."
        )
    return found.set(drivername="postgresql+psycopg")
