"""Columns at a time give what cells one by one give."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tacit.data import Column, Schema
from tacit.data.cells import numbers, text
from tacit.data.shards import storage
from tacit.data.shards.header import Sharding

pytestmark = pytest.mark.needs("pandas")

HOW = Sharding(1, "person", "y", Schema([Column("a"), Column("b", "category", ("7", "f"))]), "")
NUMERALS = st.text("0123456789+-.eEinfaxd_ \t,١", max_size=7)
CELLS = st.one_of(
    NUMERALS,
    st.floats().map(repr),
    st.sampled_from(["", "?", "NA", "nan", "1e400", "0x10", "7", "7.0", "f", " f"]),
    st.none(),
)


@settings(max_examples=200)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_a_cell_is_read_alike_whatever_stands_beside_it(cells: list[str | None]) -> None:
    import pyarrow as pa

    column = pa.array(cells, type=pa.string())
    _, _, ids = storage.identifiers(column)
    given_ = {"a": column, "b": column, "y": column, "person": column}
    batch = storage.stored(given_, HOW, ids, storage.storage_types(HOW))
    for at, cell in enumerate(cells):
        stored, read = batch.column("a")[at].as_py(), float(numbers([cell])[0])
        assert stored == read or (math.isnan(stored) and math.isnan(read))
        assert batch.column("b")[at].as_py() == (text(cell) if text(cell) in ("7", "f") else None)
        assert batch.column("y")[at].as_py() == (text(cell) or "")
        assert ids[at].as_py() == (text(cell) or "")


def test_a_date_that_stands_for_a_missing_one_is_missing_in_shards_too() -> None:
    import pyarrow as pa

    how = Sharding(1, "p", "y", Schema([Column("d", "date", missing=("9999-12-31",))]), "")
    column = pa.array(["9999-12-31", "2020-01-01", "2020-01-01 10:20:30 PM"])
    _, _, ids = storage.identifiers(column)
    batch = storage.stored(
        {"d": column, "y": column, "p": column}, how, ids, storage.storage_types(how)
    )
    assert [None if one is None else one.isoformat() for one in batch.column("d").to_pylist()] == [
        None, "2020-01-01T00:00:00", "2020-01-01T22:20:30",
    ]  # fmt: skip
