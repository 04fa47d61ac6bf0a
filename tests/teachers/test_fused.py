"""Teachers asked together vote as they do one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from tacit.teachers import TeacherEnsemble, fused_linear, fused_trees, train_teachers
from tacit.teachers.fused import as_numbers
from tacit.teachers.vote import count_one_by_one

LABELS = {
    "two numbers": [1, 0],
    "two texts": ["yes", "no"],
    "three texts": ["b", "c", "a"],
    "five numbers": [9, 2, 5, 0, 7],
}
LINEAR: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "no intercept": LogisticRegression(fit_intercept=False),
    "svc": LinearSVC(),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(),
    "perceptron": Perceptron(),
    "standard + logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "uncentred + svc": make_pipeline(StandardScaler(with_mean=False), LinearSVC()),
    "largest + ridge": make_pipeline(MaxAbsScaler(), RidgeClassifier()),
    "range + standard + sgd": make_pipeline(MinMaxScaler(), StandardScaler(), SGDClassifier()),
}
TREES: dict[str, Any] = {
    "tree": DecisionTreeClassifier(),
    "random tree": ExtraTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(7),
    "extra trees": ExtraTreesClassifier(4),
    "boosting": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=2),
    "boosting, early stop": HistGradientBoostingClassifier(
        max_iter=30, min_samples_leaf=2, early_stopping=True, n_iter_no_change=1
    ),
}
WIDTH = 6


def table(n_rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(n_rows, WIDTH)).round(2)


def ensemble(learner: Any, labels: list[Any], form: Any = np.asarray) -> TeacherEnsemble:
    """Train on shards with all classes, some classes, one class and no record at all."""
    X, rng = table(420, 0), np.random.default_rng(3)
    scores = X[:, : len(labels)] + 0.3 * rng.normal(size=(420, len(labels)))
    y = np.array(labels)[scores.argmax(axis=1)]
    shards = [np.arange(start, start + 40) for start in range(0, 320, 40)]
    later = np.arange(320, 420)
    shards += [later[np.isin(y[later], labels[:2])], later[:0]]
    ones = np.setdiff1d(later, shards[-2])
    shards += [ones[y[ones] == label] for label in labels[2:]] or [later[:0]]
    return train_teachers(learner, form(X), y, shards, classes=labels, seed=1)


def together(teachers: TeacherEnsemble, questions: Any) -> Any:
    """Count with the fused way, and fail when it was not taken."""
    counts = teachers._together(questions)
    assert counts is not None
    return counts


def assert_equal_ways(teachers: TeacherEnsemble, questions: Any) -> None:
    expected = count_one_by_one(teachers.private_teachers(), questions, len(teachers.classes))
    assert np.array_equal(together(teachers, questions), expected)
    assert np.array_equal(teachers.count(questions).private_array(), expected)
    assert teachers.count(questions[:0]).n_questions == 0
    assert teachers._fused is not None and teachers._fused.alone == ()


labels = pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)


@labels
@pytest.mark.parametrize("learner", [*LINEAR.values(), *TREES.values()], ids=[*LINEAR, *TREES])
def test_the_two_ways_agree(learner: Any, labels: list[Any]) -> None:
    teachers = ensemble(learner, labels)
    for n_questions in (1, 60):
        assert_equal_ways(teachers, table(n_questions, 9))


@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_linear_teachers_read_sparse_questions(learner: Any) -> None:
    teachers = ensemble(learner, LABELS["three texts"])
    questions = sparse.csr_array(np.where(abs(table(30, 9)) > 0.5, table(30, 9), 0.0))
    if fused_linear._shifts(learner):  # such scalers refuse sparse questions
        assert teachers._together(questions) is None
        assert (teachers.count(questions).private_array()[:, 0] >= 8).all()
    else:
        assert_equal_ways(teachers, questions)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("learner", LINEAR.values(), ids=LINEAR)
def test_a_question_that_is_no_number_is_not_multiplied(learner: Any, odd: float) -> None:
    """Also where a teacher has no weight for the cell, or none at all."""
    teachers = ensemble(learner, LABELS["two numbers"])
    for column in range(WIDTH):
        question = table(1, 9)
        question[0, column] = odd
        assert teachers._together(question) is None


@pytest.mark.parametrize("n_questions", [1, 3])
@labels
def test_one_teachers_scores_do_not_decide_how_others_are_computed(
    labels: list[Any], n_questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record may make a teacher's scores overflow; the other votes must be computed alike."""
    shapes: list[tuple[int, ...]] = []
    counted = fused_linear.FusedLinear._counted

    def recording(self: Any, X: Any) -> Any:
        shapes.append(X.shape)
        return counted(self, X)

    monkeypatch.setattr(fused_linear.FusedLinear, "_counted", recording)
    questions, counts = table(n_questions, 9), []
    for factor in (1.0, 1e308):
        teachers = ensemble(LogisticRegression(), labels)
        first, *others = teachers.private_teachers()
        first.model.coef_ = first.model.coef_ * factor  # its own scores overflow
        shapes.append(())
        every = teachers.count(questions).private_array()
        with np.errstate(all="ignore"):
            alone = count_one_by_one([first], questions, len(labels))
        counts.append(every - alone)
        assert np.array_equal(counts[-1], count_one_by_one(others, questions, len(labels)))
    assert np.array_equal(counts[0], counts[1])
    half = len(shapes) // 2
    assert shapes[:half] == shapes[half:] == [(), (n_questions, WIDTH)]


