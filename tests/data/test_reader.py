"""Private records follow a public schema, cell by cell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from tacit.data import Layout, PointReader, Schema

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("like", "kind"),
    [
        (np.zeros((2, 2)), Layout.NUMBERS),
        ([[1, 2], [3, 4]], Layout.NUMBERS),
        (sparse.csr_matrix(np.eye(2)), Layout.NUMBERS),
        (np.array([[1, 2.5]], dtype=object), Layout.NUMBERS),
        (np.array([["a", 2.5]], dtype=object), Layout.OBJECTS),
        (["one text", "another"], Layout.TEXTS),
        (np.array(["one text"]), Layout.TEXTS),
        (pd.Series(["one text"]), Layout.TEXTS),
        (pd.DataFrame({"a": [1, 2]}), Layout.NUMBERS),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), Layout.FRAME),
    ],
)
def test_the_kind_is_read_off_public_points(like, kind):
    assert Schema.infer(like).layout is kind


LIKE = pd.DataFrame(
    {
        "number": [1, 2],
        "flag": [True, False],
        "category": pd.Categorical(["x", "y"]),
        "word": ["u", "v"],
        "time": pd.to_datetime(["2020-01-01", "2021-01-01"]),
    }
)


@pytest.mark.parametrize("column", LIKE.columns)
@pytest.mark.parametrize("odd", [None, "text", 3.5, np.inf, [1], {}, b"x", float("nan")], ids=repr)
def test_one_odd_cell_changes_itself_alone(column, odd):
    reader = PointReader(Schema.infer(LIKE))
    usual = reader.records(pd.concat([LIKE, LIKE], ignore_index=True))
    cells = pd.concat([LIKE, LIKE], ignore_index=True).astype(object)
    at = list(LIKE.columns).index(column)
    cells.iat[3, at] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reader.records(cells)
    assert found.dtypes.tolist() == usual.dtypes.tolist()
    pd.testing.assert_frame_equal(found.iloc[:3], usual.iloc[:3])
    others = [name for name in LIKE.columns if name != column]
    pd.testing.assert_frame_equal(found[others], usual[others])


def test_whole_numbers_and_floats_read_alike():
    reader = PointReader(Schema.infer(LIKE))
    whole = LIKE.assign(number=[1, 2], word=[12, 13])
    floats = LIKE.assign(number=[1.0, 2.0], word=[12.0, 13.0])
    pd.testing.assert_frame_equal(reader.records(whole), reader.records(floats))


@pytest.mark.parametrize("odd", ["text", None, {}, "1.5"])
def test_lists_and_objects_are_read_cell_by_cell(odd):
    reader = PointReader(Schema.of_numbers(2))
    rows = [[1, 2.0], [odd, 4]]
    for given in (rows, np.array(rows, dtype=object)):
        found = reader.records(given)
        assert found.dtype == np.float64
        assert found[0].tolist() == [1.0, 2.0] and found[1, 1] == 4.0


def test_points_take_the_container_of_the_public_ones():
    table = np.array([[0.0, 1.0], [2.0, np.nan]])
    dense = PointReader(Schema.infer(table)).records(sparse.csr_matrix(table))
    assert isinstance(dense, np.ndarray) and np.array_equal(dense, table, equal_nan=True)
    for given in (table, table.tolist(), sparse.csc_matrix(table)):
        kept = PointReader(Schema.infer(sparse.csr_matrix(table))).records(given)
        assert sparse.issparse(kept) and np.array_equal(kept.toarray(), table, equal_nan=True)


def test_entries_of_one_sparse_cell_are_added_up_as_floats():
    def matrix(values):
        rows, columns = np.repeat(range(4), 2), [0] * 8
        return sparse.coo_matrix((np.array(values), (rows, columns)), shape=(4, 2))

    reader = PointReader(Schema.of_numbers(2))
    truths, numbers = matrix([True] * 8), matrix([2, 3] + [True] * 6)
    assert np.array_equal(reader.records(truths)[1:], reader.records(numbers)[1:])
    small, large = matrix(np.full(8, 200, np.uint8)), matrix([300] + [200] * 7)
    assert np.array_equal(reader.records(small)[1:], reader.records(large)[1:])


@pytest.mark.parametrize("dtype", ["object", "str", "string"])
def test_half_a_pair_of_characters_is_no_error(dtype):
    pool = pd.DataFrame({"note": [f"text {k}" for k in range(500)], "n": range(500)})
    reader = PointReader(Schema.infer(pool.astype({"note": dtype})))
    private = pd.DataFrame({"note": pd.Series(["\ud800", "x"], dtype=object), "n": [1, 2]})
    assert reader.records(private)["note"].tolist()[1] == "x"


def test_no_record_at_all_is_no_error():
    assert PointReader(Schema.infer(LIKE)).records(LIKE.iloc[:0]).shape == (0, len(LIKE.columns))
    assert PointReader(Schema.of_numbers(2)).records(np.zeros((0, 2))).shape == (0, 2)
