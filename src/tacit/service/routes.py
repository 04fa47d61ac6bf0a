"""The handlers of the API, a few lines each."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from tacit.errors import AllowanceExceeded, TacitError
from tacit.ledger import AnalystAccount
from tacit.service.access import Holder
from tacit.service.decode import Questions, decode
from tacit.service.problems import (
    ALLOWANCE_SPENT,
    ALLOWANCE_USED,
    INVALID,
    REPEATED,
    UNAVAILABLE,
    WRONG_TYPE,
    Problem,
    problem_of,
    unavailable,
)
from tacit.service.session import media_type
from tacit.service.state import Service

ANSWERS = "/v1/answers"

_LONGEST_NAME = 200
_DECODED_IN_PLACE = 50_000
"""Bytes of JSON that are read at once; more would keep other requests waiting."""


def service_of(request: Request) -> Service:
    """Return the state of the application."""
    service: Service = request.app.state.service
    return service


async def post_answers(request: Request) -> Response:
    """Answer questions about points, in order.

    Every question is answered once: put again, by anybody, it gets the same answer and nothing is
    drawn. A repeated request is therefore safe; with an `Idempotency-Key` the service also notices
    when it comes with another body.
    """
    service = service_of(request)
    holder = await service.auth.holder(request)
    if media_type(request) != "application/json":
        raise Problem(WRONG_TYPE)
    body = await request.body()
    questions = await _decoded(service, body)
    service.auth.limit_questions(holder, len(questions))
    await _refuse_other_body(service, holder, request.headers.get("idempotency-key"), body)
    return Response(await answer(service, holder, questions), media_type="application/json")


async def answer(service: Service, holder: Holder, questions: Questions) -> bytes:
    """Return the body of the response to a holder's questions."""
    now = service.access.clock()
    try:
        answers = await service.queue.ask(questions, holder.analyst(now))
    except AllowanceExceeded:
        raise _allowance(holder, now) from None
    except TacitError as error:
        raise _noted(service, problem_of(error)) from None
    service.readiness.succeeded()
    service.activity.add(holder.name, answers)
    return service.replies.body(answers, len(questions))


async def _decoded(service: Service, body: bytes) -> Questions:
    most = service.settings.largest_batch
    if len(body) <= _DECODED_IN_PLACE:
        return decode(body, service.reader, most=most)
    return await asyncio.to_thread(decode, body, service.reader, most=most)


async def _refuse_other_body(
    service: Service, holder: Holder, name: str | None, body: bytes
) -> None:
    if name is None:
        return
    if not 0 < len(name) <= _LONGEST_NAME:
        raise Problem(INVALID, f"`Idempotency-Key` must have 1 to {_LONGEST_NAME} characters.")
    digests = [hashlib.sha256(text).digest() for text in (name.encode("latin-1"), body)]
    try:
        same = await asyncio.to_thread(service.requests.same_as_before, holder.name, *digests)
    except TacitError as error:
        raise _noted(service, problem_of(error)) from None
    if not same:
        raise Problem(REPEATED, "Use a new key for a new request.")


def _noted(service: Service, problem: Problem) -> Problem:
    """Return the problem; if questions could not be recorded, the service is not ready."""
    if problem.kind is UNAVAILABLE:
        service.readiness.failed()
    return problem


def _allowance(holder: Holder, now: float) -> Problem:
    renews = holder.renews_in(now)
    words = "Nothing was drawn or shown. Answers you were shown before are still free."
    if renews is None:
        return Problem(ALLOWANCE_SPENT, words)
    return Problem(ALLOWANCE_USED, words, {"Retry-After": str(renews)})


async def get_budget(request: Request) -> Response:
    """Return what is reserved, what is used, and the caller's part of it."""
    service = service_of(request)
    holder = await service.auth.visitor(request)
    return JSONResponse(await asyncio.to_thread(budget, service, holder))


def budget(service: Service, holder: Holder) -> dict[str, Any]:
    """Return the state of the budget as plain fields."""
    try:
        left, tally = service.oracle.budget_left(), service.oracle.tally()
        lifetime = service.ledger.lifetime()
        account = service.ledger.recorded_for(service.plan_id, holder.name)
    except TacitError as error:
        raise problem_of(error) from None
    fields = left.to_dict()
    return {
        "guarantee": {"epsilon": fields["epsilon"], "delta": fields["delta"]},
        "lifetime": {"epsilon": lifetime.epsilon, "delta": lifetime.delta},
        "charges": fields["charges"],
        "left": fields["left"],
        "answered": tally.answered,
        "refused": tally.refused,
        "analyst": analyst_usage(service, account, holder),
    }


def analyst_usage(
    service: Service, account: AnalystAccount, holder: Holder | None
) -> dict[str, Any]:
    """Return what one analyst was shown as plain fields; the allowance if the holder is known."""
    now = service.access.clock()
    if holder is not None:
        account = account.at_period(holder.analyst(now).period)
    return {
        "name": account.name,
        "answered": account.total.answered,
        "refused": account.total.refused,
        "charged": sum(account.in_period.events.values()),
        "allowance": holder.allowance if holder else None,
        "renews_in": holder.renews_in(now) if holder else None,
    }


async def get_statement(request: Request) -> Response:
    """Return the privacy statement: what is protected, from whom, how well."""
    service = service_of(request)
    await service.auth.visitor(request)
    try:
        statement = await asyncio.to_thread(lambda: service.oracle.privacy_)
    except TacitError as error:
        raise problem_of(error) from None
    return JSONResponse({"text": str(statement), **statement.to_dict()})


async def get_analysts(request: Request) -> Response:
    """Return what each analyst was shown; for administrators."""
    service = service_of(request)
    await service.auth.admin(request)
    return JSONResponse(await asyncio.to_thread(list_analyst_usage, service))


def list_analyst_usage(service: Service) -> list[dict[str, Any]]:
    """Return what each analyst was shown as plain fields."""
    try:
        accounts = service.ledger.accounts(service.plan_id)
        holders = {line.analyst: line for line in service.access.list_keys()}
    except TacitError as error:
        raise problem_of(error) from None
    listed = []
    for account in accounts:
        line = holders.get(account.name)
        holder = None if line is None else service.access.holder_of(line.id)
        listed.append(analyst_usage(service, account, holder))
    return listed


async def get_health(request: Request) -> Response:
    """Say that the process is alive."""
    return JSONResponse({"status": "alive"})


async def get_ready(request: Request) -> Response:
    """Say whether questions can be answered: the ledger can be read and, lately, written."""
    service = service_of(request)
    if service.stopping:
        raise unavailable("The service is stopping.")
    if not service.readiness.ready:
        raise unavailable("The last question could not be recorded.")
    try:
        await asyncio.to_thread(service.ledger.head)
    except TacitError as error:
        raise problem_of(error) from None
    return JSONResponse({"status": "ready"})


async def get_metrics(request: Request) -> Response:
    """Return metrics for Prometheus: public totals, and requests of this worker."""
    service = service_of(request)
    service.auth.limit_address(request)
    try:
        text = await asyncio.to_thread(service.metrics.text, service.oracle)
    except TacitError as error:
        raise problem_of(error) from None
    return Response(text, media_type=CONTENT_TYPE_LATEST)
