"""Kill processes that use a ledger, and look for an answer or a spend that went wrong.

A trial makes a new ledger whose budget is one plan of a few answers. Children ask questions, one
after the other, and write every answer they receive to a journal, synchronised to disk. Each is
killed at the point under test; a last child asks until the plan is used up. Then:

- every answer in a journal is in the ledger, with the same values, and no question has two;
- the plan's usage and the budget are respected, to the last answer;
- the chain holds.

Answers are noisy counts with large noise, so two draws for one question would differ.

    python tests/integration/ledger_kills.py --kills 30          # all points
    python tests/integration/ledger_kills.py --build replies-first --points after-reply
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from tacit.errors import BudgetExceeded, LedgerError
from tacit.labeling import Labeler
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.ledger import SqliteLedger
from tacit.privacy.noise import SecureNoise
from tacit.testing import failpoints

TEACHERS = 1000
ANSWERS = 24
BATCH = 3
KILLS_PER_TRIAL = 3
AFTER_REPLY = "after-reply"  # reached in the child itself, once its journal is on disk
ANY_MOMENT = "any-moment"  # the parent kills, at a random time
POINTS = (*failpoints.POINTS, AFTER_REPLY, ANY_MOMENT)


class RepliesFirst(SqliteLedger):
    """A broken build: it answers before it commits, and commits with the next call."""

    def _commit(self, connection: object) -> None:
        pass

    def _settle(self) -> None:
        with self._file.borrow() as connection:
            if connection.in_transaction:
                connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[object]:
        self._settle()
        with super()._reading() as store:
            yield store

    @contextmanager
    def _writing(self) -> Iterator[object]:
        self._settle()
        with super()._writing() as store:
            yield store


BUILDS: dict[str, type[SqliteLedger]] = {"sound": SqliteLedger, "replies-first": RepliesFirst}
MECHANISMS: dict[str, VoteMechanism] = {
    "gaussian": GaussianVote(sigma=1000.0, n_classes=2, answers=ANSWERS, output="share"),
    "sparse": SparseVote(scale=4.0, threshold=200.0, cutoff=ANSWERS // 2),
}


def question(number: int) -> bytes:
    return b"question %d" % number


def votes(number: int) -> list[int]:
    """Every third question is undecided, so that the sparse vector refuses some."""
    return [500, 500] if number % 3 == 2 else [990, 10]


# ---- the child --------------------------------------------------------------------------------


def run_child(
    build: type[SqliteLedger],
    path: Path,
    mechanism: VoteMechanism,
    journal: TextIO,
    point: str,
    skip: int,
) -> None:
    replies = 0

    def replied() -> None:
        nonlocal replies
        replies += 1
        if point == AFTER_REPLY and replies > skip:
            failpoints.die()

    armed = failpoints.at(point, failpoints.die, skip=skip) if point in failpoints.POINTS else None
    with armed or contextlib.nullcontext():
        ask_until_stopped(open_labeler(build, path, mechanism), journal, replied)


def open_labeler(build: type[SqliteLedger], path: Path, mechanism: VoteMechanism) -> Labeler:
    ledger = build(path)
    delta = ledger.budget.delta
    return Labeler(
        mechanism, ledger, delta=delta, noise=SecureNoise(), n_teachers=TEACHERS, key="run"
    )


def ask_until_stopped(labeler: Labeler, journal: TextIO, replied: Callable[[], None]) -> None:
    """Ask every question in batches, the last of each batch again in the next."""
    start, size = 0, BATCH
    while True:
        numbers = [max(0, start - 1), *range(start, start + size)]
        counts = VoteCounts([votes(n) for n in numbers], TEACHERS)
        try:
            answers = labeler.ask(counts, [question(n) for n in numbers])
        except BudgetExceeded:
            if size == 1:
                return
            size = 1  # the room that is left, to the last answer
            continue
        for number, answer in zip(numbers, answers, strict=False):
            journal.write(json.dumps([number, answer.values, len(answer.cost)]) + "\n")
        journal.flush()
        os.fsync(journal.fileno())
        replied()
        if len(answers) < len(numbers):
            return
        start += size


# ---- the parent -------------------------------------------------------------------------------


def fork_child(work: Callable[[], None], kill_after: float | None) -> bool:
    """Run ``work`` in a child; return whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"child failed: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    if os.WEXITSTATUS(status):
        raise RuntimeError("a child failed by itself")
    return False


