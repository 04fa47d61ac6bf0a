"""Sessions of the page: a key is typed once, then a signed cookie stands for it."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from tacit.noise import SecureNoise
from tacit.service.access import Access, Holder
from tacit.service.problems import FORBIDDEN, MALFORMED, WRONG_TYPE, Problem
from tacit.service.request_store import RequestStore

COOKIE = "tacit_session"
LASTS = 8 * 3600
_MOST_FIELDS = 2000


class Sessions:
    """Signs cookies and reads them back. A cookie names a key by its public name only.

    Parameters
    ----------
    access : Access
    requests : RequestStore
        Holds the secret that all workers sign with, and the sessions that were ended.
    secure : bool
        Whether cookies are for HTTPS alone.
    """

    def __init__(self, access: Access, requests: RequestStore, *, secure: bool) -> None:
        self._access, self._requests = access, requests
        self._secure, self._noise = secure, SecureNoise()
        self._secret = requests.session_secret()

    def open(self, response: Response, holder: Holder) -> None:
        """Let the response start a session."""
        until = int(self._access.clock()) + LASTS
        text = f"{holder.key_id}.{until}.{self._noise.bits(128):032x}"
        response.set_cookie(
            COOKIE,
            f"{text}.{self._mac('session', text)}",
            max_age=LASTS,
            httponly=True,
            samesite="strict",
            secure=self._secure,
        )

    def close(self, request: Request, response: Response) -> None:
        """End the session, here and in every other worker, and let the response forget it."""
        session = self._read(request)
        if session is not None:
            text, _, until = session
            self._requests.end_session(_name(text), until)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=self._secure)

    def holder(self, request: Request) -> Holder | None:
        """Return the holder of the session.

        None if there is none, or its key was revoked or has expired.
        """
        session = self._read(request)
        if session is None:
            return None
        text, key_id, until = session
        now = self._access.clock()
        if now >= until or self._requests.session_ended(_name(text)):
            return None
        holder = self._access.holder_of(key_id)
        if holder is None or holder.revoked is not None:
            return None
        return None if holder.expires is not None and now >= holder.expires else holder

    def _read(self, request: Request) -> tuple[str, str, int] | None:
        """Return what the cookie says, the key's name and the end, if we signed it."""
        text, _, mac = request.cookies.get(COOKIE, "").rpartition(".")
        if not text or not hmac.compare_digest(mac.encode(), self._mac("session", text).encode()):
            return None
        key_id, until, *_ = text.split(".")
        return text, key_id, int(until)

    def token(self, request: Request) -> str:
        """Return what forms of this session carry, so that no other site can send them."""
        return self._mac("form", request.cookies.get(COOKIE, ""))

    def check(self, request: Request, token: str) -> None:
        """Refuse a form that did not come from this session's page."""
        if not hmac.compare_digest(token.encode(), self.token(request).encode()):
            raise Problem(FORBIDDEN, "The form is not of this session. Load the page again.")

    def _mac(self, purpose: str, text: str) -> str:
        message = f"{purpose}:{text}".encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def _name(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form that this site sent."""
    _refuse_other_sites(request)
    if media_type(request) != "application/x-www-form-urlencoded":
        raise Problem(WRONG_TYPE, "Forms are sent as application/x-www-form-urlencoded.")
    try:
        text = (await request.body()).decode()
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise Problem(MALFORMED, "The form cannot be read.") from None


def media_type(request: Request) -> str:
    """Return the media type of the body, in lower case and without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refuse_other_sites(request: Request) -> None:
    fetch_site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    same = fetch_site in (None, "same-origin", "none")
    if origin is not None:
        same = same and _site(origin) == request.headers.get("host", "")
    if not same:
        raise Problem(FORBIDDEN, "Forms are taken from this site alone.")


def _site(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as an address that is none: "http://["
        return None
