"""The gate: whose key is it, is it still good, and is it asking too fast."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict

from starlette.requests import Request

from tacit.service.access import Access, Holder
from tacit.service.limits import Buckets
from tacit.service.problems import (
    FORBIDDEN,
    KEY_EXPIRED,
    KEY_REVOKED,
    NO_KEY,
    TOO_FAST,
    Problem,
)

REMEMBERED = 1.0
"""Seconds for which a key that was looked up is known: a revoked one works this much longer."""

_MOST_REMEMBERED = 1000


class Gate:
    """Lets holders of good keys through.

    Parameters
    ----------
    access : Access
    buckets : Buckets
    """

    def __init__(self, access: Access, buckets: Buckets) -> None:
        self._access, self._buckets = access, buckets
        self._known: OrderedDict[bytes, tuple[float, Holder]] = OrderedDict()

    async def holder(self, request: Request) -> Holder:
        """Return whose key the request carries."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Problem(NO_KEY, "Send it as `Authorization: Bearer <key>`.")
        return await self.holder_of_key(text.strip())

    async def holder_of_key(self, text: str) -> Holder:
        """Return whose key this is, if it is good."""
        name = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        found = self._remembered(name)
        if found is None:
            found = await asyncio.to_thread(self._access.holder, text)
            if found is None:
                raise Problem(NO_KEY, "This is not a key of this service.")
            self._remember(name, found)
        self.check(found)
        return found

    def check(self, holder: Holder) -> None:
        """Refuse a key that is not good any more."""
        if holder.revoked is not None:
            raise Problem(KEY_REVOKED, "Ask whoever runs this service for another.")
        if holder.expires is not None and self._access.clock() >= holder.expires:
            raise Problem(KEY_EXPIRED, "Ask whoever runs this service for another.")

    async def admin(self, request: Request) -> Holder:
        """Return the holder of an administrator's key."""
        found = await self.holder(request)
        if not found.is_admin:
            raise Problem(FORBIDDEN, "Only an administrator's key may see this.")
        return found

    def slow_down(self, holder: Holder, questions: int) -> None:
        """Refuse questions that come too fast."""
        wait = self._buckets.take(holder.key_id, questions)
        if wait:
            raise Problem(TOO_FAST, f"Try again in {wait} s.", {"Retry-After": str(wait)})

    def _remembered(self, name: bytes) -> Holder | None:
        known = self._known.get(name)
        if known is None or time.monotonic() - known[0] > REMEMBERED:
            return None
        return known[1]

    def _remember(self, name: bytes, holder: Holder) -> None:
        self._known[name] = (time.monotonic(), holder)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
