"""How many answers a ledger records per second, one at a time and in batches.

Question: what does the ledger cost over the disk? Look at ``share_of_bare``: a bare database
commits one row of the same size with the same settings, so it is the most that one writer can reach
here. Both depend on how fast the disk confirms a write; the ratio does not.

    python benchmarks/bench_ledger.py
"""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from _record import write

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.ledger_contract import CountingRelease, plan_of
from tests.support.postgres import PostgresServer, programs

from tacit.accounting.budget import Budget
from tacit.ledger import Ledger, MemoryLedger, SqliteLedger, open_ledger

BUDGET = Budget(1.0, 1e-5)
ONE_BY_ONE = 1000
BATCH = 10_000
PROCESSES = 4
REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(ledger: Ledger) -> float:
    """Return answers per second, each in a transaction of its own."""
    plan = ledger.open_plan(plan_of(0.1, answers=10**9), "one by one")
    release = CountingRelease()

    def ask() -> None:
        for number in range(ONE_BY_ONE):
            ledger.answer(plan, [b"%d" % number], release)

    return ONE_BY_ONE / seconds(ask)


def in_a_batch(ledger: Ledger) -> float:
    """Return answers per second when all are recorded in one transaction."""
    plan = ledger.open_plan(plan_of(0.1, answers=10**9), "batch")
    questions = [b"%d" % number for number in range(BATCH)]
    return BATCH / seconds(lambda: ledger.answer(plan, questions, CountingRelease()))


def bare(path: Path) -> float:
    """Return commits per second of SQLite alone, with the ledger's settings."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, body BLOB, hash BLOB)")

    def insert() -> None:
        for number in range(ONE_BY_ONE):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (?, ?, ?)", (number, bytes(54), bytes(32)))
            connection.execute("COMMIT")

    rate = ONE_BY_ONE / seconds(insert)
    connection.close()
    return rate


def bare_postgres(url: str) -> float:
    """Return commits per second of PostgreSQL alone, over the same driver."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE t (a bigint PRIMARY KEY, body bytea, hash bytea)")
        connection.commit()

        def insert() -> None:
            for number in range(ONE_BY_ONE):
                row = (number, bytes(78), bytes(32))
                connection.execute("INSERT INTO t VALUES (%s, %s, %s)", row)
                connection.commit()

        return ONE_BY_ONE / seconds(insert)


def _work(path: str, name: int) -> None:
    ledger = open_ledger(path, allow_insecure=True)
    plan = ledger.open_plan(plan_of(0.1, answers=10**9), "shared")
    for number in range(ONE_BY_ONE // PROCESSES):
        ledger.answer(plan, [b"%d %d" % (name, number)], CountingRelease())


def several_processes(where: str) -> float:
    """Return answers per second of several processes on one ledger, together."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_work, args=(where, name)) for name in range(PROCESSES)]

    def run() -> None:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return ONE_BY_ONE / seconds(run)


def measure_postgres(server: PostgresServer) -> dict[str, float]:
    url = server.create_schema(f"run_{time.monotonic_ns()}")
    ledger = open_ledger(url, budget=BUDGET, allow_insecure=True)
    figures = {
        "bare_postgres_commits": bare_postgres(url),
        "postgres_one_by_one": one_by_one(ledger),
        "postgres_in_a_batch": in_a_batch(ledger),
        "postgres_four_processes": several_processes(url),
        "postgres_verified_rows": (ledger.head().seq + 1) / seconds(ledger.verify),
    }
    ledger.close()
    return figures


def measure(folder: Path) -> dict[str, float]:
    sqlite = SqliteLedger(folder / "ledger.sqlite", budget=BUDGET, allow_insecure=True)
    figures = {
        "bare_sqlite_commits": bare(folder / "bare.sqlite"),
        "sqlite_one_by_one": one_by_one(sqlite),
        "sqlite_in_a_batch": in_a_batch(sqlite),
        "sqlite_four_processes": several_processes(str(sqlite.path)),
        "memory_one_by_one": one_by_one(MemoryLedger(BUDGET)),
        "sqlite_verified_rows": (sqlite.head().seq + 1) / seconds(sqlite.verify),
    }
    sqlite.close()
    return figures


def main() -> None:
    runs = []
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer()) if programs() else None
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measure(Path(folder)))
            if server is not None:
                runs[-1] |= measure_postgres(server)
    medians = {name: round(statistics.median(run[name] for run in runs)) for name in runs[0]}
    stores = [name for name in ("sqlite", "postgres") if f"{name}_one_by_one" in runs[0]]
    figures = {
        "per_second": medians,
        "share_of_bare": {name: _share(runs, name) for name in stores},
        "repeats": REPEATS,
    }
    write("bench_ledger", figures)
    print(json.dumps(figures, indent=2))


def _share(runs: list[dict[str, float]], store: str) -> float:
    ratios = [run[f"{store}_one_by_one"] / run[f"bare_{store}_commits"] for run in runs]
    return round(statistics.median(ratios), 3)


if __name__ == "__main__":
    main()
