"""The application: routes as a list, one shape for every error, OpenAPI that describes both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from tacit import __version__
from tacit.errors import LedgerError, TacitError
from tacit.service import page, routes, schemas
from tacit.service.middleware import RequestMiddleware
from tacit.service.problems import (
    ALLOWANCE_SPENT,
    ALLOWANCE_USED,
    BROKEN,
    FORBIDDEN,
    INVALID,
    KEY_EXPIRED,
    KEY_REVOKED,
    MALFORMED,
    NO_KEY,
    NOT_FOUND,
    REPEATED,
    SPENT,
    TOO_FAST,
    TOO_LARGE,
    UNAVAILABLE,
    WRONG_METHOD,
    WRONG_TYPE,
    Problem,
    ProblemType,
    documented,
    problem_of,
)
from tacit.service.state import Service

_KEYED = (NO_KEY, KEY_REVOKED, KEY_EXPIRED)
_ANY = (TOO_LARGE, BROKEN)
_TEXT = {"type": "string"}


@dataclass(frozen=True)
class _Route:
    method: str
    path: str
    handler: Callable[..., Any]
    model: Any
    problems: tuple[ProblemType, ...]
    keyed: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def _routes(service: Service) -> list[_Route]:
    body = schemas.ask_schema(service.reader, most=service.settings.largest_batch)
    questions = {
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                "description": "A name of your choice for this request.",
            }
        ],
    }
    ask = (
        MALFORMED, SPENT, ALLOWANCE_SPENT, REPEATED, WRONG_TYPE, INVALID, TOO_FAST,
        ALLOWANCE_USED, UNAVAILABLE,
    )  # fmt: skip
    read = (TOO_FAST, UNAVAILABLE)
    return [
        _Route("POST", routes.ANSWERS, routes.post_answers, schemas.Answers, ask, extra=questions),
        _Route("GET", "/v1/budget", routes.get_budget, schemas.BudgetState, read),
        _Route("GET", "/v1/statement", routes.get_statement, schemas.Statement, read),
        _Route(
            "GET", "/v1/analysts", routes.get_analysts, list[schemas.AnalystUsage],
            (FORBIDDEN, *read),
        ),
        _Route("GET", "/healthz", routes.get_health, schemas.State, (), keyed=False),
        _Route("GET", "/readyz", routes.get_ready, schemas.State, (UNAVAILABLE,), keyed=False),
        _Route(
            "GET", "/metrics", routes.get_metrics, None, read, keyed=False,
            extra={"responses": {"200": {"content": {"text/plain": {"schema": _TEXT}}}}},
        ),
    ]  # fmt: skip


def create_app(service: Service) -> ASGIApp:
    """Return the application that serves an oracle.

    Parameters
    ----------
    service : Service
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(
        title="tacit",
        summary="Labels from private records: every answer is priced before it is drawn.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    for route in _routes(service):
        _add(app, route)
    page.add_pages(app)
    app.add_exception_handler(Problem, _handle_problem)
    app.add_exception_handler(LedgerError, _handle_ledger_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(RequestValidationError, _handle_http_exception)
    app.add_exception_handler(Exception, _handle_exception)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return RequestMiddleware(
        app,
        largest_body=service.settings.largest_body,
        finished=service.metrics.finished,
    )


def _add(app: FastAPI, route: _Route) -> None:
    problems = (*route.problems, *_ANY, *(_KEYED if route.keyed else ()))
    extra = dict(route.extra)
    if route.keyed:
        extra["security"] = [{"key": []}]
    app.add_api_route(
        route.path,
        route.handler,
        methods=[route.method],
        response_model=None,
        responses={200: {"model": route.model} if route.model else {}, **documented(*problems)},
        openapi_extra=extra,
    )


def _openapi(app: FastAPI) -> dict[str, Any]:
    if not app.openapi_schema:
        made = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        parts = made.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = schemas.PROBLEM
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = made
    return app.openapi_schema


async def _handle_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return page.problem_page(request, error) or error.response()


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    """Return errors of the framework as problem details."""
    status = error.status_code if isinstance(error, HTTPException) else MALFORMED.status
    kind = {404: NOT_FOUND, 405: WRONG_METHOD}.get(status, MALFORMED)
    headers = error.headers if isinstance(error, HTTPException) else None
    return await _handle_problem(request, Problem(kind, headers=headers))


async def _handle_ledger_error(request: Request, error: Exception) -> Response:
    """Reply while a database is unavailable, which keys and sessions need too."""
    assert isinstance(error, TacitError)
    return await _handle_problem(request, problem_of(error))


async def _handle_exception(request: Request, error: Exception) -> Response:
    """Reply to an unexpected error without quoting it; the middleware logs where it was."""
    return Problem(BROKEN).response()
