"""Corrections on shards in files: time of a round, the peak of memory, and the student.

Every size is fitted with the default, ``PATEClassifier()``, by two workers in processes of their
own. A bare pass reads the same files into the same arrays by two workers, and does nothing else; it
is measured before and after the fit, in the same run. Shards have 1,000 records unless
``--per-shard`` says otherwise, so time should grow with the records and memory not at all.

The student is compared with the one of the same shards in memory, with the same test noise: on
200,000 records in 200 shards, in this process, from processes of this machine, and from Dask and
Ray clusters that are started for it.

    python benchmarks/bench_corrections_on_shards.py [--place FOLDER] [--only sizes|student]
        [--records N,N,...] [--per-shard N] [--rounds N] [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import _big_records
import _peak_memory
import _record
import bench_sharding
import joblib
import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

from tacit import Corrections, PATEClassifier
from tacit.audit import SeededNoise
from tacit.data.shards import open_shards
from tacit.noise import NoiseSource

RECORDS = [200_000, 600_000, 2_000_000]
QUICK = [20_000, 60_000]
PER_SHARD = 1_000
STUDENT = (200_000, 200)
QUICK_STUDENT = (20_000, 20)
POOL = 1_000
TEST = 20_000
WORKERS = 2
LIMIT_MIB = 2048
SEED = 3


class Seeded(PATEClassifier):
    """With test noise that is the same in every fit."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(SEED)


class InMemory(Seeded):
    """Assigns people to shards with the key of a folder, ``hash_key``."""

    hash_key = b""

    def _resolve(self, *given: Any) -> Any:
        *public, _, assumptions = given
        settings, records = super()._resolve(*public, SeededNoise(SEED + 1), assumptions)
        assignment = replace(records.assignment, hash_key=self.hash_key)
        return settings, replace(records, assignment=assignment)


def classifier(kind: type[PATEClassifier], learner: Any = None, **how: Any) -> Any:
    """Return the default for folders of shards."""
    return kind(
        learner, epsilon=1.0, delta=1e-8, classes=["0", "1"], neighbouring="add-remove",
        random_state=SEED, verbose=False, **how,
    )  # fmt: skip


def bare(path: Path) -> int:
    """Read one shard into an array, and nothing else."""
    columns = [*_big_records.NAMES, _big_records.LABEL]
    table = pq.ParquetFile(path).read(columns=columns, use_threads=False)
    X = np.empty((table.num_rows, len(_big_records.NAMES)))
    for at, name in enumerate(_big_records.NAMES):
        X[:, at] = table.column(name).to_numpy()
    table.column(_big_records.LABEL).to_pylist()
    return len(X)


def bare_pass(folder: Path) -> float:
    """Return the seconds of one pass over all files by two workers."""
    paths = sorted(folder.glob("*.parquet"))
    began = time.perf_counter()
    parallel = joblib.Parallel(n_jobs=WORKERS, batch_size=8)
    parallel(joblib.delayed(bare)(path) for path in paths)
    return time.perf_counter() - began


def one_size(folder: Path, per_shard: int, rounds: int | str) -> dict[str, Any]:
    """Fit once, between two bare passes. Runs in a process of its own."""
    bare_pass(folder)  # starts the workers
    before = bare_pass(folder)
    began = time.perf_counter()
    method = Corrections(rounds, shard_size=per_shard)
    clf = classifier(Seeded, n_jobs=WORKERS, method=method)
    clf.fit(open_shards(folder), X_public=_big_records.points(POOL))
    seconds = time.perf_counter() - began
    test, labels = labelled()
    rounds = len(clf.released_.corrections)
    pass_seconds = (before + bare_pass(folder)) / 2
    return {
        "rounds": rounds,
        "seconds_a_round": round(seconds / rounds, 2),
        "seconds_of_a_bare_pass": round(pass_seconds, 2),
        "ratio": round(seconds / rounds / pass_seconds, 2),
        "accuracy": round(float((clf.predict(test) == labels).mean()), 4),
    }


def labelled() -> tuple[np.ndarray, np.ndarray]:
    """Return test points of the same law with labels."""
    X = _big_records.points(TEST, seed=9)
    score = X @ _big_records.weights() + np.random.default_rng(10).logistic(size=TEST)
    return X, np.where(score > 0, "1", "0")


