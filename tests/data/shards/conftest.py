"""Records in a Parquet file, and shards made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.data.shards import ShardFolder, write_shards


@dataclass
class Sharder:
    """Shards files, with settings that can be changed."""

    place: Path
    key = b"sixteen or more bytes"
    features = ("a", "b", "c")

    def __call__(self, *sources: Path, out: str = "shards", **changed: Any) -> ShardFolder:
        settings = {"n_shards": 20, "identifier": "person", "label": "y", "key": self.key}
        return write_shards(sources, self.place / out, **settings | changed)

    def records(self, n: int = 3000, seed: int = 0) -> Any:
        """Return a data frame of records, about three to a person."""
        import pandas as pd

        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list(self.features))
        return frame.assign(y=rng.integers(2, size=n), person=rng.integers(n // 3, size=n))

    def contents(self, folder: ShardFolder) -> list[tuple[Any, ...]]:
        """Return everything in the shards."""
        return [
            (*(np.asarray(one).tolist() for one in folder.read(k)), folder.read_identifiers(k))
            for k in range(folder.n_shards)
        ]


@pytest.fixture
def sharded(tmp_path: Path) -> Sharder:
    return Sharder(tmp_path)


@pytest.fixture
def source(sharded: Sharder) -> Path:
    path = sharded.place / "records.parquet"
    sharded.records().to_parquet(path)
    return path
