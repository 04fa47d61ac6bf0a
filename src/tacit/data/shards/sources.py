"""The files that records come from, read a batch at a time: Parquet and CSV.

What is public about them is that they are there, their format and the names of their columns.
No message holds anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.data.shards.storage import arrow
from tacit.data.tables import Format, ReadOptions
from tacit.data.tables.columns import csv_parts, names_in
from tacit.data.tables.files import opened
from tacit.errors import InvalidArgument

_READ_BUFFER = 1 << 20

Batch = dict[str, Any]
"""Arrow arrays of equal length, by the name of the column."""


@dataclass(frozen=True)
class SourceFile:
    """One file of private records."""

    path: Path
    reading: ReadOptions

    @property
    def format(self) -> Format:
        """What is in it."""
        return self.reading.format_of(self.path)

    def names(self) -> list[str]:
        """Return the names of the columns, which are public; their types are not."""
        if self.format is not Format.PARQUET:
            return names_in(self.path, self.reading, private=True)
        with self._parquet() as file:
            names = [str(name) for name in file.schema_arrow.names]
        if len(set(names)) < len(names):
            raise InvalidArgument(
                f"The file {str(self.path)!r} has several columns of the same name."
            )
        return names

    def state(self) -> list[int]:
        """Return values that change when the file changes."""
        with opened(self.path):
            status = self.path.stat()
        return [status.st_size, status.st_mtime_ns]

    def fraction(self, rows: int) -> float:
        """Return how much of the file so many rows are; 0 for CSV, whose length is not known."""
        if self.format is not Format.PARQUET:
            return 0.0
        return rows / max(self._n_rows, rows, 1)

    @cached_property
    def _n_rows(self) -> int:
        with self._parquet() as file:
            return int(file.metadata.num_rows)

    def batches(self, columns: Sequence[str], rows: int, skip: int) -> Iterator[Batch]:
        """Yield some columns, so many rows at a time, after leaving out the first ``skip`` rows."""
        if self.format is Format.PARQUET:
            yield from self._parquet_batches(columns, rows, skip)
            return
        for cells in csv_parts(self.path, columns, self.reading, private=True, rows=rows,
                               skip=skip):  # fmt: skip
            yield {name: _texts(cells[name]) for name in columns}

    def _parquet_batches(self, columns: Sequence[str], rows: int, skip: int) -> Iterator[Batch]:
        with self._parquet() as file:
            for group in range(file.num_row_groups):
                length = file.metadata.row_group(group).num_rows
                if skip >= length:
                    skip -= length
                    continue
                for batch in file.iter_batches(rows, row_groups=[group], columns=list(columns)):
                    if skip >= len(batch):
                        skip -= len(batch)
                        continue
                    remaining = batch.slice(skip)
                    skip = 0
                    yield {name: remaining.column(name) for name in columns}

    @contextmanager
    def _parquet(self) -> Iterator[Any]:
        pa = arrow()
        from pyarrow.parquet import ParquetFile

        with opened(self.path):
            pass
        try:
            # Buffered, not fetched ahead: a file may be one group of rows, larger than memory.
            with ParquetFile(self.path, buffer_size=_READ_BUFFER, pre_buffer=False) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(
                f"The file {str(self.path)!r} is not a Parquet file, or is damaged."
            ) from None


def source_files(paths_given: Iterable[Path], reading: ReadOptions) -> list[SourceFile]:
    """Return the files named, and those in folders named, in a fixed order."""
    paths: list[Path] = []
    for path in paths_given:
        if path.is_dir():
            inside = [
                file for file in path.iterdir() if file.name[0] not in "._" and file.is_file()
            ]
            if not inside:
                raise InvalidArgument(f"The folder {str(path)!r} holds no files.")
            paths += sorted(inside)
        else:
            with opened(path):
                paths.append(path)
    if not paths:
        raise InvalidArgument("`sources` must name at least one file, got none.")
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InvalidArgument(f"The file {str(path)!r} is given twice.")
        seen.add(path.resolve())
    files = [SourceFile(path, reading) for path in paths]
    for file in files:
        if file.format is Format.LIBSVM:
            raise InvalidArgument(
                f"Shards need named columns: {str(file.path)!r} is LIBSVM. Give CSV or Parquet."
            )
    return files


def _texts(cells: list[Any]) -> Any:
    pa = arrow()
    try:
        return pa.array(cells, type=pa.large_string())
    except UnicodeError:  # a lone half of a pair of characters can be in a text, and in no file
        whole = [one.encode("utf-8", "replace").decode("utf-8") for one in cells]
        return pa.array(whole, type=pa.large_string())
