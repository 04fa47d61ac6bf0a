"""Everything that can go wrong, each in one shape: problem details (RFC 9457).

A problem says what broke and what to do next. It holds nothing private, and nothing that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from tacit.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidArgument,
    LedgerError,
    NoiseError,
    TacitError,
)

MEDIA_TYPE = "application/problem+json"

RETRY_AFTER = 5
"""Seconds after which a request that could not be recorded may be sent again."""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """One kind of problem: its name, its status, and what it means."""

    name: str
    status: int
    title: str

    @property
    def uri(self) -> str:
        """Identifier of the kind of problem, for programs."""
        return f"urn:tacit:problem:{self.name}"


MALFORMED = ProblemType("malformed-body", 400, "The body is not JSON of the documented form.")
NO_KEY = ProblemType("key-missing", 401, "A valid API key is needed.")
KEY_REVOKED = ProblemType("key-revoked", 401, "This API key was revoked.")
KEY_EXPIRED = ProblemType("key-expired", 401, "This API key has expired.")
FORBIDDEN = ProblemType("not-allowed", 403, "This key may not do that.")
SPENT = ProblemType("budget-spent", 403, "The budget of the data set is spent.")
ALLOWANCE_SPENT = ProblemType("allowance-spent", 403, "The analyst's allowance is spent for good.")
NOT_FOUND = ProblemType("not-found", 404, "There is nothing here.")
WRONG_METHOD = ProblemType("wrong-method", 405, "This address does not take that method.")
REPEATED = ProblemType(
    "repeated-differently", 409, "This Idempotency-Key belongs to a request with another body."
)
TOO_LARGE = ProblemType("too-large", 413, "The request is larger than the limit.")
WRONG_TYPE = ProblemType("wrong-media-type", 415, "The body must be application/json.")
INVALID = ProblemType("invalid-question", 422, "A point is not of the form the oracle takes.")
TOO_FAST = ProblemType("too-many-requests", 429, "Too many requests in a short time.")
ALLOWANCE_USED = ProblemType(
    "allowance-used", 429, "The analyst's allowance is used up for this period."
)
BROKEN = ProblemType(
    "internal-error", 500, "Something failed that should not have. Nothing was released."
)
UNAVAILABLE = ProblemType(
    "unavailable", 503, "The ledger cannot be used now. Nothing was released."
)

PROBLEM_TYPES = (
    MALFORMED, NO_KEY, KEY_REVOKED, KEY_EXPIRED, FORBIDDEN, SPENT, ALLOWANCE_SPENT, NOT_FOUND,
    WRONG_METHOD, REPEATED, TOO_LARGE, WRONG_TYPE, INVALID, TOO_FAST, ALLOWANCE_USED, BROKEN,
    UNAVAILABLE,
)  # fmt: skip


class Problem(Exception):
    """A request that ends in a problem."""

    def __init__(
        self, kind: ProblemType, detail: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(kind.name)
        self.kind, self.detail, self.headers = kind, detail, dict(headers or {})

    def response(self) -> Response:
        """Return what is sent."""
        body = {"type": self.kind.uri, "title": self.kind.title, "status": self.kind.status}
        if self.detail:
            body["detail"] = self.detail
        headers = dict(self.headers)
        if self.kind.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return Response(json.dumps(body), self.kind.status, media_type=MEDIA_TYPE, headers=headers)


def problem_of(error: TacitError) -> Problem:
    """Return the problem that an error of the library is; its message is public."""
    match error:
        case InvalidArgument():
            return Problem(INVALID, str(error))
        case AllowanceExceeded():
            return Problem(ALLOWANCE_USED, str(error))
        case BudgetExceeded():
            return Problem(
                SPENT,
                "What was asked does not fit in what is left. Nothing was drawn. Questions that "
                "were answered before still are.",
            )
        case LedgerError() | NoiseError():
            return unavailable("Try again later.")
        case _:
            return Problem(BROKEN)


def unavailable(detail: str) -> Problem:
    """Return the problem of a service that cannot answer now."""
    return Problem(UNAVAILABLE, detail, {"Retry-After": str(RETRY_AFTER)})


def documented(*kinds: ProblemType) -> dict[int | str, dict[str, object]]:
    """Return the OpenAPI description of these problems, by status."""
    responses: dict[int | str, dict[str, object]] = {}
    for status in sorted({kind.status for kind in kinds}):
        named = [kind for kind in kinds if kind.status == status]
        responses[status] = {
            "description": " Or: ".join(f"{kind.title} (`{kind.uri}`)" for kind in named),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return responses
