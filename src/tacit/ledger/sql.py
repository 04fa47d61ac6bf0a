"""A ledger in an SQL database: one append-only table with a unique index on keys.

Writers take turns, and every decision is made and recorded in one transaction. Two further layers
catch a writer that would ignore this: a decision that rests on row n is recorded as row n + 1,
which the primary key admits once; and the unique index admits one answer per question and plan.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.ledger import messages
from tacit.ledger.base import BaseLedger
from tacit.ledger.chain import Kind, Row
from tacit.ledger.composition import Composition
from tacit.ledger.connection import Database, commit, end_read
from tacit.ledger.store import CommitUnclear, Store, append_all

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

ROWS = sa.Table(
    "tacit_ledger_row",
    sa.MetaData(),
    sa.Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("format_version", sa.Integer, nullable=False),
    sa.Column("kind", sa.Integer, nullable=False),
    sa.Column("owner", _NUMBER, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    # Kind, owner and key in one column: with several, a planner without statistics may prefer the
    # other index and read all rows of a plan.
    sa.Column("address", sa.LargeBinary, nullable=False, unique=True),
    sa.Index("tacit_ledger_owner", "kind", "owner", "seq"),
)
_COLUMNS = [ROWS.c[name] for name in Row._fields]

_KIND, _OWNER = sa.bindparam("of_kind", type_=sa.Integer), sa.bindparam("of_owner", type_=_NUMBER)
_OF_OWNER = sa.and_(ROWS.c.kind == _KIND, ROWS.c.owner == _OWNER)

_SELECT = sa.select(*_COLUMNS)
_AT = _SELECT.where(ROWS.c.seq.in_(sa.bindparam("seqs", expanding=True)))
_LAST_TWO = _SELECT.order_by(ROWS.c.seq.desc()).limit(2).subquery()
_NEWEST = sa.union_all(sa.select(_LAST_TWO), _AT)  # one condition with OR would read all rows
_PAGE = (
    _SELECT.add_columns(ROWS.c.address)
    .where(ROWS.c.seq > sa.bindparam("after"))
    .order_by(ROWS.c.seq)
    .limit(1000)
)
_OWNED = _SELECT.where(_OF_OWNER)
_KEYED = _SELECT.where(ROWS.c.address.in_(sa.bindparam("addresses", expanding=True)))
# The largest (kind, owner, seq) up to the wanted kind and owner. With equalities instead, a planner
# may walk the primary key backwards until a row matches.
_LAST = (
    _SELECT.where(sa.tuple_(ROWS.c.kind, ROWS.c.owner) <= sa.tuple_(_KIND, _OWNER))
    .order_by(ROWS.c.kind.desc(), ROWS.c.owner.desc(), ROWS.c.seq.desc())
    .limit(1)
)
_INSERT = sa.insert(ROWS)

_BEFORE_ALL = -(2**63)
_KEYS_PER_QUERY = 500


class SqlStore:
    """Rows in a table, seen through a connection with an open transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection, self._pid = connection, os.getpid()

    def _execute(self, statement: sa.Executable, parameters: Any = None) -> sa.CursorResult[Any]:
        if os.getpid() != self._pid:
            raise LedgerUnavailable("A release must not fork and continue in the new process.")
        return self._connection.execute(statement, parameters)

    def _read(self, query: sa.Executable, **parameters: Any) -> list[Row]:
        return [Row._make(row) for row in self._execute(query, parameters)]

    def newest(self, also: Collection[int] = ()) -> dict[int, Row]:
        rows = sorted(self._read(_NEWEST, seqs=list(also)), reverse=True)
        return {row.seq: row for row in rows}

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        numbers = sorted(int(seq) for seq in seqs)
        pages = (numbers[n : n + _KEYS_PER_QUERY] for n in range(0, len(numbers), _KEYS_PER_QUERY))
        return {row.seq: row for page in pages for row in self._read(_AT, seqs=page)}

    def rows(self) -> Iterator[Row]:
        after = _BEFORE_ALL
        while page := self._execute(_PAGE, {"after": after}).all():
            for columns in page:
                row = Row._make(columns[:-1])
                yield row  # whoever verifies the chain has checked the row before going on
                if columns.address != _address(row.kind, row.owner, row.key):
                    raise LedgerCorrupt(f"Row {row.seq} is not found by its key.", row=row.seq)
            after = page[-1].seq

    def owned(self, kind: Kind, owner: int) -> list[Row]:
        return sorted(self._read(_OWNED, of_kind=int(kind), of_owner=owner))

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        wanted = [_address(kind, owner, key) for key in keys]
        pages = (wanted[n : n + _KEYS_PER_QUERY] for n in range(0, len(wanted), _KEYS_PER_QUERY))
        rows = [row for page in pages for row in self._read(_KEYED, addresses=page)]
        return {row.key: row for row in rows if (row.kind, row.owner) == (kind, owner)}

    def last(self, kind: Kind, owner: int) -> Row | None:
        rows = self._read(_LAST, of_kind=int(kind), of_owner=owner)
        return next((row for row in rows if (row.kind, row.owner) == (kind, owner)), None)

    def append(self, rows: Sequence[Row]) -> None:
        addresses = (_address(row.kind, row.owner, row.key) for row in rows)
        columns = zip(rows, addresses, strict=True)
        self._execute(_INSERT, [{**row._asdict(), "address": at} for row, at in columns])


