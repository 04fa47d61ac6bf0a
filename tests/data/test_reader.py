"""Private records follow a public schema, cell by cell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from tacit.data import Column, Layout, PointReader, Schema
from tacit.data.cells import texts
from tacit.data.containers import cells_of, columns_in

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


class OddRow(list):
    """A row that raises when it is looked into."""

    def __iter__(self):
        raise RuntimeError("secret")

    __len__ = __iter__


def without_class():
    """Return something whose class cannot be asked for."""
    return type("NoClass", (), {"__class__": property(lambda self: 1 / 0)})()


ODD_ROWS = {
    "raises": lambda: OddRow([1, 2]), "no class": without_class, "iterator": lambda: iter([1]),
    "dictionary": lambda: {"a": 1}, "nothing": lambda: None, "number": lambda: 7,
}  # fmt: skip


@pytest.mark.parametrize("make", ODD_ROWS.values(), ids=ODD_ROWS)
def test_a_row_that_is_none_has_missing_cells(make):
    found = PointReader(Schema.of_numbers(2)).records([[1, 2], make(), (3, 4)])
    assert np.array_equal(found, [[1, 2], [np.nan, np.nan], [3, 4]], equal_nan=True)


class Arrayed:
    """A cell that raises when NumPy makes an array of it."""

    def __array__(self, *_, **__):
        raise RuntimeError("secret")


class Sized(list):
    """A cell that raises when NumPy looks how many elements it has."""

    def __len__(self):
        raise MemoryError("secret")


@pytest.mark.parametrize("make", [Arrayed, Sized])
def test_numpy_does_not_look_into_the_cells_of_a_masked_array(make):
    table = np.arange(8.0).reshape(4, 2).astype(object)
    table[1, 0] = make()
    found = PointReader(Schema.of_numbers(2)).records(np.ma.array(table, mask=False))
    assert np.isnan(found[1, 0]) and np.isfinite(found[[0, 2, 3]]).all()
    assert texts(cells_of(np.ma.array(table[:, 0], mask=False))) == ["0", None, "4", "6"]


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_times_in_a_masked_array_do_not_depend_on_their_unit(kind, unit):
    days = np.ma.array(np.array([[3], [4]], dtype=f"{kind}[D]"), mask=[[False], [True]])
    usual, other = (texts(columns_in(one)[0]) for one in (days, days.astype(f"{kind}[{unit}]")))
    assert usual == other and usual[0] is not None and usual[1] is None


@pytest.mark.parametrize("make", ["bsr", "coo", "csc", "lil", "dok"])
def test_stored_zeros_are_zeros(make):
    table = np.array([[1.0, 0], [0, 2], [0, 0], [0, 3]])
    other = table.copy()
    other[0] = 0
    reader = PointReader(Schema.of_numbers(2, sparse=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = (
            reader.records(sparse.bsr_matrix(one, blocksize=(2, 2)).asformat(make))
            for one in (table, other)
        )
    for row in (1, 2, 3):  # what is stored, not only what it is worth
        assert first[row].indices.tolist() == second[row].indices.tolist()
        assert first[row].data.tolist() == second[row].data.tolist()


def test_times_that_python_has_no_value_for_are_missing_without_a_word(capfd):
    pl = pytest.importorskip("polars")
    days = pl.Series("a", [18000, 2**31 - 1, None], dtype=pl.Int32).cast(pl.Date)
    lists = pl.Series("b", [[18000], [2**31 - 1], None], dtype=pl.List(pl.Int32))
    frame = pl.DataFrame([days, lists.cast(pl.List(pl.Date))])
    found = PointReader(Schema([Column("a", "date"), Column("b")])).records(frame)
    assert found["a"].isna().tolist() == [False, True, True] and found["b"].isna().all()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("make", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_questions_come_in_any_sparse_matrix(make):
    reader = PointReader(Schema.of_numbers(2, sparse=True))
    table = sparse.csr_matrix([[1.0, 0], [0, 2]])
    assert np.array_equal(reader.questions(table.asformat(make)).toarray(), table.toarray())
