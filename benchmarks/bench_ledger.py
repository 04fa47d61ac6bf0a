"""How many answers a ledger records per second, one at a time and in batches.

Question: what does the ledger cost over the disk? Look at ``share_of_bare``: bare SQLite commits
one row of the same size with the same settings, so it is the most that one writer can reach here.
Both depend on how fast the disk confirms a write; the ratio does not.

    python benchmarks/bench_ledger.py
"""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _record import write

from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Ledger, MemoryLedger, SqliteLedger
from tacit.testing.ledger_contract import CountingRelease, plan_of

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


def _work(path: str, name: int) -> None:
    ledger = SqliteLedger(path, allow_insecure=True)
    plan = ledger.open_plan(plan_of(0.1, answers=10**9), "shared")
    for number in range(ONE_BY_ONE // PROCESSES):
        ledger.answer(plan, [b"%d %d" % (name, number)], CountingRelease())


def several_processes(path: Path) -> float:
    """Return answers per second of several processes on one file, together."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_work, args=(str(path), name)) for name in range(PROCESSES)]

    def run() -> None:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return ONE_BY_ONE / seconds(run)


def measure(folder: Path) -> dict[str, float]:
    sqlite = SqliteLedger(folder / "ledger.sqlite", budget=BUDGET, allow_insecure=True)
    figures = {
        "bare_sqlite_commits": bare(folder / "bare.sqlite"),
        "sqlite_one_by_one": one_by_one(sqlite),
        "sqlite_in_a_batch": in_a_batch(sqlite),
        "sqlite_four_processes": several_processes(sqlite.path),
        "memory_one_by_one": one_by_one(MemoryLedger(BUDGET)),
        "sqlite_verified_rows": (sqlite.head().seq + 1) / seconds(sqlite.verify),
    }
    sqlite.close()
    return figures


def main() -> None:
    runs = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measure(Path(folder)))
    medians = {name: round(statistics.median(run[name] for run in runs)) for name in runs[0]}
    ratios = [run["sqlite_one_by_one"] / run["bare_sqlite_commits"] for run in runs]
    figures = {
        "per_second": medians,
        "share_of_bare": round(statistics.median(ratios), 3),
        "repeats": REPEATS,
    }
    write("bench_ledger", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
