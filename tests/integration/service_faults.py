"""Break things while clients ask the running service, and look for an answer or a spend gone wrong.

A trial saves an oracle whose budget is one plan of a few answers, and serves it with the real
application under uvicorn, in a process of its own. Clients, also processes, ask over HTTP until the
plan is used up, write down every byte that they receive, and repeat their last requests in the
end. Meanwhile the service is killed at the point under test, or at random moments, and started
again. Or two of its workers lose their connections, their database or the room on their disk: then
they must say that they are not ready and what clients may do, in the documented form, and go on by
themselves when the trouble is over. Then the journals are compared with the ledger: no answer
without its record, no question with two answers, nothing beyond the plan or the budget, nobody
shown more than is recorded for them, and a chain that holds. The Gaussian vote has ten classes and
so much noise that two draws for one question differ nine times in ten.

Everything is loaded once and each service is forked, so a restart takes a tenth of a second. The
listening socket stays open in the parent: clients that call in between wait in its queue.

    python tests/integration/service_faults.py --times 30 --at-random 200     # all, on SQLite
    python tests/integration/service_faults.py --times 30 --at-random 200 --store postgres
    python tests/integration/service_faults.py --times 2 --databases 1 --together  # in seconds
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
from database_troubles import FULL_DISK, Database, Struck
from database_troubles import TROUBLES as DATABASE_TROUBLES
from journalled_client import ByteJournal, Client, Exchange
from ledger_faults import RepliesFirst, RepliesFirstToo
from processes import finished, start
from readiness import Readiness
from sklearn.linear_model import LogisticRegression
from small_disk import NOT_ALLOWED, small_disk
from tests.support import failpoints
from tests.support.journal import Received, find_faults
from tests.support.lossy import LossyLine
from tests.support.postgres import PostgresServer

from tacit import PrivateOracle, load_oracle, save_oracle
from tacit.errors import BudgetExceeded, LedgerUnavailable
from tacit.labeling import question_key
from tacit.ledger import Ledger, Tally
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.noise import SecureNoise
from tacit.service import logs
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.problems import MEDIA_TYPE, SPENT, UNAVAILABLE, problem_of
from tacit.service.serve import open_service, server_of
from tacit.service.settings import Settings
from tacit.service.state import Service

DELTA = 1e-3
FEW, MANY = 75, 300  # answers of a plan: of one that is used up by and by, or under load
TROUBLES_PER_TRIAL = 20  # at most: some plans are used up before
CLIENTS, ANALYSTS, WORKERS = 3, 2, 2
LIVES = 0.08  # seconds: a service that is killed at random has answered for up to so long

POINTS = (*failpoints.POINTS, *failpoints.REPLY_POINTS)
ANY_MOMENT = "any-moment"
KILLS = (*POINTS, ANY_MOMENT)
TROUBLES = {store: (*KILLS, *others) for store, others in DATABASE_TROUBLES.items()}
ALL = tuple(dict.fromkeys(itertools.chain(*TROUBLES.values())))


# ---- what is served ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A mechanism for so many answers, and the teachers it needs."""

    mechanism: Callable[[int], VoteMechanism]
    n_teachers: int

    def save(self, directory: Path, answers: int) -> None:
        """Train and save an oracle whose whole budget is the mechanism's plan."""
        mechanism = self.mechanism(answers)
        n_classes = mechanism.n_classes
        X = np.random.default_rng(1).normal(size=(400, 2))
        y = np.floor(n_classes * (np.argsort(np.argsort(X[:, 0])) / len(X))).astype(int)
        plan = mechanism.plan(DELTA, n_teachers=self.n_teachers)
        oracle = PrivateOracle(
            LogisticRegression(),
            epsilon=plan.guarantee.epsilon,
            delta=DELTA,
            classes=list(range(n_classes)),
            mechanism=mechanism,
            n_teachers=self.n_teachers,
            random_state=0,
        )
        save_oracle(oracle.fit(X, y), directory)


