"""One record, or one person, moves at most one vote per question: for every kind of teacher.

Neighbouring data sets are built from rows, tables included: whatever a table as a whole takes from
its rows (types, lists of categories) is part of what is tested. The rows that come in are an
ordinary one and odd ones: a label outside the list, missing or huge numbers, a new category.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.teachers import (
    check_learner,
    equal_split,
    hash_split,
    train_and_count,
    train_teachers,
)
from tacit.teachers.partition import shard_positions

CLASSES = ["no", "yes", "maybe"]
WORDS = np.array("red green blue cat dog bird sun rain snow hill lake sea".split())

Row = tuple[tuple[float, ...], int]
"""Four numbers and a label's position; 3 is a label outside the list."""


class Centroids:
    """A plain class: nearest class mean, and nothing of scikit-learn's."""

    def fit(self, X: Any, y: Any) -> None:
        self.labels = sorted(set(y))
        y = np.asarray(y)
        self.means = np.array([X[y == label].mean(axis=0) for label in self.labels])

    def predict(self, X: Any) -> list[Any]:
        distance = ((X[:, np.newaxis] - self.means) ** 2).sum(axis=2)
        return [self.labels[at] for at in distance.argmin(axis=1)]


def made_up(n_rows: int, seed: int) -> list[Row]:
    """Return records with a rule that teachers can find."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 4)).round(3)
    labels = np.clip((numbers[:, 0] > 0) + (numbers[:, 1] > 0.5), 0, 2)
    flipped = rng.random(n_rows) < 0.1
    labels[flipped] = rng.integers(3, size=int(flipped.sum()))
    return [(tuple(row), int(label)) for row, label in zip(numbers, labels, strict=True)]


def labels_of(rows: list[Row]) -> list[Any]:
    """Return labels as a plain list: the odd one is not even a text."""
    return [(*CLASSES, None)[label] for _, label in rows]


def _dense(rows: list[Row]) -> Any:
    return np.array([numbers for numbers, _ in rows], dtype=float).reshape(-1, 4)


def _sparse(rows: list[Row]) -> Any:
    dense = _dense(rows)
    return sparse.csr_array(np.where(abs(dense) > 0.3, dense, 0.0))


def _texts(rows: list[Row]) -> Any:
    return [" ".join(WORDS[[_word(n, at) for at, n in enumerate(numbers)]]) for numbers, _ in rows]


def _word(number: float, at: int) -> int:
    return 3 * at + (0 if number < -0.5 else 1 if number < 0.5 else 2)


def _frame(rows: list[Row]) -> Any:
    import pandas as pd

    dense = _dense(rows)
    # The list of categories comes from the rows themselves: an odd row adds one to it.
    jobs = [("new" if n > 100 else WORDS[_word(n, 3)]) for n in dense[:, 3]]
    columns = {"a": dense[:, 0], "b": dense[:, 1], "c": dense[:, 2], "job": pd.Categorical(jobs)}
    return pd.DataFrame(columns)


@dataclass(frozen=True)
class Kind:
    """A learner and how its records are made; ``needs`` names what must be installed."""

    learner: Callable[[], Any]
    table: Callable[[list[Row]], Any] = _dense
    needs: tuple[str, ...] = ()


def _columns() -> Any:
    parts = [
        ("numbers", StandardScaler(), ["a", "b", "c"]),
        ("jobs", OneHotEncoder(handle_unknown="ignore"), ["job"]),
    ]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression())


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=5, max_depth=2, subsample=0.8)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1, subsample=0.8)


KINDS: dict[str, Kind] = {
    "logistic": Kind(LogisticRegression),
    "scaled": Kind(lambda: make_pipeline(StandardScaler(), SGDClassifier())),
    "columns": Kind(_columns, _frame, ("pandas",)),
    "text": Kind(lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()), _texts),
    "sparse": Kind(LogisticRegression, _sparse),
    "tree": Kind(lambda: DecisionTreeClassifier(splitter="random")),
    "forest": Kind(lambda: RandomForestClassifier(5)),
    "boosting": Kind(lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3)),
    "boosting on a frame": Kind(
        lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3), _frame, ("pandas",)
    ),
    "xgboost": Kind(_xgboost, needs=("xgboost",)),
    "lightgbm": Kind(_lightgbm, needs=("lightgbm",)),
    "lightgbm on a frame": Kind(_lightgbm, _frame, ("lightgbm", "pandas")),
    "plain class": Kind(Centroids),
}


N_TEACHERS, N_ROWS, N_QUESTIONS = 5, 100, 25
KEY = b"0123456789abcdef"
ODD: dict[str, Row] = {
    "another": ((1.5, -2.0, 0.1, -0.4), 2),
    "unknown label": ((0.1, 0.2, 0.3, 0.4), 3),
    "missing number": ((np.nan, 0.2, 0.3, 0.4), 1),
    "huge, new category": ((1e30, -1e30, 5.0, 1e30), 0),
}
QUESTIONS = made_up(N_QUESTIONS, seed=99)


def equal(rows: list[Row], people: list[int] | None) -> list[Any]:
    return equal_split(len(rows), N_TEACHERS, np.random.default_rng(4), people)


def hashed(rows: list[Row], ids: list[int]) -> list[Any]:
    return shard_positions(hash_split(ids, N_TEACHERS, KEY), N_TEACHERS)


def votes(kind: Kind, rows: list[Row], shards: list[Any]) -> tuple[Any, Any, Any]:
    """Return every teacher's votes, and the counts of both ways of counting."""
    X, y, questions = kind.table(rows), labels_of(rows), kind.table(QUESTIONS)
    given = (kind.learner(), X, y, shards)
    ensemble = train_teachers(*given, classes=CLASSES, seed=7, like=questions)
    one_by_one = np.array([teacher.votes(questions) for teacher in ensemble.private_teachers()])
    counted = train_and_count(*given, questions, classes=CLASSES, seed=7)
    return one_by_one, counted.private_array(), ensemble.count(questions).private_array()


