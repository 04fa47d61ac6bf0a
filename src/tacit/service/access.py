"""Who may ask: analysts, their keys and allowances."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.ledger import Analyst
from tacit.noise import NoiseSource, SecureNoise
from tacit.service.database import ANALYSTS, KEYS, ServiceDatabase
from tacit.service.keys import NewKey, make_key, matches, split_key

PERIODS = {"never": None, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000}
"""How often an allowance renews, in seconds; a month is thirty days."""

ROLES = ("analyst", "admin")


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a key belongs to, and when it expires."""

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
        As for ``ServiceDatabase``.
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
        self.database, self.clock = ServiceDatabase(where), clock
        self._noise = noise or SecureNoise()

    def close(self) -> None:
        """Close files and connections."""
        self.database.close()

    def first_admin(self) -> NewKey | None:
        """Return a key for the first administrator, made now; None once there is one."""
        with self.database.transaction() as db:
            admins = sa.select(ANALYSTS.c.name).where(ANALYSTS.c.role == "admin").limit(1)
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
            with self.database.transaction() as db:
                db.execute(ANALYSTS.insert().values(**row, created=now))
                db.execute(KEYS.insert().values(**_key_row(made, name, now, _until(now, days))))
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
        with self.database.transaction() as db:
            name = self._owner(db, key_id)
            self._revoke(db, key_id, now)
            db.execute(KEYS.insert().values(**_key_row(made, name, now, _until(now, days))))
        return made

    def revoke(self, key_id: str) -> None:
        """Revoke a key permanently."""
        with self.database.transaction() as db:
            self._owner(db, key_id)
            self._revoke(db, key_id, int(self.clock()))

    def list_keys(self) -> list[KeyLine]:
        """Return all keys, oldest first. Secrets are not stored."""
        query = (
            sa.select(
                KEYS.c.id,
                KEYS.c.analyst,
                ANALYSTS.c.role,
                KEYS.c.created,
                KEYS.c.expires,
                KEYS.c.revoked,
                ANALYSTS.c.allowance,
                ANALYSTS.c.period,
            )
            .join(ANALYSTS)
            .order_by(KEYS.c.created, KEYS.c.id)
        )
        with self.database.transaction() as db:
            return [KeyLine(*row) for row in db.execute(query)]

    def holder(self, text: str) -> Holder | None:
        """Return the holder of a key, revoked or expired ones included; None for an unknown key."""
        parts = split_key(text)
        if parts is None:
            return None
        with self.database.transaction() as db:
            row = db.execute(_HOLDER.where(KEYS.c.id == parts[0])).first()
        if row is None or not matches(parts[1], row.salt, row.digest):
            return None
        return _holder(row)

    def holder_of(self, key_id: str) -> Holder | None:
        """Return whom a key belongs to, by its public name: for sessions opened with it."""
        with self.database.transaction() as db:
            row = db.execute(_HOLDER.where(KEYS.c.id == key_id)).first()
        return None if row is None else _holder(row)

    def _owner(self, db: sa.Connection, key_id: str) -> str:
        analyst = db.execute(sa.select(KEYS.c.analyst).where(KEYS.c.id == key_id)).scalar()
        if analyst is None:
            raise InvalidArgument(
                f"There is no key {key_id[:16]!r}. `tacit keys list` shows those there are."
            )
        return str(analyst)

    def _revoke(self, db: sa.Connection, key_id: str, now: int) -> None:
        db.execute(
            KEYS.update().where(KEYS.c.id == key_id, KEYS.c.revoked.is_(None)).values(revoked=now)
        )


_HOLDER = sa.select(
    KEYS.c.id,
    KEYS.c.salt,
    KEYS.c.digest,
    ANALYSTS.c.name,
    ANALYSTS.c.role,
    ANALYSTS.c.allowance,
    ANALYSTS.c.period,
    KEYS.c.expires,
    KEYS.c.revoked,
).join(ANALYSTS)


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
