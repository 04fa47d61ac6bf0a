"""How fast an oracle answers, in process and over HTTP, against what the disk and HTTP allow.

Questions: what do votes, noise and bookkeeping cost over a bare durable commit? What does an answer
cost over an HTTP request that does nothing? Does memory grow? Rates depend on the disk and on who
else uses the machine; look at the ratios, which are medians over short alternating blocks of one
run. ``whole_run`` has the ratios of the run as a whole, with what happens in few blocks. Points are
made before the clock starts. Each block is timed by the processor too: ``cpu_us`` is what this
process itself works on a bare commit, a single answer and an answer in a batch, whatever it waits
for. ``load_average`` says how busy the machine was: above its number of cores, somebody else was
measured as well.

A bare commit adds one row, of the size of an answer's, to a table that has a primary key and no
other index, with the settings of the ledger; nothing is read. The request that does nothing is
``GET /healthz``: no key and no database, but limits, headers, log, metrics and the framework, as
for other routes.

    python benchmarks/bench_oracle_load.py [--postgres] [--questions 100000] [--name ...]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _record import write
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.postgres import PostgresServer

from tacit import PrivateOracle, load_oracle, save_oracle
from tacit.service.access import Access
from tacit.service.settings import Settings

BLOCKS = 15
HTTP_BLOCKS = 5
SINGLE = 150
BATCH = 100
CLIENTS = 8
REQUESTS = 1600


def trained(folder: Path, **settings: Any) -> PrivateOracle:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    return PrivateOracle(
        LogisticRegression(), epsilon=4.0, delta=1e-6, classes=[0, 1], n_teachers=1000,
        random_state=0, **settings,
    ).fit(X, y)  # fmt: skip


def clear_points() -> Iterator[np.ndarray]:
    """Yield points that no teacher doubts, none twice."""
    rng = np.random.default_rng(1)
    while True:
        yield rng.normal(size=10) + np.r_[8.0, 8.0, np.zeros(8)]


def tables(points: Iterator[np.ndarray], size: int, number: int) -> list[np.ndarray]:
    return [np.array([next(points) for _ in range(size)]) for _ in range(number)]


def seconds(prepare: Callable[[], Any], work: Callable[[Any], int]) -> tuple[float, float]:
    """Return what one item of some work takes: by the clock, and of the processor."""
    given = prepare()
    start, used = time.perf_counter(), time.process_time()
    done = work(given)
    return (time.perf_counter() - start) / done, (time.process_time() - used) / done


# ---- in process ---------------------------------------------------------------------------------


def bare_sqlite(path: Path) -> Callable[[None], int]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, body BLOB, hash BLOB)")

    def commits(_: None) -> int:
        for _ in range(SINGLE):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (NULL, ?, ?)", (bytes(78), bytes(32)))
            connection.execute("COMMIT")
        return SINGLE

    return commits


def bare_postgres(url: str) -> Callable[[None], int]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (a SERIAL PRIMARY KEY, body BYTEA, hash BYTEA)")

    def commits(_: None) -> int:
        for _ in range(SINGLE):
            with connection.transaction():
                connection.execute(
                    "INSERT INTO bare (body, hash) VALUES (%s, %s)", (bytes(78), bytes(32))
                )
        return SINGLE

    return commits


def in_process(oracle: PrivateOracle, bare: Callable[[None], int]) -> dict[str, Any]:
    points = clear_points()

    def single(questions: list[np.ndarray]) -> int:
        for point in questions:
            oracle.ask(point)
        return SINGLE

    def batches(questions: list[np.ndarray]) -> int:
        for batch in questions:
            oracle.ask(batch)
        return 10 * BATCH

    kinds = {
        "bare": (lambda: None, bare),
        "single": (lambda: tables(points, 1, SINGLE), single),
        "batch": (lambda: tables(points, BATCH, 10), batches),
    }
    for prepare, work in kinds.values():  # warm
        work(prepare())
    runs = [{name: seconds(*kind) for name, kind in kinds.items()} for _ in range(BLOCKS)]
    rates = [{name: 1 / found[0] for name, found in run.items()} for run in runs]
    # Blocks are of one size each: the whole run, also what happens in few of them.
    whole = {name: 1 / statistics.fmean(run[name][0] for run in runs) for name in kinds}
    return {
        "per_second": {name: round(statistics.median(r[name] for r in rates)) for name in kinds},
        "cpu_us": {
            name: round(1e6 * statistics.median(run[name][1] for run in runs), 1) for name in kinds
        },
        "single_over_bare": _median(rates, "single", "bare"),
        "batch_over_single": _median(rates, "batch", "single"),
        "whole_run": {
            "per_second": {name: round(rate) for name, rate in whole.items()},
            "single_over_bare": round(whole["single"] / whole["bare"], 3),
            "batch_over_single": round(whole["batch"] / whole["single"], 3),
        },
        "single_ms": percentiles([_waited(oracle, one) for one in tables(points, 1, 10 * SINGLE)]),
    }


def _waited(oracle: PrivateOracle, question: np.ndarray) -> float:
    start = time.perf_counter()
    oracle.ask(question)
    return time.perf_counter() - start


def percentiles(waits: list[float]) -> dict[str, float]:
    return {f"p{q}": round(1000 * float(np.percentile(waits, q)), 2) for q in (50, 99)}


def _median(runs: list[dict[str, float]], above: str, below: str) -> float:
    return round(statistics.median(run[above] / run[below] for run in runs), 3)


def memory(oracle: PrivateOracle, questions: int) -> dict[str, Any]:
    """Return resident memory as questions add up."""
    points, seen = clear_points(), {}
    for asked in range(0, questions, 1000):
        oracle.ask(np.array([next(points) for _ in range(1000)]))
        if (asked + 1000) * 5 % questions == 0:
            seen[asked + 1000] = round(_resident() / 2**20, 1)
    return {"questions": questions, "resident_mib": seen}


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- over HTTP ----------------------------------------------------------------------------------


@contextmanager
def served(folder: Path, ledger: str | None) -> Iterator[int]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    command = [sys.executable, "-m", "tacit", "serve", str(folder), "--port", str(port)]
    environment = {**os.environ, **({"TACIT_LEDGER_URL": ledger} if ledger else {})}
    process = subprocess.Popen(
        [*command, "--rate", "1e6"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=environment,
    )  # fmt: skip
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


async def _client(port: int, requests: list[bytes], times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        start = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head[:20]:
            raise RuntimeError(head.decode())
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()


def _load(port: int, requests: list[list[bytes]], answer: Any) -> None:
    """Run all connections in a process of their own, so that the service has a core to itself."""
    times: list[float] = []

    async def run() -> None:
        await asyncio.gather(*(_client(port, mine, times) for mine in requests))

    start = time.perf_counter()
    asyncio.run(run())
    answer.send((len(times) / (time.perf_counter() - start), times))


def load(port: int, requests: list[bytes]) -> tuple[float, list[float]]:
    here, there = multiprocessing.Pipe()
    shares = [requests[number::CLIENTS] for number in range(CLIENTS)]
    process = multiprocessing.get_context("spawn").Process(target=_load, args=(port, shares, there))
    process.start()
    found: tuple[float, list[float]] = here.recv()
    process.join()
    return found


def over_http(folder: Path, ledger: str | None, key: str) -> dict[str, Any]:
    points = clear_points()
    nothing = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def ask() -> bytes:
        body = json.dumps({"point": next(points).round(6).tolist()}).encode()
        return (
            b"POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )

    runs, waits = [], {"no_op": [], "answer": []}
    with served(folder, ledger) as port:
        load(port, [nothing] * 200), load(port, [ask() for _ in range(200)])
        for _ in range(HTTP_BLOCKS):
            quiet, quiet_waits = load(port, [nothing] * REQUESTS)
            answered, waited = load(port, [ask() for _ in range(REQUESTS)])
            runs.append({"no_op": quiet, "answer": answered})
            waits["no_op"] += quiet_waits
            waits["answer"] += waited
    return {
        "connections": CLIENTS,
        "per_second": {name: round(statistics.median(r[name] for r in runs)) for name in runs[0]},
        "answer_over_no_op": _median(runs, "answer", "no_op"),
        "ms": {name: percentiles(found) for name, found in waits.items()},
    }


# ---- all ----------------------------------------------------------------------------------------


def measure(folder: Path, ledger: str | None, bare: Callable[[None], int], questions: int) -> Any:
    saved = folder / "oracle"
    save_oracle(trained(folder), saved)
    oracle = load_oracle(saved, ledger=ledger)
    figures = {"in_process": in_process(oracle, bare), "memory": memory(oracle, questions)}
    oracle.close()
    access = Access(Settings(str(saved), ledger).access)
    key = access.create("load").text
    access.close()
    return {**figures, "http": over_http(saved, ledger, key)}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--postgres", action="store_true", help="measure PostgreSQL too")
    arguments.add_argument("--questions", type=int, default=100_000)
    arguments.add_argument("--name", default="bench_oracle_load", help="of the file in results/")
    given = arguments.parse_args()
    figures: dict[str, Any] = {"load_average": {"before": round(os.getloadavg()[0], 1)}}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "sqlite").mkdir()
        bare = bare_sqlite(folder / "bare.sqlite")
        figures["sqlite"] = measure(folder / "sqlite", None, bare, given.questions)
        if given.postgres:
            url = stack.enter_context(PostgresServer()).url()
            (folder / "postgres").mkdir()
            figures["postgres"] = measure(
                folder / "postgres", url, bare_postgres(url), given.questions
            )
    figures["load_average"]["after"] = round(os.getloadavg()[0], 1)
    write(given.name, figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
