"""A ledger in an SQL database: one append-only table with a unique index on addresses.

Writers take turns, and every decision is made and recorded in one transaction. Two further layers
catch a writer that would ignore this: a decision that rests on row n is recorded as row n + 1,
which the primary key admits once; and the unique index admits one answer per question and plan.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerError, LedgerUnavailable
from tacit.ledger.chain import Address, Row, RowKind
from tacit.ledger.composition import Composition
from tacit.ledger.connection import Database
from tacit.ledger.ledger import Ledger
from tacit.ledger.store import CommitUnclear, Store

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

# A subquery and not a join: a planner may choose to join all rows.
_BEFORE = ROWS.alias("before")
_PREVIOUS = sa.select(_BEFORE.c.hash).where(_BEFORE.c.seq == ROWS.c.seq - 1).scalar_subquery()
_SELECT = sa.select(*_COLUMNS, _PREVIOUS.label("previous_hash"))
_AT = _SELECT.where(ROWS.c.seq.in_(sa.bindparam("seqs", expanding=True)))
_NEWEST = sa.union_all(  # one condition with OR would read all rows
    sa.select(_SELECT.order_by(ROWS.c.seq.desc()).limit(1).subquery()), _AT
)
_OWNED = _SELECT.where(ROWS.c.kind == _KIND, ROWS.c.owner == _OWNER)
_KEYED = _SELECT.where(ROWS.c.address.in_(sa.bindparam("addresses", expanding=True)))
# The largest (kind, owner, seq) up to the wanted kind and owner. With equalities instead, a planner
# may walk the primary key backwards until a row matches.
_LAST = (
    _SELECT.where(sa.tuple_(ROWS.c.kind, ROWS.c.owner) <= sa.tuple_(_KIND, _OWNER))
    .order_by(ROWS.c.kind.desc(), ROWS.c.owner.desc(), ROWS.c.seq.desc())
    .limit(1)
)
_PAGE = (
    sa.select(*_COLUMNS, ROWS.c.address)
    .where(ROWS.c.seq > sa.bindparam("after"))
    .order_by(ROWS.c.seq)
    .limit(1000)
)
_INSERT = sa.insert(ROWS)

_BEFORE_ALL = -(2**63)
_KEYS_PER_QUERY = 500


class SqlStore:
    """Rows in a table, seen through a connection with an open transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection, self._pid = connection, os.getpid()

    def _execute(self, statement: sa.Executable, parameters: Any = None) -> sa.CursorResult[Any]:
        if os.getpid() != self._pid:
            raise LedgerUnavailable("A release must not fork and continue in the new process.")
        return self.connection.execute(statement, parameters)

    def _read(self, query: sa.Executable, **parameters: Any) -> list[Row]:
        """Return rows in order, each checked against the hash of the row before."""
        rows = []
        for columns in sorted(self._execute(query, parameters)):
            rows.append(row := Row._make(columns[:-1]))
            row.check(columns.previous_hash)
        return rows

    def newest(self, also: Collection[int] = ()) -> dict[int, Row]:
        return {row.seq: row for row in reversed(self._read(_NEWEST, seqs=list(also)))}

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        return {row.seq: row for row in self._read(_AT, seqs=list(seqs))}

    def rows(self) -> Iterator[Row]:
        after = _BEFORE_ALL
        while page := self._execute(_PAGE, {"after": after}).all():
            for columns in page:
                row = Row._make(columns[:-1])
                yield row  # whoever verifies the chain has checked the row before continuing
                if columns.address != _encoded(row.address):
                    raise LedgerCorrupt(f"Row {row.seq} is not found by its key.", row=row.seq)
            after = page[-1].seq

    def owned(self, kind: RowKind, owner: int) -> list[Row]:
        return self._read(_OWNED, of_kind=int(kind), of_owner=owner)

    def keyed(self, addresses: Collection[Address]) -> dict[Address, Row]:
        pages = _pages(map(_encoded, addresses), _KEYS_PER_QUERY)
        rows = [row for page in pages for row in self._read(_KEYED, addresses=page)]
        wanted = set(addresses)
        return {row.address: row for row in rows if row.address in wanted}

    def last(self, kind: RowKind, owner: int) -> Row | None:
        rows = self._read(_LAST, of_kind=int(kind), of_owner=owner)
        return rows[0] if rows and (rows[0].kind, rows[0].owner) == (kind, owner) else None

    def append(self, rows: Sequence[Row]) -> None:
        columns = [{**row._asdict(), "address": _encoded(row.address)} for row in rows]
        self._execute(_INSERT, columns)

    def has_table(self) -> bool:
        """Return whether the database contains a ledger."""
        return sa.inspect(self.connection).has_table(ROWS.name)

    def create_table(self) -> None:
        """Create the table."""
        ROWS.create(self.connection, checkfirst=False)


