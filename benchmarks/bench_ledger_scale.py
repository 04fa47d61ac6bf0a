"""Does a ledger slow down, or a process that uses it grow, as answers pile up?

Three ledgers of each kind hold a thousand, ten thousand and a hundred thousand answers. Every call
that a service makes is timed on all of them in turn, so that they share whatever else the machine
does; of two hundred times the first decile counts, which others disturbed least. Look at
``largest_over_smallest``: near 1 means flat. ``memory`` is that of the process while it asks a
hundred thousand questions, a hundred at a time; a ledger in memory keeps them, the others must not.

    python benchmarks/bench_ledger_scale.py
"""

from __future__ import annotations

import itertools
import json
import os
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
from tacit.ledger import Analyst, Ledger, PlanId, open_ledger

BUDGET = Budget(1.0, 1e-5)
SIZES = (1_000, 10_000, 100_000)
ROUNDS = 200
BATCH = 100
ALICE = Analyst("alice")


def page(number: int) -> list[bytes]:
    return [b"%d" % n for n in range(number * BATCH, (number + 1) * BATCH)]


def fill(ledger: Ledger, answers: int) -> tuple[PlanId, list[int]]:
    """Ask so many questions; return the plan and the memory used at ten moments."""
    plan = ledger.open_plan(plan_of(0.1, answers=10**9), "scale")
    seen = []
    pages = answers // BATCH
    for number in range(pages):
        ledger.answer(plan, page(number), CountingRelease(), on_behalf=ALICE)
        if number % max(1, pages // 10) == 0:
            seen.append(_resident())
    return plan, seen


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def calls(ledger: Ledger, plan: PlanId) -> dict[str, Callable[[], object]]:
    """Return what a service asks of a ledger, over and over."""
    numbers = itertools.count()
    release = CountingRelease()
    further = plan_of(0.1)

    def ask() -> object:
        return ledger.answer(plan, [b"new %d" % next(numbers)], release, on_behalf=ALICE)

    return {
        "answer": ask,
        "answer_again": lambda: ledger.answer(plan, [b"7"], release, on_behalf=ALICE),
        "recorded": lambda: ledger.recorded(plan, [b"7", b"never asked"]),
        "open_plan_again": lambda: ledger.open_plan(ledger.plan(plan), "scale"),
        "check_plan": lambda: ledger.check_plan(further),
        "usage": lambda: ledger.usage(plan),
        "spent": ledger.spent,
        "reserved": ledger.reserved,
        "remaining": ledger.remaining,
        "accounts": lambda: ledger.accounts(plan),
        "statement": ledger.statement,
    }


def measure(places: Callable[[int], str]) -> dict[str, object]:
    """Return microseconds per call at each size, and memory while filling the largest."""
    ledgers = {
        size: open_ledger(places(size), budget=BUDGET, allow_insecure=True) for size in SIZES
    }
    filled = {size: fill(ledger, size) for size, ledger in ledgers.items()}
    todo = {size: calls(ledgers[size], filled[size][0]) for size in SIZES}
    micros: dict[str, dict[str, float]] = {}
    for name in todo[SIZES[0]]:
        taken: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(ROUNDS):
            for size in SIZES:
                start = time.perf_counter()
                todo[size][name]()
                taken[size].append(time.perf_counter() - start)
        quiet = {size: 1e6 * statistics.quantiles(taken[size], n=10)[0] for size in SIZES}
        largest, smallest = quiet[SIZES[-1]], quiet[SIZES[0]]
        micros[name] = {str(size): round(value, 1) for size, value in quiet.items()}
        micros[name]["largest_over_smallest"] = round(largest / smallest, 2)
    for ledger in ledgers.values():
        ledger.close()
    memory = [round(value / 2**20, 1) for value in filled[SIZES[-1]][1]]
    return {"microseconds": micros, "memory_mib_while_asking_100000": memory}


def main() -> None:
    figures: dict[str, object] = {"sizes": SIZES, "rounds": ROUNDS}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        figures["sqlite"] = measure(lambda size: f"{folder}/{size}.sqlite")
        if programs():
            server = stack.enter_context(PostgresServer())
            figures["postgres"] = measure(lambda size: server.create_schema(f"size_{size}"))
        figures["memory"] = measure(lambda size: "memory:")
    write("bench_ledger_scale", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
