"""The connection to a PostgreSQL server: opening, transactions, and what can go wrong.

SQLAlchemy reads the URL; everything after that is said to the driver, psycopg, itself: a release
waits for every microsecond that is spent here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from sqlalchemy.exc import ArgumentError

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.ledger.lent import LentConnection
from tacit.ledger.postgres_schema import STATEMENTS
from tacit.ledger.store import CommitUnclear

LIVELY = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""So that a server that vanished without a word is given up after half a minute, not hours."""

# Locks of a transaction are numbers; this word and the schema's number make one of our own.
_LOCK_SPACE = int.from_bytes(b"taci") << 32

# Under "read committed" every statement sees what was committed when it starts: those after the
# lock was taken see all that its last holder wrote.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

FORKED = "A release must not fork and go on in the new process."

_START = """
    SELECT current_setting('fsync'), current_setting('synchronous_commit'),
           coalesce(
               (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('tacit_ledger_row')),
               to_regnamespace(quote_ident(current_schema()))::oid
           )::bigint
"""
_SETTINGS = """
    SELECT set_config('lock_timeout', %s, false),
           set_config('idle_in_transaction_session_timeout', %s, false),
           set_config('synchronous_commit', %s, false),
           set_config('bytea_output', 'hex', false),
           set_config('plan_cache_mode', 'force_generic_plan', false)
"""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes without a word when nobody holds it any more, as a ledger may."""

    def __del__(self, _: Any = None) -> None:
        """Say nothing: what is below closes itself."""


Found = Sequence[tuple[Any, ...]]


class PostgresConnection(LentConnection[Connection]):
    """The connection to the database that keeps a ledger."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self.url = _checked_url(url)
        self._timeout = timeout
        self._key = 0
        self._knows_statements = False
        super().__init__()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self.url.render_as_string(hide_password=True)

    # -- connecting ----------------------------------------------------------------------------

    def _open(self) -> Connection:
        _, options = self.url.get_dialect()().create_connect_args(self.url)
        connection = Connection.connect(
            **{
                **LIVELY,
                "connect_timeout": max(2, int(min(self._timeout, 10))),
                "fallback_application_name": "tacit",
                "client_encoding": "utf8",
                **options,
            },
            autocommit=True,  # transactions are opened in so many words, below
            # The driver would prepare statements by itself, and forget all of them, ours too, at
            # every ROLLBACK.
            prepare_threshold=None,
        )
        self._knows_statements = False
        try:
            self._key = _LOCK_SPACE + self._prepare(connection)
        except BaseException:
            self._shut(connection)
            raise
        return connection

    def _prepare(self, connection: Connection) -> int:
        """Set what the promise of a durable commit needs; return the number of the schema."""
        ((fsync, commit, schema),) = connection.execute(_START).fetchall()
        if fsync != "on":
            raise LedgerUnavailable(
                f"The server of the ledger {self.shown!r} runs with fsync off: it may lose "
                "what it has confirmed, and the record of a spend with it. Turn fsync on."
            )
        if schema is None:
            raise LedgerUnavailable(
                f"The database of the ledger {self.shown!r} has no schema on its search path. "
                "Create one for the ledger."
            )
        milliseconds = int(self._timeout * 1000)
        connection.execute(
            _SETTINGS,
            (
                str(max(1, milliseconds)),
                # A process that hangs in the middle must not keep all others waiting for ever.
                str(max(60_000, 2 * milliseconds)),
                "on" if commit == "off" else commit,
            ),
        )
        return int(schema)

    def _still_good(self) -> bool:
        # One that is known to be broken stays so, and reading would fail on it for ever.
        return self._connection is not None and not self._connection.closed

    def _shut(self, connection: Connection) -> None:
        try:
            connection.close()
        except psycopg.Error:
            pass

    def _keep_for_ever(self, connection: Connection) -> None:
        super()._keep_for_ever(connection)
        if not connection.closed:
            # Our copy only: while it is open, the server would not notice that the parent died.
            os.close(connection.fileno())

    # -- transactions --------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend the connection for single statements, each of which sees the newest state."""
        with self.errors(), self.borrow() as connection:
            _refuse_nested(connection)
            yield connection

    def read(self, query: str, values: Mapping[str, Any]) -> Found:
        """Run one query, in the transaction if one is open; else a second time if need be."""
        with self.borrow() as connection:
            alone = connection.info.transaction_status is TransactionStatus.IDLE
            try:
                return connection.execute(query, values).fetchall()
            except psycopg.Error:
                if not (alone and connection.closed):
                    raise
                # The server was restarted, or the network cut us off, while nothing was going on.
                return self._reconnected(connection).execute(query, values).fetchall()

    def write(self, statement: str, values: Sequence[Any] | Mapping[str, Any]) -> None:
        """Run one statement that writes, in the transaction that is open."""
        with self.borrow() as connection:
            _refuse_failed(connection)
            connection.execute(statement, values)

    @contextmanager
    def walking(self) -> Iterator[Connection]:
        """Open a transaction that sees one state from beginning to end."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self.errors(), self.borrow() as connection:
            with self._transaction(connection, begin, _roll_back) as (connection, _):
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction, alone among the writers of all hosts."""
        with self.errors():
            try:
                with self.borrow() as connection:
                    begin = self.begin_writing()
                    with self._transaction(connection, begin, _commit) as (connection, _):
                        yield connection
            except CommitUnclear:
                self.close()
                raise

    @contextmanager
    def answering(self, query: str, last_words: list[str]) -> Iterator[Found]:
        """Open a writer's transaction in one message to the server, and end it in another.

        ``query`` goes along with the first and runs after the lock was taken: what it found is
        yielded. ``last_words``, statements that write, go along with the COMMIT. Both may use the
        ``STATEMENTS`` of the schema.
        """
        # One context for all of it, since every answer goes through here and pays for each.
        try:
            with self.borrow() as connection:
                _refuse_nested(connection)
                begin = f"{_BEGIN}; EXECUTE tacit_lock({self._key}); {query}"
                connection, found = self.begin(connection, begin, self.teach_statements)
                pid = os.getpid()
                try:
                    yield found
                    if os.getpid() != pid:
                        raise LedgerUnavailable(FORKED)
                    _commit(connection, last_words)
                except BaseException:
                    if os.getpid() == pid:  # else it is the parent's
                        self._drop(connection)
                    raise
        except psycopg.Error as error:
            raise self._explain(error) from error
        except CommitUnclear:
            self.close()
            raise

    def teach_statements(self, connection: Connection) -> None:
        """Let the server know the statements of answers, once per connection."""
        if not self._knows_statements:
            for statement in STATEMENTS:
                connection.execute(statement)
            self._knows_statements = True

    @contextmanager
    def _transaction(
        self, connection: Connection, begin: str, end: Callable[[Connection], None]
    ) -> Iterator[tuple[Connection, Found]]:
        _refuse_nested(connection)
        connection, found = self.begin(connection, begin)
        pid = os.getpid()
        try:
            yield connection, found
            if os.getpid() != pid:
                raise LedgerUnavailable(FORKED)
            end(connection)
        except BaseException:
            # In a process forked meanwhile the transaction belongs to the parent: hands off.
            if os.getpid() == pid:
                self._drop(connection)
            raise

    def begin(
        self,
        connection: Connection,
        begin: str,
        first: Callable[[Connection], None] = lambda _: None,
    ) -> tuple[Connection, Found]:
        """Open a transaction; return the connection that it is on, and what ``begin`` found.

        ``first`` is done before.
        """
        try:
            first(connection)
            return connection, _last_result(connection, begin)
        except psycopg.Error:
            if not connection.closed:
                self._drop(connection)
                raise
        connection = self._reconnected(connection)
        first(connection)
        return connection, _last_result(connection, begin)

    def begin_writing(self) -> str:
        """Return the statements that open a writer's transaction."""
        return f"{_BEGIN}; SELECT pg_advisory_xact_lock({self._key})"

    def _reconnected(self, broken: Connection) -> Connection:
        self._shut(broken)
        self._connection = None
        self._connection = self._open()
        return self._connection

    def _drop(self, connection: Connection) -> None:
        """Take the transaction back; a connection in doubt is closed, which does the same."""
        try:
            if not connection.closed:
                _roll_back(connection)
                return
        except psycopg.Error:
            pass
        self.close()

    # -- errors --------------------------------------------------------------------------------

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the database's errors into one clear error of ours."""
        try:
            yield
        except psycopg.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: psycopg.Error) -> LedgerError:
        state = error.sqlstate or ""
        if state in ("XX001", "XX002"):
            return LedgerCorrupt(f"The ledger {self.shown!r} is damaged: restore a copy.")
        reason, step = next(
            (words for start, words in _REASONS.items() if state.startswith(start)),
            _UNKNOWN if state else _NO_CONNECTION,
        )
        return LedgerUnavailable(
            f"The ledger {self.shown!r} cannot be used: {reason}. Nothing was released. {step}"
        )


