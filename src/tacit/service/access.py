"""Who may ask: analysts, their keys and allowances, and how often they asked.

None of this is private, and none of it is a guarantee: what was released and what it cost is on the
ledger. It is kept in ``access.sqlite`` beside the oracle, or in the database of the ledger when
that is PostgreSQL, so that several hosts agree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tacit import validation
from tacit.errors import InvalidArgument, LedgerUnavailable
from tacit.ledger import Analyst
from tacit.noise import NoiseSource, SecureNoise
from tacit.service.keys import NewKey, make_key, matches, split_key

PERIODS = {"never": None, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000}
"""How often an allowance renews, in seconds; a month is thirty days."""

ROLES = ("analyst", "admin")
_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_REMEMBERED = 7 * 86_400

_METADATA = sa.MetaData()
_ANALYSTS = sa.Table(
    "tacit_analyst",
    _METADATA,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("allowance", sa.BigInteger),
    sa.Column("period", sa.BigInteger),
    sa.Column("created", sa.BigInteger, nullable=False),
)
_KEYS = sa.Table(
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
_REPEATS = sa.Table(
    "tacit_repeat",
    _METADATA,
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column("name", sa.LargeBinary, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False, index=True),
)
_ACTIVITY = sa.Table(
    "tacit_activity",
    _METADATA,
    sa.Column("hour", sa.BigInteger, primary_key=True),
    sa.Column("analyst", sa.String(200), primary_key=True),
    sa.Column("answered", sa.BigInteger, nullable=False),
    sa.Column("refused", sa.BigInteger, nullable=False),
)
_ENDED = sa.Table(
    "tacit_ended_session",
    _METADATA,
    sa.Column("session", sa.LargeBinary, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False, index=True),
)
_SECRETS = sa.Table(
    "tacit_secret",
    _METADATA,
    sa.Column("name", sa.String(16), primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a key belongs to, and until when it is good."""

    key_id: str
    name: str
    role: str
    allowance: int | None
    period: int | None
    expires: int | None
    revoked: int | None

    @property
    def is_admin(self) -> bool:
        """Whether the holder may see what others did."""
        return self.role == "admin"

    def analyst(self, now: float) -> Analyst:
        """Return the holder as an analyst of the ledger, in the present period."""
        number = 0 if self.period is None else int(now) // self.period
        return Analyst(self.name, number, self.allowance)

    def renews_in(self, now: float) -> int | None:
        """Return the seconds until the allowance renews, None if it never does."""
        return None if self.period is None else self.period - int(now) % self.period


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key as ``tacit keys list`` shows it."""

    id: str
    analyst: str
    role: str
    created: int
    expires: int | None
    revoked: int | None
    allowance: int | None
    period: int | None


class Access:
    """The analysts and keys of one oracle. Safe to share between threads and processes.

    Parameters
    ----------
    where : path or URL
        A file, made for its owner alone when it is not there; or a URL that SQLAlchemy takes.
    clock : function
        Seconds since 1970.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        noise: NoiseSource | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._noise, self.clock = noise or SecureNoise(), clock
        self._engine = _engine(where)
        self._insert: Any = _INSERTS[self._engine.dialect.name]
        with self._errors():
            _METADATA.create_all(self._engine)

    def close(self) -> None:
        """Let go of files and connections."""
        self._engine.dispose()

    # ---- keys -------------------------------------------------------------------------------

    def first_admin(self) -> NewKey | None:
        """Return a key for the first administrator, made now; None once there is one."""
        with self._errors(), self._engine.begin() as db:
            admins = sa.select(_ANALYSTS.c.name).where(_ANALYSTS.c.role == "admin").limit(1)
            if db.execute(admins).first() is not None:
                return None
        try:
            return self.create("admin", role="admin")
        except InvalidArgument:  # another process was first, or an analyst has the name
            return None

    def create(
        self,
        name: str,
        *,
        role: str = "analyst",
        allowance: int | None = None,
        period: str = "never",
        days: float | None = None,
    ) -> NewKey:
        """Make an analyst and a first key.

        Parameters
        ----------
        name : str
            Public name of the analyst, which the ledger records.
        role : {"analyst", "admin"}
        allowance : int, optional
            How often each event of the plan may be charged to the analyst in a period.
        period : {"never", "hour", "day", "week", "month"}
            How often the allowance renews.
        days : float, optional
            After how many days the key expires.
        """
        validation.one_of(ROLES, role=role)
        seconds = PERIODS[validation.one_of(PERIODS, period=period)]
        Analyst(name, 0, allowance)  # refuses what the ledger would refuse
        now = int(self.clock())
        made = make_key(self._noise)
        row = {"name": name, "role": role, "allowance": allowance, "period": seconds}
        try:
            with self._errors(), self._engine.begin() as db:
                db.execute(_ANALYSTS.insert().values(**row, created=now))
                db.execute(_KEYS.insert().values(**_key_row(made, name, now, _until(now, days))))
        except IntegrityError:
            raise InvalidArgument(
                f"`name` must be new: there is an analyst {name!r} already. `tacit keys rotate` "
                "gives an analyst another key."
            ) from None
        return made

    def rotate(self, key_id: str, *, days: float | None = None) -> NewKey:
        """Revoke a key and make another for the same analyst."""
        now = int(self.clock())
        made = make_key(self._noise)
        with self._errors(), self._engine.begin() as db:
            name = self._owner(db, key_id)
            self._revoke(db, key_id, now)
            db.execute(_KEYS.insert().values(**_key_row(made, name, now, _until(now, days))))
        return made

    def revoke(self, key_id: str) -> None:
        """Make a key worthless, for good."""
        with self._errors(), self._engine.begin() as db:
            self._owner(db, key_id)
            self._revoke(db, key_id, int(self.clock()))

    def list_keys(self) -> list[KeyLine]:
        """Return all keys, oldest first; no secret is known."""
        query = (
            sa.select(
                _KEYS.c.id,
                _KEYS.c.analyst,
                _ANALYSTS.c.role,
                _KEYS.c.created,
                _KEYS.c.expires,
                _KEYS.c.revoked,
                _ANALYSTS.c.allowance,
                _ANALYSTS.c.period,
            )
            .join(_ANALYSTS)
            .order_by(_KEYS.c.created, _KEYS.c.id)
        )
        with self._errors(), self._engine.begin() as db:
            return [KeyLine(*row) for row in db.execute(query)]

    def holder(self, text: str) -> Holder | None:
        """Return whom a key belongs to, None if it is none of ours; good or not any more."""
        parts = split_key(text)
        if parts is None:
            return None
        with self._errors(), self._engine.begin() as db:
            row = db.execute(_HOLDER.where(_KEYS.c.id == parts[0])).first()
        if row is None or not matches(parts[1], row.salt, row.digest):
            return None
        return _holder(row)

    def holder_of(self, key_id: str) -> Holder | None:
        """Return whom a key belongs to, by its public name: for sessions opened with it."""
        with self._errors(), self._engine.begin() as db:
            row = db.execute(_HOLDER.where(_KEYS.c.id == key_id)).first()
        return None if row is None else _holder(row)

    def _owner(self, db: sa.Connection, key_id: str) -> str:
        analyst = db.execute(sa.select(_KEYS.c.analyst).where(_KEYS.c.id == key_id)).scalar()
        if analyst is None:
            raise InvalidArgument(
                f"There is no key {key_id[:16]!r}. `tacit keys list` shows those there are."
            )
        return str(analyst)

    def _revoke(self, db: sa.Connection, key_id: str, now: int) -> None:
        db.execute(
            _KEYS.update()
            .where(_KEYS.c.id == key_id, _KEYS.c.revoked.is_(None))
            .values(revoked=now)
        )

    def session_secret(self) -> bytes:
        """Return the secret that signs sessions, the same in every worker. Never shown."""
        wanted = sa.select(_SECRETS.c.value).where(_SECRETS.c.name == "session")
        with self._errors():
            try:
                with self._engine.begin() as db:
                    secret = db.execute(wanted).scalar()
                    if secret is None:
                        secret = self._noise.bits(256).to_bytes(32)
                        db.execute(_SECRETS.insert().values(name="session", value=secret))
            except IntegrityError:  # another worker was first
                with self._engine.begin() as db:
                    secret = db.execute(wanted).scalar_one()
        return bytes(secret)

    def end_session(self, session: bytes, until: int) -> None:
        """Let a session be over in every worker; ``until`` it would have lasted by itself."""
        made = self._insert(_ENDED).values(session=session, until=until)
        with self._errors(), self._engine.begin() as db:
            db.execute(_ENDED.delete().where(_ENDED.c.until < int(self.clock())))
            db.execute(made.on_conflict_do_nothing())

    def session_ended(self, session: bytes) -> bool:
        """Return whether somebody ended a session."""
        wanted = sa.select(_ENDED.c.until).where(_ENDED.c.session == session)
        with self._errors(), self._engine.begin() as db:
            return db.execute(wanted).first() is not None

    # ---- repeated requests ------------------------------------------------------------------

    def same_as_before(self, analyst: str, name: bytes, body: bytes) -> bool:
        """Return whether a request name is new, or comes with the body it came with before."""
        now = int(self.clock())
        where = (_REPEATS.c.analyst == analyst, _REPEATS.c.name == name)
        with self._errors():
            try:
                with self._engine.begin() as db:
                    db.execute(_REPEATS.delete().where(_REPEATS.c.created < now - _REMEMBERED))
                    known = db.execute(sa.select(_REPEATS.c.body).where(*where)).scalar()
                    if known is None:
                        row = {"analyst": analyst, "name": name, "body": body, "created": now}
                        db.execute(_REPEATS.insert().values(**row))
                        return True
            except IntegrityError:  # the same request, at the same moment
                with self._engine.begin() as db:
                    known = db.execute(sa.select(_REPEATS.c.body).where(*where)).scalar()
        return bool(known == body)

    # ---- activity ---------------------------------------------------------------------------

    def add_activity(self, counts: Mapping[tuple[int, str], tuple[int, int]]) -> None:
        """Add answers and refusals, by hour and analyst. Public: all of them were released."""
        # In one order, so that workers never wait for each other in a circle.
        rows = [
            {"hour": hour, "analyst": analyst, "answered": answered, "refused": refused}
            for (hour, analyst), (answered, refused) in sorted(counts.items())
        ]
        with self._errors(), self._engine.begin() as db:
            for row in rows:
                db.execute(self._added(row))

    def _added(self, row: Mapping[str, object]) -> sa.Executable:
        """Insert or add in one statement: several workers write at the same moment."""
        made = self._insert(_ACTIVITY).values(**row)
        upsert: sa.Executable = made.on_conflict_do_update(
            index_elements=[_ACTIVITY.c.hour, _ACTIVITY.c.analyst],
            set_={
                "answered": _ACTIVITY.c.answered + made.excluded.answered,
                "refused": _ACTIVITY.c.refused + made.excluded.refused,
            },
        )
        return upsert

    def activity(self, since: int) -> list[tuple[int, int, int]]:
        """Return (hour, answers, refusals) of all analysts together, from an hour on."""
        query = (
            sa.select(
                _ACTIVITY.c.hour,
                sa.func.sum(_ACTIVITY.c.answered),
                sa.func.sum(_ACTIVITY.c.refused),
            )
            .where(_ACTIVITY.c.hour >= since)
            .group_by(_ACTIVITY.c.hour)
            .order_by(_ACTIVITY.c.hour)
        )
        with self._errors(), self._engine.begin() as db:
            return [(int(h), int(a), int(r)) for h, a, r in db.execute(query)]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            # The message of the driver may hold the address and the user of the database.
            raise LedgerUnavailable(
                f"The list of analysts cannot be used ({type(error).__name__})."
            ) from None


