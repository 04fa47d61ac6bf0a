"""Authentication and rate limits."""

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


class Authenticator:
    """Returns the holder of the key that a request carries, or refuses it.

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
        """Return the holder of the key that the request carries."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Problem(NO_KEY, "Send it as `Authorization: Bearer <key>`.")
        return await self.holder_of_key(text.strip())

    async def holder_of_key(self, text: str) -> Holder:
        """Return the holder of a key; refuse one that is unknown, revoked or expired."""
        name = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        holder = self._remembered(name)
        if holder is None:
            holder = await asyncio.to_thread(self._access.holder, text)
            if holder is None:
                raise Problem(NO_KEY, "This is not a key of this service.")
            self._remember(name, holder)
        self.check(holder)
        return holder

    def check(self, holder: Holder) -> None:
        """Refuse a revoked or expired key."""
        if holder.revoked is not None:
            raise Problem(KEY_REVOKED, "Ask whoever runs this service for another.")
        if holder.expires is not None and self._access.clock() >= holder.expires:
            raise Problem(KEY_EXPIRED, "Ask whoever runs this service for another.")

    async def admin(self, request: Request) -> Holder:
        """Return the holder of an administrator's key."""
        holder = await self.visitor(request)
        if not holder.is_admin:
            raise Problem(FORBIDDEN, "Only an administrator's key may see this.")
        return holder

    def limit_questions(self, holder: Holder, questions: int) -> None:
        """Refuse questions that come too fast."""
        _refuse_until(self._questions.take(holder.key_id, questions))

    async def visitor(self, request: Request) -> Holder:
        """Return the holder of the key of the request; refuse visits that come too fast."""
        holder = await self.holder(request)
        _refuse_until(self._visits.take(holder.key_id, 1))
        return holder

    def limit_address(self, request: Request) -> None:
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
