"""A ledger in a PostgreSQL database: for several hosts at once.

Writers take turns by an advisory lock, held from before they read what is left until they have
committed. The lock saves work; what makes overspending impossible is the primary key: a decision
rests on the newest row, and the row that records it must be the next one, which only one of two
writers can insert (``docs/proofs/ledger.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tacit.errors import InvalidArgument, LedgerError, LedgerUnavailable
from tacit.ledger.chain import Kind, Row
from tacit.ledger.composition import Composition
from tacit.ledger.postgres_connection import PostgresConnection
from tacit.ledger.postgres_schema import (
    ADDRESS,
    COLUMNS,
    HEAD,
    NEWEST_FIRST,
    SELECT,
    address,
    exists,
    migrate,
)
from tacit.ledger.rows import RowLedger
from tacit.ledger.store import CommitUnclear, Store, Wanted, alike, append_all
from tacit.privacy.budget import Budget


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
                self._created = self._create(_PostgresRows(self._server), budget, composition)
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
        with self._server.reading():
            yield _PostgresRows(self._server)

    @contextmanager
    def _walking(self) -> Iterator[Store]:
        with self._server.walking():
            yield _PostgresRows(self._server)

    @contextmanager
    def _writing(self, wanted: Wanted | None = None) -> Iterator[Store]:
        if wanted is None:
            with self._server.writing():
                yield _PostgresRows(self._server)
            return
        last_words: list[str] = []
        with self._server.answering(_answers_to(wanted), last_words) as found:
            rows = [Row._make(row) for row in found]
            yield _PostgresRows(self._server, _Fetched.answers(rows, wanted), last_words)

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
            append_all(_PostgresRows(server), rows)
    except CommitUnclear as error:
        raise LedgerUnavailable(
            f"It is not clear whether the ledger was written to {server.shown!r}. Verify it there "
            "before you try again."
        ) from error
    finally:
        server.close()


_NEXT = f"{SELECT} WHERE seq > %(after)s ORDER BY seq LIMIT 1000"
_AT = f"{SELECT} WHERE seq = ANY(%(seqs)s::bigint[])"
_OF = "kind = %(kind)s AND owner = %(owner)s"
_OWNED = (
    f"{SELECT} WHERE {_OF} AND {NEWEST_FIRST} < -%(after)s::bigint ORDER BY {NEWEST_FIRST} DESC"
)
_KEYED = f"""
    {SELECT} WHERE {ADDRESS} = ANY(ARRAY(
        SELECT %(owner)b || substring(%(keys)b, 32 * n + 1, 32)
        FROM generate_series(0, length(%(keys)b) / 32 - 1) AS n
    ))
"""
_LAST = f"{SELECT} WHERE {_OF} ORDER BY {NEWEST_FIRST} LIMIT 1"

# One statement for any number of rows of one kind and size, end to end.
_APPEND = f"""
    INSERT INTO tacit_ledger_row ({COLUMNS})
    SELECT %(first)s::bigint + n, %(version)s, %(kind)s, %(owner)s,
           substring(%(bodies)b, n * %(size)s::integer + 1, %(size)s::integer),
           substring(%(hashes)b, n * 32 + 1, 32)
    FROM generate_series(0, length(%(hashes)b) / 32 - 1) AS n
