"""Check many pairs: ``python -m tests.neighbours.run --pairs 20000 --fits 2000 --cli 200``.

Prints every pair that fails with the name that replays it alone (``--replay pair:241``), and adds
one line to a log.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("RUST_BACKTRACE", "0")  # polars panics over some cells, at length

from tests.neighbours.check import Name, Verdict, check

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "results" / "neighbours.jsonl"
PROCESSES = 5
"""Every so many-th run of the command line is in a process of its own."""
BATCH = 200
PACKAGES = ("numpy", "pandas", "polars", "pyarrow", "scikit-learn", "scipy")


def main(arguments: list[str] | None = None) -> int:
    """Run, print, log; return 1 when a pair failed."""
    asked = _asked(arguments)
    if asked.replay:
        return _replay(Name.read(one) for one in asked.replay)
    started, told = time.time(), _settings(asked)
    failed: list[Verdict] = []
    for stage, wanted in (("pair", asked.pairs), ("fit", asked.fits), ("cli", asked.cli)):
        begun = time.time()
        counts, containers, refusals = Counter[str](), Counter[str](), Counter[str]()
        for verdict in _checked(stage, wanted, asked.seed, asked.jobs, asked.path):
            counts[verdict.outcome] += 1
            containers[f"{verdict.container} {verdict.outcome}"] += 1
            if verdict.outcome == "refused":
                refusals[verdict.refusal] += 1
            if verdict.outcome == "failed":
                failed.append(verdict)
                _show(verdict, sys.stdout)
        done = sum(counts.values()) - counts["unbuilt"]
        spent = time.time() - begun
        told[stage] = {
            **counts, "seconds": round(spent, 1), "containers": dict(containers),
            "refusals": dict(refusals.most_common(20)),
        }  # fmt: skip
        print(f"{stage}: {done} checked in {spent:.0f} s: {dict(counts)}", flush=True)
    told["seconds"] = round(time.time() - started, 1)
    told["failed"] = len(failed)
    told["failures"] = [one.to_dict() for one in failed[: asked.keep]]
    if asked.log:
        asked.log.parent.mkdir(parents=True, exist_ok=True)
        with asked.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(told) + "\n")
    return 1 if failed else 0


def _asked(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.neighbours.run", description=__doc__)
    parser.add_argument("--pairs", type=int, default=0, help="through reader and teachers")
    parser.add_argument("--fits", type=int, default=0, help="complete fits")
    parser.add_argument("--cli", type=int, default=0, help="runs of tacit fit")
    parser.add_argument("--seed", type=int, default=0, help="of the first pair of each stage")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--path", help="one path only, of pairs and fits")
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--no-log", dest="log", action="store_const", const=None)
    parser.add_argument("--keep", type=int, default=100, help="failures written to the log")
    parser.add_argument("--replay", nargs="+", metavar="NAME", help="stage:seed or stage:seed:path")
    return parser.parse_args(arguments)


def _names(stage: str, first: int, path: str | None) -> Iterator[Name]:
    for seed in count(first):
        own = stage == "cli" and seed % PROCESSES == PROCESSES - 1
        yield Name("process" if own else stage, seed, None if stage == "cli" else path)


def _checked(stage: str, wanted: int, first: int, jobs: int, path: str | None) -> Iterator[Verdict]:
    """Yield verdicts in the order of seeds until so many pairs could be built."""
    if wanted <= 0:
        return
    names, built = _names(stage, first, path), 0
    with get_context("spawn").Pool(jobs, initializer=_alone) as pool:
        while built < wanted:
            batch = list(islice(names, min(wanted - built, BATCH)))
            for verdict in pool.imap(check, batch, chunksize=2):
                built += verdict.outcome != "unbuilt"
                yield verdict
        pool.close()
        pool.join()


def _alone() -> None:
    """Let a worker use one thread: there are as many workers as cores."""
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)


def _replay(names: Iterable[Name]) -> int:
    verdicts = [check(name) for name in names]
    for verdict in verdicts:
        _show(verdict, sys.stdout)
    return 1 if any(verdict.outcome == "failed" for verdict in verdicts) else 0


def _show(verdict: Verdict, out: Any) -> None:
    print(f"{verdict.name} {verdict.outcome} {json.dumps(verdict.description)}", file=out)
    for failure in verdict.failures:
        print(f"    {str(failure)[:600]}", file=out)
    out.flush()


def _settings(asked: argparse.Namespace) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _commit(),
        "python": sys.version.split()[0],
        "versions": {name: _version(name) for name in PACKAGES},
        "asked": {name: getattr(asked, name) for name in ("pairs", "fits", "cli", "seed", "path")},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    try:
        words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
