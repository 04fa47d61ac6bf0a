"""A check of shards on disk sees every way in which they can be wrong."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tacit.data.shards import verify_shards
from tacit.errors import DamagedFile, PersistenceError, SavedFormatError

KEY = b"sixteen or more bytes"

pytestmark = pytest.mark.needs("pandas")


@pytest.fixture
def folder(source: Path, sharded: Any) -> Path:
    path: Path = sharded(source).path
    assert verify_shards(path).n_shards == 20
    return path


def test_a_record_in_another_file_is_found(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stray = pq.read_table(folder / "000002.parquet").slice(0, 1)
    there = pq.read_table(folder / "000011.parquet")
    pq.write_table(pa.concat_tables([there, stray]), folder / "000011.parquet")
    with pytest.raises(DamagedFile, match="000011.parquet' holds a record of another shard"):
        verify_shards(folder)


def test_files_that_changed_places_are_found(folder: Path) -> None:
    shutil.copy(folder / "000001.parquet", folder / "000000.parquet")
    with pytest.raises(DamagedFile, match="000000.parquet' holds"):
        verify_shards(folder)


def test_missing_damaged_and_further_files_are_found(folder: Path) -> None:
    (folder / "000020.parquet").touch(mode=0o600)
    with pytest.raises(DamagedFile, match="000020.parquet' does not belong"):
        verify_shards(folder)
    (folder / "000020.parquet").unlink()
    cut = (folder / "000007.parquet").read_bytes()[:-9]
    (folder / "000007.parquet").write_bytes(cut)
    with pytest.raises(DamagedFile, match="000007.parquet' is damaged"):
        verify_shards(folder)
    (folder / "000007.parquet").unlink()
    with pytest.raises(DamagedFile, match="000007.parquet' is missing"):
        verify_shards(folder)


@pytest.mark.parametrize("key", [KEY[:-1] + b"?", b"short"])
def test_another_key_is_found(folder: Path, key: bytes) -> None:
    (folder / "key").write_text(key.hex())
    with pytest.raises(DamagedFile, match="key"):
        verify_shards(folder)
    (folder / "key").write_text("not hexadecimal")
    with pytest.raises(DamagedFile, match="key of these shards is damaged"):
        verify_shards(folder)


def test_other_formats_are_refused(folder: Path) -> None:
    header = folder / "shards.json"
    for content in (
        "{}",
        "[]",
        "no json",
        header.read_text().replace('version": 1', 'version": 9'),
    ):
        header.write_text(content)
        with pytest.raises(SavedFormatError):
            verify_shards(folder)
    header.unlink()
    with pytest.raises(PersistenceError, match="no finished shards"):
        verify_shards(folder)
    with pytest.raises(PersistenceError, match="no directory"):
        verify_shards(folder / "elsewhere")
