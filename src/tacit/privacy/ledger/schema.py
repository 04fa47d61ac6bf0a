"""The SQLite schema of a ledger, step by step.

A step and the record of it (``user_version``) share one transaction, so a file is always in one of
the numbered states. Steps are only ever added, and none changes what a row says: rows keep the
``format_version`` they were written in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tacit.errors import LedgerFormatError, LedgerUnavailable
from tacit.privacy.ledger import words

# "TACI" in the file's header tells a ledger from any other database.
APPLICATION_ID = int.from_bytes(b"TACI")

# Half of a key, under which rows are found. A list of whole keys is twice as large, and answers,
# whose keys lie anywhere in it, would write that many more pages. Half still tells keys apart: they
# are SHA-256 hashes, and should two ever agree in 16 bytes, the second is refused.
ADDRESS_SIZE = 16
ADDRESS = f"substr(body, 1, {ADDRESS_SIZE})"

RECENT = 1024
"""Rows whose keys are on a short list of their own before they go to the long one, together."""

_KEY_LIST = """
    (
        address BLOB NOT NULL, kind INTEGER NOT NULL, owner INTEGER NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (address, kind, owner)
    ) STRICT, WITHOUT ROWID
"""

# Each step is a list of statements. The key of a row is the first 32 bytes of its body. Keys lie
# anywhere among the others: a hundred answers would write a hundred pages of one long list. So new
# ones are put, by the database itself, on a short list, and into the long one by the thousand.
# What is found there is compared with the row, which is chained; the lists only say where it is.
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
            INSERT INTO ledger_key SELECT * FROM ledger_recent_key WHERE NEW.seq % {RECENT} = 0;
            DELETE FROM ledger_recent_key WHERE NEW.seq % {RECENT} = 0;
        END
        """,
    ),
)


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