def at_all_sizes(
    place: Path, sizes: list[int], per_shard: int, rounds: int | str
) -> dict[str, Any]:
    """Return time and memory at every size."""
    rows = []
    for n_records in sizes:
        folder = _shards(place, n_records, n_records // per_shard)
        before = _peak_memory.cpu_seconds()
        how = ["--one", str(folder), "--per-shard", str(per_shard), "--rounds", str(rounds)]
        _, peaks, printed = _peak_memory.run([sys.executable, __file__, *how])
        rows.append({
            "records": n_records,
            "shards": open_shards(folder).n_shards,
            **json.loads(printed),
            "cpu_seconds": round(_peak_memory.cpu_seconds() - before, 1),
            "processes": len(peaks),
            "peak_mib": max(peaks.values()),
        })  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    worst = max(row["peak_mib"] for row in rows)
    return {"limit_mib": LIMIT_MIB, "met": {"under 2 GiB": worst < LIMIT_MIB}, "sizes": rows}


# ---- the same student ----------------------------------------------------------------------------


@contextmanager
def dask() -> Iterator[None]:
    """Start a Dask cluster of this machine and use it."""
    from dask import distributed

    with (
        tempfile.TemporaryDirectory() as place,
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, local_directory=place
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        yield


@contextmanager
def ray() -> Iterator[None]:
    """Start a Ray cluster of this machine and use it."""
    import ray
    from ray.util.joblib import register_ray

    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as place:
        ray.init(
            num_cpus=WORKERS, include_dashboard=False, object_store_memory=100 * 2**20,
            log_to_driver=False, logging_level="ERROR", _temp_dir=place,
        )  # fmt: skip
        register_ray()
        try:
            with joblib.parallel_config("ray"):
                yield
        finally:
            ray.shutdown()


BACKENDS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "this process": nullcontext,
    "processes": lambda: joblib.parallel_config("loky", n_jobs=WORKERS),
    "Dask": dask,
    "Ray": ray,
}


def same_student(
    place: Path, n_records: int, n_shards: int, rounds: int | str
) -> list[dict[str, Any]]:
    """Compare the student with that of the same shards in memory."""
    folder, rows = _shards(place, n_records, n_shards), []
    pool, (test, labels) = _big_records.points(POOL), labelled()
    table = pq.read_table(folder.parent / "records")
    X = np.column_stack([table.column(name).to_numpy() for name in _big_records.NAMES])
    y, people = (table.column(name).to_numpy() for name in (_big_records.LABEL, _big_records.ID))
    shards = open_shards(folder)
    InMemory.hash_key = bytes.fromhex((folder / "key").read_text())
    for name, learner in (("built-in", None), ("LogisticRegression", LogisticRegression())):
        method = Corrections(rounds, shard_size=n_records // n_shards)
        how: dict[str, Any] = {"method": method}
        known = classifier(InMemory, learner, n_teachers=shards.n_shards, **how)
        known.fit(X, y, X_public=pool, groups=people)
        for backend, use in BACKENDS.items():
            began = time.perf_counter()
            with use():
                clf = classifier(Seeded, learner, **how).fit(shards, X_public=pool)
            seconds = time.perf_counter() - began
            ours, theirs = clf.released_.corrections, known.released_.corrections
            rows.append({
                "teachers": name,
                "backend": backend,
                "records": n_records,
                "released numbers": ours.size,
                "others than in memory": int((ours != theirs).sum()),
                "largest difference of a probability": float(
                    np.abs(clf.predict_proba(test) - known.predict_proba(test)).max()
                ),
                "accuracy": round(float((clf.predict(test) == labels).mean()), 4),
                "accuracy in memory": round(float((known.predict(test) == labels).mean()), 4),
                "seconds": round(seconds, 1),
            })  # fmt: skip
            print(json.dumps(rows[-1]), flush=True)
    return rows


def _shards(place: Path, n_records: int, n_shards: int) -> Path:
    folder = place / f"{n_records}-{n_shards}"
    if not (folder / "shards" / "shards.json").exists():
        bench_sharding.measured(folder, n_records, n_shards)
    return folder / "shards"


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", type=Path)
    parser.add_argument("--only", choices=["sizes", "student"])
    parser.add_argument("--records", help="sizes, with commas between them")
    parser.add_argument("--per-shard", type=int, default=PER_SHARD)
    parser.add_argument("--rounds", default="auto")
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    rounds = asked.rounds if asked.rounds == "auto" else int(asked.rounds)
    if asked.one:
        print(json.dumps(one_size(asked.one, asked.per_shard, rounds)))
        return
    sizes = QUICK if asked.quick else RECORDS
    if asked.records:
        sizes = [int(one) for one in asked.records.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.place or Path(temporary)
        figures: dict[str, dict[str, Any]] = {}
        if asked.only != "student":
            figures["bench_corrections_on_shards"] = at_all_sizes(
                place, sizes, asked.per_shard, rounds
            )
        if asked.only != "sizes":
            rows = same_student(place, *(QUICK_STUDENT if asked.quick else STUDENT), rounds)
            figures["bench_corrections_on_shards_student"] = {"students": rows}
        for name, found in figures.items():
            if not asked.quick:
                print(f"written: {_record.write(name, found).name}")


if __name__ == "__main__":
    main()