@labels
def test_many_questions_go_in_chunks(labels: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_linear, "CHUNK_SCORES", 100)
    monkeypatch.setattr(fused_trees, "CHUNK_WALKERS", 100)
    for learner in (LogisticRegression(), *TREES.values()):
        assert_equal_ways(ensemble(learner, labels), table(45, 9))


def test_beyond_the_crossing_trees_go_one_by_one_without_repeated_checks() -> None:
    teachers = ensemble(DecisionTreeClassifier(), LABELS["five numbers"])
    assert_equal_ways(teachers, table(fused_trees.MOST_QUESTIONS_TREES + 1, 9))
    assert_equal_ways(teachers, sparse.csr_array(table(5, 9)))
    for learner, most in (
        (RandomForestClassifier(2), fused_trees.MOST_QUESTIONS_FORESTS),
        (HistGradientBoostingClassifier(max_iter=2), fused_trees.MOST_QUESTIONS_BOOSTERS),
    ):
        assert ensemble(learner, [0, 1])._together(table(most + 1, 9)) is None


def test_questions_with_missing_values() -> None:
    questions = table(40, 9)
    questions[np.random.default_rng(1).random(questions.shape) < 0.2] = np.nan

    def with_gaps(X: Any) -> Any:
        return np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)

    for labels in (LABELS["two texts"], LABELS["five numbers"]):
        teachers = ensemble(TREES["boosting"], labels, form=with_gaps)
        assert_equal_ways(teachers, questions)
        # Others are asked one by one: some refuse such questions, some read them.
        for learner in (LogisticRegression(), DecisionTreeClassifier(), RandomForestClassifier(3)):
            assert ensemble(learner, labels)._together(questions) is None


def test_numbers_too_large_for_single_precision_go_one_by_one() -> None:
    questions = table(3, 9)
    questions[0, 0] = 1e300
    assert ensemble(DecisionTreeClassifier(), [0, 1])._together(questions) is None


def test_a_teacher_that_would_lose_digits_is_asked_alone() -> None:
    X, rng = table(300, 0), np.random.default_rng(0)
    y = (X[:, 0] > 0).astype(int)
    X[100:200] = 1e9 + 1e-2 * X[100:200]  # a shard whose scaler shifts by a huge amount
    shards = np.split(np.arange(300), 3)
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    teachers = train_teachers(learner, X, y, shards, classes=[0, 1], seed=0)
    questions = rng.normal(size=(30, WIDTH))
    expected = count_one_by_one(teachers.private_teachers(), questions, 2)
    assert np.array_equal(teachers.count(questions).private_array(), expected)
    assert teachers._fused is not None and teachers._fused.alone == (1,)