def _address(kind: int, owner: int, key: bytes) -> bytes:
    return struct.pack(">HQ", kind, owner) + key


class SqlLedger(BaseLedger):
    """A ledger in an SQL database. Safe to share between threads and processes."""

    def __init__(
        self,
        database: Database,
        *,
        budget: Budget | None,
        composition: Composition | str | None,
        allow_insecure: bool,
    ) -> None:
        super().__init__(allow_insecure)
        self._database = database
        try:
            # Table and first row share a commit: a crash leaves a complete ledger or none.
            with self._database.transaction(self._database.begin_write, self._commit) as connection:
                if not has_table(connection):
                    self._database.refuse_foreign(connection)
                    if budget is None:
                        raise InvalidArgument(messages.no_ledger(self._database.location))
                    ROWS.create(connection, checkfirst=False)
                self._create_or_check(SqlStore(connection), budget, composition)
        except CommitUnclear as error:
            raise LedgerUnavailable(
                f"The ledger {self._database.location!r} could not be written, or it is not clear "
                "whether it was. Check the disk and the connection, then open it again."
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with self._database.transaction(self._database.begin_read, end_read) as connection:
            yield SqlStore(connection)

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        with self._database.transaction(self._database.begin_write, self._commit) as connection:
            yield SqlStore(connection)

    def _commit(self, connection: sa.Connection) -> None:
        commit(connection)

    def _check_storage(self, store: Store) -> None:
        self._database.check_integrity(self._database.connection())

    def close(self) -> None:
        """Close the connection; it is reopened when the ledger is used again."""
        self._database.close()

    def _address(self) -> str:
        """Return where the ledger is, as pickled: without a secret."""
        return self._database.location

    def __reduce__(self) -> tuple[Callable[..., SqlLedger], tuple[Any, ...]]:
        settings = (self._address(), self.ledger_id, self.allow_insecure, self._database.timeout)
        return _reopen, (type(self), *settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._database.location!r})"


def _reopen(
    kind: Callable[..., SqlLedger],
    address: str,
    ledger_id: str,
    allow_insecure: bool,
    timeout: float,
) -> SqlLedger:
    # Without a budget: a ledger that is gone must not come back as a new one.
    ledger = kind(address, allow_insecure=allow_insecure, timeout=timeout)
    if ledger.ledger_id != ledger_id:
        ledger.close()
        raise LedgerUnavailable(f"Another ledger has taken the place of {address!r}.")
    return ledger


def has_table(connection: sa.Connection) -> bool:
    """Return whether the database contains a ledger."""
    return sa.inspect(connection).has_table(ROWS.name)


def write_rows(database: Database, rows: Iterable[Row]) -> None:
    """Write a whole ledger to a database that has none, in one transaction, and close it."""
    location = database.location
    try:
        with database.transaction(database.begin_write, commit) as connection:
            if has_table(connection):
                raise InvalidArgument(
                    f"There is a ledger at {location!r} already; it was left alone."
                )
            database.refuse_foreign(connection)
            ROWS.create(connection, checkfirst=False)
            append_all(SqlStore(connection), rows)
    except CommitUnclear as error:
        raise LedgerUnavailable(
            f"It is not clear whether the ledger was written to {location!r}. Verify it there "
            "before you try again."
        ) from error
    finally:
        database.close()


def explained(
    location: str, reason: tuple[str, str] | None, *, damaged: bool = False
) -> LedgerError:
    """Return an error of a database in our words; ``reason`` is what happened, and what to do."""
    if damaged:
        return LedgerCorrupt(f"The ledger {location!r} is damaged: restore a copy.")
    problem, step = reason or (
        "the database reported an error",
        "Look at the cause below, then try again.",
    )
    return LedgerUnavailable(
        f"The ledger {location!r} cannot be used: {problem}. Nothing was released. {step}"
    )
