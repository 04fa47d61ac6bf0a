"""Votes that were counted elsewhere: by a federation of hospitals, or by another system.

The format of a file of counts (``docs/guide/cluster.md``): one row per question, as CSV or Parquet.
Either ``row``, the row of the pool counted from 1 as in the files of ``tacit label``, or
``question``, the point's public name (``question_key``) in hexadecimal; and for every class a
column ``votes:CLASS`` with the number of teachers who voted for it. The same as arrays in ``.npz``:
``row`` or ``question``, ``classes``, and ``votes`` of shape (questions, classes).

Which questions were counted is public. The counts are private: no message says anything of them
except which rule is broken.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.data.cells import number
from tacit.data.pool import n_rows
from tacit.data.tables.columns import cells_in, names_in
from tacit.data.tables.files import Format, ReadOptions, opened
from tacit.errors import InvalidArgument
from tacit.files.atomic import PathLike
from tacit.labeling.question import question_keys
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.labels import DEFAULT, ClassList

VOTES = "votes:"

_ABSENT = ("refuse", "first")


@dataclass(frozen=True, repr=False)
class ExternalVotes:
    """Counts of votes on points of a pool, and which points they are about.

    Parameters
    ----------
    counts : VoteCounts
        One row per question. Private.
    classes : sequence of labels
        What the columns of the counts stand for. Public.
    rows : array of int, optional
        Rows of the pool, counted from 0. Public.
    questions : sequence of bytes, optional
        Public names of the points (``question_keys``), where there are no rows. Public.

    Examples
    --------
    >>> counts = VoteCounts([[3, 7], [9, 1]], n_teachers=10)
    >>> votes = ExternalVotes(counts, classes=["no", "yes"], rows=[0, 4])
    >>> votes
    ExternalVotes(n_questions=2, n_teachers=10, counts=<private>)
    >>> votes.rows_in([[0.0], [1.0], [2.0], [3.0], [4.0]])
    array([0, 4])
    """

    counts: VoteCounts
    classes: Sequence[Any]
    rows: NDArray[np.intp] | Sequence[int] | None = None
    questions: Sequence[bytes] | None = None

    def __post_init__(self) -> None:
        validation.instance(VoteCounts, counts=self.counts)
        if len(ClassList(self.classes)) != self.counts.n_classes:
            raise InvalidArgument(
                f"`classes` must name the {self.counts.n_classes} columns of the counts, "
                f"got {len(self.classes)}."
            )
        if (self.rows is None) == (self.questions is None):
            raise InvalidArgument("`rows` or `questions` must be given, and not both.")
        named: list[Any] = list(self.questions or ()) if self.rows is None else list(self.rows)
        if len(named) != self.counts.n_questions:
            raise InvalidArgument(
                f"`rows` or `questions` must name the {self.counts.n_questions} questions counted, "
                f"got {len(named)}."
            )
        if len(set(named)) < len(named):
            raise InvalidArgument("`rows` or `questions` must all be different.")

    def counts_of(self, classes: Sequence[Any]) -> VoteCounts:
        """Return the counts with the same classes in another order. Private."""
        order = ClassList(self.classes).positions(np.asarray(classes))
        if sorted(order.tolist()) != list(range(self.counts.n_classes)):
            raise InvalidArgument(
                f"`classes` must be those of the votes, {list(self.classes)!r}, got "
                f"{list(classes)!r}."
            )
        return VoteCounts(self.counts.private_array()[:, order], self.counts.n_teachers)

    def rows_in(self, points: Any) -> NDArray[np.intp]:
        """Return the row of every question in a pool, counted from 0."""
        if self.questions is not None:
            place: dict[bytes, int] = {}
            for at, key in enumerate(question_keys(points)):
                place.setdefault(key, at)
            missing = sum(key not in place for key in self.questions)
            if missing:
                raise InvalidArgument(
                    f"The votes must be about points of the pool: {missing} of "
                    f"{len(self.questions)} questions are not in it."
                )
            return np.array([place[key] for key in self.questions], dtype=np.intp)
        rows = np.asarray(self.rows, dtype=np.intp)
        if rows.min() < 0 or rows.max() >= n_rows(points):
            raise InvalidArgument(
                f"The votes must be about rows of the pool, which has {n_rows(points)}: they name "
                f"row {1 + int(rows.max() if rows.max() >= n_rows(points) else rows.min())}."
            )
        return rows

    def __repr__(self) -> str:
        return (
            f"ExternalVotes(n_questions={self.counts.n_questions}, "
            f"n_teachers={self.counts.n_teachers}, counts=<private>)"
        )


def read_counts(
    path: PathLike,
    *,
    classes: Sequence[Any] | ClassList,
    n_teachers: int,
    absent: str = "refuse",
    reading: ReadOptions | None = None,
) -> ExternalVotes:
    """Read a file of counts, and check that they are possible.

    Parameters
    ----------
    path : path
        CSV, Parquet or ``.npz``; see the module for the format.
    classes : sequence of labels
        All possible labels, in the order the counts shall have. Public.
    n_teachers : int
        How many teachers voted. Public.
    absent : {"refuse", "first"}
        What a vote is that is missing in a row: an error, or one for the first class, which is
        how a teacher counts that fails.
    reading : ReadOptions, optional
        How text files are read.

    Raises
    ------
    InvalidArgument
        When the file is not of this format, or counts are impossible: not whole numbers, negative,
        or not as many in a row as there are teachers. Says which rule, never which count.

    Privacy
    -------
    One record must move at most one vote of every question: every teacher saw records that no
    other saw. Whoever counted has to answer for that; nothing here can check it.
    """
    place, public = Path(path), ClassList(classes)
    validation.one_of(_ABSENT, absent=absent)
    total = validation.positive_integer(n_teachers=n_teachers)
    if place.suffix == ".npz":
        columns = _of_arrays(place)
    else:
        columns = _of_table(place, ReadOptions() if reading is None else reading)
    counts = _whole(_counts(columns, public, place))
    if absent == "first":
        counts = _completed(counts, total)
    labels = public.labels.tolist()
    return ExternalVotes(VoteCounts(counts, total), labels, **_questions(columns, place))


def _of_table(path: Path, reading: ReadOptions) -> Mapping[str, Sequence[Any]]:
    if reading.format_of(path) is Format.LIBSVM:
        raise InvalidArgument(f"The counts {str(path)!r} must be CSV, Parquet or .npz, not LIBSVM.")
    names = names_in(path, reading, private=False)
    return cells_in(path, names, reading, private=True)


def _of_arrays(path: Path) -> Mapping[str, Sequence[Any]]:
    try:
        with opened(path) as file, np.load(file, allow_pickle=False) as arrays:
            votes, classes = arrays["votes"], arrays["classes"].tolist()
            named = {name: arrays[name].tolist() for name in ("row", "question") if name in arrays}
            columns = {f"{VOTES}{label}": votes[:, at] for at, label in enumerate(classes)}
    except (ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        raise InvalidArgument(
            f"The counts {str(path)!r} must hold the arrays `classes`, `votes` (questions by "
            "classes) and `row` or `question`."
        ) from None
    return {**named, **columns}


def _counts(columns: Mapping[str, Sequence[Any]], classes: ClassList, path: Path) -> Any:
    wanted = [f"{VOTES}{label}" for label in classes.labels.tolist()]
    names = [name for name in columns if name.startswith(VOTES)]
    if sorted(wanted) != sorted(names):
        differing = sorted(set(wanted) ^ set(names))
        raise InvalidArgument(
            f"The counts {str(path)!r} must have one column per class, "
            f"{', '.join(wanted[:10])}: {differing[0]!r} is missing or unexpected."
        )
    return np.array([[number(cell) for cell in columns[name]] for name in wanted]).T


def _whole(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    if counts.size == 0:
        raise InvalidArgument("The counts must be of at least one question, got none.")
    if not np.isfinite(counts).all() or (counts != np.floor(counts)).any():
        raise InvalidArgument("The counts must be whole numbers, and one is not or is missing.")
    return counts


def _completed(counts: NDArray[np.float64], n_teachers: int) -> NDArray[np.float64]:
    missing = n_teachers - counts.sum(axis=1)
    if (missing < 0).any():
        raise InvalidArgument(
            f"The counts must sum to n_teachers={n_teachers} at most in every row."
        )
    full = counts.copy()
    full[:, DEFAULT] += missing
    return full


def _questions(columns: Mapping[str, Sequence[Any]], path: Path) -> dict[str, Any]:
    if ("row" in columns) == ("question" in columns):
        raise InvalidArgument(f"The counts {str(path)!r} must have a column `row` or `question`.")
    if "row" in columns:
        rows = np.array([number(cell) for cell in columns["row"]])
        if not np.isfinite(rows).all() or (rows != np.floor(rows)).any() or (rows < 1).any():
            raise InvalidArgument("The column `row` must hold rows of the pool, counted from 1.")
        return {"rows": rows.astype(np.intp) - 1}
    try:
        return {"questions": [bytes.fromhex(str(cell)) for cell in columns["question"]]}
    except ValueError:
        raise InvalidArgument(
            "The column `question` must hold public names in hexadecimal (question_key)."
        ) from None
