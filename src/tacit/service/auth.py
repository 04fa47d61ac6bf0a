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
    questions : Buckets
        How fast one key may ask.
    visits : Buckets
        How fast one key, or one address without a key, may do anything else that reads a database.
    """

    def __init__(self, access: Access, *, questions: Buckets, visits: Buckets) -> None:
        self._access, self._questions, self._visits = access, questions, visits
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
        found = await self.visitor(request)
        if not found.is_admin:
            raise Problem(FORBIDDEN, "Only an administrator's key may see this.")
        return found

    def slow_down(self, holder: Holder, questions: int) -> None:
        """Refuse questions that come too fast."""
        _refuse_until(self._questions.take(holder.key_id, questions))

    async def visitor(self, request: Request) -> Holder:
        """Return whose key the request carries; refuse visits that come too fast."""
        found = await self.holder(request)
        _refuse_until(self._visits.take(found.key_id, 1))
        return found

    def slow_down_stranger(self, request: Request) -> None:
        """Refuse visits without a key that come too fast from one address."""
        address = request.client.host if request.client else ""
        _refuse_until(self._visits.take(f"address {address}", 1))

    def _remembered(self, name: bytes) -> Holder | None:
        known = self._known.get(name)
        if known is None or time.monotonic() - known[0] > REMEMBERED:
            return None
        return known[1]

    def _remember(self, name: bytes, holder: Holder) -> None:
        self._known[name] = (time.monotonic(), holder)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)


def _refuse_until(wait: int) -> None:
    if wait:
        raise Problem(TOO_FAST, f"Try again in {wait} s.", {"Retry-After": str(wait)})
