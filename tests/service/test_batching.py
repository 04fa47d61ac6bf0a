"""Requests that wait share a transaction, and nothing else."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.errors import BudgetExceeded, LedgerUnavailable
from tacit.ledger import Analyst
from tacit.service.batching import BatchingQueue, concatenate
from tacit.service.decode import Questions

ALICE, BOB = Analyst("alice"), Analyst("bob")


class Oracle:
    """Answers with the names of the questions; the first call waits until it is let go."""

    def __init__(self, *, room: int = 1000, largest: int = 100) -> None:
        self.calls: list[tuple[str, list[bytes]]] = []
        self.room, self.error = room, None
        self.go = threading.Event()
        self.queue = BatchingQueue(self, largest_batch=largest)  # type: ignore[arg-type]

    def ask_read(self, points: Any, keys: list[bytes], *, on_behalf: Analyst) -> Any:
        assert [f"{point:g}".encode() for (point,) in points] == keys
        self.calls.append((on_behalf.name, keys))
        if len(self.calls) == 1:
            self.go.wait(60)
        elif self.error is not None:
            raise self.error
        if len(keys) > self.room:
            raise BudgetExceeded("too many")
        return keys


def questions(*numbers: int) -> Questions:
    points = np.array([[number] for number in numbers], dtype=float)
    return Questions(points, [b"%d" % number for number in numbers])


def run(oracle: Oracle, *requests: tuple[Questions, Analyst]) -> list[Any]:
    """Put all requests while the first one is being answered; return answers or errors."""

    async def main() -> list[Any]:
        first = asyncio.create_task(oracle.queue.ask(*requests[0]))
        while not oracle.calls:
            await asyncio.sleep(0.001)
        rest = [asyncio.create_task(oracle.queue.ask(*request)) for request in requests[1:]]
        await asyncio.sleep(0)
        oracle.go.set()
        results = await asyncio.gather(first, *rest, return_exceptions=True)
        await oracle.queue.finish()
        return results

    return asyncio.run(main())


def test_all_that_wait_are_answered_at_once_each_with_its_own() -> None:
    oracle = Oracle()
    results = run(oracle, *((questions(2 * n, 2 * n + 1), ALICE) for n in range(6)))
    assert results == [[b"%d" % (2 * n), b"%d" % (2 * n + 1)] for n in range(6)]
    assert [len(keys) for _, keys in oracle.calls] == [2, 10]


def test_a_transaction_is_on_behalf_of_one_analyst() -> None:
    oracle = Oracle()
    requests = [(questions(n), who) for n, who in enumerate((ALICE, BOB, ALICE, ALICE, BOB))]
    assert run(oracle, *requests) == [[b"%d" % n] for n in range(5)]
    assert oracle.calls == [
        ("alice", [b"0"]),
        ("bob", [b"1", b"4"]),
        ("alice", [b"2", b"3"]),
    ]


def test_a_batch_stays_within_its_largest_size_unless_one_request_is_larger() -> None:
    oracle = Oracle(largest=4)
    requests = [(questions(*range(start, start + size)), ALICE)
                for start, size in ((0, 1), (10, 3), (20, 2), (30, 9), (40, 1))]  # fmt: skip
    results = run(oracle, *requests)
    assert [len(result) for result in results] == [1, 3, 2, 9, 1]
    assert [len(keys) for _, keys in oracle.calls] == [1, 4, 2, 9]


def test_a_batch_that_does_not_fit_is_answered_one_request_at_a_time() -> None:
    oracle = Oracle(room=2)
    requests = [(questions(0), ALICE), (questions(1, 2), ALICE), (questions(3, 4, 5), ALICE)]
    first, second, third = run(oracle, *requests)
    assert (first, second) == ([b"0"], [b"1", b"2"])
    assert isinstance(third, BudgetExceeded)


def test_an_unavailable_ledger_is_reported_to_all_of_the_batch() -> None:
    oracle = Oracle()
    oracle.error = LedgerUnavailable("away")  # type: ignore[assignment]
    first, *rest = run(oracle, *((questions(n), ALICE) for n in range(3)))
    assert first == [b"0"]
    assert [str(error) for error in rest] == ["away", "away"]
    assert len(oracle.calls) == 2


@pytest.mark.parametrize(
    "tables",
    [
        [["a"], ["b", "c"]],
        [np.zeros((1, 2)), np.ones((2, 2))],
        [sp.csr_array(np.zeros((1, 2))), sp.csr_array(np.ones((2, 2)))],
    ],
    ids=["texts", "numbers", "sparse"],
)
def test_tables_of_every_form_are_concatenated(tables: list[Any]) -> None:
    joined = concatenate(tables)
    assert (len(joined) if isinstance(joined, list) else joined.shape[0]) == 3
