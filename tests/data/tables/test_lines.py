"""One line, one record: what a private text file holds in one line reaches no other record."""

from __future__ import annotations

import codecs
import csv
import encodings
import pkgutil
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tacit.data import Column, Schema
from tacit.data.tables import ReadOptions, files, read_pool, read_private
from tacit.data.tables.columns import csv_parts, names_in
from tacit.data.tables.files import WELL_FORMED, decodes_lines, lines
from tacit.errors import InvalidArgument

SCHEMA = Schema((Column("age"), Column("sex", "category", ("f", "m"))))
HEADER = b"age,sex,ill\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.csv"


def rows_of(path: Path, body: bytes, reading: ReadOptions | None = None) -> list[tuple[str, ...]]:
    """Return the cells of a private CSV file with this body, by record."""
    path.write_bytes(HEADER + body)
    names = ["age", "sex", "ill"]
    parts = csv_parts(path, names, reading or ReadOptions(), private=True, rows=1000)
    return [row for part in parts for row in zip(*(part[name] for name in names), strict=True)]


HOSTILE = {
    "unclosed quote": b'2,"f,no',
    "quote in the middle": b'2,f"x,"no',
    "doubled quotes": b'""","","\x22',
    "empty": b"",
    "spaces": b"   ",
    "carriage return": b"2,f\r3,m,no",
    "quoted carriage return": b'2,"f\r\r",no',
    "two carriage returns": b"2,f,no\r",
    "null": b"2\0,f\0,no",
    "vertical tab and form feed": b"2\x0b3,f\x0c4,no",
    "separators of files and records": b"2\x1c3,f\x1d\x1e\x1f,no",
    "next line, latin-1": b"2\x853,f,no",
    "next line, line and paragraph separator": "2\u0085,f\u2028,\u2029no".encode(),
    "no text": b"\xff\xfe,\x80,\xc3",
    "half a character": b"2,f,no\xe2\x80",
    "byte-order mark": b"\xef\xbb\xbf2,f,no",
    "long cell": b'"' + b"x" * 200_000 + b'",f,no',
    "long line": b"x" * 3000 + b",f,no",
    "escape": b"2,\x1b$Bf,no\x0e",
    "comment": b"# 2,f,no",
    "many cells": b"," * 500,
}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "shift_jis", "gb18030", "utf-8-sig"])
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_hostile_line_changes_its_own_record_alone(
    file: Path, line: bytes, end: bytes, encoding: str
) -> None:
    reading = ReadOptions(encoding=encoding)
    others = [b"%d,%s,yes" % (k, b"fm"[k % 2 : k % 2 + 1]) for k in range(30)]
    plain = rows_of(file, end.join([*others, b""]), reading)
    assert len(plain) == 30 and plain[3] == ("3", "m", "yes")
    for place in (0, 7, 29):
        changed = [*others[:place], line, *others[place + 1 :]]
        rows = rows_of(file, end.join([*changed, b""]), reading)
        assert len(rows) == 30
        assert rows[:place] + rows[place + 1 :] == plain[:place] + plain[place + 1 :]


@given(
    before=st.binary(max_size=30),
    line=st.binary(max_size=60).map(lambda content: content.replace(b"\n", b"")),
)
def test_any_line_is_one_record(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, line: bytes
) -> None:
    file = tmp_path_factory.mktemp("private") / "x.csv"
    alone = rows_of(file, line + b"\n")
    assert len(alone) == 1
    after = before + b"\n" if before and not before.endswith(b"\n") else before
    rows = rows_of(file, after + line + b"\n4,f,yes\n")
    assert len(rows) == after.count(b"\n") + 2
    assert rows[-2:] == [*alone, ("4", "f", "yes")]


def test_a_blank_line_is_a_record_and_the_end_of_the_file_is_none(file: Path) -> None:
    missing, full = ("", "", ""), ("1", "f", "no")
    assert rows_of(file, b"") == []
    assert rows_of(file, b"1,f,no") == rows_of(file, b"1,f,no\n") == [full]
    assert rows_of(file, b"\n") == [missing]
    assert rows_of(file, b"\n\n1,f,no\n\r\n") == [missing, missing, full, missing]


