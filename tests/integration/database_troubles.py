"""What can happen to the database of a running service, from beginning to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from readiness import Readiness
from small_disk import filled
from tests.support.lossy import Loss, LossyLine
from tests.support.postgres import PostgresServer

ENDED = "ended-connections"  # the server ends all connections, three times
CUT = "cut-line"  # all connections break, and for a while nobody can connect
LOST_REQUEST, LOST_REPLY = "lost-commit", "lost-commit-reply"  # one breaks around a COMMIT
RESTART, CRASH = "restart", "crash"  # the server stops, in order or not, and comes back
FULL_DISK = "full-disk"

TROUBLES = {
    "sqlite": (FULL_DISK,),
    "postgres": (ENDED, CUT, LOST_REQUEST, LOST_REPLY, RESTART, CRASH, FULL_DISK),
}


@dataclass(frozen=True)
class Database:
    """What keeps the ledger of a trial: a server at the end of a line, or files; maybe on a disk.

    ``disk`` is the small one, if the trial needs it.
    """

    server: PostgresServer | None
    line: LossyLine | None
    disk: Path | None


class Struck:
    """A database in trouble, and the workers that should notice."""

    def __init__(
        self,
        database: Database,
        workers: Readiness,
        going_on: Callable[[], bool],
        rng: np.random.Generator,
    ) -> None:
        self._database, self._workers, self._rng = database, workers, rng
        self._going_on = going_on
        self.faults: list[str] = []

    def by(self, trouble: str) -> bool:
        """Let the trouble come and go; return whether it came while something was going on."""
        if trouble == FULL_DISK:
            return self._full_disk()
        if trouble == ENDED:
            return self._ended()
        if trouble in (LOST_REQUEST, LOST_REPLY):
            return self._lost(Loss.REQUEST if trouble == LOST_REQUEST else Loss.REPLY)
        return self._cut() if trouble == CUT else self._stopped(trouble)

    def _full_disk(self) -> bool:
        assert self._database.disk is not None
        with filled(self._database.disk):
            # A page that is there takes some more rows: wait until a question has failed.
            return self._workers.until_one_says(503, going_on=self._going_on)

    def _ended(self) -> bool:
        assert self._database.server is not None
        ended = 0
        for _ in range(3):
            time.sleep(self._rng.uniform(0, 0.02))
            ended += self._database.server.cut_connections()
        return ended > 0 and self._going_on()

    def _lost(self, loss: Loss) -> bool:
        line = self._database.line
        assert line is not None
        before = line.losses
        line.lose(loss)
        while line.losses == before and self._going_on():
            time.sleep(0.002)
        line.lose(None)
        return line.losses > before

    def _cut(self) -> bool:
        line = self._database.line
        assert line is not None
        going_on = self._going_on()
        line.take_no_calls()
        cut = line.cut()
        self._all_notice()
        line.take_calls()
        return cut > 0 and going_on

    def _stopped(self, how: str) -> bool:
        server = self._database.server
        assert server is not None
        going_on = self._going_on()
        server.stop("fast" if how == RESTART else "immediate")
        self._all_notice()
        server.start()
        return going_on

    def _all_notice(self) -> None:
        time.sleep(self._rng.uniform(0, 0.1))
        if not self._workers.all_say(503):
            self.faults.append("a worker called itself ready without a database")
