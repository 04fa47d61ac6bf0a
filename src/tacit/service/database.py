"""The database of a service: ``access.sqlite`` beside the oracle, or that of the ledger.

The second when that is PostgreSQL, so that several hosts agree. Nothing in it is private, and none
of it is a guarantee: what was released and what it cost is on the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tacit.errors import LedgerUnavailable
from tacit.files.private import create_private_file
from tacit.ledger.postgres import KEEPALIVE, checked_url

_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}

_METADATA = sa.MetaData()
ANALYSTS = sa.Table(
    "tacit_analyst",
    _METADATA,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("allowance", sa.BigInteger),
    sa.Column("period", sa.BigInteger),
    sa.Column("created", sa.BigInteger, nullable=False),
)
KEYS = sa.Table(
    "tacit_api_key",
    _METADATA,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("analyst", sa.ForeignKey("tacit_analyst.name"), nullable=False, index=True),
    sa.Column("salt", sa.LargeBinary, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger),
    sa.Column("revoked", sa.BigInteger),
)
REPEATS = sa.Table(
    "tacit_repeat",
    _METADATA,
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column("name", sa.LargeBinary, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False, index=True),
)
ACTIVITY = sa.Table(
    "tacit_activity",
    _METADATA,
    sa.Column("hour", sa.BigInteger, primary_key=True),
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column("answered", sa.BigInteger, nullable=False),
    sa.Column("refused", sa.BigInteger, nullable=False),
)
ENDED = sa.Table(
    "tacit_ended_session",
    _METADATA,
    sa.Column("session", sa.LargeBinary, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False, index=True),
)
SECRETS = sa.Table(
    "tacit_secret",
    _METADATA,
    sa.Column("name", sa.String(16), primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)


class ServiceDatabase:
    """Tables of one oracle's service. Safe to share between threads and processes.

    Parameters
    ----------
    where : path or URL
        A file, made for its owner alone when it does not exist; or the URL of a PostgreSQL
        database.
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._engine = _engine(where)
        self.insert: Any = _INSERTS[self._engine.dialect.name]
        with _errors():
            _METADATA.create_all(self._engine)

    def close(self) -> None:
        """Close files and connections."""
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Commit what is done in this block, all of it or nothing.

        Raises
        ------
        LedgerUnavailable
            When the database cannot be used. ``IntegrityError`` is left to the caller.
        """
        with _errors(), self._engine.begin() as connection:
            yield connection


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        # The message of the driver may hold the address and the user of the database.
        raise LedgerUnavailable(
            f"The list of analysts cannot be used ({type(error).__name__})."
        ) from None


def _engine(where: str | os.PathLike[str]) -> sa.Engine:
    text = os.fspath(where)
    if "://" in text and not text.startswith("sqlite"):
        url = checked_url(text)
        lively = {name: value for name, value in KEEPALIVE.items() if name not in url.query}
        return sa.create_engine(url, pool_pre_ping=True, connect_args=lively)
    path = Path(text.removeprefix("sqlite:///"))
    try:
        create_private_file(path)
    except OSError as error:
        raise LedgerUnavailable(f"{str(path)!r} cannot be made: {error.strerror}.") from error
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
    sa.event.listen(engine, "connect", _settings)
    return engine


def _settings(connection: Any, record: Any) -> None:
    # Losing the last second of this at a power cut loses no spend: that is on the ledger.
    for setting in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
