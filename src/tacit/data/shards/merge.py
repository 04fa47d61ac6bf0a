"""Second pass: from parts to one Parquet file per shard.

Shards are gathered in windows: as many neighbouring shards at a time as fit in memory, each read
from every part in turn. Memory depends on the size of a window, not on the number of shards or
parts; a shard larger than a window is a window of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.shards.files import new_file
from tacit.data.shards.folder import shard_name
from tacit.data.shards.parts import PartFile, Sizes, rows_of
from tacit.data.shards.storage import arrow

WINDOW_BYTES = 64 << 20
WRITERS = 4
"""More than cores: writers mostly wait for the disk."""


def write_merged(
    folder: Path,
    parts: Sequence[PartFile],
    n_shards: int,
    schema: Any,
    update: Callable[[float], None],
) -> None:
    """Write the shards that are missing. ``update`` is called with how many are there."""
    sizes = Sizes.of(schema)
    totals = np.zeros(n_shards, dtype=np.int64)
    for part in parts:
        totals += np.diff(part.starts())
    missing = [k for k in range(n_shards) if not (folder / shard_name(k)).exists()]
    n_written = n_shards - len(missing)
    update(n_written)
    with ThreadPoolExecutor(WRITERS) as pool:
        for first, last in _windows(missing, totals, WINDOW_BYTES // sizes.row_bytes):
            pieces = _gather(parts, first, last, sizes.piece)
            write = [
                pool.submit(_write, folder / shard_name(first + at), pieces[at], schema)
                for at in range(last - first)
            ]
            for one in write:
                one.result()
                n_written += 1
                update(n_written)


def _windows(
    missing: Sequence[int], totals: NDArray[np.int64], most_rows: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges of shards that are missing, each with few enough records."""
    first, rows = 0, 0
    for at, shard in enumerate(missing):
        gap = at > 0 and missing[at - 1] != shard - 1
        if at > first and (gap or rows + totals[shard] > most_rows):
            yield missing[first], missing[at - 1] + 1
            first, rows = at, 0
        rows += int(totals[shard])
    if missing:
        yield missing[first], missing[-1] + 1


def _gather(parts: Sequence[PartFile], first: int, last: int, piece: int) -> list[list[Any]]:
    """Return, for each shard of a window, its records from every part, in order."""
    shards: list[list[Any]] = [[] for _ in range(first, last)]
    for part in parts:
        edges = part.starts()[first : last + 1]
        at = int(edges[0])
        for batch in rows_of(part, at, int(edges[-1]), piece):
            _deal(batch, at, edges, shards)
            at += batch.num_rows
    return shards


def _deal(batch: Any, at: int, edges: NDArray[np.int64], shards: list[list[Any]]) -> None:
    """Cut a batch, which begins at row ``at`` of its part, where shards begin."""
    begin = int(np.searchsorted(edges, at, side="right")) - 1
    end = int(np.searchsorted(edges, at + batch.num_rows, side="left"))
    for shard in range(begin, end):
        start = max(int(edges[shard]) - at, 0)
        stop = min(int(edges[shard + 1]) - at, batch.num_rows)
        if stop > start:
            shards[shard].append(batch.slice(start, stop - start))


def _write(path: Path, batches: list[Any], schema: Any) -> None:
    pa = arrow()
    from pyarrow.parquet import write_table

    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    words = [one.name for one in schema if not pa.types.is_floating(one.type)]
    with new_file(path) as sink:
        # Numbers of many values gain nothing from a dictionary and cost time with one.
        write_table(table, sink, use_dictionary=words, compression="zstd", compression_level=1)
