"""Canonical forms: what any container can merge is one value, and no cell raises."""

from __future__ import annotations

import datetime
import io
import math
import time
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.data import Column, cells
from tacit.data.containers import cells_of

pd = pytest.importorskip("pandas")

SAME = [
    ["010", "10", 10, 10.0, np.int8(10), np.float32(10), Decimal("10.00"), " 10 ", "1e1", 10 + 0j,
     Fraction(10), b"10"],
    [True, "TRUE", "True", "true", 1, 1.0, "1", np.bool_(True), "01"],
    [False, "FALSE", "false", 0, -0.0, "0", "-0", "0.0"],
    ["1.10", 1.1, Decimal("1.1"), np.float64(1.1), "1.1000000000000001"],
    [123456789012345678, float(123456789012345678), "123456789012345678",
     np.uint64(123456789012345678)],
    [None, "", "NA", "nan", "NaN", "NULL", "?", "<NA>", float("nan"), float("inf"), "-inf", "1e400",
     10**400, 10**5000, "0000-01-01", "0000/1/1", "\0", "\0 \0", pd.NA, pd.NaT,
     np.datetime64("NaT"), [1], {}, 1j, "1j", "(2+1j)", "nanj", "(nan+0j)", "nat", object()],
    ["2020-03-04", "2020-03-04 00:00:00", "2020-03-04T00:00", datetime.date(2020, 3, 4),
     datetime.datetime(2020, 3, 4), pd.Timestamp("2020-03-04"), np.datetime64("2020-03-04", "ns"),
     np.datetime64("2020-03-04", "D"), "2020/03/04", "2020/3/4 00:00", "2020-03-04T",
     "2020-03-04 0000", "2020-03-04 12 am", "2020-03-04 0:0:0 UTC"],
    ["10:20", "10:20:00", "10:20:00.000", datetime.time(10, 20), 37200, "10:20:0",
     datetime.timedelta(hours=10, minutes=20), str(datetime.timedelta(minutes=620))],
    ["2020-03-01", "2020-03", "2020-3-1", np.datetime64("2020-03"), pd.Period("2020-03", "M")],
    ["2020-03-04T10:00:00", "2020-03-04 10", "2020-03-04 11:00+01",
     datetime.datetime(2020, 3, 4, 10, tzinfo=datetime.UTC)],
    ["0x1F", 31, "(31+0j)", 31 + 0j, np.complex64(31)],
    ["0xFFFFFFFFFFFFFFFE", -2, "-0x2", "(-2+0j)", "(-2-0j)", complex(-2)],
    ["0x7FFFFFFFFFFFFFFF", 2**63 - 1],
    ["2020-03-04T22:20:30", "2020-03-04 10:20:30 PM", "2020-03-04 10:20:30pm",
     "2020-03-04T222030", "2020-03-04 222030Z", "2020-03-04t22:20:30z", "2020-03-04 22:20:30 UTC",
     "2020-03-04  22:20:30 GMT", "2020-3-4 22:20:30.", "2020/3/4T23:20:30 +1",
     pd.Timestamp("2020-03-04 22:20:30"), "2020-03-04T22:20:30.0000009876543"],
    ["2020-03-04T01:02:03", "2020-03-04 1:2:3", "2020-03-04 1:2:3 AM", "2020-03-04 01023"],
    ["2020-03-05T00:00:00.500000", "2020-03-04T23:59:60.5", "2020-03-05 0:0:0.5"],
    ["3723.123456", "1:2:3.123456789", datetime.time(1, 2, 3, 123456), "01:02:03.1234567890123",
     pd.Timedelta(3_723_123_456_789, "ns"), np.timedelta64(3_723_123_456_789, "ns"),
     "0 days 01:02:03.123456789"],
    [pd.Timedelta(-1500, "ns"), str(pd.Timedelta(-1500, "ns")), -2e-6],
    ["\ufffd\ufffd\ufffd", "\ud800"],
    ["2020-03-04T05:06:07Z", pd.Timestamp("2020-03-04 06:06:07+01:00"),
     "2020-03-04 07:06:07+0200"],
    [pd.Timedelta("1 days 02:00:00"), datetime.timedelta(hours=26), "1 days 02:00:00", 93600,
     np.timedelta64(26, "h")],
    [pd.Interval(0, 5), pd.Interval(0.0, 5.0), "(0, 5]", "(0.0, 5.0]"],
    ["A3", " A3 ", np.str_("A3"), b"A3", "A3\0\0", b"A3\0", "A3 \0"],
]  # fmt: skip


@pytest.mark.parametrize("group", SAME, ids=lambda group: repr(group[0]))
def test_what_a_container_can_merge_is_one_value(group: list[Any]) -> None:
    assert len({cells.text(one) for one in group}) == 1


