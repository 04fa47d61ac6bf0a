"""Files to shards: the same shards as in memory, each record in one file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit._inputs import identifiers
from tacit.shards import open_shards, verify_shards, write_shards
from tacit.teachers import hash_split

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

KEY = b"sixteen or more bytes"
FEATURES = ["a", "b", "c"]


def records(n: int = 3000, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=FEATURES)
    return frame.assign(y=rng.integers(2, size=n), person=rng.integers(n // 3, size=n))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    records().to_parquet(tmp_path / "records.parquet")
    return tmp_path / "records.parquet"


def sharded(source: Path, **changed: Any) -> Any:
    settings = {"n_shards": 20, "identifier": "person", "label": "y", "key": KEY} | changed
    return write_shards([source], source.parent / "shards", **settings)


def test_shards_are_those_of_hash_split(source: Path) -> None:
    frame = records()
    shard_of = hash_split(identifiers(frame["person"], len(frame)) or [], 20, KEY)
    folder = sharded(source)
    assert (folder.n_shards, folder.feature_names, folder.label) == (20, FEATURES, "y")
    for number in range(20):
        X, y = folder.read(number)
        np.testing.assert_array_equal(X, frame.loc[shard_of == number, FEATURES])
        np.testing.assert_array_equal(y, frame.loc[shard_of == number, "y"])
    verify_shards(folder.path)


def test_only_the_owner_can_read_anything(source: Path) -> None:
    folder = sharded(source).path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


def test_nothing_shown_depends_on_the_records(source: Path) -> None:
    shown = repr(sharded(source))
    records(10, seed=1).to_parquet(source)
    assert repr(sharded(source, fresh=True)) == shown
    assert open_shards(source.parent / "shards").fingerprint == sharded(source).fingerprint
