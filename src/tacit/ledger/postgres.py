"""A ledger in a PostgreSQL database: for several hosts at once.

Writers take turns by an advisory lock, held from before they read what is left until they have
committed. What makes overspending impossible even without it is the primary key
(``docs/proofs/ledger.md``).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, LedgerError, LedgerUnavailable
from tacit.ledger.composition import Composition
from tacit.ledger.connection import ENGINE_OPTIONS, Database
from tacit.ledger.sql import ROWS, SqlLedger, explained

KEEPALIVE = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""Connection settings with which a vanished server is noticed after half a minute, not hours."""

# Advisory locks are numbers; this word and the number of the schema make one of our own.
_LOCK_SPACE = int.from_bytes(b"taci") << 32

_SERVER = sa.text(f"""
    SELECT current_setting('fsync'), current_setting('synchronous_commit'),
           coalesce(
               (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('{ROWS.name}')),
               to_regnamespace(quote_ident(current_schema()))::oid
           )::bigint
""")
_SETTINGS = sa.text("""
    SELECT set_config('lock_timeout', :lock_timeout, false),
           set_config('idle_in_transaction_session_timeout', :idle_timeout, false),
           set_config('synchronous_commit', :synchronous_commit, false)
""")

_NO_CONNECTION = (
    "there is no connection to its server",
    "Check that the server runs, that the URL is right and that the user may log in, then ask "
    "again.",
)
_REASONS = {
    "08": _NO_CONNECTION,
    "57P": ("its server is stopping or starting", "Wait a little, then ask again."),
    "53100": ("the server's disk is full", "Make room, then ask again."),
    "53": ("its server is out of resources", "Wait a little, then ask again."),
    "55P03": ("another process is writing to it", "Try again, or raise `timeout`."),
    "57014": ("the statement was cancelled", "Ask again."),
    "25006": ("its server is read-only (a standby?)", "Use the URL of the primary server."),
    "42501": ("the user may not do this", "Grant SELECT and INSERT on its table."),
    "42P01": ("its table no longer exists", "Restore a backup."),
    "23505": ("another process wrote to it without its lock", "Find out which, then ask again."),
    "58": ("the server's disk reported an error", "Check the disk, then ask again."),
}


class PostgresLedger(SqlLedger):
    """A ledger kept in a PostgreSQL database. Safe to share between threads, processes and hosts.

    Parameters
    ----------
    url : str
        ``postgresql://user@host:5432/database``. The table is in the first schema of the search
        path; ``?options=-csearch_path%3Dstudy`` chooses another, one for each ledger.
    budget : Budget, optional
        Lifetime budget of the data set: needed to create a ledger, checked against the database's
        own when one exists.
    composition : {"basic", "zcdp"}, optional
        As with ``budget``; "basic" for a new ledger.
    allow_insecure : bool, default False
        Whether answers from test noise may be recorded; they stay marked for good.
    timeout : float, default 30
        How many seconds to wait for another process that is writing.
    """

    def __init__(
        self,
        url: str,
        *,
        budget: Budget | None = None,
        composition: Composition | str | None = None,
        allow_insecure: bool = False,
        timeout: float = 30.0,
    ) -> None:
        self._url = checked_url(url)
        super().__init__(
            PostgresDatabase(self._url, timeout=timeout),
            budget=budget,
            composition=composition,
            allow_insecure=allow_insecure,
        )

    @property
    def url(self) -> str:
        """Where the ledger is; a password is not shown."""
        return self._database.location

    def _pickled_location(self) -> str:
        if self._url.password is not None:
            raise LedgerError(
                "A ledger whose URL holds a password cannot be pickled: the password would be in "
                "the file. Leave it out of the URL, and put it in a password file (PGPASSFILE) or "
                "in the environment (PGPASSWORD)."
            )
        return self._url.render_as_string()


class PostgresDatabase(Database):
    """The connection to a PostgreSQL database."""

    def __init__(self, url: str | sa.URL, *, timeout: float) -> None:
        self._url = checked_url(url)
        self._lock_key = 0
        options: dict[str, Any] = {
            **KEEPALIVE,
            "connect_timeout": max(2, int(min(timeout, 10))),
            "fallback_application_name": "tacit",
            "client_encoding": "utf8",
        }
        arguments = {name: value for name, value in options.items() if name not in self._url.query}
        try:
            engine = sa.create_engine(self._url, connect_args=arguments, **ENGINE_OPTIONS)
        except ImportError as error:
            raise LedgerUnavailable(
                "A PostgreSQL ledger needs psycopg: pip install '.[postgres]' in the checkout."
            ) from error
        super().__init__(engine, timeout)

    @property
    def location(self) -> str:
        """The URL without its password."""
        return self._url.render_as_string(hide_password=True)

    def _connect(self) -> sa.Connection:
        connection = super()._connect()
        try:
            self._lock_key = _LOCK_SPACE + self._prepare(connection)
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sa.Connection) -> int:
        """Set what a durable commit needs; return the number of the schema."""
        fsync, synchronous_commit, schema = connection.execute(_SERVER).one()
        if fsync != "on":
            raise LedgerUnavailable(
                f"The server of the ledger {self.location!r} runs with fsync off: it may lose "
                "what it has confirmed, and the record of a spend with it. Turn fsync on."
            )
        if schema is None:
            raise LedgerUnavailable(
                f"The database of the ledger {self.location!r} has no schema on its search path. "
                "Create one for the ledger."
            )
        milliseconds = max(1, int(self.timeout * 1000))
        settings = {
            "lock_timeout": str(milliseconds),
            # A process that hangs in a transaction must not keep all others waiting for ever.
            "idle_timeout": str(max(60_000, 2 * milliseconds)),
            "synchronous_commit": "on" if synchronous_commit == "off" else synchronous_commit,
        }
        connection.execute(_SETTINGS, settings)
        return int(schema)

    def begin(self, connection: sa.Connection, *, write: bool) -> None:
        """Begin a transaction: with the advisory lock of the ledger, or with one snapshot.

        Under "read committed" every statement sees what was committed when it starts: those after
        the lock was taken see all that its last holder wrote.
        """
        if not write:
            connection.exec_driver_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return
        connection.exec_driver_sql(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
            f"SELECT pg_advisory_xact_lock({self._lock_key:d})",
            execution_options={"no_parameters": True},  # two statements in one message
        )

    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """Return an error by its SQLSTATE; without one there is no connection."""
        state = getattr(getattr(error, "orig", None), "sqlstate", None) or "08"
        reason = next((words for start, words in _REASONS.items() if state.startswith(start)), None)
        return explained(self.location, reason, damaged=state in ("XX001", "XX002"))


def checked_url(url: str | sa.URL) -> sa.URL:
    """Return a PostgreSQL URL that names its driver; refuse any other."""
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        raise InvalidArgument(
            "`url` must look like postgresql://user@host:5432/database."
        ) from None
    if parsed.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise InvalidArgument(
            f"`url` must start with postgresql:// or postgresql+psycopg://, got "
            f"{parsed.drivername!r}."
        )
    return parsed.set(drivername="postgresql+psycopg")
