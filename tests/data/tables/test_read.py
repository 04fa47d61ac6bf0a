"""Files to tables: schemas come from the pool, and nothing in a private row is ever raised."""

from __future__ import annotations

import bz2
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tacit.data import Column, Schema
from tacit.data.tables import (
    ReadOptions,
    files,
    read_points,
    read_pool,
    read_private,
)
from tacit.errors import InvalidArgument

pytestmark = pytest.mark.needs("pandas")

POOL = "age,sex,ill\n39,f,no\n50,m,yes\n?,f,\n"


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    pool = read_pool(put(tmp_path / "pool.csv", POOL), ReadOptions(), label="ill")
    return pool.schema


def test_the_pool_decides_what_columns_hold(tmp_path: Path) -> None:
    pool = read_pool(put(tmp_path / "pool.csv", POOL), ReadOptions(), label="ill")
    assert pool.schema == Schema((Column("age"), Column("sex", "category", ("f", "m"))))
    assert pool.labels == ["no", "yes", None]
    assert pool.points["age"].tolist()[:2] == [39.0, 50.0] and np.isnan(pool.points["age"][2])


def test_columns_can_be_left_out_or_declared_names(tmp_path: Path) -> None:
    path = put(tmp_path / "pool.csv", POOL)
    found = read_pool(
        path, ReadOptions(), label="ill", leave_out=["sex"], categories=["age"]
    ).schema
    assert found == Schema((Column("age", "category", ("39", "50")),))
    with pytest.raises(InvalidArgument, match="no column 'size'"):
        read_pool(path, ReadOptions(), categories=["size"])


def test_a_column_of_names_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = put(tmp_path / "p.csv", "who,x\n" + "".join(f"person {k},1\n" for k in range(300)))
    with pytest.raises(InvalidArgument, match="--drop who"):
        read_pool(path, ReadOptions())
    assert read_pool(path, ReadOptions(), leave_out=["who"]).points.shape == (300, 1)
    (column,) = read_pool(path, ReadOptions(), leave_out=["x"], categories=["who"]).schema.columns
    assert len(column.categories) == 200


def test_private_columns_are_matched_by_name(tmp_path: Path, schema: Schema) -> None:
    path = put(tmp_path / "x.csv", "id,ill,sex,age\n7,yes,m,41\n8,no,f,30\n")
    table = read_private(path, schema, ReadOptions(), label="ill", group="id")
    assert list(table.X.columns) == ["age", "sex"] and table.X["age"].tolist() == [41.0, 30.0]
    assert (table.y, table.groups) == (["yes", "no"], ["7", "8"])
    assert repr(table) == "PrivateTable(<private>)"


def test_odd_private_rows_are_records_with_missing_cells(tmp_path: Path, schema: Schema) -> None:
    body = b"age,sex,ill\n1,f,no\n2\n3,m,yes,extra\nx,y,maybe\n\xff,\xfe,\xff\n,,\n1e400,m,no\n"
    table = read_private(put(tmp_path / "x.csv", body), schema, ReadOptions(), label="ill")
    assert len(table.X) == len(table.y) == 7
    assert table.X["age"].notna().tolist() == [True, True, True, False, False, False, False]
    assert table.X["sex"].astype(object).fillna("").tolist() == ["f", "", "m", "", "", "", "m"]


def test_a_stray_quote_does_not_swallow_the_file(tmp_path: Path, schema: Schema) -> None:
    rows = "".join(f"{k},f,no\n" for k in range(40_000))
    path = put(tmp_path / "x.csv", f'age,sex,ill\n1,"f,no\n{rows}')
    table = read_private(path, schema, ReadOptions(), label="ill")
    assert table.y == ["", *["no"] * 40_000]
    assert table.X["age"].tolist() == [1, *range(40_000)]


@given(body=st.binary(max_size=200))
def test_no_content_of_a_private_file_is_raised(
    tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    schema = Schema((Column("age"), Column("sex", "category", ("f", "m"))))
    folder = tmp_path_factory.mktemp("private")
    path = put(folder / "x.csv", b"age,sex,ill\n" + body)
    table = read_private(path, schema, ReadOptions(), label="ill")
    assert len(table.X) == len(table.y)
    sparse = read_private(
        put(folder / "x.svm", body), Schema.of_numbers(5, sparse=True), ReadOptions(), label=None
    )
    assert sparse.X.shape == (len(sparse.y), 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("age,sex\n", "holds no points"),
        ("age,age\n1,2\n", "several columns named 'age'"),
        ("age,sex\n1\n", "Row 1 of .* has 1 cells, and there are 2"),
        (b"age,s\xe9x\n1,2\n", "encoding 'utf-8'"),
        ("age,sex\n1,2\n".encode("utf-16"), "encoding 'utf-8'"),
        ("ill\nyes\n", "no column besides the label"),
    ],
)
def test_an_odd_pool_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read_pool(put(tmp_path / "pool.csv", text), ReadOptions(), label="ill")


