"""First pass: records, a part at a time, sorted by shard.

A part holds as many records as fit comfortably in memory, in one Arrow file sorted by shard, with
the order of the source files kept inside every shard. Beside it lies where each shard begins, and
how far the sources were read; this second file appears last and makes the part count. A run that
was stopped reads on from there.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.identifiers import identifier_bytes, keyed_shards
from tacit.data.shards.files import finished, new_file
from tacit.data.shards.header import Sharding
from tacit.data.shards.sources import Batch, SourceFile
from tacit.data.shards.storage import arrow, identifiers, stored

PART_BYTES = 64 << 20
BATCH_BYTES = 8 << 20
MOST_ROWS_PER_BATCH = 1 << 16
PIECE_BYTES = 256 << 10
"""A part is written in pieces, so that the second pass reads little more than it needs."""

ID_BYTES = 24
"""What the identifier, and a label, are taken to weigh; the rest follows from the columns."""


@dataclass(frozen=True)
class Sizes:
    """Rows read at once, held at once, and written at once. From the public columns alone."""

    batch: int
    part: int
    piece: int
    row_bytes: int

    @classmethod
    def of(cls, schema: Any) -> Sizes:
        """Return the sizes for records of these columns."""
        width = sum(_width(kind) for kind in schema.types)
        batch = max(1, min(MOST_ROWS_PER_BATCH, BATCH_BYTES // width))
        part = max(batch, PART_BYTES // width)
        return cls(batch, part, max(1, min(part, PIECE_BYTES // width)), width)


def _width(kind: Any) -> int:
    return ID_BYTES if arrow().types.is_large_string(kind) else kind.bit_width // 8


@dataclass(frozen=True)
class PartFile:
    """A part on disk. Private."""

    data: Path
    index: Path

    def starts(self) -> NDArray[np.int64]:
        """Return the row at which each shard begins, and the number of rows at the end."""
        return self._loaded()["starts"]

    def end(self) -> tuple[int, int]:
        """Return how far the sources were read: so many files, and rows of the next."""
        file, row = self._loaded()["end"].tolist()
        return file, row

    def _loaded(self) -> dict[str, NDArray[np.int64]]:
        with np.load(self.index, allow_pickle=False) as arrays:
            return dict(arrays)

    def __repr__(self) -> str:
        return "PartFile(<private>)"


class PartFolder:
    """All parts of a sharding. Private."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def part(self, number: int) -> PartFile:
        """Return a part by its number."""
        name = f"part-{number:06d}"
        return PartFile(self._folder / f"{name}.arrow", self._folder / f"{name}.npz")

    def written(self) -> list[PartFile]:
        """Return the parts that are complete."""
        complete: list[PartFile] = []
        while self.part(len(complete)).index.exists():
            complete.append(self.part(len(complete)))
        return complete


def write_parts(
    folder: PartFolder,
    sources: Sequence[SourceFile],
    sharding: Sharding,
    schema: Any,
    key: bytes,
    update: Callable[[float], None],
) -> list[PartFile]:
    """Write what is still missing of the parts, and return all of them.

    ``update`` is called with how many source files are done, with a fraction where it is known.
    """
    parts = folder.written()
    file, row = parts[-1].end() if parts else (0, 0)
    sizes = Sizes.of(schema)
    part = _Held(sharding, schema, key)
    update(file)
    while file < len(sources):
        for batch in sources[file].batches(schema.names, sizes.batch, row):
            row += part.add(batch)
            update(file + sources[file].fraction(row))
            if part.rows >= sizes.part:
                parts.append(part.write(folder.part(len(parts)), (file, row), sizes.piece))
        file, row = file + 1, 0
        update(file)
    if not parts or parts[-1].end() != (file, 0):
        # Also when nothing is left: the last part records that all sources were read.
        parts.append(part.write(folder.part(len(parts)), (file, 0), sizes.piece))
    return parts


class _Held:
    """Records in memory on their way to a part. Private."""

    def __init__(self, sharding: Sharding, schema: Any, key: bytes) -> None:
        self._sharding, self._schema, self._key = sharding, schema, key
        self._clear()

    def _clear(self) -> None:
        self._batches: list[Any] = []
        self._shards: list[NDArray[Any]] = []
        self.rows = 0

    def add(self, batch: Batch) -> int:
        """Take a batch in; return its number of rows."""
        codes, different, ids = identifiers(batch[self._sharding.identifier])
        names = [identifier_bytes(one) for one in different]
        shards = keyed_shards(names, self._sharding.n_shards, self._key)
        # Whole numbers of 16 bits are sorted several times faster.
        small = np.uint16 if self._sharding.n_shards <= 1 << 16 else np.uint32
        self._shards.append(shards.astype(small)[codes])
        self._batches.append(stored(batch, self._sharding, ids, self._schema))
        self.rows += len(codes)
        return len(codes)

    def write(self, part: PartFile, end: tuple[int, int], piece: int) -> PartFile:
        """Write everything held, sorted by shard, and forget it."""
        pa = arrow()
        shard_of = np.concatenate([np.empty(0, dtype=np.uint16), *self._shards])
        sizes = np.bincount(shard_of, minlength=self._sharding.n_shards)
        # In one piece: picking rows from many is several times slower.
        table = pa.Table.from_batches(self._batches, schema=self._schema).combine_chunks()
        self._clear()
        order = pa.array(np.argsort(shard_of, kind="stable"))
        with new_file(part.data) as sink, pa.ipc.new_file(sink, self._schema) as writer:
            for start in range(0, len(order), piece):
                rows = table.take(order.slice(start, piece)).combine_chunks()
                writer.write_table(rows)
        content = io.BytesIO()
        np.savez(content, starts=np.concatenate([[0], np.cumsum(sizes)]), end=np.array(end))
        finished(part.index, content.getvalue())
        return part

    def __repr__(self) -> str:
        return "_Held(<private>)"


def rows_of(part: PartFile, first: int, last: int, piece: int) -> Iterator[Any]:
    """Yield the records of a part between two rows, as Arrow record batches."""
    pa = arrow()
    if first == last:
        return
    with pa.OSFile(str(part.data)) as file, pa.ipc.open_file(file) as reader:
        for number in range(first // piece, (last - 1) // piece + 1):
            start = number * piece
            batch = reader.get_batch(number)
            begin = max(first - start, 0)
            yield batch.slice(begin, min(last - start, batch.num_rows) - begin)
