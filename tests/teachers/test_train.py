"""Shards to votes: the same for every number of workers, silent, and refusing only in public."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.support.one_teacher import fit_teacher

from tacit.errors import InvalidArgument, PrivateValueError
from tacit.teachers import (
    Diagnostics,
    equal_split,
    estimate_memory,
    train_and_count,
    train_teachers,
)
from tacit.teachers.labels import ClassList
from tacit.teachers.learner import shard_seed
from tacit.teachers.rows import RowForm
from tacit.teachers.workers.batches import TableShards
from tacit.teachers.workers.executor import MOST_SHARDS_PER_TASK, shards_per_task
from tacit.teachers.workers.gather import gather_counts
from tacit.teachers.workers.tasks import CountTask

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] > 0).astype(int)
QUESTIONS = RNG.normal(size=(10, 4))
SHARDS = equal_split(120, 12, RNG)
GIVEN: dict[str, Any] = {"classes": [0, 1], "seed": 5}


def counts(learner: Any = None, **changes: Any) -> Any:
    learner = learner or DecisionTreeClassifier(splitter="random")
    given = {"X": X, "y": Y, "shards": SHARDS, "questions": QUESTIONS, **GIVEN, **changes}
    return train_and_count(learner, **given).private_array()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_votes_do_not_depend_on_workers_or_backend(backend: str) -> None:
    alone = counts()
    with joblib.parallel_config(backend, n_jobs=2):
        assert np.array_equal(counts(), alone)
        kept = train_teachers(DecisionTreeClassifier(splitter="random"), X, Y, SHARDS, **GIVEN)
    assert np.array_equal(kept.count(QUESTIONS).private_array(), alone)
    assert np.array_equal(counts(n_jobs=1), alone)
    assert not np.array_equal(counts(seed=6), alone)


def test_any_teacher_can_be_rebuilt_alone() -> None:
    learner = DecisionTreeClassifier(splitter="random")
    kept = train_teachers(learner, X, Y, SHARDS, **GIVEN)
    for number in (0, 7):
        rows = SHARDS[number]
        alone = fit_teacher(learner, X[rows], Y[rows], classes=[0, 1], seed=shard_seed(5, number))
        assert np.array_equal(
            alone.votes(QUESTIONS), kept.private_teachers()[number].votes(QUESTIONS)
        )


def test_every_kind_of_table_gives_the_same_votes() -> None:
    learner = GaussianNB()
    alone = counts(learner)
    as_lists = counts(learner, X=X.tolist(), y=Y.tolist(), questions=QUESTIONS.tolist())
    assert np.array_equal(as_lists, alone)
    tree = DecisionTreeClassifier()
    for form in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        assert np.array_equal(counts(tree, X=form(X), questions=form(QUESTIONS)), counts(tree))


@pytest.mark.needs("pandas")
def test_a_data_frame_gives_the_same_votes_whatever_its_index() -> None:
    import pandas as pd

    index = RNG.permutation(120)
    frame = pd.DataFrame(X, columns=list("abcd"), index=index)
    labels = pd.Series(Y, index=index)
    questions = pd.DataFrame(QUESTIONS, columns=list("abcd"))
    assert np.array_equal(counts(X=frame, y=labels, questions=questions), counts())
    kept = train_teachers(LogisticRegression(), frame, labels, SHARDS, **GIVEN)
    plain = train_teachers(LogisticRegression(), X, Y, SHARDS, **GIVEN)
    one, two = kept.count(questions), plain.count(QUESTIONS)
    assert np.array_equal(one.private_array(), two.private_array())


class Categories:
    """Votes by the list of categories it was given: what a common list would give away."""

    def fit(self, X: Any, y: Any) -> None:
        self.answer = len(X["job"].cat.categories) % 2

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.answer)


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("public", [True, False])
def test_a_new_category_reaches_one_shard_at_most(public: bool) -> None:
    import pandas as pd

    jobs = [["cook", "nurse"][at % 2] for at in range(120)]
    asked = pd.DataFrame({"job": pd.Categorical(["cook", "nurse", "smith"])})
    votes = []
    for first in ("cook", "astronaut"):
        frame = pd.DataFrame({"job": pd.Categorical([first, *jobs[1:]])})
        like = asked if public else None
        kept = train_teachers(Categories(), frame, Y, SHARDS, like=like, **GIVEN)
        votes.append([teacher.votes(asked)[0] for teacher in kept.private_teachers()])
    moved = int((np.array(votes[0]) != votes[1]).sum())
    assert moved <= 1 and (moved == 0 or not public)


def test_one_odd_label_in_a_list_changes_no_other() -> None:
    labels: list[Any] = Y.tolist()
    at = int(SHARDS[3][0])
    odd = [*labels[:at], "x", *labels[at + 1 :]]
    kept = [
        train_teachers(LogisticRegression(), X, y, SHARDS, **GIVEN)
        for y in (labels, odd, np.array(odd), np.array(odd, dtype=object))
    ]
    votes = [
        np.array([teacher.votes(QUESTIONS) for teacher in some.private_teachers()]) for some in kept
    ]
    for other in votes[1:]:
        assert np.array_equal(np.delete(votes[0], 3, 0), np.delete(other, 3, 0))


class Fussy:
    """Fails on whatever it can, depending on the records."""

    def fit(self, X: Any, y: Any) -> None:
        self.bad = bool((X[:, 0] > 1e6).any())
        if (X[:, 1] > 1e6).any():
            raise RuntimeError(f"secret {X[:, 1].max()}")

    def predict(self, X: Any) -> Any:
        if self.bad:
            raise KeyError("secret")
        return np.ones(len(X), dtype=int)


@pytest.mark.parametrize("column", [0, 1])
def test_whether_anything_is_raised_does_not_depend_on_records(column: int) -> None:
    spoilt = X.copy()
    spoilt[SHARDS[2][0], column] = 1e9
    noted = Diagnostics()
    found = counts(Fussy(), X=spoilt, diagnostics=noted)
    assert found.tolist() == [[1, 11]] * 10
    assert sum(noted.reveal_unsafe().values()) == 1
    assert counts(Fussy()).tolist() == [[0, 12]] * 10


def test_no_teacher_is_dropped_when_shards_are_empty_or_of_one_class() -> None:
    shards = [np.array([], dtype=np.intp), np.flatnonzero(Y == 1)[:5], np.flatnonzero(Y == 0)[:5]]
    found = counts(LogisticRegression(), shards=shards)
    assert found.tolist() == [[2, 1]] * 10
    kept = train_teachers(LogisticRegression(), X, Y, shards, **GIVEN)
    assert kept.n_teachers == len(kept) == 3
    assert np.array_equal(kept.count(QUESTIONS).private_array(), found)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"shards": [np.array([0, 1]), np.array([1, 2])]}, "disjoint"),
        ({"shards": [np.array([0, 120])]}, "positions of records"),
        ({"shards": [np.array([-1])]}, "positions of records"),
        ({"shards": [np.array([0.5])]}, "arrays of positions"),
        ({"shards": [[0, 1]]}, "arrays of positions"),
        ({"shards": []}, "at least one shard"),
        ({"y": Y[:-1]}, "one label per record"),
        ({"y": np.column_stack([Y, Y])}, "one label per record"),
        ({"questions": QUESTIONS[:, :3]}, "table with 4 columns"),
        ({"questions": ["a", "b"]}, "table with 4 columns"),
        ({"seed": -1}, "`seed`"),
        ({"classes": [0]}, "`classes`"),
    ],
)
def test_public_mistakes_are_named_without_the_number_of_records(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words) as refused:
        counts(**changes)
    assert "120" not in str(refused.value) and "119" not in str(refused.value)


def test_an_ensemble_shows_and_saves_nothing() -> None:
    kept = train_teachers(LogisticRegression(), X, Y, SHARDS, **GIVEN)
    assert repr(kept) == "TeacherEnsemble(n_teachers=12, learner=LogisticRegression)"
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivateValueError):
            way(kept)
    with pytest.raises(InvalidArgument, match="table with 4 columns, like"):
        kept.count(QUESTIONS[:, :2])


def test_the_bar_shows_the_number_of_shards_and_only_when_asked(
    capfd: pytest.CaptureFixture[str],
) -> None:
    counts()
    assert capfd.readouterr() == ("", "")
    counts(progress=True)
    shown = capfd.readouterr()
    assert shown.out == "" and "12/12" in shown.err


def test_tasks_are_large_enough_and_bounded() -> None:
    assert shards_per_task(1, 8) == 1
    assert shards_per_task(100, 2) == 7
    assert shards_per_task(10**6, 4) == MOST_SHARDS_PER_TASK


def test_memory_is_estimated_from_public_sizes() -> None:
    sizes: dict[str, Any] = {"classes": [0, 1], "shard_size": 10}
    few = estimate_memory(GaussianNB(), QUESTIONS, n_teachers=1_000, keep=False, **sizes)
    many = estimate_memory(GaussianNB(), QUESTIONS, n_teachers=20_000, keep=False, **sizes)
    kept = estimate_memory(GaussianNB(), QUESTIONS, n_teachers=20_000, keep=True, **sizes)
    assert few == many and kept.total > 1000 * few.models
    assert str(few).endswith("MiB beyond the records")
    with pytest.raises(InvalidArgument, match="check_learner"):
        broken = LogisticRegression(C=-1.0)
        estimate_memory(broken, QUESTIONS, n_teachers=2, keep=True, **sizes)


class EndsOnThree(CountTask):
    """A task that raises what is no exception over one shard."""

    def __call__(self, shards: Any) -> Any:
        if 3 in [number for number, _, _ in shards]:
            raise GeneratorExit("secret")
        return super().__call__(shards)


def test_what_is_no_exception_costs_one_shard_too() -> None:
    classes = ClassList([0, 1])
    task = EndsOnThree(GaussianNB(), classes, 5, QUESTIONS)
    shards = TableShards(X, Y, SHARDS, RowForm(X, public=False))
    found = gather_counts(shards, task, n_jobs=1, progress=False)
    usual = counts(GaussianNB())
    assert (found.sum(axis=1) == len(SHARDS)).all()
    assert np.abs(found - usual).sum(axis=1).max() <= 2