KINDS = {
    "gaussian": Kind(lambda n: GaussianVote(sigma=1000.0, n_classes=10, answers=n), 5),
    "sparse": Kind(lambda n: SparseVote(scale=1.0, threshold=30, cutoff=n // 3), 100),
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
    """How a service is opened, what troubles it and how often, and with which mechanisms.

    Without ``troubles`` it is all that there are for the store.
    """

    open: Callable[[Settings], Service]
    troubles: tuple[str, ...] = ()
    at_least: int = 1
    kinds: tuple[str, ...] = tuple(KINDS)


BUILDS = {
    "sound": Build(sound),
    # Only what has left can be missed, and only noisy answers differ when drawn again.
    "replies-first": Build(replies_first, (failpoints.REPLY_POINTS[1],), 6, ("gaussian",)),
}


# ---- processes ---------------------------------------------------------------------------------


class Bell:
    """Rung by services, heard by the parent."""

    def __init__(self) -> None:
        self._heard, self._rung = os.pipe()

    def ring(self) -> None:
        os.write(self._rung, b".")

    def rings(self) -> bool:
        """Wait for a moment; return whether it rings, or whoever held it has gone."""
        return bool(select.select([self._heard], [], [], 0.02)[0])

    def hand_over(self) -> None:
        """Leave the rope to the processes forked so far."""
        os.close(self._rung)

    def count(self) -> int:
        """Wait until it was rung again, or nobody is left to ring it; return how often."""
        return len(os.read(self._heard, 64))

    def close(self) -> None:
        os.close(self._heard)


class Trial:
    """One saved oracle, the services that answer from it one after the other, and their clients."""

    def __init__(self, build: str, place: Place, rng: np.random.Generator) -> None:
        self.settings = settings = place.settings
        self.rng, self._database = rng, place.database
        self.troubles, self.faults = Counter[str](), list[str]()
        self._open = BUILDS[build].open
        self._oracle = load_oracle(settings.directory, ledger=settings.ledger)
        access = Access(settings.access)
        self._keys = [access.create(f"analyst-{n}").text for n in range(ANALYSTS)]
        access.close()
        place.move()
        self.journals = [
            ByteJournal(place.folder / f"journal-{n}", f"analyst-{n % ANALYSTS}")
            for n in range(CLIENTS)
        ]
        self._line = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._readiness = Readiness(self._line.getsockname()[1])
        self._clients = set[int]()
        self._services = set[int]()

    def run(self, troubles: list[str]) -> None:
        """Let clients use the plan up, and trouble the service in these ways until they have."""
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
            if trouble and trouble not in KILLS:
                came = self._strike_database(trouble)
            elif trouble == ANY_MOMENT:
                came = self._strike_at_random()
            else:
                came = self._until_killed(trouble)
            self.troubles[trouble] += came
            self._check_instance(before)

    def _stop(self) -> None:
        """Leave no process behind, whatever went wrong here."""
        for child in self._clients | self._services:
            with contextlib.suppress(ChildProcessError):  # it was waited for already
                if not os.waitpid(child, os.WNOHANG)[0]:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)

    # -- clients and services

    def _ask(self, number: int, first: int) -> None:
        port = self._line.getsockname()[1]
        self._line.close()
        client = Client(port, self._keys[number % ANALYSTS], self.journals[number])
        client.ask_until_spent(first)
        client.ask_again()

    def _serve(
        self, point: str, action: Callable[[], None], skip: int, opened: Bell | None
    ) -> None:
        logs.set_up("error")
        armed = failpoints.at(point, action, skip=skip) if point else contextlib.nullcontext()
        with armed:
            app = create_app(self._open(self.settings))
            if opened is not None:
                opened.ring()
            server_of(app, self.settings).run(sockets=[self._line])

    def _start(
        self, point: str, action: Callable[[], None], skip: int = 0, opened: Bell | None = None
    ) -> int:
        service = start(partial(self._serve, point, action, skip, opened))
        self._services.add(service)
        return service

    def _end(self, signum: int) -> bool:
        """Send all services a signal; return whether they were killed by it."""
        for service in self._services:
            os.kill(service, signum)
        killed = [finished(service)[1] for service in self._services]
        self._services.clear()
        return all(killed)

    def _until_killed(self, point: str) -> bool:
        """Run one service; return whether it died at the point before the clients had finished."""
        service = self._start(point, failpoints.die, int(self.rng.integers(0, 3)))
        while True:
            child, killed = finished()
            if child == service:
                self._services.clear()
                return killed
            self._clients.discard(child)
            if not self._clients:
                self._end(signal.SIGTERM)
                return False

    def _until_replying(self, services: int) -> None:
        """Run services until some time after all are open and one has replied."""
        opened, replied = Bell(), Bell()
        for _ in range(services):
            self._start(failpoints.REPLY_POINTS[0], replied.ring, opened=opened)
        for bell in (opened, replied):
            bell.hand_over()
        while services > 0 and (heard := opened.count()):
            services -= heard
        while not replied.rings() and self._still_asking():
            pass
        for bell in (opened, replied):
            bell.close()
        time.sleep(self.rng.uniform(0, LIVES))

    def _strike_at_random(self) -> bool:
        """Run one service; return whether it was killed, some time after its first reply."""
        self._until_replying(1)
        under_load = self._still_asking()
        return self._end(signal.SIGKILL) and under_load

    def _strike_database(self, trouble: str) -> bool:
        """Run two workers through a trouble of their database; return whether it came under load.

        Nobody helps them: they must be ready again by themselves, and then end as they should.
        """
        self._until_replying(WORKERS)
        struck = Struck(self._database, self._readiness, self._still_asking, self.rng)
        came = struck.by(trouble)
        if not self._readiness.until_all_say(200):
            struck.faults.append(f"the service did not recover from {trouble}")
        self.faults += struck.faults
        self._end(signal.SIGTERM)
        return came

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
        faults += {fault for exchange in self._exchanges() if (fault := undocumented(exchange))}
        for analyst, names in shown.items():
            total = opened.ledger.recorded_for(opened.plan_id, analyst).total
            if total.answered + total.refused < len(names):
                faults.append(f"{analyst} was shown more than is recorded")
        oracle.close()
        return faults

    def _exchanges(self) -> Iterator[Exchange]:
        return itertools.chain(*(journal.exchanges() for journal in self.journals))

    def counts(self) -> Counter[str]:
        """Return how much there was to compare."""
        found: Counter[str] = Counter()
        names = set[bytes]()
        for exchange in self._exchanges():
            found["unavailable"] += exchange.status == UNAVAILABLE.status
            found["answers"] += len(exchange.answers())
            found["broken"] += not exchange.whole
            found["half_replies"] += bool(exchange.received) and not exchange.whole
            names |= {question_key(point) for point, _ in exchange.answers()}
        found["questions"] = len(names)
        return found


def undocumented(exchange: Exchange) -> str | None:
    """Return what is wrong with a reply that holds no answers, None if it is as documented."""
    if not exchange.whole or exchange.status == 200:
        return None
    expected = {
        SPENT.status: problem_of(BudgetExceeded()),
        UNAVAILABLE.status: problem_of(LedgerUnavailable()),
    }.get(exchange.status)
    if expected is None:
        return f"a reply with status {exchange.status}"
    # To the byte: then it holds nothing of the error that the database reported.
    if exchange.body != expected.response().body or any(
        f"\r\n{name}: {value}".lower().encode() not in exchange.head
        for name, value in {"Content-Type": MEDIA_TYPE, **expected.headers}.items()
    ):
        return f"a reply with status {exchange.status} that is not the documented one"
    return None


# ---- trials ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where one trial takes place: a saved oracle never served, and a folder for its clients."""

    settings: Settings
    folder: Path
    database: Database

    def move(self) -> None:
        """Bring the tables of the ledger, now that they are there, to the small disk."""
        server, disk = self.database.server, self.database.disk
        if server is not None and disk is not None and self.settings.ledger is not None:
            server.move_ledger(self.settings.ledger, disk)


class Stand:
    """Where trials take place: saved oracles, and a server behind a line if the store needs one."""

    def __init__(self, folder: Path, server: PostgresServer | None, line: LossyLine | None) -> None:
        self._folder, self._server, self._line = folder, server, line
        self.store = "sqlite" if server is None else "postgres"
        self._names = itertools.count()

    def has_small_disks(self) -> bool:
        """Return whether a small disk can be had here."""
        with small_disk(self._server) as disk:
            return disk is not None

    @contextlib.contextmanager
    def place(self, kind: str, answers: int = FEW, on_small_disk: bool = False) -> Iterator[Place]:
        """Give a place for one trial."""
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self._folder)))
            disk = stack.enter_context(small_disk(self._server)) if on_small_disk else None
            url = self._address(stack)
            beside = folder if disk is None or self._server is not None else disk
            directory = shutil.copytree(self._saved(kind, answers), beside / "oracle")
            settings = Settings(str(directory), url, rate=1e6, burst=10**6)
            yield Place(settings, folder, Database(self._server, self._line, disk))

    def _address(self, stack: contextlib.ExitStack) -> str | None:
        if self._server is None or self._line is None:
            return None
        url = self._server.create_schema(f"trial_{next(self._names)}")
        stack.callback(self._server.drop_ledger, url)
        return self._line.through(url)

    def _saved(self, kind: str, answers: int) -> Path:
        saved = self._folder / f"{kind}-{answers}"
        if not saved.exists():
            KINDS[kind].save(saved, answers)
        return saved

    def warm_up(self, kind: str) -> None:
        """Load here what every service would load by itself."""
        SecureNoise().gaussian(1000.0, 10)
        with self.place(kind) as place:
            service = open_service(place.settings)
            server_of(create_app(service), place.settings).config.load()
            service.oracle.close()
            service.access.close()


