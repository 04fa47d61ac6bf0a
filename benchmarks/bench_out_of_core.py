"""Teachers on shards in files: overhead over a bare loop, and the peak of memory, at three sizes.

The bare loop reads the same files, fits the same learner and adds up the same votes, without tacit.
Overhead is the median over rounds that alternate between the two in one process, on one thread:
on a busy machine more threads get more of it. The large runs, with two workers, give throughput
and the peak of every process.

    python benchmarks/bench_out_of_core.py [--place FOLDER] [--only sizes|overhead] [--quick]

``--place`` is the folder of ``bench_sharding.py``; what is missing there is made.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _big_records
import _peak_memory
import _record
import bench_sharding
import numpy as np
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from tacit.data.shards import open_shards
from tacit.teachers import count_on_shards

QUESTIONS = 1000
ROUNDS = 15
SHARDS_PER_ROUND = 50
LIMIT = 1.15


def bare(path: Path, questions: np.ndarray) -> np.ndarray:
    """Return the votes of one teacher: read, fit, predict, and nothing else."""
    columns = [*_big_records.NAMES, _big_records.LABEL]
    table = pq.ParquetFile(path).read(columns=columns, use_threads=False)
    X = np.empty((table.num_rows, len(_big_records.NAMES)))
    for at, name in enumerate(_big_records.NAMES):
        X[:, at] = table.column(name).to_numpy()
    y = table.column(_big_records.LABEL).to_numpy()
    predicted = LogisticRegression().fit(X, y).predict(questions)
    return predicted[:, None] == np.arange(2)


class First:
    """The first shards of a folder, as the source of a run of their own."""

    def __init__(self, folder: Path, n_shards: int) -> None:
        self._opened = open_shards(folder)
        self.n_shards = min(n_shards, self._opened.n_shards)
        self.feature_names = self._opened.feature_names
        self.check, self.state = self._opened.check, self._opened.state
        self.read = self._opened.read


def with_loop(source: First, folder: Path, questions: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the votes of all teachers, from a bare loop."""
    paths = sorted(folder.glob("*.parquet"))[: source.n_shards]
    total = np.zeros((len(questions), 2), dtype=np.int64)
    if n_jobs == 1:
        for path in paths:
            total += bare(path, questions)
        return total
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for votes in parallel(delayed(bare)(path, questions) for path in paths):
        total += votes
    return total


def with_tacit(source: First, folder: Path, questions: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the votes of all teachers, from tacit."""
    counts = count_on_shards(LogisticRegression(), source, questions, classes=[0, 1],
                             seed=0, n_jobs=n_jobs, progress=False)  # fmt: skip
    return np.asarray(counts.private_array())


WAYS: dict[str, Callable[..., np.ndarray]] = {"loop": with_loop, "tacit": with_tacit}


def alternating(folder: Path, rounds: int) -> dict[str, Any]:
    """Return the ratio of tacit's time to the loop's, round by round."""
    questions = _big_records.points(QUESTIONS)
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    source = First(folder, SHARDS_PER_ROUND)
    for number in range(rounds + 1):
        for way in WAYS if number % 2 else reversed(WAYS):
            began = time.perf_counter(), time.process_time()
            WAYS[way](source, folder, questions, 1)
            spent = time.perf_counter() - began[0], time.process_time() - began[1]
            if number:  # the first round warms up
                taken[way].append(spent)
    pairs = list(zip(taken["tacit"], taken["loop"], strict=True))
    return {
        "rounds": rounds,
        "shards_per_round": source.n_shards,
        "ratio": round(statistics.median(mine[0] / bare[0] for mine, bare in pairs), 3),
        "cpu_ratio": round(statistics.median(mine[1] / bare[1] for mine, bare in pairs), 3),
        "ms_per_shard": round(
            1000 * statistics.median(mine[1] for mine, _ in pairs) / source.n_shards, 2
        ),
    }


def large(folder: Path, n_records: int) -> dict[str, Any]:
    """Run each way once, with two workers, and look at every process."""
    found: dict[str, Any] = {}
    votes = {}
    for way in WAYS:
        before = _peak_memory.cpu_seconds()
        command = [sys.executable, __file__, "--one", way, str(folder)]
        _, peaks, printed = _peak_memory.run(command)
        told = json.loads(printed)
        votes[way] = told["votes"]
        found[way] = {
            "seconds": told["seconds"],
            "cpu_seconds": round(_peak_memory.cpu_seconds() - before, 1),
            "records_per_second": round(n_records / told["seconds"]),
            "processes": len(peaks),
            "peak_mib": max(peaks.values()),
        }
    if votes["tacit"] != votes["loop"]:
        raise SystemExit("The two ways count different votes.")
    return found


def at_all_sizes(place: Path, sizes: list[tuple[int, int]]) -> dict[str, Any]:
    """Return throughput and memory at every size."""
    rows = []
    for n_records, n_shards in sizes:
        folder = _shards(place, n_records, n_shards)
        rows.append({"records": n_records, "shards": n_shards, **large(folder, n_records)})
        print(json.dumps(rows[-1]), flush=True)
    worst = max(row["tacit"]["peak_mib"] for row in rows)
    limit = bench_sharding.LIMIT_MIB
    return {"limit_mib": limit, "met": {"under 2 GiB": worst < limit}, "sizes": rows}


def overhead(place: Path, sizes: list[tuple[int, int]]) -> dict[str, Any]:
    """Return the overhead over a bare loop at the smallest size."""
    found = alternating(_shards(place, *sizes[0]), ROUNDS)
    print(json.dumps(found), flush=True)
    return {"limit": LIMIT, "met": {"at most 15%": found["ratio"] <= LIMIT}, **found}


def _shards(place: Path, n_records: int, n_shards: int) -> Path:
    folder = place / str(n_records)
    if not (folder / "shards").exists():
        bench_sharding.measured(folder, n_records, n_shards)
    return folder / "shards"


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", type=Path)
    parser.add_argument("--only", choices=["sizes", "overhead"])
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        began = time.perf_counter()
        folder, questions = Path(asked.one[1]), _big_records.points(QUESTIONS)
        source = First(folder, open_shards(folder).n_shards)
        votes = WAYS[asked.one[0]](source, folder, questions, 2)
        seconds = round(time.perf_counter() - began, 1)
        print(json.dumps({"seconds": seconds, "votes": votes.tolist()}))
        return
    sizes = bench_sharding.QUICK if asked.quick else bench_sharding.SIZES
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.place or Path(temporary)
        if asked.only != "overhead":
            found["bench_out_of_core"] = at_all_sizes(place, sizes)
        if asked.only != "sizes":
            found["bench_out_of_core_overhead"] = overhead(place, sizes)
    for name, figures in found.items():
        print(name, figures["met"])
        if not asked.quick:
            print(f"written: {_record.write(name, figures).name}")


if __name__ == "__main__":
    main()