"""

_BEFORE_ALL = -(2**63)


# A message with several statements takes no parameters: values are written out, as numbers and
# hexadecimal digits, which nobody outside can turn into anything else.


def _answers_to(wanted: Wanted) -> str:
    addresses = (address(Kind.ANSWER, wanted.plan, key) for key in wanted.keys)
    return f"EXECUTE tacit_answers({_listed(addresses)})"


def _listed(values: Iterable[bytes]) -> str:
    digits = ",".join([rf'"\\\\x{value.hex()}"' for value in values])
    return f"E'{{{digits}}}'"


def _appended(form: tuple[int, int, int, int], rows: list[Row]) -> str:
    version, kind, owner, size = form
    bodies = b"".join([row.body for row in rows]).hex()
    hashes = b"".join([row.hash for row in rows]).hex()
    return (
        f"EXECUTE tacit_append({rows[0].seq:d}, {version:d}, {kind:d}, {owner:d}, {size:d}, "
        rf"E'\\x{bodies}', E'\\x{hashes}')"
    )


class _PostgresRows:
    """Rows seen through a connection, in the transaction that is open on it."""

    def __init__(
        self,
        server: PostgresConnection,
        fetched: _Fetched | None = None,
        last_words: list[str] | None = None,
    ) -> None:
        self._server = server
        self._fetched = fetched
        self._last_words = last_words

    def head(self) -> Row | None:
        return self._fetched.head if self._fetched else self._one(HEAD)

    def at(self, seqs: Collection[int]) -> dict[int, Row]:
        known = self._fetched.rows if self._fetched else {}
        if all(seq in known for seq in seqs):
            return {seq: known[seq] for seq in seqs}
        return {row.seq: row for row in self._read(_AT, seqs=[int(seq) for seq in seqs])}

    def rows(self) -> Iterator[Row]:
        after = _BEFORE_ALL
        while found := self._read(_NEXT, after=after):
            yield from found
            after = found[-1].seq

    def owned(self, kind: Kind, owner: int, after: int = -1) -> Iterator[Row]:
        return iter(self._read(_OWNED, kind=int(kind), owner=int(owner), after=after))

    def keyed(self, kind: Kind, owner: int, keys: Collection[bytes]) -> dict[bytes, Row]:
        if not keys:
            return {}
        if self._fetched and self._fetched.has(kind, owner, keys):
            found = self._fetched.owned(kind, owner)
            return {row.key: row for row in found if row.key in keys}
        found = self._read(_KEYED, owner=address(kind, owner, b""), keys=b"".join(keys))
        return {row.key: row for row in found}

    def last(self, kind: Kind, owner: int) -> Row | None:
        if self._fetched and self._fetched.has_last(kind, owner):
            return next(reversed(self._fetched.owned(kind, owner)), None)
        return self._one(_LAST, kind=int(kind), owner=int(owner))

    def append(self, rows: Sequence[Row]) -> None:
        self._fetched = None
        for form, some in alike(rows):
            if self._last_words is not None:
                # Sent along with the COMMIT: nothing is read between the two.
                self._last_words.append(_appended(form, some))
                continue
            version, kind, owner, size = form
            values = {
                "first": some[0].seq,
                "version": version,
                "kind": kind,
                "owner": owner,
                "size": size,
                "bodies": b"".join(row.body for row in some),
                "hashes": b"".join(row.hash for row in some),
            }
            self._server.write(_APPEND, values)

    def expect(self, wanted: Wanted, seen: int) -> None:
        plan, keys, analyst = wanted.plan, wanted.keys, wanted.analyst_key
        answers = _listed(address(Kind.ANSWER, plan, key) for key in keys)
        shown = _listed(keys if analyst else ())
        name = address(Kind.ANALYST, plan, analyst).hex()
        found = self._read(
            f"EXECUTE tacit_expected({plan:d}, {answers}, {shown}, "
            rf"E'\\x{name}', {seen:d})"
        )
        self._fetched = _Fetched.accounts(found, wanted)

    def _one(self, query: str, **values: object) -> Row | None:
        return next(iter(self._read(query, **values)), None)

    def _read(self, query: str, **values: object) -> list[Row]:
        return [Row._make(found) for found in self._server.read(query, values)]


class _Fetched:
    """Rows found by one query, and which look-ups they answer; alone among writers."""

    def __init__(
        self,
        found: Sequence[Row],
        keyed: Mapping[tuple[int, int], frozenset[bytes]],
        last: Collection[tuple[int, int]],
    ) -> None:
        self.rows = {row.seq: row for row in found}
        self.head = max(found, default=None)
        self._keyed, self._last = keyed, last

    @classmethod
    def answers(cls, found: Sequence[Row], wanted: Wanted) -> _Fetched:
        """Return what ``_ANSWERS`` found."""
        return cls(found, {(Kind.ANSWER, wanted.plan): wanted.keys}, ())

    @classmethod
    def accounts(cls, found: Sequence[Row], wanted: Wanted) -> _Fetched:
        """Return what ``_EXPECT`` found."""
        keyed: dict[tuple[int, int], frozenset[bytes]] = {
            (Kind.ANSWER, wanted.plan): wanted.keys,
            (Kind.ANALYST, wanted.plan): frozenset([wanted.analyst_key]),
        }
        analyst = (int(Kind.ANALYST), wanted.plan, wanted.analyst_key)
        named = (row.seq for row in found if (row.kind, row.owner, row.key) == analyst)
        keyed |= {(Kind.SHOWN, seq): wanted.keys for seq in named}
        return cls(found, keyed, keyed.keys() - {(Kind.ANALYST, wanted.plan)})

    def owned(self, kind: Kind, owner: int) -> list[Row]:
        return [row for row in self.rows.values() if (row.kind, row.owner) == (kind, owner)]

    def has(self, kind: Kind, owner: int, keys: Collection[bytes]) -> bool:
        known = self._keyed.get((kind, owner))
        return known is not None and known.issuperset(keys)

    def has_last(self, kind: Kind, owner: int) -> bool:
        return (kind, owner) in self._last
