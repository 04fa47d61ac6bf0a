"""Everything one worker holds while it serves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from tacit.data import PointReader
from tacit.errors import InvalidArgument, LedgerError
from tacit.estimators.oracle.private_oracle import PrivateOracle
from tacit.ledger import Ledger, PlanId
from tacit.service.access import Access
from tacit.service.activity import Activity
from tacit.service.auth import Authenticator
from tacit.service.batching import BatchingQueue
from tacit.service.limits import Buckets
from tacit.service.logs import log
from tacit.service.metrics import Metrics
from tacit.service.readiness import Readiness
from tacit.service.replies import Replies
from tacit.service.request_store import RequestStore
from tacit.service.session import Sessions
from tacit.service.settings import Settings

_FLUSH_SECONDS = 2.0

VISITS_RATE, VISITS_BURST = 20.0, 200
"""How often one key, or one address without a key, may look at the budget, the metrics or the page,
or sign in, a second: in the long run, and at once after a pause."""


class Service:
    """An oracle and those who ask it.

    Parameters
    ----------
    oracle : PrivateOracle
        Private. With secure noise: anything else is refused.
    access : Access
    settings : Settings
    """

    def __init__(self, oracle: PrivateOracle, access: Access, settings: Settings) -> None:
        if not oracle.privacy_.secure:
            raise InvalidArgument("`oracle` must draw secure noise: test noise protects nobody.")
        opened = oracle.opened()
        self.oracle, self.access, self.settings = oracle, access, settings
        self.ledger: Ledger = opened.ledger
        self.plan_id: PlanId = opened.plan_id
        self.reader: PointReader = oracle.reader
        self.queue = BatchingQueue(oracle, largest_batch=settings.largest_batch)
        questions = Buckets(rate=settings.rate, size=settings.burst, clock=time.monotonic)
        visits = Buckets(rate=VISITS_RATE, size=VISITS_BURST, clock=time.monotonic)
        self.auth = Authenticator(access, questions=questions, visits=visits)
        self.metrics = Metrics()
        self.replies = Replies(oracle.classes_)
        self.requests = RequestStore(access.database, access.clock)
        self.activity = Activity(self.requests)
        self.readiness = Readiness()
        self.sessions = Sessions(access, self.requests, secure=settings.secure_cookies)
        self.stopping = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work until the server stops; then finish what was asked and close everything."""
        log("started", mechanism=self.oracle.terms_.settings.get("mechanism", "unknown"))
        writer = asyncio.create_task(self._flush())
        try:
            yield
        finally:
            self.stopping = True
            writer.cancel()
            await self.queue.finish()
            with contextlib.suppress(LedgerError):
                await asyncio.to_thread(self.activity.flush)
            self.oracle.close()
            self.access.close()
            log("stopped")

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            with contextlib.suppress(LedgerError):
                await asyncio.to_thread(self.activity.flush)
