"""Threads and forked processes that share a labeler: each gets what it would get alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tacit.accounting.budget import Budget
from tacit.errors import BudgetExceeded
from tacit.labeling import Labeler
from tacit.ledger import SqliteLedger
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise

TEACHERS = 1000
CLEAR, TIE = [10, 990], [500, 500]


def labeler(path: Path, mechanism: VoteMechanism) -> Labeler:
    ledger = SqliteLedger(path, budget=Budget(100.0, 1e-3))
    return Labeler(
        mechanism, ledger, delta=1e-4, noise=SecureNoise(), n_teachers=TEACHERS, key="run"
    )  # fmt: skip


def all_at_once(asking: Labeler, questions: Sequence[tuple[list[int], bytes]]) -> list[Any]:
    """Ask each question in a thread of its own; return answers or ``BudgetExceeded``."""
    start = threading.Barrier(len(questions))

    def ask(votes: list[int], name: bytes) -> Any:
        start.wait(60)
        try:
            return asking.ask(VoteCounts([votes], TEACHERS), [name])
        except BudgetExceeded as error:
            return error

    with ThreadPoolExecutor(len(questions)) as threads:
        futures = [threads.submit(ask, *question) for question in questions]
        return [future.result() for future in futures]


def used(asking: Labeler) -> int:
    return sum(asking.ledger.usage(asking.plan_id).values())


def test_threads_get_what_they_would_get_alone(tmp_path: Path) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=5.0, answers=40))
    questions = [(CLEAR if n % 2 else CLEAR[::-1], b"%d" % n) for n in range(12)]
    results = all_at_once(asking, questions)
    assert [answers[0].label for answers in results] == [n % 2 for n in range(12)]
    assert used(asking) == 12
    asking.ledger.verify()


def test_a_question_that_several_ask_is_paid_once(tmp_path: Path) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=400.0, answers=40))
    results = all_at_once(asking, [(TIE, b"same")] * 10)
    assert len({answers[0].label for answers in results}) == 1
    assert sum(len(answers[0].cost) for answers in results) == 1
    assert used(asking) == 1


def test_threads_are_answered_as_far_as_the_plan_goes(tmp_path: Path) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=5.0, answers=4))
    results = all_at_once(asking, [(CLEAR, b"%d" % n) for n in range(9)])
    assert sum(isinstance(result, BudgetExceeded) for result in results) == 5
    assert used(asking) == 4


def test_sparse_instances_end_where_they_would_one_by_one(tmp_path: Path) -> None:
    sparse = SparseVote(scale=1.0, threshold=200.0, cutoff=3)
    asking = labeler(tmp_path / "ledger.sqlite", sparse)
    results = all_at_once(asking, [(TIE, b"%d" % n) for n in range(8)])
    refusals = [result for result in results if not isinstance(result, BudgetExceeded)]
    assert [answers[0].refused for answers in refusals] == [True] * 3
    assert used(asking) == 3


# Python warns of forks beside other threads: this child touches nothing of theirs.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_can_ask_whoever_was_being_answered_at_the_fork(tmp_path: Path) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=5.0, answers=40))
    counting, forked = threading.Event(), threading.Event()

    def slow(positions: Sequence[int]) -> VoteCounts:
        with asking._lock:  # as in the middle of an answer
            counting.set()
            forked.wait(60)
        return VoteCounts([CLEAR], TEACHERS)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(asking.ask, slow, [b"parent"])
        assert counting.wait(60)
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            label: int | None = None
            try:
                label = asking.ask(VoteCounts([CLEAR], TEACHERS), [b"child"])[0].label
            finally:
                os._exit(0 if label == 1 else 1)
        forked.set()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert waiting.result()[0].label == 1
    assert used(asking) == 2