def run_trial(
    build: type[SqliteLedger], folder: Path, name: str, point: str, rng: np.random.Generator
) -> tuple[int, list[str]]:
    """Return the number of kills and what went wrong."""
    mechanism = MECHANISMS[name]
    plan = mechanism.plan(1e-5, n_teachers=TEACHERS)
    path = folder / "ledger.sqlite"
    SqliteLedger(path, budget=plan.guarantee).close()
    journals, kills = [], 0
    for number in range(KILLS_PER_TRIAL + 1):
        last = number == KILLS_PER_TRIAL
        journals.append(folder / f"journal {number}")
        with open(journals[-1], "w") as journal:
            skip = int(rng.integers(0, 2))
            wait = rng.uniform(0, 0.03) if point == ANY_MOMENT and not last else None
            kills += fork_child(
                lambda journal=journal, skip=skip, last=last: run_child(
                    build, path, mechanism, journal, "none" if last else point, skip
                ),
                wait,
            )
    return kills, find_faults(path, mechanism, journals)


def find_faults(path: Path, mechanism: VoteMechanism, journals: list[Path]) -> list[str]:
    faults = []
    ledger = SqliteLedger(path)
    plan = mechanism.plan(1e-5, n_teachers=TEACHERS)
    plan_id = ledger.open_plan(plan, "run")
    received = [json.loads(line) for journal in journals for line in _lines(journal)]
    recorded = ledger.recorded(plan_id, [question(n) for n in range(500)])
    for number, values, _ in received:
        kept = recorded.get(question(number))
        if kept is None:
            faults.append(f"question {number} was answered but is not recorded")
        elif kept.values != (None if values is None else tuple(values)):
            faults.append(f"question {number} has two answers")
    for event, used in ledger.usage(plan_id).items():
        if used > plan.most[event]:
            faults.append("more was used than planned")
        if used < plan.most[event]:
            faults.append("the last child stopped early")
    if ledger.reserved().epsilon > ledger.budget.epsilon:
        faults.append("more was reserved than the budget")
    if isinstance(mechanism, SparseVote):
        faults += _unpaid_instances(journals)
    try:
        ledger.verify()
    except LedgerError as error:
        faults.append(f"the chain does not hold: {error}")
    ledger.close()
    return faults


def _unpaid_instances(journals: list[Path]) -> list[str]:
    """A process that gives new answers has paid for an instance of its own."""
    seen: set[int] = set()
    faults = []
    for journal in journals:
        entries = [json.loads(line) for line in _lines(journal)]
        fresh = [cost for number, _, cost in entries if number not in seen]
        # What an earlier process recorded but did not deliver comes free of charge, once.
        paid = sum(fresh)
        if len(fresh) > 2 * (BATCH + 1) and not paid:
            faults.append("a process went on with another's threshold")
        seen |= {number for number, _, _ in entries}
    return faults


def _lines(journal: Path) -> list[str]:
    # A line cut short by the kill was never received in full.
    return [line for line in journal.read_text().splitlines(True) if line.endswith("\n")]


def run_point(build: str, name: str, point: str, kills: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    done, trials, faults = 0, 0, []
    started = time.perf_counter()
    while done < kills:
        with tempfile.TemporaryDirectory() as folder:
            killed, found = run_trial(BUILDS[build], Path(folder), name, point, rng)
        done += killed
        trials += 1
        faults += found
    return {
        "build": build,
        "mechanism": name,
        "point": point,
        "kills": done,
        "trials": trials,
        "faults": len(faults),
        "first_faults": faults[:3],
        "seconds": round(time.perf_counter() - started, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", nargs="+", default=list(POINTS), choices=POINTS)
    parser.add_argument("--mechanism", default="gaussian", choices=MECHANISMS)
    parser.add_argument("--build", default="sound", choices=BUILDS)
    parser.add_argument("--kills", type=int, default=30, help="kills at each point, at least")
    parser.add_argument("--seed", type=int, default=0, help="when to kill; never the noise")
    options = parser.parse_args()
    SecureNoise().gaussian(1000.0, 10)  # loads the sampler once, before the forks
    for point in options.points:
        found = run_point(options.build, options.mechanism, point, options.kills, options.seed)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
