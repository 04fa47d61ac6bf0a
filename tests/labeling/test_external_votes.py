"""Counts from elsewhere: read as they were written, and refused without telling any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import InvalidArgument
from tacit.labeling import ExternalVotes, question_keys, read_counts
from tacit.mechanisms.counts import VoteCounts

COUNTS = np.array([[8123, 1877], [500, 9500], [10000, 0]])
TEACHERS = 10000
CLASSES = ["no", "yes"]
POOL = np.arange(10.0).reshape(5, 2)


def written(place: Path, kind: str, **changed: Any) -> Path:
    """Write the counts of rows 5, 1 and 3; ``changed`` replaces columns."""
    columns: dict[str, Any] = {
        "row": [5, 1, 3],
        "votes:yes": COUNTS[:, 1],
        "votes:no": COUNTS[:, 0],
    }
    columns = {name: cells for name, cells in (columns | changed).items() if cells is not None}
    path = place / f"counts.{kind}"
    if kind == "npz":
        labels = [name.removeprefix("votes:") for name in columns if name.startswith("votes:")]
        votes = np.column_stack([columns[f"votes:{label}"] for label in labels])
        named = {name: columns[name] for name in ("row", "question") if name in columns}
        np.savez(path, classes=labels, votes=votes, **named)
    elif kind == "parquet":
        pytest.importorskip("pandas").DataFrame(columns).to_parquet(path)
    else:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path, **changed: Any) -> ExternalVotes:
    return read_counts(path, **{"classes": CLASSES, "n_teachers": TEACHERS} | changed)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("keyed", [False, True])
def test_counts_come_back_in_the_order_of_the_classes(
    tmp_path: Path, kind: str, keyed: bool
) -> None:
    names = [key.hex() for key in question_keys(POOL[[4, 0, 2]])]
    changed = {"row": None, "question": names} if keyed else {}
    votes = read(written(tmp_path, kind, **changed))
    np.testing.assert_array_equal(votes.counts.private_array(), COUNTS)
    assert votes.rows_in(POOL).tolist() == [4, 0, 2]
    assert repr(votes) == "ExternalVotes(n_questions=3, n_teachers=10000, counts=<private>)"


BAD = {
    "negative": [-1, 10001, 0],
    "too many": [1878, 9500, 1],
    "too few": [1876, 9500, 0],
    "fraction": [1877.5, 9500, 0],
    "missing": ["", 9500, 0],
    "no number": ["nan", 9500, 0],
    "words": ["many", 9500, 0],
    "infinite": ["inf", 9500, 0],
}


@pytest.mark.parametrize("what", BAD)
def test_impossible_counts_are_refused_and_none_is_told(tmp_path: Path, what: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read(written(tmp_path, "csv", **{"votes:yes": BAD[what]}))
    told = str(caught.value).replace(str(TEACHERS), "")
    assert not any(str(count) in told for count in (1877, 1878, 1876, 9500, 500, 8123, 10001))
    assert "many" not in told


def test_votes_that_are_missing_count_for_the_first_class_when_that_is_asked(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "csv", **{"votes:yes": [1870, 9500, 0]})
    found = read(path, absent="first").counts.private_array()
    np.testing.assert_array_equal(found, [[8130, 1870], [500, 9500], [10000, 0]])
    with pytest.raises(InvalidArgument, match="at most in every row"):
        read(written(tmp_path, "csv", **{"votes:yes": [1878, 9500, 0]}), absent="first")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"votes:yes": None}, "one column per class"),
        ({"votes:perhaps": [0, 0, 0]}, "'votes:perhaps' is missing or unexpected"),
        ({"row": None}, "`row` or `question`"),
        ({"question": ["00", "01", "02"]}, "`row` or `question`"),
        ({"row": [0, 1, 2]}, "counted from 1"),
        ({"row": [1, 1, 2]}, "all be different"),
        ({"row": None, "question": ["xy", "01", "02"]}, "hexadecimal"),
    ],
)
def test_other_forms_are_refused(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        read(written(tmp_path, "csv", **changed))


def test_questions_outside_the_pool_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="which has 5: they name row 6"):
        read(written(tmp_path, "csv", row=[1, 2, 6])).rows_in(POOL)
    votes = ExternalVotes(VoteCounts(COUNTS, TEACHERS), CLASSES, questions=[b"a", b"b", b"c"])
    with pytest.raises(InvalidArgument, match="3 of 3 questions"):
        votes.rows_in(POOL)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"\x93NUMPY"])
def test_files_that_hold_no_arrays_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "counts.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument):
        read(path)
