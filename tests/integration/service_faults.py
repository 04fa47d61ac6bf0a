"""Kill the running service while clients ask, and look for an answer or a spend that went wrong.

A trial saves an oracle whose budget is one plan of a few answers, and serves it with the real
application under uvicorn, in a process of its own. Clients, also processes, ask over HTTP until the
plan is used up and write down every byte that they receive. Meanwhile the service is killed at the
point under test, or at random moments, and started again. Then the journals are compared with the
ledger: no answer without its record, no question with two answers, nothing beyond the plan or the
budget, nobody shown more than is recorded for them, and a chain that holds. The Gaussian vote has
ten classes and so much noise that two draws for one question differ nine times in ten.

Everything is loaded once and each service is forked, so a restart takes a tenth of a second. The
listening socket stays open in the parent: clients that call in between wait in its queue.

    python tests/integration/service_faults.py --times 30 --at-random 200     # all, on SQLite
    python tests/integration/service_faults.py --times 30 --at-random 200 --store postgres
    python tests/integration/service_faults.py --times 2 --together           # in a few seconds
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from journalled_client import ByteJournal, Client
from ledger_faults import RepliesFirst, RepliesFirstToo
from sklearn.linear_model import LogisticRegression

from tacit import PrivateOracle, load_oracle, save_oracle
from tacit.labeling import question_key
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.privacy.ledger import Ledger, Tally
from tacit.privacy.noise import SecureNoise
from tacit.service import logs
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.serve import open_service, server_of
from tacit.service.settings import Settings
from tacit.service.state import Service
from tacit.testing import failpoints
from tacit.testing.journal import Received, find_faults
from tacit.testing.postgres import PostgresServer

DELTA = 1e-3
ANSWERS = 75  # of a plan
KILLS_PER_TRIAL = 20  # at most: some plans are used up before
CLIENTS, ANALYSTS = 3, 2
LIVES = 0.08  # seconds: a service that is killed at random has answered for up to so long

POINTS = (*failpoints.POINTS, *failpoints.REPLY_POINTS)
ANY_MOMENT = "any-moment"
TROUBLES = (*POINTS, ANY_MOMENT)


# ---- what is served ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A mechanism and the teachers it needs."""

    mechanism: VoteMechanism
    n_teachers: int

    def save(self, directory: Path) -> None:
        """Train and save an oracle whose whole budget is the mechanism's plan."""
        n_classes = self.mechanism.n_classes
        X = np.random.default_rng(1).normal(size=(400, 2))
        y = np.floor(n_classes * (np.argsort(np.argsort(X[:, 0])) / len(X))).astype(int)
        plan = self.mechanism.plan(DELTA, n_teachers=self.n_teachers)
        oracle = PrivateOracle(
            LogisticRegression(),
            epsilon=plan.guarantee.epsilon,
            delta=DELTA,
            classes=list(range(n_classes)),
            mechanism=self.mechanism,
            n_teachers=self.n_teachers,
            random_state=0,
        )
        save_oracle(oracle.fit(X, y), directory)