def test_teachers_in_single_precision_are_asked_alone() -> None:
    teachers = ensemble(LogisticRegression(), [0, 1], form=lambda X: X.astype(np.float32))
    questions = table(20, 9).astype(np.float32)
    expected = count_one_by_one(teachers.private_teachers(), questions, 2)
    assert np.array_equal(teachers.count(questions).private_array(), expected)
    assert teachers._fused is not None and len(teachers._fused.alone) == 9


@pytest.mark.needs("pandas")
def test_categorical_splits_are_asked_one_by_one() -> None:
    import pandas as pd

    X = table(200, 0)
    y = (X[:, 0] > 0).astype(int)
    jobs = np.array(["cook", "nurse", "smith"])

    def frame(X: Any) -> Any:
        job = pd.Categorical(jobs[(X[:, 0] * 2).astype(int).clip(0, 2)], categories=jobs)
        return pd.DataFrame({"a": X[:, 1], "job": job})

    learner = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    shards, questions = np.split(np.arange(200), 4), frame(table(9, 9))
    teachers = train_teachers(learner, frame(X), y, shards, classes=[0, 1], seed=0, like=questions)
    assert teachers._together(questions) is None


def test_categories_in_an_array_are_asked_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(8, size=400), rng.normal(size=400)])
    y = np.isin(X[:, 0], [1, 4, 6]).astype(int)  # no threshold on the code says this
    learner = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=2, categorical_features=[0]
    )
    shards = np.split(np.arange(400), 4)
    teachers = train_teachers(learner, X, y, shards, classes=[0, 1], seed=0)
    expected = count_one_by_one(teachers.private_teachers(), X[:50], 2)
    assert np.array_equal(teachers.count(X[:50]).private_array(), expected)
    assert teachers._fused is not None and teachers._fused.alone == (0, 1, 2, 3)


@pytest.mark.needs("pandas")
def test_a_frame_of_numbers_is_asked_together() -> None:
    import pandas as pd

    columns = list("abcdef")
    teachers = ensemble(LogisticRegression(), [0, 1], lambda X: pd.DataFrame(X, columns=columns))
    assert_equal_ways(teachers, pd.DataFrame(table(12, 9), columns=columns))


def test_other_learners_and_tables_have_no_fused_way() -> None:
    assert ensemble(KNeighborsClassifier(), [0, 1])._together(table(3, 9)) is None

    class Mine(LogisticRegression):
        """A subclass may predict in another way."""

    assert ensemble(Mine(), [0, 1])._together(table(3, 9)) is None
    assert as_numbers(np.array([["a"]])) is None and as_numbers(["a"]) is None


def test_stacks_that_would_be_too_large_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_linear, "MOST_WEIGHTS", 10)
    assert ensemble(LogisticRegression(), [0, 1])._together(table(3, 9)) is None


def test_a_teachers_place_does_not_depend_on_what_others_learnt() -> None:
    X, y = table(120, 0), np.arange(120) % 3
    constant = np.where(np.arange(120) < 40, 0, y)
    shards = np.split(np.arange(120), 3)
    layouts = []
    for labels in (y, constant):
        teachers = train_teachers(
            LogisticRegression(), X, labels, shards, classes=[0, 1, 2], seed=0
        )
        together(teachers, X)
        fused = teachers._fused
        assert isinstance(fused, fused_linear.FusedLinear)
        layouts.append(np.vstack([fused._weights, fused._bias]))
    same = (layouts[0] == layouts[1]).all(axis=0)
    assert same[3:].all() and not same[:3].all()


def test_the_room_of_boosters_does_not_depend_on_when_they_stopped() -> None:
    learner = HistGradientBoostingClassifier(max_iter=20, early_stopping=True, n_iter_no_change=1)
    X, y = table(120, 0), np.arange(120) % 2
    shapes = []
    for labels in (y, np.where(np.arange(120) < 40, X[:, 0] > 0, y).astype(int)):
        teachers = train_teachers(
            learner, X, labels, np.split(np.arange(120), 3), classes=[0, 1], seed=0
        )
        counts = together(teachers, X[:5])
        assert np.array_equal(counts, count_one_by_one(teachers.private_teachers(), X[:5], 2))
        fused = teachers._fused
        assert isinstance(fused, fused_trees.FusedBoosters)
        shapes.append(fused._roots.shape)
    assert shapes[0] == shapes[1] == (20 * 3,)
