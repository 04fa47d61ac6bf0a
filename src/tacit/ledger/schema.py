"""The SQLite schema of a ledger, step by step.

A step and the record of it (``user_version``) share one transaction, so a file is always in one of
the numbered states. Steps are only ever added, and none changes what a row says: rows keep the
``format_version`` they were written in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tacit.errors import LedgerFormatError, LedgerUnavailable
from tacit.ledger import words

# "TACI" in the file's header tells a ledger from any other database.
APPLICATION_ID = int.from_bytes(b"TACI")

# Half of a key, under which rows are found. A list of whole keys is twice as large, and rows, whose
# keys lie anywhere in it, would write that many more pages. Keys that agree in half are told apart
# by the rows themselves.
ADDRESS_SIZE = 16
ADDRESS = f"substr(body, 1, {ADDRESS_SIZE})"

RECENT = 16384
"""Rows come onto the lists so many at a time. Part of the schema: files rely on it."""

LISTED = f"((SELECT max(seq) FROM ledger_row) / {RECENT} * {RECENT})"
"""The newest row that is on the lists, as ``listed`` has it."""

_KEY_LIST = """
    (
        address BLOB NOT NULL, kind INTEGER NOT NULL, owner INTEGER NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (address, kind, owner)
    ) STRICT, WITHOUT ROWID
"""


def _put_on_lists(which: str) -> tuple[str, str]:
    return (
        f"INSERT INTO ledger_key SELECT {ADDRESS}, kind, owner, seq FROM ledger_row "
        f"WHERE {which} ORDER BY 1",
        f"INSERT INTO ledger_owned SELECT kind, owner, seq FROM ledger_row WHERE {which}",
    )


# Each step is a list of statements. The key of a row is the first 32 bytes of its body.
#
# Since the third step rows are found by key and by owner on two lists, onto which they are put many
# at a time, in the transaction that adds the last of these. Keys lie anywhere among the others:
# put there at once, each answer would write a page or two besides its own. Rows beyond the lists,
# fewer than ``RECENT``, are looked through or remembered (``recent.py``). The lists only say where
# a row is: what is found there is compared with the row, which is chained.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE ledger_row (
            seq INTEGER PRIMARY KEY,
            format_version INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            body BLOB NOT NULL,
            hash BLOB NOT NULL
        ) STRICT
        """,
        "CREATE UNIQUE INDEX ledger_key ON ledger_row (kind, owner, substr(body, 1, 32))",
        "CREATE INDEX ledger_owner ON ledger_row (kind, owner, seq)",
    ),
    (
        "DROP INDEX ledger_key",
        f"CREATE TABLE ledger_key {_KEY_LIST}",
        f"CREATE TABLE ledger_recent_key {_KEY_LIST}",
        f"INSERT INTO ledger_key SELECT {ADDRESS}, kind, owner, seq FROM ledger_row ORDER BY 1",
        f"""
        CREATE TRIGGER ledger_keys AFTER INSERT ON ledger_row BEGIN
            INSERT INTO ledger_recent_key
            SELECT substr(NEW.body, 1, {ADDRESS_SIZE}), NEW.kind, NEW.owner, NEW.seq;
            INSERT INTO ledger_key SELECT * FROM ledger_recent_key WHERE NEW.seq % 1024 = 0;
            DELETE FROM ledger_recent_key WHERE NEW.seq % 1024 = 0;
        END
        """,
    ),
    (
        "DROP TRIGGER ledger_keys",
        "DROP TABLE ledger_recent_key",
        "DROP INDEX ledger_owner",
        "DROP TABLE ledger_key",
        """
        CREATE TABLE ledger_key (
            address BLOB NOT NULL, kind INTEGER NOT NULL, owner INTEGER NOT NULL,
            seq INTEGER NOT NULL, PRIMARY KEY (address, kind, owner, seq)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE ledger_owned (
            kind INTEGER NOT NULL, owner INTEGER NOT NULL, seq INTEGER NOT NULL,
            PRIMARY KEY (kind, owner, seq)
        ) STRICT, WITHOUT ROWID
        """,
        *_put_on_lists("seq <= (SELECT max(seq) FROM ledger_row) / 4096 * 4096"),
    ),
    (
        # More rows at a time. A process that still runs older code would look for rows on lists
        # where they are not yet, or add some to no list: its statements fail now.
        "ALTER TABLE ledger_row RENAME COLUMN format_version TO row_format",
        "DELETE FROM ledger_key",
        "DELETE FROM ledger_owned",
        *_put_on_lists(f"seq <= {LISTED}"),
    ),
)


def listed(newest: int) -> int:
    """Return the newest row that is on the lists, of a file whose newest row this is."""
    return newest // RECENT * RECENT


PUT_ON_LISTS = _put_on_lists("seq > ?1 AND seq <= ?2")
"""Statements that put the rows after one (1) up to another (2) on the lists.

Not a trigger: it would take longer than the rows do, even where it has nothing to do.
"""


def migrate(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Bring the schema up to date, inside the transaction that is open.

    Raises
    ------
    LedgerFormatError
        When the file is newer than these steps; it is left alone.
    LedgerUnavailable
        When it is a database of something else.
    """
    version = _number(connection, "user_version")
    _refuse_others(connection, version)
    if version > len(steps):
        raise LedgerFormatError(words.other_format(version, len(steps)))
    if version == len(steps):
        return
    for step in steps[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(steps)}")


def _refuse_others(connection: sqlite3.Connection, version: int) -> None:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    untouched = version == 0 and not tables
    if not untouched and _number(connection, "application_id") != APPLICATION_ID:
        raise LedgerUnavailable(
            "The file is an SQLite database, but not a ledger; it was left alone. Choose a path of "
            "its own for the ledger."
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
