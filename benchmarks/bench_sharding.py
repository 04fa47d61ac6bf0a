"""Sharding out of core: records per second, and the peak of memory, at three sizes.

The size of a shard stays the same, 10,000 records, so time should grow with the records and memory
not at all. Each size is run once, as ``tacit shard`` in a process of its own, and checked with
``tacit shard --verify``.

    python benchmarks/bench_sharding.py [--place FOLDER] [--quick]

About 5 GB of disk are needed; ``--place`` keeps the files for ``bench_out_of_core.py``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import _big_records
import _peak_memory
import _record

SIZES = [(2_000_000, 200), (6_000_000, 600), (20_000_000, 2_000)]
QUICK = [(20_000, 20), (60_000, 60)]
LIMIT_MIB = 2048


def main() -> None:
    """Run, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", type=Path, help="where files go, and stay")
    parser.add_argument("--quick", action="store_true", help="small sizes; write nothing")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        place = asked.place or Path(temporary)
        for n_records, n_shards in QUICK if asked.quick else SIZES:
            rows.append(measured(place / str(n_records), n_records, n_shards))
            print(json.dumps(rows[-1]), flush=True)
            if asked.place is None:
                shutil.rmtree(place / str(n_records))
    worst = max(one["peak_mib"] for row in rows for one in (row["sharding"], row["check"]))
    slowest, fastest = sorted(row["sharding"]["cpu_us_per_record"] for row in rows)[
        :: len(rows) - 1
    ]
    met = {"under 2 GiB": worst < LIMIT_MIB}
    print(f"worst peak {worst} MiB; cost per record within a factor {fastest / slowest:.2f}; {met}")
    if not asked.quick:
        path = _record.write("bench_sharding", {"limit_mib": LIMIT_MIB, "met": met, "sizes": rows})
        print(f"written: {path.name}")


def measured(place: Path, n_records: int, n_shards: int) -> dict[str, Any]:
    """Make records, shard them, check the shards."""
    source, shards = place / "records", place / "shards"
    if not source.exists():
        _big_records.write_records(source, n_records)
    shutil.rmtree(shards, ignore_errors=True)
    command = [sys.executable, "-m", "tacit", "shard"]
    write = [str(source), "--out", str(shards), "--shards", str(n_shards), "--quiet",
             "--id", _big_records.ID, "--label", _big_records.LABEL]  # fmt: skip
    return {
        "records": n_records,
        "shards": n_shards,
        "source_mib": round(sum(one.stat().st_size for one in source.iterdir()) / 2**20),
        "sharding": _timed([*command, *write], n_records),
        "check": _timed([*command, "--verify", str(shards), "--quiet"], n_records),
    }


def _timed(command: list[str], n_records: int) -> dict[str, Any]:
    before = _peak_memory.cpu_seconds()
    seconds, peaks, _ = _peak_memory.run(command)
    cpu = _peak_memory.cpu_seconds() - before
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "records_per_second": round(n_records / seconds),
        "cpu_us_per_record": round(cpu / n_records * 1e6, 2),
        "processes": len(peaks),
        "peak_mib": max(peaks.values()),
    }


if __name__ == "__main__":
    main()
