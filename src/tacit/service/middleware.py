"""Around every request: limits on the body, headers, one log line, and no traceback ever."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.ledger import failpoints as fp
from tacit.service.logs import log
from tacit.service.problems import BROKEN, TOO_LARGE, Problem

HEADERS = {
    b"content-security-policy": b"default-src 'none'; style-src 'self'; script-src 'self'; "
    b"img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    b"frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
_HEADER_LIST = list(HEADERS.items())

Finished = Callable[[str, int, float], None]


class RequestMiddleware:
    """The outermost layer of the application.

    Parameters
    ----------
    app : ASGI application
    largest_body : int
    finished : function of route, status and seconds
        Called after every request, for metrics.
    """

    def __init__(self, app: ASGIApp, *, largest_body: int, finished: Finished) -> None:
        self._app, self._largest, self._finished = app, largest_body, finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, request_id = time.perf_counter(), uuid4().hex
        responder = _Responder(send, request_id)
        try:
            await self._app(scope, _LimitedBody(receive, scope, self._largest), responder)
        except Problem as problem:
            await responder.instead(problem, scope, receive)
        except Exception as error:
            log("failed", logging.ERROR, request=request_id, **_place(error))
            await responder.instead(Problem(BROKEN), scope, receive)
        seconds = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "none")
        self._finished(route, responder.status, seconds)
        log(
            "request",
            request=request_id,
            method=scope["method"] if scope["method"].isalpha() else "other",
            route=route,
            status=responder.status,
            ms=round(1000 * seconds, 1),
        )


def _place(error: Exception) -> dict[str, object]:
    """Return where an error came from: its kind and line, never its message."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno}" if last else "unknown"
    return {"error": type(error).__name__, "where": where}


class _Responder:
    """Sends the response with our headers, and records its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._id = send, request_id.encode()
        self.status = 500
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            fp.failpoint(fp.BEFORE_REPLY)
            self.status, self.started = message["status"], True
            headers = [*message.get("headers", ()), *_HEADER_LIST, (b"x-request-id", self._id)]
            message = {**message, "headers": headers}
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            fp.failpoint(fp.AFTER_REPLY)

    async def instead(self, problem: Problem, scope: Scope, receive: Receive) -> None:
        if not self.started:
            await problem.response()(scope, receive, self)


class _LimitedBody:
    """Receives the body until it is too large."""

    def __init__(self, receive: Receive, scope: Scope, largest: int) -> None:
        self._receive, self._left = receive, largest
        self._problem = Problem(TOO_LARGE, f"A body may have {largest} bytes.")
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        self._refused = announced.isdigit() and int(announced[:20]) > largest

    async def __call__(self) -> Message:
        if self._refused:
            raise self._problem
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise self._problem
        return message