KINDS = {
    "gaussian": Kind(GaussianVote(sigma=1000.0, n_classes=10, answers=ANSWERS), 5),
    "sparse": Kind(SparseVote(scale=1.0, threshold=30, cutoff=ANSWERS // 3), 100),
}


def sound(settings: Settings) -> Service:
    return open_service(settings)


class _TakesItsTime:
    """A commit that comes after the reply, while the next question waits for it."""

    def _settle(self) -> None:
        time.sleep(0.02)
        super()._settle()  # type: ignore[misc]


class SlowToCommit(_TakesItsTime, RepliesFirst):
    """A broken build over SQLite."""


class SlowToCommitToo(_TakesItsTime, RepliesFirstToo):
    """The same mistake over PostgreSQL."""


def replies_first(settings: Settings) -> Service:
    """A broken build: its ledger commits with the next call, when the reply has left."""
    ledger: Ledger = (
        SlowToCommit(Path(settings.directory) / "ledger.sqlite")
        if settings.ledger is None
        else SlowToCommitToo(settings.ledger)
    )
    return Service(
        load_oracle(settings.directory, ledger=ledger), Access(settings.access), settings
    )


@dataclass(frozen=True)
class Build:
    """How a service is opened, what troubles it and how often, and with which mechanisms."""

    open: Callable[[Settings], Service]
    troubles: tuple[str, ...] = TROUBLES
    at_least: int = 1
    kinds: tuple[str, ...] = tuple(KINDS)


BUILDS = {
    "sound": Build(sound),
    # Only what has left can be missed, and only noisy answers differ when drawn again.
    "replies-first": Build(replies_first, (failpoints.REPLY_POINTS[1],), 6, ("gaussian",)),
}


# ---- processes ---------------------------------------------------------------------------------


def start(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"a process failed: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return child


def finished(child: int = -1, *, wait: bool = True) -> tuple[int, bool]:
    """Return which process has ended, 0 if none has yet, and whether it was killed."""
    child, status = os.waitpid(child, 0 if wait else os.WNOHANG)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return child, True
    # The server passes the signal that stopped it on to itself, once it has ended cleanly.
    if status not in (0, signal.SIGTERM):
        raise RuntimeError("a process failed by itself")
    return child, False


class Bell:
    """Rung by a service at its first reply, heard by the parent."""

    def __init__(self) -> None:
        self._heard, self._rung = os.pipe()

    def ring(self) -> None:
        os.write(self._rung, b".")

    def rings(self) -> bool:
        """Wait for a moment; return whether it rings, or whoever held it has gone."""
        return bool(select.select([self._heard], [], [], 0.02)[0])

    def hand_over(self) -> None:
        """Leave the rope to the process forked last."""
        os.close(self._rung)

    def close(self) -> None:
        os.close(self._heard)


class Trial:
    """One saved oracle, the services that answer from it one after the other, and their clients."""

    def __init__(
        self, build: str, settings: Settings, folder: Path, rng: np.random.Generator
    ) -> None:
        self.settings, self.rng = settings, rng
        self.kills, self.faults = Counter[str](), list[str]()
        self._open = BUILDS[build].open
        self._oracle = load_oracle(settings.directory, ledger=settings.ledger)
        access = Access(settings.access)
        self._keys = [access.create(f"analyst-{n}").text for n in range(ANALYSTS)]
        access.close()
        self.journals = [
            ByteJournal(folder / f"journal-{n}", f"analyst-{n % ANALYSTS}") for n in range(CLIENTS)
        ]
        self._line = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._clients = set[int]()
        self._service: int | None = None

    def run(self, troubles: list[str]) -> None:
        """Let clients use the plan up, and kill the service in these ways until they have."""
        try:
            with self._line:
                self._clients = {
                    start(partial(self._ask, number, int(self.rng.integers(0, 4))))
                    for number in range(CLIENTS)
                }
                self._go_on(iter(troubles))
            self.faults += self._compare()
        finally:
            self._stop()
            self._oracle.close()

    def _go_on(self, troubles: Iterator[str]) -> None:
        while self._clients:
            before = self._readings()
            trouble = next(troubles, "")
            killed = (
                self._strike_at_random() if trouble == ANY_MOMENT else self._until_killed(trouble)
            )
            self.kills[trouble] += killed
            self._check_instance(before)

    def _stop(self) -> None:
        """Leave no process behind, whatever went wrong here."""
        for child in {*self._clients, self._service} - {None}:
            with contextlib.suppress(ChildProcessError):  # it was waited for already
                if not os.waitpid(child, os.WNOHANG)[0]:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)

    # -- clients and services

    def _ask(self, number: int, first: int) -> None:
        port = self._line.getsockname()[1]
        self._line.close()
        journal = self.journals[number]
        Client(port, self._keys[number % ANALYSTS], journal).ask_until_spent(first)

    def _serve(self, point: str, action: Callable[[], None], skip: int) -> None:
        logs.set_up("error")
        armed = failpoints.at(point, action, skip=skip) if point else contextlib.nullcontext()
        with armed:
            app = create_app(self._open(self.settings))
            server_of(app, self.settings).run(sockets=[self._line])

    def _until_killed(self, point: str) -> bool:
        """Run one service; return whether it died at the point before the clients had finished."""
        skip = int(self.rng.integers(0, 3))
        service = self._service = start(partial(self._serve, point, failpoints.die, skip))
        while True:
            child, killed = finished()
            if child == service:
                self._service = None
                return killed
            self._clients.discard(child)
            if not self._clients:
                os.kill(service, signal.SIGTERM)
                finished(service)
                self._service = None
                return False

    def _strike_at_random(self) -> bool:
        """Run one service; return whether it was killed, some time after its first reply."""
        bell = Bell()
        service = start(partial(self._serve, failpoints.REPLY_POINTS[0], bell.ring, 0))
        self._service = service
        bell.hand_over()
        while not bell.rings() and self._still_asking():
            pass
        time.sleep(self.rng.uniform(0, LIVES))
        under_load = self._still_asking()
        os.kill(service, signal.SIGKILL)
        bell.close()
        _, killed = finished(service)
        self._service = None
        return killed and under_load

    def _still_asking(self) -> bool:
        self._clients -= {child for child in self._clients if finished(child, wait=False)[0]}
        return bool(self._clients)

    # -- what is right

    def _readings(self) -> tuple[int, Tally] | None:
        """Return what a sparse vector has paid and answered so far."""
        opened = self._oracle.opened()
        if not isinstance(self._oracle.terms_.mechanism, SparseVote):
            return None
        # Takes the writers' lock: a commit that the dead service had sent is done by then.
        opened.ledger.open_plan(opened.plan, self._oracle.terms_.key)
        return sum(opened.ledger.usage(opened.plan_id).values()), opened.ledger.tally(
            opened.plan_id
        )

    def _check_instance(self, before: tuple[int, Tally] | None) -> None:
        """A service that gives new answers has paid for an instance of its own."""
        after = self._readings()
        if before is not None and after is not None:
            if after[1] != before[1] and after[0] == before[0]:
                self.faults.append("a service went on with another's threshold")

    def _compare(self) -> list[str]:
        oracle = load_oracle(self.settings.directory, ledger=self.settings.ledger)
        opened = oracle.opened()
        labels = oracle.classes_.tolist()
        received, shown = [], {journal.analyst: set[bytes]() for journal in self.journals}
        for journal in self.journals:
            for exchange in journal.exchanges():
                for point, label in exchange.answers():
                    name = question_key(point)
                    values = None if label is None else (labels.index(label),)
                    received.append(Received(name, values))
                    shown[journal.analyst].add(name)
        faults = find_faults(opened.ledger, opened.plan_id, received, used_up=True)
        for analyst, names in shown.items():
            total = opened.ledger.recorded_for(opened.plan_id, analyst).total
            if total.answered + total.refused < len(names):
                faults.append(f"{analyst} was shown more than is recorded")
        oracle.close()
        return faults

    def counts(self) -> Counter[str]:
        """Return how much there was to compare."""
        found: Counter[str] = Counter()
        names = set[bytes]()
        for exchange in itertools.chain(*(journal.exchanges() for journal in self.journals)):
            found["answers"] += len(exchange.answers())
            found["broken"] += not exchange.whole
            found["half_replies"] += bool(exchange.received) and not exchange.whole
            names |= {question_key(point) for point, _ in exchange.answers()}
        found["questions"] = len(names)
        return found


# ---- trials ------------------------------------------------------------------------------------


class Stand:
    """Where trials take place: saved oracles, and a server if the store needs one."""

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self._folder, self._server = folder, server
        self.store = "sqlite" if server is None else "postgres"
        self._names = itertools.count()

    @contextlib.contextmanager
    def place(self, kind: str) -> Iterator[tuple[Settings, Path]]:
        """Give settings of a service that never ran, and a folder for its clients."""
        saved = self._folder / kind
        if not saved.exists():
            KINDS[kind].save(saved)
        name = f"trial_{next(self._names)}"
        url = None if self._server is None else self._server.create_schema(name)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            directory = shutil.copytree(saved, Path(folder) / "oracle")
            yield Settings(str(directory), url, rate=1e6, burst=10**6), Path(folder)
        if self._server is not None:
            self._server.execute(f"DROP SCHEMA {name} CASCADE")

    def warm_up(self, kind: str) -> None:
        """Load here what every service would load by itself."""
        SecureNoise().gaussian(1000.0, 10)
        with self.place(kind) as (settings, _):
            service = open_service(settings)
            server_of(create_app(service), settings).config.load()
            service.oracle.close()
            service.access.close()


def run_troubles(
    stand: Stand, build: str, kind: str, times: Mapping[str, int], seed: int
) -> dict[str, object]:
    """Run trials until the service was killed so many times in each of these ways."""
    rng = np.random.default_rng([seed, *map(TROUBLES.index, times)])
    kills, trials, faults, counts = Counter[str](), 0, list[str](), Counter[str]()
    started = time.perf_counter()
    while missing := list((Counter(times) - kills).elements()):
        with stand.place(kind) as (settings, folder):
            trial = Trial(build, settings, folder, rng)
            trial.run(rng.permutation(missing)[:KILLS_PER_TRIAL].tolist())
            counts += trial.counts()
        kills += trial.kills
        trials += 1
        faults += trial.faults
    return {
        "store": stand.store,
        "build": build,
        "mechanism": kind,
        "kills": {trouble: kills[trouble] for trouble in times},
        "trials": trials,
        **{name: counts[name] for name in ("questions", "answers", "broken", "half_replies")},
        "faults": len(faults),
        "first_faults": faults[:3],
        "seed": seed,
        "seconds": round(time.perf_counter() - started, 1),
    }


def commit() -> str:
    """Return the commit of this checkout, with a mark if it was changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True
        )
        return done.stdout.strip()

    return git("rev-parse", "HEAD") + (" and changes" if git("status", "-s", "-uno") else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", default="sqlite", choices=["sqlite", "postgres"])
    parser.add_argument("--builds", nargs="+", default=list(BUILDS), choices=BUILDS)
    parser.add_argument("--troubles", nargs="+", choices=TROUBLES, help="all, if not given")
    parser.add_argument("--mechanisms", nargs="+", default=["gaussian"], choices=KINDS)
    parser.add_argument("--times", type=int, default=30, help="kills at each point")
    parser.add_argument("--at-random", type=int, help="kills at random moments, if not as many")
    parser.add_argument("--together", action="store_true", help="all troubles in the same trials")
    parser.add_argument("--seed", type=int, default=0, help="when to strike; never the noise")
    parser.add_argument("--log", type=Path, help="add the counts to this file, with the commit")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer()) if options.store == "postgres" else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stand = Stand(folder, server)
        stand.warm_up(options.mechanisms[0])
        for build, kind in itertools.product(options.builds, options.mechanisms):
            planned = BUILDS[build]
            if kind not in planned.kinds:
                continue
            times = dict.fromkeys(
                options.troubles or planned.troubles, max(options.times, planned.at_least)
            )
            if ANY_MOMENT in times and options.at_random is not None:
                times[ANY_MOMENT] = options.at_random
            groups = [times] if options.together else [{name: n} for name, n in times.items()]
            for group in groups:
                found = run_troubles(stand, build, kind, group, options.seed)
                print(json.dumps(found), flush=True)
                if options.log is not None:
                    with open(options.log, "a", encoding="utf-8") as file:
                        file.write(json.dumps({**found, "commit": commit()}) + "\n")


if __name__ == "__main__":
    main()
