"""Threads that ask at the same time share a transaction, and nothing else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import BudgetExceeded, InvalidArgument, LedgerUnavailable
from tacit.labeling import Labeler
from tacit.labeling.line import Asked, Line
from tacit.ledger import Analyst, SqliteLedger
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.budget import Budget
from tacit.privacy.noise import SecureNoise

TEACHERS = 1000
CLEAR, TIE = [10, 990], [500, 500]


def until(happened: Callable[[], bool]) -> None:
    for _ in range(6000):
        if happened():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen within half a minute")


class Counter:
    """Answers everything but what is refused; the first call waits until so many others queue."""

    def __init__(self, line: Line, others: int) -> None:
        self.line, self.others = line, others
        self.calls: list[list[bytes]] = []
        self.errors: dict[int, BaseException] = {}
        self.refused = b""

    def __call__(self, asked: Asked) -> Any:
        self.calls.append(list(asked.questions))
        number = len(self.calls) - 1
        if not number:
            until(lambda: len(self.line._waiting) == self.others + 1)
        if number in self.errors:
            raise self.errors[number]
        if self.refused in asked.questions:
            raise InvalidArgument("amiss")
        return [name.decode() for name in asked.questions]


def begin(line: Line, answer: Counter, *asked: Asked) -> list[Future[Any]]:
    """Let each be asked by a thread of its own, the first one before all others."""
    threads = ThreadPoolExecutor(len(asked))
    first = threads.submit(line.ask, asked[0], answer)
    until(lambda: bool(answer.calls))
    found = [first, *(threads.submit(line.ask, one, answer) for one in asked[1:])]
    threads.shutdown(wait=False)
    return found


def question(name: str, analyst: Analyst | None = None) -> Asked:
    return Asked([name.encode()], None, [], analyst)


def test_all_that_wait_are_answered_at_once_each_with_its_own() -> None:
    line = Line()
    answer = Counter(line, 5)
    asked = [Asked([b"%d" % n, b"%d!" % n], None, [], None) for n in range(6)]
    found = begin(line, answer, *asked)
    assert [one.result() for one in found] == [[f"{n}", f"{n}!"] for n in range(6)]
    assert [len(call) for call in answer.calls] == [2, 10]


def test_a_transaction_is_on_behalf_of_one_analyst() -> None:
    line = Line()
    alice, bob = Analyst("alice"), Analyst("bob")
    answer = Counter(line, 3)
    asked = [question("a", alice), question("b", bob), question("c", alice), question("d", alice)]
    found = begin(line, answer, *asked)
    assert [one.result() for one in found] == [["a"], ["b"], ["c"], ["d"]]
    assert sorted(map(sorted, answer.calls)) == [[b"a"], [b"b"], [b"c", b"d"]]


def test_what_would_be_answered_otherwise_is_not_mixed() -> None:
    two, three = VoteCounts([CLEAR], TEACHERS), VoteCounts([[*CLEAR, 0]], TEACHERS)
    kinds = [Asked([b"q"], votes, [0], None) for votes in (two, three, None)]
    assert [[a.goes_with(b) for a in kinds] for b in kinds] == np.eye(3, dtype=bool).tolist()
    limited = question("a", Analyst("alice", allowance=3))
    assert not limited.goes_with(limited)


def test_a_ledger_that_is_away_is_heard_of_by_all_that_were_asked_together() -> None:
    line = Line()
    answer = Counter(line, 2)
    answer.errors = {1: LedgerUnavailable("away")}
    found = begin(line, answer, question("a"), question("b"), question("c"))
    assert found[0].result() == ["a"]
    raised = [one.exception() for one in found[1:]]
    assert [str(one) for one in raised] == ["away", "away"]
    assert raised[0] is not raised[1]
    assert len(answer.calls) == 2


def test_any_other_error_is_that_of_one_caller() -> None:
    line = Line()
    answer = Counter(line, 2)
    answer.refused = b"b"
    found = begin(line, answer, question("a"), question("b"), question("c"))
    assert isinstance(found[1].exception(), InvalidArgument)
    assert [found[0].result(), found[2].result()] == [["a"], ["c"]]


@pytest.mark.parametrize("interrupted", [0, 1])
def test_an_interrupt_reaches_its_own_caller_and_the_others_are_served(interrupted: int) -> None:
    line = Line()
    answer = Counter(line, 3)
    answer.errors = {interrupted: KeyboardInterrupt()}
    names = ["a", "b", "c", "d"]
    found = begin(line, answer, *map(question, names))
    raised = [one for one in found if one.exception() is not None]
    assert [type(one.exception()) for one in raised] == [KeyboardInterrupt]
    answered = [
        (one.result(), [name]) for one, name in zip(found, names, strict=True) if one not in raised
    ]
    assert all(got == wanted for got, wanted in answered)
    assert not line._waiting


class Interrupted(Asked):
    """Something happens while its caller waits, and then an interrupt."""

    meanwhile: Callable[[], None]

    def wait(self) -> None:
        self.meanwhile()
        raise KeyboardInterrupt


@pytest.mark.parametrize("chosen", [False, True])
def test_whoever_is_interrupted_while_waiting_leaves_the_line(chosen: bool) -> None:
    line = Line()
    first, mine, last = question("first"), Interrupted([b"mine"], None, [], None), question("last")
    line._join(first)  # and is being answered

    def meanwhile() -> None:
        line._join(last)
        if chosen:  # to lead after the first one, who is done
            first.answers = []
            line._leave(first)
            assert mine.leads

    mine.meanwhile = meanwhile
    with pytest.raises(KeyboardInterrupt):
        line.ask(mine, lambda asked: [])
    assert line._waiting == ([last] if chosen else [first, last])
    assert [first.leads, mine.leads, last.leads] == [not chosen, False, chosen]


# Python warns of forks beside other threads: this child touches nothing of theirs.
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_has_a_line_of_its_own_whoever_was_served_at_the_fork() -> None:
    line, forked = Line(), threading.Event()

    def slow(asked: Asked) -> Any:
        forked.wait(60)
        return ["parent"]

    def quick(asked: Asked) -> Any:
        return ["child"]

    with ThreadPoolExecutor(1) as threads:
        waiting: Future[Any] = threads.submit(line.ask, question("a"), slow)
        until(lambda: bool(line._waiting))
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            found: Any = None
            try:
                found = line.ask(question("b"), quick)
            finally:
                os._exit(0 if found == ["child"] else 1)
        forked.set()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert waiting.result() == ["parent"]


# ---- with a ledger -------------------------------------------------------------------------------


def labeler(path: Path, mechanism: VoteMechanism) -> Labeler:
    ledger = SqliteLedger(path, budget=Budget(100.0, 1e-3))
    return Labeler(
        mechanism, ledger, delta=1e-4, noise=SecureNoise(), n_teachers=TEACHERS, key="run"
    )  # fmt: skip


def all_at_once(
    asking: Labeler, asked: Sequence[tuple[list[int], bytes]], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], int]:
    """Ask each by a thread of its own, while the first one is answered; count transactions."""
    written: list[int] = []
    answer = asking.ledger.answer

    def counted(plan: Any, questions: Any, release: Any, **settings: Any) -> Any:
        found = answer(plan, questions, release, **settings)
        written.append(len(questions))
        if len(written) == 1:
            until(lambda: len(asking._line._waiting) == len(asked))
        return found

    def one(votes: list[int], name: bytes) -> Any:
        try:
            return asking.ask(VoteCounts([votes], TEACHERS), [name])
        except BudgetExceeded as error:
            return error

    monkeypatch.setattr(asking.ledger, "answer", counted)
    with ThreadPoolExecutor(len(asked)) as threads:
        first = threads.submit(one, *asked[0])
        until(lambda: bool(written))
        rest = [threads.submit(one, *pair) for pair in asked[1:]]
        return [first.result(), *(found.result() for found in rest)], len(written)


def test_threads_share_a_commit_and_get_what_they_would_get_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=5.0, answers=40))
    asked = [(CLEAR if n % 2 else CLEAR[::-1], b"%d" % n) for n in range(12)]
    found, written = all_at_once(asking, asked, monkeypatch)
    assert [answers[0].label for answers in found] == [n % 2 for n in range(12)]
    assert written == 2
    assert sum(asking.ledger.usage(asking.plan_id).values()) == 12
    asking.ledger.verify()


def test_a_question_that_several_ask_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=400.0, answers=40))
    found, _ = all_at_once(asking, [(TIE, b"same")] * 10, monkeypatch)
    assert len({answers[0].label for answers in found}) == 1
    assert sum(len(answers[0].cost) for answers in found) == 1
    assert sum(asking.ledger.usage(asking.plan_id).values()) == 1


def test_a_group_that_does_not_fit_is_answered_as_far_as_the_plan_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = labeler(tmp_path / "ledger.sqlite", GaussianVote(sigma=5.0, answers=4))
    found, _ = all_at_once(asking, [(CLEAR, b"%d" % n) for n in range(9)], monkeypatch)
    refused = [one for one in found if isinstance(one, BudgetExceeded)]
    assert len(refused) == 5
    assert sum(asking.ledger.usage(asking.plan_id).values()) == 4


def test_instances_end_where_they_would_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse = SparseVote(scale=1.0, threshold=200.0, cutoff=3)
    asking = labeler(tmp_path / "ledger.sqlite", sparse)
    found, _ = all_at_once(asking, [(TIE, b"%d" % n) for n in range(8)], monkeypatch)
    refusals = [one for one in found if not isinstance(one, BudgetExceeded)]
    assert [answers[0].refused for answers in refusals] == [True] * 3
    assert sum(asking.ledger.usage(asking.plan_id).values()) == 3