def test_a_line_without_end_is_refused_where_it_is_public(
    tmp_path: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    long = "1" * 5000
    for text in (long, f"age,sex\n{long},f\n"):
        with pytest.raises(InvalidArgument, match="more than 1000 bytes"):
            read_pool(put(tmp_path / "pool.csv", text), ReadOptions())
    path = put(tmp_path / "x.csv", f"age,sex,ill\n1,f,no\n{long},f,no\n2,m,yes\n")
    table = read_private(path, schema, ReadOptions(), label="ill")
    assert table.y == ["no", "", "yes"]
    with pytest.raises(InvalidArgument, match="more than 1000"):
        read_private(put(tmp_path / "x.csv", long), schema, ReadOptions(), label="ill")
    named = ReadOptions(columns=("age", "sex", "ill"))
    assert len(read_private(put(tmp_path / "x.csv", long), schema, named, label="ill").y) == 1


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("age,sex\n1,f\n", "no label column 'ill'"),
        ("age,ill\n1,no\n", "other columns than the pool. Missing: 'sex'"),
        (b"age,sex,\xff\n", "encoding 'utf-8'"),
    ],
)
def test_what_is_public_about_a_private_file_is_checked(
    tmp_path: Path, schema: Schema, header: str | bytes, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read_private(put(tmp_path / "x.csv", header), schema, ReadOptions(), label="ill")


def test_packed_files_and_damaged_ones(tmp_path: Path, schema: Schema) -> None:
    packed = bz2.compress(b"age,sex,ill\n1,f,no\n")
    path = put(tmp_path / "x.csv.bz2", packed)
    assert read_private(path, schema, ReadOptions(), label="ill").y == ["no"]
    for content in (packed[:-9], b"nonsense"):
        with pytest.raises(InvalidArgument, match="cannot be read"):
            read_private(put(path, content), schema, ReadOptions(), label="ill")


@pytest.mark.needs("pandas")
def test_parquet_holds_the_same_table(tmp_path: Path, schema: Schema) -> None:
    import pandas as pd

    frame = pd.DataFrame({"age": [1.0, None], "sex": ["f", "x"], "ill": [1, 0]})
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_private(tmp_path / "x.parquet", schema, ReadOptions(), label="ill")
    assert table.y == [1, 0] and table.X["sex"].isna().tolist() == [False, True]
    with pytest.raises(InvalidArgument, match="is not a Parquet file"):
        read_pool(put(tmp_path / "y.parquet", b"nonsense"), ReadOptions())


@pytest.mark.needs("pandas")
def test_a_time_beyond_time_is_missing_in_its_own_record(tmp_path: Path, schema: Schema) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    when = pa.array([0, 2**62, 5], pa.timestamp("us"))
    texts = pa.array(["f", "m", "f"])
    table = pa.table({"age": when, "sex": texts, "ill": pa.array(["no", "yes", "no"])})
    pq.write_table(table, tmp_path / "x.parquet")
    found = read_private(tmp_path / "x.parquet", schema, ReadOptions(), label="ill")
    assert found.y == ["no", "yes", "no"] and found.X["age"].isna().all()


def test_libsvm_rows_take_the_width_of_the_pool(tmp_path: Path) -> None:
    pool = read_pool(put(tmp_path / "p.svm", "0 1:1 3:0.5\n1 2:1 # note\n"), ReadOptions())
    assert pool.schema == Schema.of_numbers(3, sparse=True)
    assert pool.points.toarray().tolist()[0] == [1, 0, 0.5]
    path = put(tmp_path / "x.libsvm", "+1 1:2 9:9\n-1 1:x 0:1 2:3\n")
    table = read_private(path, Schema.of_numbers(3, sparse=True), ReadOptions(), label=None)
    assert table.y == ["+1", "-1"] and table.X.toarray().tolist() == [[2, 0, 0], [0, 3, 0]]
    with pytest.raises(InvalidArgument, match="Line 1 .* is not LIBSVM"):
        read_pool(put(tmp_path / "p.svm", "0 1:x\n"), ReadOptions())


def test_points_to_predict_follow_the_model(tmp_path: Path, schema: Schema) -> None:
    path = put(tmp_path / "new.csv", "sex,age,more\nf,3,1\n")
    assert read_points(path, schema, ReadOptions())["age"].tolist() == [3.0]
    with pytest.raises(InvalidArgument, match="lacks columns of the model: 'age'"):
        read_points(put(path, "sex\nf\n"), schema, ReadOptions())
    with pytest.raises(InvalidArgument, match="LIBSVM"):
        read_points(path, Schema.of_numbers(3, sparse=True), ReadOptions())


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"delimiter": ""}, "one character"),
        ({"encoding": "no-such"}, "must be a Python codec"),
        ({"format": "xls"}, "one of"),
        ({"encoding": "utf-16"}, "every line can be decoded by itself"),
        ({"encoding": "iso-2022-jp"}, "every line can be decoded by itself"),
        ({"quoted_newlines": 1}, "`quoted_newlines`"),
    ],
)
def test_ways_of_reading_are_checked(given_options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ReadOptions(**given_options)  # type: ignore[arg-type]


def test_a_parquet_file_with_two_columns_of_one_name_is_refused(
    tmp_path: Path, schema: Schema
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cells = [[1.0], ["f"], ["no"], ["no"]]
    parquet.write_table(pa.table(cells, names=["age", "sex", "ill", "ill"]), tmp_path / "x.parquet")
    with pytest.raises(InvalidArgument, match="several columns of the same name"):
        read_private(tmp_path / "x.parquet", schema, ReadOptions(), label="ill")