def run_troubles(
    stand: Stand, build: str, kind: str, times: Mapping[str, int], seed: int
) -> dict[str, object]:
    """Run trials until each of these troubles has come so many times, while clients asked."""
    rng = np.random.default_rng([seed, *map(ALL.index, times)])
    came, trials, faults, counts = Counter[str](), 0, list[str](), Counter[str]()
    started = time.perf_counter()
    while missing := list((Counter(times) - came).elements()):
        troubles = rng.permutation(missing)[:TROUBLES_PER_TRIAL].tolist()
        answers = FEW if set(troubles) <= set(KILLS) else MANY
        with stand.place(kind, answers, FULL_DISK in troubles) as place:
            trial = Trial(build, place, rng)
            trial.run(troubles)
            counts += trial.counts()
        came += trial.troubles
        trials += 1
        faults += trial.faults
    told = ("questions", "answers", "broken", "half_replies", "unavailable")
    return {
        "store": stand.store,
        "build": build,
        "mechanism": kind,
        "troubles": {trouble: came[trouble] for trouble in times},
        "trials": trials,
        **{name: counts[name] for name in told},
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
    parser.add_argument("--troubles", nargs="+", choices=ALL, help="all of the store's")
    parser.add_argument("--mechanisms", nargs="+", default=["gaussian"], choices=KINDS)
    parser.add_argument("--times", type=int, default=30, help="each trouble, at least")
    parser.add_argument("--at-random", type=int, help="kills at random moments, if not as many")
    parser.add_argument("--databases", type=int, help="troubles of databases, if not as many")
    parser.add_argument("--together", action="store_true", help="all troubles in the same trials")
    parser.add_argument("--seed", type=int, default=0, help="when to strike; never the noise")
    parser.add_argument("--log", type=Path, help="add the counts to this file, with the commit")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer()) if options.store == "postgres" else None
        line = stack.enter_context(LossyLine(server.folder)) if server is not None else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stand = Stand(folder, server, line)
        stand.warm_up(options.mechanisms[0])
        for build, kind in itertools.product(options.builds, options.mechanisms):
            planned = BUILDS[build]
            if kind not in planned.kinds:
                continue
            troubles = options.troubles or planned.troubles or TROUBLES[stand.store]
            if FULL_DISK in troubles and not stand.has_small_disks():
                print(f"no {FULL_DISK}: {NOT_ALLOWED}", file=sys.stderr)
                troubles = [trouble for trouble in troubles if trouble != FULL_DISK]
            times = dict.fromkeys(troubles, max(options.times, planned.at_least))
            for name in times:
                asked = options.at_random if name == ANY_MOMENT else options.databases
                if name not in POINTS and asked is not None:
                    times[name] = asked
            groups = [times] if options.together else [{name: n} for name, n in times.items()]
            for group in groups:
                found = run_troubles(stand, build, kind, group, options.seed)
                print(json.dumps(found), flush=True)
                if options.log is not None:
                    with open(options.log, "a", encoding="utf-8") as file:
                        file.write(json.dumps({**found, "commit": commit()}) + "\n")


if __name__ == "__main__":
    main()
