"""The PostgreSQL schema of a ledger, step by step.

As with SQLite (``schema``): a step and the record of it share one transaction, steps are only ever
added, and none changes what a row says.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import psycopg

from tacit.errors import LedgerFormatError
from tacit.ledger import words
from tacit.ledger.chain import Kind

# The planner must not have a choice: by its statistics it would now and then rather read all rows
# of a plan, or all since an analyst's last, than go by the index made for the purpose. So each kind
# of look-up is written with an expression that one index has and no other.
ADDRESS = "int4send(kind) || int8send(owner) || substring(body, 1, 32)"
NEWEST_FIRST = "-seq"

COLUMNS = "seq, format_version, kind, owner, body, hash"
SELECT = f"SELECT {COLUMNS} FROM tacit_ledger_row"
HEAD = f"{SELECT} ORDER BY seq DESC LIMIT 1"

# What every answer needs, known to the server by name: it reads and plans each of them once per
# connection, which would take longer than to carry it out. ``tacit_answers`` finds the newest row,
# and those of answers: all that a request looks at while nobody else has written.
# ``tacit_expected`` finds all that a request looks at (a plan, addresses of answers, keys shown to
# an analyst, the address of the analyst's row, the newest row seen before), with the row before
# each, against which it is checked.
STATEMENTS = (
    "PREPARE tacit_lock (bigint) AS SELECT pg_advisory_xact_lock($1)",
    f"PREPARE tacit_answers (bytea[]) AS ({HEAD}) UNION ALL {SELECT} WHERE {ADDRESS} = ANY($1)",
    """
    PREPARE tacit_append (bigint, integer, integer, bigint, integer, bytea, bytea) AS
    INSERT INTO tacit_ledger_row (seq, format_version, kind, owner, body, hash)
    SELECT $1 + n, $2, $3, $4, substring($6, n * $5 + 1, $5), substring($7, n * 32 + 1, 32)
    FROM generate_series(0, length($7) / 32 - 1) AS n
    """,
    f"""
    PREPARE tacit_expected (bigint, bytea[], bytea[], bytea, bigint) AS
    WITH analyst AS (
        SELECT seq FROM tacit_ledger_row WHERE {ADDRESS} = $4
    ), looked_at AS (
        (SELECT seq FROM tacit_ledger_row ORDER BY seq DESC LIMIT 1)
        UNION ALL
        (SELECT seq FROM tacit_ledger_row WHERE kind = {Kind.ANSWER:d} AND owner = $1
         ORDER BY {NEWEST_FIRST} LIMIT 1)
        UNION ALL
        (SELECT seq FROM tacit_ledger_row
         WHERE kind = {Kind.SHOWN:d} AND owner = (SELECT seq FROM analyst)
         ORDER BY {NEWEST_FIRST} LIMIT 1)
        UNION ALL
        SELECT seq FROM tacit_ledger_row WHERE {ADDRESS} = ANY($2)
        UNION ALL
        SELECT seq FROM tacit_ledger_row WHERE {ADDRESS} = ANY(ARRAY(
            SELECT int4send({Kind.SHOWN:d}) || int8send(seq) || key
            FROM analyst, unnest($3) AS key
        ))
        UNION ALL SELECT seq FROM analyst
        UNION ALL SELECT $5
    )
    {SELECT}
    WHERE seq = ANY(ARRAY(SELECT seq - back FROM looked_at, generate_series(0, 1) AS back))
    ORDER BY seq
    """,
)

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE tacit_ledger_schema (version integer NOT NULL)",
        "INSERT INTO tacit_ledger_schema VALUES (1)",
        """
        CREATE TABLE tacit_ledger_row (
            seq bigint PRIMARY KEY,
            format_version integer NOT NULL,
            kind integer NOT NULL,
            owner bigint NOT NULL,
            body bytea NOT NULL,
            hash bytea NOT NULL
        )
        """,
        f"CREATE UNIQUE INDEX tacit_ledger_key ON tacit_ledger_row (({ADDRESS}))",
        f"CREATE INDEX tacit_ledger_owner ON tacit_ledger_row (kind, owner, ({NEWEST_FIRST}))",
    ),
)


def address(kind: int, owner: int, key: bytes) -> bytes:
    """Return what ``ADDRESS`` is for a row of this kind and owner with this key."""
    return struct.pack(">iq", kind, owner) + key


def exists(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a ledger is on the search path."""
    (found,) = connection.execute("SELECT to_regclass('tacit_ledger_schema')").fetchall()
    return bool(found != (None,))


def migrate(connection: psycopg.Connection[Any], steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Bring the schema up to date, inside the transaction that is open.

    Raises
    ------
    LedgerFormatError
        When it is newer than these steps; it is left alone.
    """
    version = 0
    if exists(connection):
        ((version,),) = connection.execute("SELECT version FROM tacit_ledger_schema").fetchall()
    if version > len(steps):
        raise LedgerFormatError(words.other_format(version, len(steps)))
    for step in steps[version:]:
        for statement in step:
            connection.execute(statement)
    if 0 < version < len(steps):
        connection.execute("UPDATE tacit_ledger_schema SET version = %s", (len(steps),))
