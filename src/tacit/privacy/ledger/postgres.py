"""A ledger in a PostgreSQL database: for several hosts at once.

Writers take turns by an advisory lock, held from before they read what is left until they have
committed. The lock saves work; what makes overspending impossible is the primary key: a decision
rests on the newest row, and the row that records it must be the next one, which only one of two
writers can insert (``docs/proofs/ledger.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from tacit.errors import InvalidArgument, LedgerError, LedgerUnavailable
from tacit.privacy.budget import Budget
from tacit.privacy.ledger.chain import Kind, Row
from tacit.privacy.ledger.composition import Composition
from tacit.privacy.ledger.postgres_connection import PostgresConnection
from tacit.privacy.ledger.postgres_schema import KEY, ROWS, exists, migrate
from tacit.privacy.ledger.rows import RowLedger
from tacit.privacy.ledger.store import CommitUnclear, Store, append_all


class PostgresLedger(RowLedger):
    """A ledger kept in a PostgreSQL database. Safe to share between threads, processes and hosts.

    Parameters
    ----------
    url : str
        ``postgresql://user@host:5432/database``. The tables lie in the first schema of the search
        path; ``?options=-csearch_path%3Dstudy`` chooses another, for a ledger each.
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
        super().__init__(allow_insecure)
        self._timeout = timeout
        self._server = PostgresConnection(url, timeout=timeout)
        try:
            # The tables and the first row come with one commit: a crash leaves a ledger or nothing.
            with self._server.writing() as connection:
                if budget is None and not exists(connection):
                    raise InvalidArgument(
                        f"There is no ledger at {self.url!r}. Create it once, with the lifetime "
                        f"budget of the data set: tacit.open_ledger({self.url!r}, "
                        "budget=Budget(...))."
                    )
                migrate(connection)
                self._created = self._create(_PostgresRows(connection), budget, composition)
        except CommitUnclear as error:
            raise LedgerUnavailable(
                f"It is not clear whether the ledger {self.url!r} was created. Open it again."
            ) from error

    @property
    def url(self) -> str:
        """Where the ledger is; a password is not shown."""
        return self._server.shown

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with self._server.reading() as connection:
            yield _PostgresRows(connection)

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        with self._server.writing() as connection:
            yield _PostgresRows(connection)

    def close(self) -> None:
        """Close the connection; it is opened again when the ledger is next used."""
        self._server.close()

    def __reduce__(self) -> tuple[Callable[..., PostgresLedger], tuple[Any, ...]]:
        url = self._server.url
        if url.password is not None:
            raise LedgerError(
                "A ledger whose URL holds a password cannot be pickled: the password would lie in "
                "the file. Leave it out of the URL, and put it in a password file (PGPASSFILE) or "
                "in the environment (PGPASSWORD)."
            )
        text = url.render_as_string()
        return _reopen, (text, self.ledger_id, self.allow_insecure, self._timeout)

    def __repr__(self) -> str:
        return f"PostgresLedger({self.url!r})"


def _reopen(url: str, ledger_id: str, allow_insecure: bool, timeout: float) -> PostgresLedger:
    # No budget is given: a ledger that has gone must not come back as a new one.
    ledger = PostgresLedger(url, allow_insecure=allow_insecure, timeout=timeout)
    if ledger.ledger_id != ledger_id:
        ledger.close()
        raise LedgerUnavailable(f"Another ledger has taken the place of {ledger.url!r}.")
    return ledger


def fill(url: str, rows: Iterable[Row]) -> None:
    """Write a whole ledger to a database that has none, in one transaction."""
    server = PostgresConnection(url, timeout=30.0)
    try:
        with server.writing() as connection:
            if exists(connection):
                raise InvalidArgument(
                    f"There is a ledger at {server.shown!r} already; it was left alone."
                )
            migrate(connection)
            append_all(_PostgresRows(connection), rows)
    except CommitUnclear as error:
        raise LedgerUnavailable(
            f"It is not clear whether the ledger was written to {server.shown!r}. Verify it there "
            "before you try again."
        ) from error
    finally:
        server.close()


_SELECT = sa.select(ROWS)
_HEAD = _SELECT.order_by(ROWS.c.seq.desc()).limit(1)
_NEXT = _SELECT.where(ROWS.c.seq > sa.bindparam("after")).order_by(ROWS.c.seq).limit(1000)
_AT = _SELECT.where(ROWS.c.seq == sa.any_(sa.bindparam("seqs", type_=sa.ARRAY(sa.BigInteger))))
_OF = (ROWS.c.kind == sa.bindparam("kind"), ROWS.c.owner == sa.bindparam("owner"))
_OWNED = _SELECT.where(*_OF, ROWS.c.seq > sa.bindparam("after")).order_by(ROWS.c.seq)
_KEYED = _SELECT.where(*_OF, KEY == sa.any_(sa.bindparam("keys", type_=sa.ARRAY(sa.LargeBinary))))
_LAST = _SELECT.where(*_OF).order_by(ROWS.c.seq.desc()).limit(1)

# One statement and one round trip for any number of rows.
_APPEND = sa.text("""
    INSERT INTO tacit_ledger_row (seq, format_version, kind, owner, body, hash)
    SELECT * FROM unnest(
        CAST(:seq AS bigint[]), CAST(:format_version AS integer[]), CAST(:kind AS integer[]),
        CAST(:owner AS bigint[]), CAST(:body AS bytea[]), CAST(:hash AS bytea[])
    )
""")

_BEFORE_ALL = -(2**63)


class _PostgresRows:
    """Rows seen through the transaction that is open on a connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def head(self) -> Row | None:
        return self._one(_HEAD)

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        if not seqs:
            return {}
        found = self._connection.execute(_AT, {"seqs": [int(seq) for seq in seqs]})
        return {row.seq: row for row in map(_row, found)}

    def rows(self) -> Iterator[Row]:
        after = _BEFORE_ALL
        while found := self._connection.execute(_NEXT, {"after": after}).all():
            yield from map(_row, found)
            after = found[-1].seq

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        values = {"kind": int(kind), "owner": int(owner), "after": after}
        return map(_row, self._connection.execute(_OWNED, values))

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        if not keys:
            return {}
        values = {"kind": int(kind), "owner": int(owner), "keys": list(keys)}
        return {row.key: row for row in map(_row, self._connection.execute(_KEYED, values))}

    def last(self, kind: Kind, owner: int) -> Row | None:
        return self._one(_LAST, {"kind": int(kind), "owner": int(owner)})

    def append(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        values = {
            "seq": [row.seq for row in rows],
            "format_version": [row.format_version for row in rows],
            "kind": [row.kind for row in rows],
            "owner": [row.owner for row in rows],
            "body": [row.body for row in rows],
            "hash": [row.hash for row in rows],
        }
        self._connection.execute(_APPEND, values)

    def _one(self, query: sa.Select[Any], values: dict[str, Any] | None = None) -> Row | None:
        found = self._connection.execute(query, values or {}).first()
        return None if found is None else _row(found)


def _row(found: Any) -> Row:
    seq, version, kind, owner, body, digest = found
    return Row(seq, version, kind, owner, bytes(body), bytes(digest))
