"""Where questions of many requests meet the oracle: one transaction for all that are waiting.

A durable commit takes longer than everything else. While one is under way, further questions
queue; the next transaction takes all of them. One transaction is one analyst's, because the
ledger records on whose behalf it is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.errors import BudgetExceeded
from tacit.ledger import Analyst
from tacit.oracle.private_oracle import PrivateOracle
from tacit.privacy.answer import Answer
from tacit.service.decode import Asked


@dataclass(slots=True)
class _Waiting:
    asked: Asked
    analyst: Analyst
    answers: asyncio.Future[list[Answer]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Desk:
    """Puts waiting questions to the oracle, in the order they came.

    Parameters
    ----------
    oracle : PrivateOracle
        Private.
    largest_batch : int
        Questions in one transaction, at most (a larger request goes alone).
    """

    def __init__(self, oracle: PrivateOracle, *, largest_batch: int) -> None:
        self._oracle, self._largest = oracle, largest_batch
        self._queue: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None

    async def ask(self, asked: Asked, analyst: Analyst) -> list[Answer]:
        """Return the answers to one request's questions; errors are those of the oracle."""
        waiting = _Waiting(asked, analyst)
        self._queue.append(waiting)
        if self._working is None:
            self._working = asyncio.get_running_loop().create_task(self._work())
        return await waiting.answers

    async def finish(self) -> None:
        """Wait until everything that was asked is answered."""
        while self._working is not None:
            await asyncio.shield(self._working)

    async def _work(self) -> None:
        try:
            while self._queue:
                # Whatever has arrived by now comes along: one commit is one commit.
                await asyncio.sleep(0)
                await self._serve(self._next())
        finally:
            self._working = None

    def _next(self) -> list[_Waiting]:
        """Take the first request, and all others of its analyst that fit beside it."""
        first = self._queue.popleft()
        taken, size = [first], len(first.asked)
        left: deque[_Waiting] = deque()
        for waiting in self._queue:
            fits = size + len(waiting.asked) <= self._largest
            if waiting.analyst == first.analyst and fits:
                taken.append(waiting)
                size += len(waiting.asked)
            else:
                left.append(waiting)
        self._queue = left
        return taken

    async def _serve(self, group: list[_Waiting]) -> None:
        try:
            answers = await self._answers(group)
        except BudgetExceeded as error:
            if len(group) == 1:
                _fail(group[0], error)
                return
            # Together they were too many; by itself each may still fit, or be free.
            for waiting in group:
                await self._serve([waiting])
            return
        except BaseException as error:
            for waiting in group:
                _fail(waiting, error)
            if not isinstance(error, Exception):
                raise
            return
        await self._hand_out(group, answers)

    async def _answers(self, group: list[_Waiting]) -> list[Answer]:
        points = joined([waiting.asked.points for waiting in group])
        questions = [name for waiting in group for name in waiting.asked.questions]
        analyst = group[0].analyst
        return await asyncio.to_thread(
            lambda: self._oracle.ask_read(points, questions, on_behalf=analyst)
        )

    async def _hand_out(self, group: list[_Waiting], answers: list[Answer]) -> None:
        start = 0
        for waiting in group:
            part = answers[start : start + len(waiting.asked)]
            start += len(waiting.asked)
            if part:
                _succeed(waiting, part)
            elif len(group) == 1:
                _succeed(waiting, part)
            else:
                # The budget ended before this one was reached: alone it may still be free.
                await self._serve([waiting])


def _succeed(waiting: _Waiting, answers: list[Answer]) -> None:
    if not waiting.answers.done():  # the client may have gone
        waiting.answers.set_result(answers)


def _fail(waiting: _Waiting, error: BaseException) -> None:
    if not waiting.answers.done():
        waiting.answers.set_exception(error)


def joined(tables: list[Any]) -> Any:
    """Return several tables of points as one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if isinstance(first, list):
        return [point for table in tables for point in table]
    if sp.issparse(first):
        return sp.vstack(tables).tocsr()
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    return np.concatenate(tables)
