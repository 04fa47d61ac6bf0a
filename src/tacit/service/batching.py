"""The queue in front of the oracle: waiting questions share one transaction.

A durable commit takes longer than everything else. While one is in progress, further questions
queue; the next transaction answers all of them. A transaction is on behalf of one analyst, whom the
ledger records.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.accounting.answer import Answer
from tacit.errors import BudgetExceeded
from tacit.estimators.oracle.private_oracle import PrivateOracle
from tacit.ledger import Analyst
from tacit.service.decode import Questions


@dataclass(slots=True)
class _Pending:
    """One request that waits for its answers."""

    questions: Questions
    analyst: Analyst
    answers: asyncio.Future[list[Answer]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def succeed(self, answers: list[Answer]) -> None:
        if not self.answers.done():  # the client may have disconnected
            self.answers.set_result(answers)

    def fail(self, error: BaseException) -> None:
        if not self.answers.done():
            self.answers.set_exception(error)


class BatchingQueue:
    """Puts the questions of many requests to the oracle, in the order of arrival.

    Parameters
    ----------
    oracle : PrivateOracle
        Private.
    largest_batch : int
        Questions in one transaction, at most (a larger request goes alone).
    """

    def __init__(self, oracle: PrivateOracle, *, largest_batch: int) -> None:
        self._oracle, self._largest = oracle, largest_batch
        self._queue: deque[_Pending] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, questions: Questions, analyst: Analyst) -> list[Answer]:
        """Return the answers to the questions of one request; errors are those of the oracle."""
        pending = _Pending(questions, analyst)
        self._queue.append(pending)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())
        return await pending.answers

    async def finish(self) -> None:
        """Wait until everything in the queue is answered."""
        while self._worker is not None:
            await asyncio.shield(self._worker)

    async def _work(self) -> None:
        try:
            while self._queue:
                await asyncio.sleep(0)  # requests that have arrived by now join the batch
                await self._answer(self._next_batch())
        finally:
            self._worker = None

    def _next_batch(self) -> list[_Pending]:
        """Take the first request, and all others of its analyst that fit beside it."""
        first = self._queue.popleft()
        batch, size = [first], len(first.questions)
        rest: deque[_Pending] = deque()
        for pending in self._queue:
            fits = size + len(pending.questions) <= self._largest
            if pending.analyst == first.analyst and fits:
                batch.append(pending)
                size += len(pending.questions)
            else:
                rest.append(pending)
        self._queue = rest
        return batch

    async def _answer(self, batch: list[_Pending]) -> None:
        try:
            answers = await self._ask_oracle(batch)
        except BudgetExceeded as error:
            if len(batch) == 1:
                batch[0].fail(error)
            else:
                await self._answer_each(batch)  # alone, each may still fit, or be free
        except BaseException as error:
            for pending in batch:
                pending.fail(error)
            if not isinstance(error, Exception):
                raise
        else:
            await self._distribute(batch, answers)

    async def _answer_each(self, batch: list[_Pending]) -> None:
        for pending in batch:
            await self._answer([pending])

    async def _ask_oracle(self, batch: list[_Pending]) -> list[Answer]:
        points = concatenate([pending.questions.points for pending in batch])
        keys = [key for pending in batch for key in pending.questions.keys]
        analyst = batch[0].analyst
        return await asyncio.to_thread(
            lambda: self._oracle.ask_read(points, keys, on_behalf=analyst)
        )

    async def _distribute(self, batch: list[_Pending], answers: list[Answer]) -> None:
        start = 0
        for pending in batch:
            part = answers[start : start + len(pending.questions)]
            start += len(pending.questions)
            if part or len(batch) == 1:
                pending.succeed(part)
            else:  # the budget ended before this request: alone it may still be free
                await self._answer([pending])


def concatenate(tables: list[Any]) -> Any:
    """Return several tables of points as one."""
    first = tables[0]
    if isinstance(first, list):
        return [point for table in tables for point in table]
    if sp.issparse(first):
        return sp.vstack(tables).tocsr()
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    return np.concatenate(tables)