@pytest.mark.parametrize(
    "cell",
    ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:60",
     pd.Timestamp("2020-01-01", tz="Europe/Berlin").replace(year=1, tzinfo=datetime.timezone(
         datetime.timedelta(hours=14))).to_pydatetime(),
     np.datetime64("12000-01-01"), np.datetime64("-0044-03-15"), np.datetime64("0000-05-01")],
    ids=str,
)  # fmt: skip
def test_a_time_beyond_the_years_1_to_9999_is_missing(cell: Any) -> None:
    assert cells.text(cell) is None and np.isnat(cells.date(cell))


@pytest.mark.parametrize(
    "word", ["2021-13-45", "2020-03-04 13:00 PM", "2020-03-04 1020.5", "2020-03-04 24:00",
             "2020-03-04 10:20:61", "2020-03-04 A17", "2020-03-04/5",
             "2020-03-04 10:20 PM UTC", "2020-03-04 10:20:30,5"],
)  # fmt: skip
def test_what_is_no_time_after_all_stays_a_text(word: str) -> None:
    assert cells.text(word) == word


BEGIN_LIKE_DATES = [
    f"2020-{month}{clock}{half}{zone}"
    for month in ("03-04", "3-4")
    for clock in ("", "T", "T1020", " 102030", "T10:20", " 10:20:30", "  10:20:30.1234567890123",
                  " 1:2:3", "T01:02:60", " 10:20:30.5", "T10")
    for half in (("", " PM", "am") if ":" in clock else ("",))
    for zone in (("",) if half else ("", "Z", "z", " UTC", " GMT", "+01:00", "-0830", " +02", "-1"))
]  # fmt: skip


