"""Break things while clients use a ledger, and look for an answer or a spend that went wrong.

A trial makes a new ledger whose budget is one plan of a few answers. Clients, each a process of its
own, ask questions one batch after the other and write every answer they receive to a journal. They
are killed at the point under test, or lose their connection, their server or their disk; in the end
one client asks until the plan is used up. Then ``tests.support.journal.find_faults`` compares the
journals with the ledger. Answers are noisy counts with large noise, so two draws for one question
would differ.

    python tests/integration/ledger_faults.py --times 30                   # everything, on SQLite
    python tests/integration/ledger_faults.py --times 30 --store postgres
    python tests/integration/ledger_faults.py --times 30 --threads 4       # that share transactions
    python tests/integration/ledger_faults.py --build replies-first --troubles after-reply
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import sqlalchemy as sa
from processes import finished, start
from small_disk import NOT_ALLOWED, filled, small_disk
from tests.support import failpoints
from tests.support.journal import Journal, Received, find_faults
from tests.support.lossy import Loss, LossyLine
from tests.support.postgres import PostgresServer

from tacit.errors import BudgetExceeded, LedgerUnavailable
from tacit.labeling import Labeler
from tacit.ledger import Ledger, PostgresLedger, SqliteLedger, open_ledger
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise

T = TypeVar("T")

TEACHERS = 1000
FEW, MANY = 24, 90  # answers of a plan: one client after the other, or several for a while
BATCH = 3
KILLS_PER_TRIAL = 3
CLIENTS = 3
PATIENCE = 60  # seconds

BEFORE_REPLY, AFTER_REPLY = "before-reply", "after-reply"  # in the client, around its journal
POINTS = (*failpoints.POINTS, BEFORE_REPLY, AFTER_REPLY)
ANY_MOMENT = "any-moment"  # several clients at once, killed at random times
CUT = "cut-connections"  # the server ends all connections at a random time
LOST_REQUEST, LOST_REPLY = "lost-commit", "lost-commit-reply"  # the line breaks around a COMMIT
RESTART = "restart"  # the server crashes and comes back
FULL_DISK = "full-disk"
CROWD = "crowd"  # no trouble but each other: eight clients until nothing is left

TROUBLES = {
    "sqlite": (*POINTS, ANY_MOMENT, FULL_DISK, CROWD),
    "postgres": (*POINTS, ANY_MOMENT, CUT, LOST_REQUEST, LOST_REPLY, RESTART, FULL_DISK, CROWD),
}

MECHANISMS: dict[str, Callable[[int], VoteMechanism]] = {
    "gaussian": lambda n: GaussianVote(sigma=1000.0, n_classes=2, answers=n, output="share"),
    "sparse": lambda n: SparseVote(scale=4.0, threshold=200.0, cutoff=n // 2),
}


# ---- planted: builds that reply before they commit ---------------------------------------------


class _CommitsLate:
    """A broken build: it answers before it commits, and commits with the next call."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._database.commit = lambda connection: None  # type: ignore[attr-defined]

    def _settle(self) -> None:
        database = self._database  # type: ignore[attr-defined]
        with database._lock, contextlib.suppress(sa.exc.DBAPIError):  # where nothing is pending
            database.connection().exec_driver_sql("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[object]:
        self._settle()
        with super()._reading() as store:  # type: ignore[misc]
            yield store

    @contextmanager
    def _writing(self) -> Iterator[object]:
        self._settle()
        with super()._writing() as store:  # type: ignore[misc]
            yield store


class RepliesFirst(_CommitsLate, SqliteLedger):
    """On SQLite."""


class RepliesFirstToo(_CommitsLate, PostgresLedger):
    """The same mistake over PostgreSQL."""


BUILDS: dict[tuple[str, str], Callable[..., Ledger]] = {
    ("sound", "sqlite"): open_ledger,
    ("sound", "postgres"): open_ledger,
    ("replies-first", "sqlite"): RepliesFirst,
    ("replies-first", "postgres"): RepliesFirstToo,
}


# ---- the client --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """What a client needs to know."""

    build: Callable[..., Ledger]
    where: str
    mechanism: VoteMechanism
    bell: Path  # rung by clients, a byte each time the ledger could not be used
    threads: int = 1  # of each client, which share transactions


def question(number: int) -> bytes:
    return b"question %d" % number


def votes(number: int) -> list[int]:
    """Every third question is undecided, so that the sparse vector refuses some."""
    return [500, 500] if number % 3 == 2 else [990, 10]


def run_client(setup: Setup, journal: Journal, first: int, point: str, skip: int) -> None:
    """Ask until the plan is used up, or until this process is killed at the point."""
    replies, writing = itertools.count(), threading.Lock()

    def reply(received: list[Received]) -> None:
        with writing:
            due = next(replies) >= skip
            if due and point == BEFORE_REPLY:
                failpoints.die()
            journal.write(received)
            if due and point == AFTER_REPLY:
                failpoints.die()

    armed = failpoints.at(point, failpoints.die, skip=skip) if point in failpoints.POINTS else None
    labeler = _patiently(setup.bell, lambda: open_labeler(setup))
    places = range(first, first + setup.threads)  # so near that they ask the same questions, too
    with armed or contextlib.nullcontext(), ThreadPoolExecutor(setup.threads) as threads:
        list(threads.map(lambda at: ask_until_stopped(labeler, setup.bell, at, reply), places))


def open_labeler(setup: Setup) -> Labeler:
    ledger = setup.build(setup.where)
    delta = ledger.budget.delta
    return Labeler(
        setup.mechanism, ledger, delta=delta, noise=SecureNoise(), n_teachers=TEACHERS, key="run"
    )


def ask_until_stopped(
    labeler: Labeler, bell: Path, first: int, reply: Callable[[list[Received]], None]
) -> None:
    """Ask questions from the first one on in batches, the last of each batch again in the next."""
    start, size = first, BATCH
    while True:
        numbers = [max(0, start - 1), *range(start, start + size)]
        names = [question(n) for n in numbers]
        counts = VoteCounts([votes(n) for n in numbers], TEACHERS)
        try:
            answers = _patiently(bell, partial(labeler.ask, counts, names))
        except BudgetExceeded:
            if size == 1:
                return
            size = 1  # the room that is left, to the last answer
            continue
        reply([Received.of(*pair) for pair in zip(names, answers, strict=False)])
        if len(answers) < len(numbers):
            return
        start += size


def _patiently(bell: Path, work: Callable[[], T]) -> T:
    """Try again while the ledger cannot be used, as any client of a service would."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except LedgerUnavailable:
            if time.monotonic() > until:
                raise
            with open(bell, "ab") as file:
                file.write(b".")
            time.sleep(0.01)


# ---- the parent --------------------------------------------------------------------------------


class Trial:
    """One ledger, its clients and their journals."""

    def __init__(self, setup: Setup, folder: Path, rng: np.random.Generator) -> None:
        self.setup, self.folder, self.rng = setup, folder, rng
        self.journals: list[Journal] = []
        plan = setup.mechanism.plan(1e-5, n_teachers=TEACHERS)
        open_ledger(setup.where, budget=plan.guarantee).close()

    def client(self, point: str = "", setup: Setup | None = None) -> int:
        journal = Journal(self.folder / f"journal {len(self.journals)}")
        self.journals.append(journal)
        skip, first = int(self.rng.integers(0, 2)), int(self.rng.integers(0, 4))
        return start(lambda: run_client(setup or self.setup, journal, first, point, skip))

    def one_after_the_other(self, point: str) -> int:
        return sum(finished(self.client(point))[1] for _ in range(KILLS_PER_TRIAL))

    def killed_at_random(self) -> int:
        children = [self.client() for _ in range(CLIENTS)]
        for child in children:
            time.sleep(self.rng.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
        return sum(finished(child)[1] for child in children)

    def meanwhile(
        self, trouble: Callable[[], int], clients: int = CLIENTS, setup: Setup | None = None
    ) -> int:
        """Let clients work while something happens; return how often it did.

        It happens once there are answers, and not already while clients open the ledger.
        """
        children = [self.client(setup=setup) for _ in range(clients)]
        until = time.monotonic() + PATIENCE
        while not any(j.path.stat().st_size for j in self.journals) and time.monotonic() < until:
            time.sleep(0.001)
        times = trouble()
        for child in children:
            finished(child)
        return times

    def faults(self, *, one_by_one: bool = False) -> list[str]:
        finished(self.client())
        ledger = open_ledger(self.setup.where)
        plan = self.setup.mechanism.plan(1e-5, n_teachers=TEACHERS)
        received = [entry for journal in self.journals for entry in journal.entries()]
        faults = find_faults(ledger, ledger.open_plan(plan, "run"), received, used_up=True)
        ledger.close()
        # Several threads leave so much recorded and not delivered that nothing could be told.
        one_by_one = one_by_one and self.setup.threads == 1
        if one_by_one and isinstance(self.setup.mechanism, SparseVote):
            faults += _unpaid_instances(self.journals)
        return faults


def _unpaid_instances(journals: list[Journal]) -> list[str]:
    """A process that gives new answers has paid for an instance of its own.

    Told from the journals of processes that ran one after the other: beside others, a process can
    live on what those have drawn.
    """
    seen: set[bytes] = set()
    faults = []
    for journal in journals:
        entries = list(journal.entries())
        fresh = [entry.paid for entry in entries if entry.question not in seen]
        # What an earlier process recorded but did not deliver comes free of charge, once.
        if len(fresh) > 2 * (BATCH + 1) and not sum(fresh):
            faults.append("a process went on with another's threshold")
        seen |= {entry.question for entry in entries}
    return faults


# ---- places and troubles -----------------------------------------------------------------------


class Stand:
    """Where trials take place: a folder, and a server if the store needs one."""

    def __init__(self, store: str, server: PostgresServer | None) -> None:
        self.store, self.server = store, server
        self._names = itertools.count()

    def place(self, folder: Path) -> str:
        if self.server is None:
            return str(folder / "ledger.sqlite")
        return self.server.create_schema(f"trial_{os.getpid()}_{next(self._names)}")

    def run(self, setup: Setup, folder: Path, trouble: str, rng: np.random.Generator) -> Outcome:
        """Run one trial."""
        if trouble == FULL_DISK:
            return self._on_a_full_disk(setup, folder, rng)
        trial = Trial(setup, folder, rng)
        if trouble in POINTS:
            times = trial.one_after_the_other(trouble)
        elif trouble == ANY_MOMENT:
            times = trial.killed_at_random()
        elif trouble == CROWD:
            times = trial.meanwhile(lambda: 8, clients=8)
        elif trouble in (LOST_REQUEST, LOST_REPLY):
            times = self._with_a_lossy_line(trial, trouble)
        else:
            times = trial.meanwhile(lambda: self._trouble_the_server(trouble, rng))
        return Outcome(times, trial.faults(one_by_one=trouble in POINTS))

    def _trouble_the_server(self, trouble: str, rng: np.random.Generator) -> int:
        assert self.server is not None
        if trouble == RESTART:
            time.sleep(rng.uniform(0, 0.03))
            self.server.restart("immediate")
            return 1
        cut = 0
        for _ in range(3):
            time.sleep(rng.uniform(0, 0.02))
            cut += self.server.cut_connections()
        return cut

    def _with_a_lossy_line(self, trial: Trial, trouble: str) -> int:
        assert self.server is not None
        with LossyLine(self.server.folder) as line:
            setup = replace(trial.setup, where=line.through(trial.setup.where))

            def lose() -> int:
                for _ in range(10):
                    line.lose(Loss.REQUEST if trouble == LOST_REQUEST else Loss.REPLY)
                    time.sleep(0.02)
                return line.losses

            return trial.meanwhile(lose, setup=setup)

    def _on_a_full_disk(self, setup: Setup, folder: Path, rng: np.random.Generator) -> Outcome:
        """Put the ledger on a small file system, fill that, and make room again."""
        with small_disk(self.server) as disk:
            if disk is None:
                return Outcome(0, [], skipped=NOT_ALLOWED)
            if self.server is None:
                setup = replace(setup, where=str(disk / "ledger.sqlite"))
            trial = Trial(setup, folder, rng)
            if self.server is not None:
                self.server.move_ledger(setup.where, disk)

            def fill() -> int:
                with filled(disk):
                    # A page that is there takes some more rows: wait until a client has noticed.
                    until = time.monotonic() + 5
                    while not setup.bell.stat().st_size and time.monotonic() < until:
                        time.sleep(0.01)
                return int(setup.bell.stat().st_size > 0)

            times = trial.meanwhile(fill)
            outcome = Outcome(times, trial.faults())
            if self.server is not None:
                self.server.drop_ledger(setup.where)
            return outcome


@dataclass(frozen=True)
class Outcome:
    """How often the trouble came, and what was wrong afterwards."""

    times: int
    faults: list[str]
    skipped: str = ""


def run_trouble(
    stand: Stand, build: str, name: str, trouble: str, *, times: int, threads: int, seed: int
) -> dict[str, object]:
    """Run trials until the trouble has come so many times.

    ``noticed`` counts how often a client was told that the ledger could not be used.
    """
    rng = np.random.default_rng(seed)
    done, trials, noticed, faults, skipped = 0, 0, 0, [], ""
    started = time.perf_counter()
    while done < times and not skipped:
        with tempfile.TemporaryDirectory() as folder:
            setup = Setup(
                BUILDS[build, stand.store],
                stand.place(Path(folder)),
                MECHANISMS[name](FEW if trouble in POINTS else MANY),
                Path(folder) / "bell",
                threads,
            )
            setup.bell.touch()
            outcome = stand.run(setup, Path(folder), trouble, rng)
            noticed += setup.bell.stat().st_size
        done += outcome.times
        trials += 1
        faults += outcome.faults
        skipped = outcome.skipped
    found: dict[str, object] = {
        "store": stand.store,
        "build": build,
        "mechanism": name,
        "trouble": trouble,
        "threads": threads,
        "times": done,
        "trials": trials,
        "noticed": noticed,
        "faults": len(faults),
        "first_faults": faults[:3],
        "seconds": round(time.perf_counter() - started, 1),
    }
    return found | ({"skipped": skipped} if skipped else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="sqlite", choices=TROUBLES)
    parser.add_argument("--troubles", nargs="+", help="all of the store's, if not given")
    parser.add_argument("--mechanisms", nargs="+", default=["gaussian"], choices=MECHANISMS)
    parser.add_argument("--build", default="sound", choices=["sound", "replies-first"])
    parser.add_argument("--times", type=int, default=30, help="at least, for each trouble")
    parser.add_argument("--threads", type=int, default=1, help="that ask in each client")
    parser.add_argument("--seed", type=int, default=0, help="when to strike; never the noise")
    options = parser.parse_args()
    SecureNoise().gaussian(1000.0, 10)  # loads the sampler once, before the forks
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer()) if options.store == "postgres" else None
        stand = Stand(options.store, server)
        for name in options.mechanisms:
            for trouble in options.troubles or TROUBLES[options.store]:
                found = run_trouble(
                    stand,
                    options.build,
                    name,
                    trouble,
                    times=options.times,
                    threads=options.threads,
                    seed=options.seed,
                )
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
