"""Schemas: inferred from public points, printed, saved, and refused when they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import read_table
from tacit.data import Column, ColumnKind, PointReader, Schema
from tacit.errors import InvalidArgument

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

POOL = pd.DataFrame(
    {
        "age": [39, 50, 41],
        "code": ["010", "020", "A3"],
        "flag": [True, False, True],
        "when": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-06-01"]),
        "month": pd.PeriodIndex(["2020-01", "2020-02", "2020-03"], freq="M"),
        "range": pd.IntervalIndex.from_breaks([0, 1, 2, 3]),
        "wait": pd.to_timedelta([1, 2, 3], unit="h"),
        "kind": pd.Categorical(["b", "a", "b"], categories=["b", "a"], ordered=True),
    }
)


def test_kinds_come_from_public_points() -> None:
    kinds = {one.name: one.kind.value for one in Schema.infer(POOL).columns}
    assert kinds == {
        "age": "number", "code": "category", "flag": "boolean", "when": "date", "month": "date",
        "range": "category", "wait": "number", "kind": "category",
    }  # fmt: skip


def test_a_schema_survives_a_file() -> None:
    schema = Schema.infer(POOL)
    again = Schema.from_json(schema.to_json())
    assert again == schema and str(again) == str(schema)
    left, right = PointReader(schema).records(POOL), PointReader(again).records(POOL)
    pd.testing.assert_frame_equal(left, right)
    for other in (Schema.of_numbers(3), Schema.of_numbers(3, sparse=True), Schema.of_texts()):
        assert Schema.from_json(other.to_json()) == other


def test_every_container_reads_alike() -> None:
    rows = {"age": [1, 2], "code": ["010", "A3"], "flag": [True, False]}
    pool = POOL[list(rows)]
    reader = PointReader(Schema.infer(pool))
    frame = pd.DataFrame(rows)
    expected = reader.records(frame)
    others = [
        frame.astype(object),
        frame.astype(str),
        frame.convert_dtypes(),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        frame.astype("category"),
        pl.DataFrame(rows),
        pl.DataFrame(rows).with_columns(pl.col("code").cast(pl.Categorical)),
        pa.table(rows),
        frame.set_index(pd.Index(["x", "y"])),
    ]
    for other in others:
        pd.testing.assert_frame_equal(reader.records(other), expected)


def test_spellings_of_the_pool_are_shown_and_merged() -> None:
    schema = Schema.infer(pd.DataFrame({"code": ["010", "10", "010", "B"], "n": [1, 2, 3, 4]}))
    assert schema.columns[0].categories == ("010", "B")
    private = pd.DataFrame({"code": [10, 10], "n": [1, 2]})
    assert PointReader(schema).records(private)["code"].tolist() == ["010", "010"]


def test_codes_for_missing_values_are_the_schemas() -> None:
    column = Column("age", missing=["-9"])
    assert np.isnan(column.read(["-9", -9.0, "-9.0", 3])).tolist() == [True, True, True, False]
    known = Column("sex", ColumnKind.CATEGORY, ["f", "m", "9"], missing=["9"])
    assert known.read(["f", 9, "m"]).tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Column("a", "colour"), "`kind` of column 'a' must be one of number"),
        (lambda: Column("a", "category"), "must not be empty"),
        (lambda: Column("a", "category", ["1", "01"]), "one value in different spellings"),
        (lambda: Column("a", "category", ["x", "NA"]), "not missing"),
        (lambda: Schema([Column("a"), Column("a")]), "different names"),
        (lambda: Schema(["a"]), "sequence of Column"),
        (lambda: Schema.from_json("{"), "must be JSON"),
        (lambda: Schema.from_json("[]"), "JSON object"),
        (lambda: Schema.from_json("{}"), "must be {"),
        (lambda: Schema.from_dict({"format": "tacit schema", "version": 9}), "version 1"),
        (lambda: Schema.from_dict({"format": "tacit schema", "version": 1,
                                   "columns": [{"kind": "number"}]}), "must have a name"),
        (lambda: Schema.infer(np.zeros(3)), "one row per point"),
        (lambda: Schema.infer(np.zeros((3, 2), dtype=complex)), "Complex data not supported"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused(make, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        make()


def test_a_table_is_read_from_a_file_by_a_schema(tmp_path) -> None:
    schema = Schema([Column("age"), Column("code", "category", ["010", "A3"])])
    (tmp_path / "x.csv").write_text('ill,code,age\nyes,10,41\nno,"A3,9\n\nno,A3,x\n')
    table = read_table(tmp_path / "x.csv", schema)
    assert list(table.columns) == ["age", "code"] and len(table) == 4
    assert table["code"].astype(object).fillna("").tolist()[::3] == ["010", "A3"]
    with pytest.raises(InvalidArgument, match="Missing: 'size'"):
        read_table(tmp_path / "x.csv", Schema([Column("size")]))


@pytest.mark.parametrize("names", [[("a", "b"), ("a", "c")], [("a", 1), "b"], [1.5, 2], ["a", 7]])
def test_names_survive_saving(names) -> None:
    frame = pd.DataFrame([[1, "x"], [2, "y"]], columns=pd.Index(names))
    schema = Schema.infer(frame)
    assert PointReader(schema).records(frame).columns.equals(frame.columns)
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("name", [pd.Timestamp("2020-01-01"), float("nan"), ("a", object())])
def test_names_that_no_file_holds_are_refused_in_words(name) -> None:
    schema = Schema([Column(name), Column("b")])
    with pytest.raises(InvalidArgument, match="Rename the column"):
        schema.to_json()
