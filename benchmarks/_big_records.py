"""Records by the million, written to Parquet a piece at a time, with the people they belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = 24
RECORDS_PER_PERSON = 4
ROWS_AT_ONCE = 250_000
FILES = 8

NAMES = [f"x{at:02d}" for at in range(FEATURES)]
ID, LABEL = "person", "ill"


def weights() -> np.ndarray:
    """Return the direction that labels follow."""
    return np.random.default_rng(1).normal(size=FEATURES)


def write_records(folder: Path, n_records: int, seed: int = 0) -> None:
    """Write ``n_records`` to Parquet files in a new folder: about 100 bytes each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    n_people = max(n_records // RECORDS_PER_PERSON, 1)
    per_file = -(-n_records // FILES)
    for number in range(FILES):
        left = min(per_file, n_records - number * per_file)
        schema = _piece(rng, 1, n_people).schema
        with pq.ParquetWriter(folder / f"records-{number}.parquet", schema,
                              use_dictionary=False) as writer:  # fmt: skip
            while left > 0:
                rows = min(left, ROWS_AT_ONCE)
                writer.write_table(_piece(rng, rows, n_people))
                left -= rows


def points(n_points: int, seed: int = 2) -> np.ndarray:
    """Return public points of the same law."""
    return np.random.default_rng(seed).normal(size=(n_points, FEATURES))


def _piece(rng: np.random.Generator, rows: int, n_people: int) -> pa.Table:
    X = rng.standard_normal(size=(FEATURES, rows), dtype=np.float32)
    score = weights().astype(np.float32) @ X + rng.logistic(size=rows).astype(np.float32)
    columns = {name: X[at] for at, name in enumerate(NAMES)}
    columns[LABEL] = (score > 0).astype(np.int8)
    columns[ID] = rng.integers(n_people, size=rows)
    return pa.table(columns)
