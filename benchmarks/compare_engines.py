"""One folder of records to few and to many shards, by four engines: time and peak memory of each.

Every engine is given the same shard numbers, from the same keyed hash. Needs polars and duckdb
besides the locked packages; one that is not installed is left out.

    python benchmarks/compare_engines.py [--records 1000000] [--shards 200 2000]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _big_records
import _peak_memory
import _record
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tacit.data.identifiers import identifier_bytes, keyed_shards
from tacit.data.shards import write_shards
from tacit.data.shards.storage import identifiers

KEY = b"a key for a benchmark"
ENGINES = {"tacit": "pyarrow", "dataset": "pyarrow", "duckdb": "duckdb", "polars": "polars"}


def shard_numbers(ids: pa.Array, n_shards: int) -> pa.Array:
    """Return the shard of each identifier."""
    codes, different, _ = identifiers(ids)
    return pa.array(keyed_shards(map(identifier_bytes, different), n_shards, KEY)[codes])


def batches(source: Path, n_shards: int) -> Iterator[pa.RecordBatch]:
    """Yield records with their shards."""
    for path in sorted(source.iterdir()):
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(65536):
            yield batch.append_column(
                "shard", shard_numbers(batch.column(_big_records.ID), n_shards)
            )


def reader(source: Path, n_shards: int) -> pa.RecordBatchReader:
    """Return the same as a stream."""
    schema = pq.read_schema(next(source.iterdir())).append(pa.field("shard", pa.int64()))
    return pa.RecordBatchReader.from_batches(schema, batches(source, n_shards))


def with_tacit(source: Path, target: Path, n_shards: int) -> None:
    """Two passes over sorted parts, as ``tacit shard`` does."""
    write_shards([source], target, n_shards=n_shards, identifier=_big_records.ID,
                 label=_big_records.LABEL, key=KEY)  # fmt: skip


def with_dataset(source: Path, target: Path, n_shards: int) -> None:
    """pyarrow's own writer of partitioned data sets."""
    ds.write_dataset(
        reader(source, n_shards), target, format="parquet", partitioning=["shard"],
        max_partitions=n_shards, max_open_files=n_shards + 10,
        min_rows_per_group=2000, max_rows_per_group=100_000, use_threads=False,
    )  # fmt: skip


def with_duckdb(source: Path, target: Path, n_shards: int) -> None:
    """DuckDB's partitioned COPY, told to stay under one gigabyte."""
    import duckdb

    connection = duckdb.connect()
    for line in ("SET memory_limit='1GB'", f"SET partitioned_write_max_open_files={n_shards}",
                 f"SET temp_directory='{target}.spill'"):  # fmt: skip
        connection.execute(line)
    stream = reader(source, n_shards)  # noqa: F841  DuckDB finds it by its name
    connection.execute(f"COPY (FROM stream) TO '{target}' (FORMAT parquet, PARTITION_BY (shard))")


def with_polars(source: Path, target: Path, n_shards: int) -> None:
    """Polars' streaming engine, with one file per shard as its sink."""
    import polars as pl

    def shards(ids: pl.Series) -> pl.Series:
        return pl.Series(shard_numbers(ids.to_arrow(), n_shards))

    number = pl.col(_big_records.ID).map_batches(shards, return_dtype=pl.Int64, is_elementwise=True)
    lazy = pl.scan_parquet(source / "*.parquet").with_columns(shard=number)
    lazy.sink_parquet(pl.PartitionBy(target, key="shard"), mkdir=True, engine="streaming")


def main() -> None:
    """Run each engine in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[200, 2_000])
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        engine, source, target, n_shards = asked.one
        globals()[f"with_{engine}"](Path(source), Path(target), int(n_shards))
        return
    rows = []
    with tempfile.TemporaryDirectory() as place:
        _big_records.write_records(Path(place) / "records", asked.records)
        for engine in ENGINES:
            for n_shards in asked.shards:
                rows.append({"shards": n_shards, **measured(engine, Path(place), n_shards)})
                print(rows[-1], flush=True)
    path = _record.write("compare_engines", {"records": asked.records, "engines": rows})
    print(f"written: {path.name}")


def measured(engine: str, place: Path, n_shards: int) -> dict[str, Any]:
    """Return what one engine took."""
    source, target = place / "records", place / "shards"
    command = [sys.executable, __file__, "--one", engine, str(source), str(target), str(n_shards)]
    try:
        version = importlib.metadata.version(ENGINES[engine])
        before = _peak_memory.cpu_seconds()
        seconds, peaks, _ = _peak_memory.run(command)
        return {
            "engine": engine,
            "version": version,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(_peak_memory.cpu_seconds() - before, 1),
            "peak_mib": max(peaks.values()),
            "files": sum(1 for _ in target.rglob("*.parquet")),
        }
    except (importlib.metadata.PackageNotFoundError, SystemExit) as error:
        return {"engine": engine, "failed": str(error).split(":")[0]}
    finally:
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(f"{target}.spill", ignore_errors=True)


if __name__ == "__main__":
    main()
