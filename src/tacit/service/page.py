"""The page for people: rendered here, works without a script, keys never in addresses."""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from typing import Any

import jinja2
from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from tacit.data import Layout, PointReader
from tacit.errors import TacitError
from tacit.service import routes
from tacit.service.access import Holder
from tacit.service.chart import bars
from tacit.service.decode import decode
from tacit.service.problems import FORBIDDEN, INVALID, NOT_FOUND, Problem, problem_of
from tacit.service.session import form_of
from tacit.service.state import Service

HOURS = 48
_MOST_FIELDS = 40
"""Columns up to which a point is typed field by field; wider ones go in one field."""

_STATIC = {"style.css": "text/css", "enhance.js": "text/javascript", "icon.svg": "image/svg+xml"}

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("tacit.service"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def add_pages(app: FastAPI) -> None:
    """Add the page, its forms and its files; they are not part of the API's description."""
    for method, path, handler in (
        ("GET", "/", show),
        ("POST", "/ask", ask),
        ("POST", "/session", sign_in),
        ("POST", "/session/end", sign_out),
        ("GET", "/static/{name}", static),
    ):
        app.add_api_route(
            path, handler, methods=[method], include_in_schema=False, response_model=None
        )


async def show(request: Request) -> Response:
    """Show the page."""
    routes.service_of(request).auth.limit_address(request)
    return await _page(request)


async def sign_in(request: Request) -> Response:
    """Start a session with the key that was typed."""
    service = routes.service_of(request)
    service.auth.limit_address(request)
    form = await form_of(request)
    holder = await service.auth.holder_of_key(form.get("key", "").strip())
    response = RedirectResponse("/", status_code=303)
    service.sessions.open(response, holder)
    return response


async def sign_out(request: Request) -> Response:
    """End the session."""
    service = routes.service_of(request)
    form = await form_of(request)
    service.sessions.check(request, form.get("token", ""))
    response = RedirectResponse("/", status_code=303)
    try:
        await asyncio.to_thread(service.sessions.close, request, response)
    except TacitError as error:
        raise problem_of(error) from None
    return response


async def ask(request: Request) -> Response:
    """Ask one question and show the page with the answer."""
    service = routes.service_of(request)
    form = await form_of(request)
    service.sessions.check(request, form.get("token", ""))
    holder = await _holder(request)
    if holder is None:
        raise Problem(FORBIDDEN, "The session has ended. Enter the key again.")
    typed = {name: text for name, text in form.items() if name != "token"}
    try:
        body = json.dumps({"point": _typed_point(typed, service.reader)}).encode()
        questions = decode(body, service.reader, most=1)
        service.auth.limit_questions(holder, 1)
        (given,) = json.loads(await routes.answer(service, holder, questions))["answers"]
    except Problem as problem:
        return await _page(request, problem=problem, typed=typed)
    return await _page(request, given=given, typed=typed)


async def static(name: str) -> Response:
    """Return one of the page's files."""
    if name not in _STATIC:
        raise Problem(NOT_FOUND)
    data = files("tacit.service").joinpath("static", name).read_bytes()
    return Response(data, media_type=_STATIC[name])


def problem_page(request: Request, problem: Problem) -> Response | None:
    """Return a problem as a page if a person's form caused it, None for everybody else."""
    if request.url.path not in ("/", "/ask", "/session", "/session/end"):
        return None
    if "text/html" not in request.headers.get("accept", ""):
        return None
    text = _TEMPLATES.get_template("problem.html").render(problem=problem)
    return Response(text, problem.kind.status, media_type="text/html", headers=problem.headers)


async def _holder(request: Request) -> Holder | None:
    sessions = routes.service_of(request).sessions
    try:
        return await asyncio.to_thread(sessions.holder, request)
    except TacitError as error:
        raise problem_of(error) from None


async def _page(
    request: Request,
    *,
    given: dict[str, Any] | None = None,
    problem: Problem | None = None,
    typed: dict[str, str] | None = None,
) -> Response:
    service = routes.service_of(request)
    holder = await _holder(request)
    context = await asyncio.to_thread(_state_of, service, holder)
    text = _TEMPLATES.get_template("page.html").render(
        **context,
        holder=holder,
        given=given,
        problem=problem,
        fields=_fields(service.reader, typed or {}),
        token=service.sessions.token(request),
    )
    status = problem.kind.status if problem else 200
    headers = problem.headers if problem else None
    return Response(text, status, media_type="text/html", headers=headers)


def _state_of(service: Service, holder: Holder | None) -> dict[str, Any]:
    """Return everything the page shows. Public; with a key also what analysts did."""
    try:
        statement = service.oracle.privacy_
        context: dict[str, Any] = {
            "statement": statement.rows(),
            "title": str(statement).splitlines()[0],
        }
        if holder is None:
            return {**context, "budget": None, "analysts": [], "chart": None}
        service.activity.flush()
        return {
            **context,
            "budget": routes.budget(service, holder),
            "analysts": routes.list_analyst_usage(service) if holder.is_admin else [],
            "chart": bars(service.activity.last_hours(HOURS)),
        }
    except TacitError as error:
        raise problem_of(error) from None


def _fields(reader: PointReader, typed: dict[str, str]) -> list[dict[str, Any]]:
    """Return the fields of the form that asks a question."""
    if reader.schema.layout is Layout.TEXTS:
        return [{"name": "text", "label": "Text", "kind": "area", "value": typed.get("text", "")}]
    width = reader.schema.width or 0
    if width > _MOST_FIELDS:
        hint = f"{width} values as JSON, such as [0.5, 1, ...]"
        return [{"name": "row", "label": hint, "kind": "area", "value": typed.get("row", "")}]
    names = reader.schema.feature_names or tuple(f"Feature {at + 1}" for at in range(width))
    kind = "number" if reader.schema.layout is Layout.NUMBERS else "text"
    return [
        {"name": f"x{at}", "label": name, "kind": kind, "value": typed.get(f"x{at}", "")}
        for at, name in enumerate(names)
    ]


def _typed_point(typed: dict[str, str], reader: PointReader) -> Any:
    """Return the point that was typed in, as JSON would have it."""
    if reader.schema.layout is Layout.TEXTS:
        return typed.get("text", "")
    width = reader.schema.width or 0
    if width > _MOST_FIELDS:
        try:
            return json.loads(typed.get("row", ""), parse_constant=str)
        except (ValueError, RecursionError):
            raise Problem(INVALID, f"Type {width} values as JSON, such as [0.5, 1, ...].") from None
    cells = [typed.get(f"x{at}", "").strip() for at in range(width)]
    if reader.schema.layout is Layout.NUMBERS:
        return [_typed_number(cell) for cell in cells]
    return [_typed_cell(cell) for cell in cells]


def _typed_number(cell: str) -> float | None:
    if not cell:
        return None
    try:
        number = float(cell)
    except ValueError:
        raise Problem(INVALID, "Type a number in every field.") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise Problem(INVALID, "Type finite numbers.")
    return number


def _typed_cell(cell: str) -> Any:
    try:
        return _typed_number(cell)
    except Problem:
        return cell