def _encoded(address: Address) -> bytes:
    kind, owner, key = address
    return struct.pack(">HQ", kind, owner) + key


def _pages(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(items)
    while page := list(itertools.islice(remaining, size)):
        yield page


class SqlLedger(Ledger):
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
            with self._writing() as store:
                if not store.has_table():
                    database.refuse_foreign(store.connection)
                    if budget is None:
                        raise InvalidArgument(no_ledger(database.location))
                    store.create_table()
                self._create_or_check(store, budget, composition)
        except CommitUnclear as error:
            raise LedgerUnavailable(
                f"The ledger {database.location!r} could not be written, or it is not clear "
                "whether it was. Check the disk and the connection, then open it again."
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with self._database.transaction(write=False) as connection:
            yield SqlStore(connection)

    @contextmanager
    def _writing(self) -> Iterator[SqlStore]:
        with self._database.transaction(write=True) as connection:
            yield SqlStore(connection)

    def _check_storage(self) -> None:
        self._database.check_integrity(self._database.connection())

    def close(self) -> None:
        """Close the connection; it is reopened when the ledger is used again."""
        self._database.close()

    def _pickled_location(self) -> str:
        """Return where the ledger is, without a secret."""
        return self._database.location

    def __reduce__(self) -> tuple[Callable[..., SqlLedger], tuple[Any, ...]]:
        settings = (self._pickled_location(), self.ledger_id, self.allow_insecure)
        return _reopen, (type(self), *settings, self._database.timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._database.location!r})"


def _reopen(
    kind: Callable[..., SqlLedger],
    location: str,
    ledger_id: str,
    allow_insecure: bool,
    timeout: float,
) -> SqlLedger:
    # Without a budget: a ledger that is gone must not come back as a new one.
    ledger = kind(location, allow_insecure=allow_insecure, timeout=timeout)
    if ledger.ledger_id != ledger_id:
        ledger.close()
        raise LedgerUnavailable(f"Another ledger has taken the place of {location!r}.")
    return ledger


def write_rows(database: Database, rows: Iterable[Row]) -> None:
    """Write a whole ledger to a database that has none, in one transaction, and close it."""
    location = database.location
    try:
        with database.transaction(write=True) as connection:
            store = SqlStore(connection)
            if store.has_table():
                raise InvalidArgument(
                    f"There is a ledger at {location!r} already; it was left alone."
                )
            database.refuse_foreign(connection)
            store.create_table()
            for page in _pages(rows, 1000):
                store.append(page)
    except CommitUnclear as error:
        raise LedgerUnavailable(
            f"It is not clear whether the ledger was written to {location!r}. Verify it there "
            "before you try again."
        ) from error
    finally:
        database.close()


def no_ledger(location: str) -> str:
    """Return how to create a ledger that does not exist."""
    return (
        f"There is no ledger at {location!r}. Create it once, with the lifetime budget of the data "
        f"set: tacit.open_ledger({location!r}, budget=Budget(...))."
    )


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