def test_a_long_line_is_a_record_without_cells(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    for length in (98, 99, 100, 101, 199, 200, 201, 1000):
        rows = rows_of(file, b"1,f," + b"n" * (length - 4) + b"\n2,m,yes\n")
        assert len(rows) == 2 and rows[1] == ("2", "m", "yes")
        assert (rows[0] == ("", "", "")) == (length >= 99)  # with its LF


def test_a_cell_beyond_the_limit_of_csv_is_missing_in_its_own_record(file: Path) -> None:
    long = b"x" * (csv.field_size_limit() + 1)
    rows = rows_of(file, b'"' + long + b'",f,no\n' + long + b",f,no\n2,m,yes\n")
    assert rows[0] == ("", "", "") and rows[1][1:] == ("f", "no") and rows[2] == ("2", "m", "yes")


@pytest.mark.needs("pandas")
def test_records_of_a_table_are_the_lines_of_the_file(file: Path) -> None:
    """An unclosed quote used to absorb the records after it: of 1,000 there were 11."""
    body = [f"{k},f,no" for k in range(1000)]
    body[10] = '10,"f,no'
    file.write_bytes(HEADER + "\n".join(body).encode() + b"\n")
    table = read_private(file, SCHEMA, ReadOptions(), label="ill")
    assert len(table.y) == 1000
    assert table.y[:10] + table.y[11:] == ["no"] * 999


def test_lines_of_libsvm_are_records_too(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_bytes(b"\xef\xbb\xbf1 1:2\n\n# nothing\n2 2:3\x0c\r\nodd 1:1\r2:7 # more\n   \n-1")
    table = read_private(path, Schema.of_numbers(2, sparse=True), ReadOptions(), label=None)
    assert table.X.toarray().tolist() == [[2, 0], [0, 0], [0, 0], [0, 3], [1, 7], [0, 0], [0, 0]]
    assert table.y == ["1", None, None, "2", "odd", None, "-1"]
    path.write_bytes(b"1 1:2\n\n# nothing\n2 2:3\n")
    assert read_pool(path, ReadOptions()).points.shape[0] == 2


def test_one_byte_order_mark_is_removed_from_every_line(file: Path) -> None:
    for reading in (ReadOptions(), ReadOptions(encoding="utf-8-sig")):
        file.write_bytes(b"\xef\xbb\xbf" + HEADER + b"1,f,no\n")
        assert names_in(file, reading, private=True) == ["age", "sex", "ill"]
        file.write_bytes(b"\xef\xbb\xbf" * 2 + b"a\n\xef\xbb\xbfb\n")
        assert list(lines(file, reading.encoding, private=True)) == ["\ufeffa", "b"]


# ---- encodings ------------------------------------------------------------------------------

STATEFUL = {"utf_7", "hz", "idna", "punycode", "unicode_escape", "raw_unicode_escape"}


def every_encoding() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(encodings.__path__)]
    return [name for name in names if _encodes_text(name)]


def _encodes_text(name: str) -> bool:
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        return False
    return True


@pytest.mark.parametrize("name", every_encoding())
def test_encodings_are_accepted_where_a_line_can_be_decoded_by_itself(name: str) -> None:
    if name.startswith(("utf_16", "utf_32", "iso2022_")) or name in STATEFUL:
        assert not decodes_lines(name)
    if not decodes_lines(name):
        with pytest.raises(InvalidArgument, match="every line can be decoded by itself"):
            ReadOptions(encoding=name)
        return
    # The byte LF is in no character but LF, and what stands before it decides nothing.
    codec = "utf-8" if name == "utf_8_sig" else codecs.lookup(name).name
    for code in (*range(0x3000), *range(0x4E00, 0x5200), *range(0xAC00, 0xAE00), 0xFEFF):
        try:
            encoded = chr(code).encode(codec)
        except UnicodeError:
            continue
        assert (b"\n" in encoded) == (chr(code) == "\n")
        assert (encoded + b"\n1,2").decode(codec, "replace").split("\n")[-1] == "1,2"


@pytest.mark.parametrize(
    "name", ["utf-8", "utf8", "UTF-8-SIG", "latin-1", "cp1252", "gbk", "euc_kr"]
)
def test_common_encodings_are_accepted(name: str) -> None:
    assert ReadOptions(encoding=name).encoding == name


# ---- quoted line breaks ---------------------------------------------------------------------


def test_quoted_line_breaks_have_to_be_allowed(file: Path) -> None:
    body = b'1,"f\r\n",no\n2,m,"y\nes"\n\n'
    allowed = ReadOptions(quoted_newlines=True)
    assert len(rows_of(file, body)) == 5
    rows = rows_of(file, body, allowed)
    assert rows == [("1", "f", "no"), ("2", "m", "y\nes"), ("", "", "")]
    assert ReadOptions().assumptions(file) == ()
    assert allowed.assumptions(file) == (WELL_FORMED,)
    assert allowed.assumptions(Path("x.parquet")) == ()


@pytest.mark.needs("pandas")
def test_a_public_file_with_quoted_line_breaks_says_how_to_allow_them(file: Path) -> None:
    file.write_bytes(b'age,sex\n1,"f\nm"\n2,m\n')
    with pytest.raises(InvalidArgument, match="Line 2 .* not closed.*--quoted-newlines"):
        read_pool(file, ReadOptions())
    pool = read_pool(file, ReadOptions(quoted_newlines=True))
    assert pool.points["sex"].tolist() == ["f\nm", "m"]
    file.write_bytes(b"age,sex\r1,f\r")
    with pytest.raises(InvalidArgument, match="Line 1 .* is not a row of a CSV file"):
        read_pool(file, ReadOptions())
    file.write_bytes(b"\nage,sex\n\n1,f\n\n")
    assert len(read_pool(file, ReadOptions()).points) == 1