_HOLDER = sa.select(
    _KEYS.c.id,
    _KEYS.c.salt,
    _KEYS.c.digest,
    _ANALYSTS.c.name,
    _ANALYSTS.c.role,
    _ANALYSTS.c.allowance,
    _ANALYSTS.c.period,
    _KEYS.c.expires,
    _KEYS.c.revoked,
).join(_ANALYSTS)


def _holder(row: Any) -> Holder:
    return Holder(row.id, row.name, row.role, row.allowance, row.period, row.expires, row.revoked)


def _key_row(made: NewKey, name: str, now: int, expires: int | None) -> dict[str, Any]:
    return {
        "id": made.id,
        "analyst": name,
        "salt": made.salt,
        "digest": made.digest,
        "created": now,
        "expires": expires,
        "revoked": None,
    }


def _until(now: int, days: float | None) -> int | None:
    return None if days is None else now + int(validation.positive(days=days) * 86_400)


def _engine(where: str | os.PathLike[str]) -> sa.Engine:
    text = os.fspath(where)
    if "://" in text and not text.startswith("sqlite"):
        from tacit.ledger.postgres import KEEPALIVE

        url = sa.make_url(_with_driver(text))
        lively = {name: value for name, value in KEEPALIVE.items() if name not in url.query}
        return sa.create_engine(url, pool_pre_ping=True, connect_args=lively)
    path = Path(text.removeprefix("sqlite:///"))
    _create_private(path)
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
    sa.event.listen(engine, "connect", _settings)
    return engine


def _with_driver(url: str) -> str:
    for scheme in ("postgresql://", "postgres://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


def _settings(connection: Any, record: Any) -> None:
    # Losing the last second of this at a power cut loses no spend: that is on the ledger.
    for setting in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise LedgerUnavailable(f"{str(path)!r} cannot be made: {error.strerror}.") from error
