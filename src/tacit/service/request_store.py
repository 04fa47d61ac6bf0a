"""What workers of a service share about requests: sessions, repeated requests, activity. Public."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from tacit.noise import NoiseSource, SecureNoise
from tacit.service.database import ACTIVITY, ENDED, REPEATS, SECRETS, ServiceDatabase

_REMEMBERED = 7 * 86_400


class RequestStore:
    """Sessions, repeated requests and activity. Safe to share between threads and processes.

    Parameters
    ----------
    database : ServiceDatabase
    clock : function
        Seconds since 1970.
    """

    def __init__(
        self,
        database: ServiceDatabase,
        clock: Callable[[], float],
        *,
        noise: NoiseSource | None = None,
    ) -> None:
        self._database, self.clock, self._noise = database, clock, noise or SecureNoise()

    # ---- sessions ----------------------------------------------------------------------------

    def session_secret(self) -> bytes:
        """Return the secret that signs sessions, the same in every worker. Never shown."""
        wanted = sa.select(SECRETS.c.value).where(SECRETS.c.name == "session")
        try:
            with self._database.transaction() as db:
                secret = db.execute(wanted).scalar()
                if secret is None:
                    secret = self._noise.bits(256).to_bytes(32)
                    db.execute(SECRETS.insert().values(name="session", value=secret))
        except IntegrityError:  # another worker was first
            with self._database.transaction() as db:
                secret = db.execute(wanted).scalar_one()
        return bytes(secret)

    def end_session(self, session: bytes, until: int) -> None:
        """End a session in every worker. ``until`` is when it would have expired."""
        made = self._database.insert(ENDED).values(session=session, until=until)
        with self._database.transaction() as db:
            db.execute(ENDED.delete().where(ENDED.c.until < int(self.clock())))
            db.execute(made.on_conflict_do_nothing())

    def session_ended(self, session: bytes) -> bool:
        """Return whether somebody ended a session."""
        wanted = sa.select(ENDED.c.until).where(ENDED.c.session == session)
        with self._database.transaction() as db:
            return db.execute(wanted).first() is not None

    # ---- repeated requests ------------------------------------------------------------------

    def same_as_before(self, analyst: str, name: bytes, body: bytes) -> bool:
        """Return whether a request name is new, or comes with the body it came with before."""
        now = int(self.clock())
        where = (REPEATS.c.analyst == analyst, REPEATS.c.name == name)
        wanted = sa.select(REPEATS.c.body).where(*where)
        try:
            with self._database.transaction() as db:
                db.execute(REPEATS.delete().where(REPEATS.c.created < now - _REMEMBERED))
                known = db.execute(wanted).scalar()
                if known is None:
                    row = {"analyst": analyst, "name": name, "body": body, "created": now}
                    db.execute(REPEATS.insert().values(**row))
                    return True
        except IntegrityError:  # the same request, at the same moment
            with self._database.transaction() as db:
                known = db.execute(wanted).scalar()
        return bool(known == body)

    # ---- activity ---------------------------------------------------------------------------

    def add_activity(self, counts: Mapping[tuple[int, str], tuple[int, int]]) -> None:
        """Add answers and refusals, by hour and analyst. Public: all of them were released."""
        # In one order, so that workers never wait for each other in a circle.
        rows = [
            {"hour": hour, "analyst": analyst, "answered": answered, "refused": refused}
            for (hour, analyst), (answered, refused) in sorted(counts.items())
        ]
        with self._database.transaction() as db:
            for row in rows:
                db.execute(self._added(row))

    def _added(self, row: Mapping[str, object]) -> sa.Executable:
        """Insert or add in one statement: several workers write at the same moment."""
        made = self._database.insert(ACTIVITY).values(**row)
        upsert: sa.Executable = made.on_conflict_do_update(
            index_elements=[ACTIVITY.c.hour, ACTIVITY.c.analyst],
            set_={
                "answered": ACTIVITY.c.answered + made.excluded.answered,
                "refused": ACTIVITY.c.refused + made.excluded.refused,
            },
        )
        return upsert

    def activity(self, since: int) -> list[tuple[int, int, int]]:
        """Return (hour, answers, refusals) of all analysts together, from an hour on."""
        query = (
            sa.select(
                ACTIVITY.c.hour,
                sa.func.sum(ACTIVITY.c.answered),
                sa.func.sum(ACTIVITY.c.refused),
            )
            .where(ACTIVITY.c.hour >= since)
            .group_by(ACTIVITY.c.hour)
            .order_by(ACTIVITY.c.hour)
        )
        with self._database.transaction() as db:
            return [(int(h), int(a), int(r)) for h, a, r in db.execute(query)]