def _readers() -> dict[str, Any]:
    def pandas(text: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pd.read_csv(io.StringIO(text), sep=";", parse_dates=["a"])["a"]

    def polars(text: str) -> Any:
        pl = pytest.importorskip("polars")
        try:
            return pl.read_csv(text.encode(), separator=";", try_parse_dates=True)["a"]
        except pl.exceptions.PolarsError:  # it takes the first for a time, and then does not
            return pl.Series([None, None])

    def arrow(text: str) -> Any:
        import pyarrow.csv as pc

        return pc.read_csv(
            io.BytesIO(text.encode()), parse_options=pc.ParseOptions(delimiter=";")
        ).column("a")

    return {"pandas": pandas, "polars": polars, "arrow": arrow}


@pytest.mark.parametrize("name", ["pandas", "polars", "arrow"])
def test_a_time_is_what_its_text_is_whether_a_reader_parsed_it_or_not(name: str) -> None:
    parsed = 0
    for word in BEGIN_LIKE_DATES:
        found = list(cells_of(_readers()[name](f"a;b\n{word};1\n{word};2\n")))
        if found[0] is None:  # refused by the reader, before anything came here
            continue
        parsed += not isinstance(found[0], str)
        assert cells.text(found[0]) == cells.text(word), (word, found[0])
        assert cells.date(found[0]) == cells.date(word) or np.isnat(cells.date(word)), word
    assert parsed > 10


def test_different_values_stay_different() -> None:
    assert len({cells.text(group[0]) for group in SAME}) == len(SAME)
    assert cells.text("A3") != cells.text("a3")
    assert cells.text("(0, 5]") != cells.text("[0, 5]")


def test_an_identifier_keeps_its_text() -> None:
    name = uuid.UUID(int=7)
    assert cells.text(name) == str(name)
    assert cells.text("Zoë Ångström") == "Zoë Ångström"


class Hostile:
    """Raises whatever is done with it."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("secret")

    __str__ = __repr__ = __eq__ = __float__ = __int__ = __len__ = __iter__ = __bool__ = _raise
    __hash__ = None  # type: ignore[assignment]


class HostileText(str):
    """A text whose methods raise."""

    def strip(self, *_: object) -> str:  # type: ignore[override]
        raise RuntimeError("secret")

    lower = strip  # type: ignore[assignment]


@pytest.mark.parametrize(
    "cell",
    [Hostile(), HostileText("7"), "\ud800", "\0", "x" * 10**6, "9" * 5000, [Hostile()], range(3),
     np.zeros(3), pd.DataFrame(), lambda: None, Decimal("sNaN"), Decimal("1e9999")],
    ids=lambda cell: type(cell).__name__,
)  # fmt: skip
def test_no_cell_raises(cell: Any) -> None:
    cells.text(cell), cells.number(cell), cells.date(cell)
    assert len(cells.numbers([cell, 1])) == 2 and cells.numbers([cell, 1])[1] == 1


ANY = st.one_of(
    st.text(max_size=8), st.floats(), st.integers(), st.booleans(), st.none(), st.decimals(),
    st.binary(max_size=4), st.fractions(), st.datetimes(), st.dates(), st.timedeltas(),
    st.complex_numbers(),
)  # fmt: skip


class Exits:
    """Ends the process when it is looked at."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit("secret")


def test_a_cell_cannot_end_the_run_or_stall_it() -> None:
    assert cells.texts([Exits(), "1"]) == [None, "1"]
    assert cells.text("(" + " " * 10**6 + "x") is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells.date("2020-01-01 10:00 ABC")
    assert np.isnat(cells.date("10:20:30.500000"))
    assert cells.texts([Interrupted(), "1"]) == [None, "1"]
    assert np.isnan(cells.numbers([Interrupted()])).all() and np.isnat(cells.date(Interrupted()))


class Interrupted(Decimal):
    """Raises what is no Exception, as polars and other extensions do."""

    def __float__(self) -> float:
        raise GeneratorExit("secret")


LONG = 200_000


@pytest.mark.parametrize(
    "cell",
    ["9" * LONG + "x", "." + "9" * LONG + "x", "\0 " * LONG, "9" * LONG + " 2020", "2020 " * LONG,
     "9" * LONG + " days", "1:" * LONG, "(" * LONG + "," + "]" * LONG, "a" * LONG + " 2020",
     "-" * LONG + "1", "2020-03-04" + " " * LONG + "x", "2020-03-04 10" + " " * LONG + "x",
     "2020-03-04 10:20:30." + "1" * LONG + "x", "(" + "1" * LONG + "+" + "1" * LONG + "jx",
     "1:2:3." + "1" * LONG + "x", "0x" + "f" * LONG, "9" * LONG + "e", 10**LONG],
    ids=lambda cell: ascii(cell)[:12] if isinstance(cell, str) else "integer",
)  # fmt: skip
def test_time_grows_with_the_length_of_a_cell_and_no_faster(cell: Any) -> None:
    begun = time.process_time()
    cells.text(cell), cells.number(cell), cells.date(cell)
    # A fraction of a second; minutes where it grows with the square.
    assert time.process_time() - begun < 5


def test_dates_without_hyphens_are_read_where_dates_are_wanted() -> None:
    assert {cells.date(one) for one in ("20200304", 20200304, "2020-03-04", "20200304T000000")} == {
        np.datetime64("2020-03-04", "us")
    }
    assert str(cells.date("20200304101112")) == "2020-03-04T10:11:12.000000"
    assert np.isnat(cells.date("20201304")) and cells.number("20200304") == 20200304


def test_a_date_can_stand_for_a_missing_one() -> None:
    column = Column("d", "date", missing=("9999-12-31", "19000101", "unknown"))
    found = column.read(["9999-12-31 00:00", "1900-01-01", "unknown", "2020-01-01"])
    assert np.isnat(found).tolist() == [True, True, True, False]


def test_reading_dates_leaves_every_warning_as_it_would_be_without_odd_cells() -> None:
    """Leaving ``catch_warnings`` makes warnings come again that were shown before."""

    def shown(column: list[Any]) -> int:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default")
            for _ in range(2):
                warnings.warn_explicit("public", UserWarning, "here.py", 1, registry=registry)
                cells.dates(column)
        return len(said)

    counts = []
    for column in (["2020-01-01"], ["4 March 2020"]):
        registry: dict[str, Any] = {}
        counts.append(shown(column))
    assert counts[0] == counts[1]


@given(ANY)
def test_a_canonical_text_is_its_own_canonical_text(cell: Any) -> None:
    once = cells.text(cell)
    assert once is None or cells.text(once) == once


@settings(max_examples=300)
@given(st.lists(ANY, max_size=6), ANY)
def test_a_cell_depends_on_no_other(others: list[Any], cell: Any) -> None:
    alone = cells.text(cell)
    assert cells.texts([*others, cell])[-1] == alone
    single, together = cells.numbers([cell])[0], cells.numbers([*others, cell])[-1]
    assert single == together or (math.isnan(single) and math.isnan(together))
    assert np.array_equal(cells.dates([cell])[0], cells.dates([*others, cell])[-1], equal_nan=True)


@settings(max_examples=300)
@given(st.lists(st.one_of(st.floats(), st.integers(-(2**62), 2**62), st.booleans()), max_size=8))
def test_an_array_gives_what_its_cells_give(values: list[Any]) -> None:
    whole = [int(one) if one == one and abs(one) < 2**62 else 0 for one in values]
    for column in (np.array(values, dtype=np.float64), np.array(whole, dtype=np.int64),
                   np.array(whole, dtype=np.bool_)):  # fmt: skip
        listed = [one.item() for one in column]
        assert cells.texts(column) == cells.texts(listed)
        np.testing.assert_array_equal(cells.numbers(column), cells.numbers(listed))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_twice_is_rounding_once(value: float) -> None:
    once = cells.rounded(np.array([value]))
    np.testing.assert_array_equal(cells.rounded(once), once)
    assert once[0] == pytest.approx(value, rel=1e-11, abs=1e-288)


@given(
    st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6), min_size=1, max_size=5)
)
def test_a_number_read_by_pandas_is_the_number_in_the_text(numbers: list[Decimal]) -> None:
    written = [f"{one:f}" for one in numbers]
    column = pd.read_csv(io.StringIO("a\n" + "\n".join([*written, "0.5", "NA"])))["a"]
    few = [at for at, one in enumerate(written) if len(one.strip("-").replace(".", "")) <= 12]
    np.testing.assert_array_equal(
        cells.numbers(column.to_numpy())[few], cells.numbers(written)[few]
    )