def _refuse_nested(connection: Connection) -> None:
    if connection.pgconn.transaction_status == TransactionStatus.INTRANS:
        raise LedgerError("A release must not use the ledger that records it.")


def _refuse_failed(connection: Connection) -> None:
    # After an error the server would answer COMMIT with a rollback, and no complaint; and on a new
    # connection there is no transaction at all.
    if connection.pgconn.transaction_status != TransactionStatus.INTRANS:
        raise LedgerUnavailable("The transaction of the ledger failed. Nothing was released.")


def _last_result(connection: Connection, statements: str) -> Found:
    """Run statements in one round trip and return the rows of the last of them, if it has any."""
    result = _said(connection, statements)
    readers = [_READERS[result.ftype(column)] for column in range(result.nfields)]
    return [
        tuple([read(result.get_value(row, column)) for column, read in enumerate(readers)])
        for row in range(result.ntuples)
    ]


def _said(connection: Connection, statements: str) -> PGresult:
    """Say statements to the server in one message, by way of the driver's own library.

    A cursor would do the same for several times the work: it may read any number of results of any
    type, in turns with whatever else is going on. Here there is one result that counts, of few
    types, and the connection is ours alone.
    """
    result = connection.pgconn.exec_(statements.encode())
    if result.status not in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK):
        raise error_from_result(result, encoding="utf-8")
    return result


def _number(text: bytes | None) -> int | None:
    return None if text is None else int(text)


def _bytes(text: bytes | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text[2:].decode())  # after a backslash and an x


def _nothing(text: bytes | None) -> None:
    """Take what a function gives that returns nothing."""


_READERS: Mapping[int, Callable[[bytes | None], Any]] = {
    17: _bytes,
    20: _number,
    23: _number,
    2278: _nothing,
}
"""What becomes of values, by the number of their type: bytea, bigint, integer, void."""


def _commit(connection: Connection, last_words: Sequence[str] = ()) -> None:
    _refuse_failed(connection)
    try:
        _said(connection, "; ".join((*last_words, "COMMIT")))
    except psycopg.Error as error:
        # A statement that fails leaves the transaction open, and failed: the COMMIT after it was
        # not looked at. Whatever else went wrong, the transaction may have been committed.
        if connection.pgconn.transaction_status == TransactionStatus.INERROR:
            raise
        raise CommitUnclear from error


def _roll_back(connection: Connection) -> None:
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        connection.execute("ROLLBACK")


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