def assert_one_vote_moves(
    kind: Kind, one: tuple[list[Row], Any], two: tuple[list[Row], Any]
) -> None:
    before, after = votes(kind, *one), votes(kind, *two)
    assert before[0].shape == after[0].shape == (N_TEACHERS, N_QUESTIONS)
    moved = (before[0] != after[0]).any(axis=1)
    assert moved.sum() <= 1, "more than one teacher changed its votes"
    for mine, theirs in zip(before[1:], after[1:], strict=True):
        change = mine - theirs
        assert abs(change).max() <= 1 and abs(change).sum(axis=1).max() <= 2
        assert (mine.sum(axis=1) == N_TEACHERS).all() and (theirs.sum(axis=1) == N_TEACHERS).all()


kinds = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=name, marks=[pytest.mark.needs(*kind.needs)] if kind.needs else [])
        for name, kind in KINDS.items()
    ],
)
odd = pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ODD.items()])


@kinds
def test_every_kind_learns_rather_than_votes_by_default(kind: Kind) -> None:
    rows = made_up(N_ROWS, seed=1)
    X, y, questions = kind.table(rows), labels_of(rows), kind.table(QUESTIONS)
    check_learner(kind.learner(), questions, CLASSES)
    ensemble = train_teachers(
        kind.learner(), X, y, equal(rows, None), classes=CLASSES, seed=7, like=questions
    )
    winners = ensemble.count(questions).private_array().argmax(axis=1)
    assert ensemble.diagnostics().reveal_unsafe() == {}
    assert np.mean(winners == [label for _, label in QUESTIONS]) > 0.5


@kinds
@odd
def test_replacing_a_record_of_an_equal_split(kind: Kind, row: Row) -> None:
    rows = made_up(N_ROWS, seed=1)
    other = [*rows[:13], row, *rows[14:]]
    assert_one_vote_moves(kind, (rows, equal(rows, None)), (other, equal(other, None)))


@kinds
@odd
def test_adding_a_record_to_a_hash_split(kind: Kind, row: Row) -> None:
    rows, ids = made_up(N_ROWS, seed=2), list(range(N_ROWS))
    more, more_ids = [*rows[:40], row, *rows[40:]], [*ids[:40], 1234, *ids[40:]]
    assert_one_vote_moves(kind, (rows, hashed(rows, ids)), (more, hashed(more, more_ids)))


@kinds
def test_replacing_a_person_of_an_equal_split(kind: Kind) -> None:
    rows, people = made_up(N_ROWS, seed=3), [at // 4 for at in range(N_ROWS)]
    other = [*rows[:20], *ODD.values(), *ODD.values(), *rows[24:]]
    new_people = [*people[:20], *[777] * 8, *people[24:]]
    assert_one_vote_moves(kind, (rows, equal(rows, people)), (other, equal(other, new_people)))


@kinds
def test_removing_a_person_from_a_hash_split(kind: Kind) -> None:
    rows, people = made_up(N_ROWS, seed=4), [at % 25 for at in range(N_ROWS)]
    for at, row in zip((3, 28, 53, 78), ODD.values(), strict=True):
        rows[at] = row
    kept = [at for at in range(N_ROWS) if people[at] != 3]
    fewer, ids = [rows[at] for at in kept], [people[at] for at in kept]
    assert_one_vote_moves(kind, (rows, hashed(rows, people)), (fewer, hashed(fewer, ids)))


def test_the_test_would_see_a_scaler_fitted_on_all_records() -> None:
    rows = made_up(N_ROWS, seed=1)
    other = [*rows[:13], ((1e6, 1e6, 1e6, 1e6), 0), *rows[14:]]

    before, after = votes_after_a_common_scaler(rows), votes_after_a_common_scaler(other)
    assert (before != after).any(axis=1).sum() > 1


def votes_after_a_common_scaler(rows: list[Row]) -> Any:
    scaler = StandardScaler().fit(_dense(rows))
    kind = Kind(LogisticRegression, lambda some: scaler.transform(_dense(some)))
    return votes(kind, rows, equal(rows, None))[0]
