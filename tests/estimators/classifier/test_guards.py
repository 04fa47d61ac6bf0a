"""Leaks that are easy to miss: each guard has a test that fails without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.support.method_settings import before_release

import tacit.estimators.voting
from tacit import PATEClassifier, PublicPool, Votes
from tacit.audit import SeededNoise
from tacit.errors import InvalidArgument
from tacit.noise import NoiseSource


class Seeded(PATEClassifier):
    """Predictable noise, so that two fits can be compared."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


# ---- what must be given, and what is said -------------------------------------------------------


def test_the_classes_must_be_given(make, task):
    with pytest.raises(InvalidArgument, match="must be public"):
        make(classes=None).fit(task.X, task.y, X_public=task.pool)


def test_records_need_public_points(make, task):
    with pytest.raises(InvalidArgument, match=r"`X_public` must be given.*protect=\"labels\""):
        make().fit(task.X, task.y)


def test_as_many_public_points_as_records_are_refused_unless_wrapped(make, task):
    pool = np.random.default_rng(5).normal(size=(400, 3))
    with pytest.raises(InvalidArgument, match="PublicPool"):
        make().fit(task.X, task.y, X_public=pool)
    make().fit(task.X, task.y, X_public=PublicPool(pool))


def test_a_delta_above_one_record_in_n_warns(make, task):
    with pytest.warns(UserWarning, match=r"above 1/n = 0.0025"):
        make(delta=0.01).fit(task.X, task.y, X_public=task.pool)
    # 400 records of 50 people: people count.
    with pytest.warns(UserWarning, match=r"above 1/n = 0.02"):
        make(delta=0.03).fit(task.X, task.y, X_public=task.pool, groups=np.arange(400) // 8)


def test_add_remove_needs_identifiers_and_a_number_of_teachers(make, task):
    with pytest.raises(InvalidArgument, match="groups"):
        make(neighbouring="add-remove", n_teachers=5).fit(task.X, task.y, X_public=task.pool)
    with pytest.raises(InvalidArgument, match="number of records is private"):
        make(neighbouring="add-remove").fit(
            task.X, task.y, X_public=task.pool, groups=np.arange(400)
        )


def test_under_add_remove_nothing_compares_with_the_number_of_records(make, task):
    clf = make(neighbouring="add-remove", n_teachers=500, delta=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Teachers of one record each all vote for the default class: that is said, being released.
        warnings.filterwarnings("ignore", ".*every answer is the class")
        clf.fit(task.X, task.y, X_public=task.pool, groups=np.arange(400))
        pool = np.random.default_rng(5).normal(size=(400, 3))
        clf.fit(task.X, task.y, X_public=pool, groups=np.arange(400))


def test_a_broken_learner_is_found_on_public_points(make, task):
    class Broken(LogisticRegression):
        def predict(self, X):
            raise RuntimeError("no such luck")

    with pytest.raises(InvalidArgument, match="no such luck"):
        make(learner=Broken()).fit(task.X, task.y, X_public=task.pool)


# ---- the representation -------------------------------------------------------------------------


class Spy(TransformerMixin, BaseEstimator):
    """Scales, and remembers every table that ``fit`` saw."""

    seen: list[Any] = []

    def fit(self, X: Any, y: Any = None) -> Any:
        Spy.seen.append((np.array(X), y))
        self.scale_ = 1.0
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X) * self.scale_


def test_a_representation_is_fitted_on_public_points_only(make, task):
    Spy.seen.clear()
    make(representation=Spy()).fit(task.X, task.y, X_public=task.pool)
    assert [np.allclose(X, task.pool) and y is None for X, y in Spy.seen] == [True]


def test_the_automatic_representation_sees_the_pool_alone(make, task):
    one = make().fit(task.X, task.y, X_public=task.pool).representation_
    other = make().fit(task.X * 100 + 5, task.y, X_public=task.pool).representation_
    assert np.array_equal(one.directions_, other.directions_)
    assert one.length_ == other.length_


def refuse_large(X):
    if np.abs(X).max() > 1e3:
        raise ValueError(f"the record {X[np.abs(X).max(axis=1) > 1e3]} is too large")
    return X


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e300], ids=str)
@pytest.mark.parametrize(
    "representation",
    ["auto", None, StandardScaler(), FunctionTransformer(refuse_large)],
    ids=["auto", "none", "scaler", "refusing"],
)
def test_a_private_value_raises_and_warns_nothing(make, task, odd, representation):
    X = task.X.copy()
    X[7, 1] = odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = make(representation=representation).fit(X, task.y, X_public=task.pool)
    assert clf.score(task.X, task.y) > 0.7


def test_a_category_that_the_representation_does_not_know_stays_unsaid(make, task):
    words = np.where(task.X > 0, "up", "down").astype(object)
    pool = np.where(task.pool > 0, "up", "down").astype(object)
    words[3, 0] = "secret"
    clf = make(representation=OneHotEncoder(sparse_output=False))
    clf.fit(words, task.y, X_public=pool)
    assert clf.score(pool, (task.pool[:, 0] + task.pool[:, 1] > 0).astype(int)) > 0.6


# ---- labels -------------------------------------------------------------------------------------


def test_unknown_labels_are_ignored(make, task):
    y = task.y.astype(object)
    y[:30] = ["rare", None, 3.5, (), {}, "0x"] * 5
    clf = make().fit(task.X, y, X_public=task.pool)
    assert clf.classes_.tolist() == [0, 1]
    assert clf.score(task.X, task.y) > 0.8
    as_list = make().fit(task.X, list(y), X_public=task.pool)
    assert as_list.score(task.X, task.y) > 0.8


@pytest.mark.filterwarnings("ignore:.*every answer is the class")
def test_automatic_settings_never_look_at_labels(make, task):
    base = before_release(make().fit(task.X, task.y, X_public=task.pool))
    rng = np.random.default_rng(0)
    for y in (rng.permutation(task.y), np.zeros(400, int), np.full(400, 9)):
        assert before_release(make().fit(task.X, y, X_public=task.pool)) == base


# ---- one record, one vote -----------------------------------------------------------------------


@pytest.fixture
def votes(monkeypatch) -> Iterator[list[Any]]:
    """Return the counts of every fit, caught before noise."""
    caught: list[Any] = []
    true = tacit.estimators.voting.train_and_count

    def spy(*args: Any, **named: Any) -> Any:
        counts = true(*args, **named)
        caught.append(counts.private_array().copy())
        return counts

    monkeypatch.setattr(tacit.estimators.voting, "train_and_count", spy)
    yield caught


Change = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


def other_record(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    X, y = X.copy(), y.copy()
    X[11], y[11] = (50.0, -40.0, 3.0), 1 - y[11]
    return X, y, people


def no_number(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    X, y = X.copy(), y.copy()
    X[11], y[11] = np.nan, 9
    return X, y, people


def other_label(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    y = y.copy()
    y[11] = 1 - y[11]
    return X, y, people


def odd_label(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    # As a list, one text must not change how the other labels are read.
    return X, ["rare" if at == 11 else label for at, label in enumerate(y.tolist())], people


def other_person(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    mine = people == people[11]
    X, y, people = X.copy(), y.copy(), people.astype(object)
    X[mine], y[mine] = 30.0, 1
    people[mine] = "somebody new"
    return X, y, people


def larger_person(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    more = np.full((5, 3), 30.0)
    return (
        np.vstack([X, more]),
        np.concatenate([y, np.ones(5, int)]),
        np.concatenate([people, np.full(5, people[11])]),
    )


def person_gone(X: Any, y: Any, people: Any) -> tuple[Any, Any, Any]:
    kept = people != people[11]
    return X[kept], y[kept], people[kept]


CASES = [
    ("replace", False, [other_record, no_number, odd_label]),
    ("replace", True, [other_person, larger_person, no_number]),
    ("add-remove", True, [person_gone, larger_person]),
    ("labels", False, [other_label, odd_label]),
    ("labels", True, [other_label]),
]


@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier()], ids=repr)
@pytest.mark.parametrize(
    ("relation", "grouped", "change"),
    [(relation, grouped, change) for relation, grouped, some in CASES for change in some],
)
def test_neighbours_differ_in_one_vote_per_question(
    task, votes, learner, relation, grouped, change
):
    protect = {"protect": "labels"} if relation == "labels" else {"neighbouring": relation}
    people = np.arange(400) // (4 if grouped else 1)
    for X, y, names in (
        (task.X, task.y, people),
        change(task.X, task.y, people),
    ):
        voting = {"n_teachers": 20, "method": Votes(), "random_state": 1, **protect}
        clf = Seeded(learner, epsilon=1.0, classes=[0, 1], **voting)
        pool = None if relation == "labels" else task.pool
        clf.fit(X, y, X_public=pool, groups=names if grouped else None)
    one, other = votes
    moved = np.abs(one - other).sum(axis=1)
    assert moved.max() <= 2 and set(moved) <= {0, 2}  # one vote leaves a class, one enters


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("cell", ["text", None])
@pytest.mark.parametrize("column", ["age", "category", "word"])
def test_one_odd_cell_of_a_frame_moves_one_vote(task, votes, column, cell):
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)

    def rows(X):
        ages = (X[:, 0] * 10).round().astype(int).tolist()
        return [[age, "xyz"[age % 3], rng.choice(["u", "v"])] for age in ages]

    def frame(cells):
        found = pd.DataFrame(cells, columns=["age", "category", "word"])
        return found.astype({"category": "category"})

    # Columns are chosen by type: a type that one record could change would reach every teacher.
    learner = make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        ),
        DecisionTreeClassifier(random_state=0),
    )
    private, pool = rows(task.X), frame(rows(task.pool))
    changed = [list(row) for row in private]
    changed[11][["age", "category", "word"].index(column)] = cell
    for records in (private, changed):
        voting = {"n_teachers": 20, "method": Votes(), "random_state": 1}
        clf = Seeded(learner, epsilon=1.0, classes=[0, 1], **voting)
        clf.fit(frame(records), task.y, X_public=pool)
    one, other = votes
    assert np.abs(one - other).sum(axis=1).max() <= 2


# ---- which exception is raised does not depend on values ----------------------------------------

ANY_NUMBER = st.floats(allow_nan=True, allow_infinity=True, width=64)
ANY_LABEL = st.one_of(st.integers(-1, 3), st.text(max_size=2), st.none(), st.floats())
ANY_NAME = st.one_of(st.integers(), st.text(max_size=3), st.none(), st.floats(), st.binary())


def outcome(fit: Callable[[], Any]) -> str:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return str([str(one.message) for one in said])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(ANY_NUMBER, min_size=6, max_size=6),
    labels=st.lists(ANY_LABEL, min_size=12, max_size=12),
    names=st.lists(ANY_NAME, min_size=12, max_size=12),
)
@pytest.mark.parametrize("relation", ["replace", "add-remove", "labels"])
def test_no_private_value_decides_which_error_is_raised(task, relation, cells, labels, names):
    X = task.X[:12].copy()
    X[:2] = np.reshape(cells, (2, 3))
    protect = {"protect": "labels"} if relation == "labels" else {"neighbouring": relation}
    clf = Seeded(
        LogisticRegression(), epsilon=1.0, classes=[0, 1], n_teachers=3, method=Votes(), **protect
    )
    groups = names if relation == "add-remove" else None
    if relation == "labels":
        X = task.X[:12]  # features are public here

    def fit() -> None:
        clf.fit(X, labels, X_public=task.pool, groups=groups)

    assert outcome(fit) == "[]"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.one_of(ANY_NUMBER, st.text(max_size=3), st.none()), min_size=9))
def test_no_cell_of_a_list_or_object_array_decides_which_error_is_raised(task, cells):
    rows = task.X[:12].tolist()
    for position, cell in enumerate(cells[:36]):
        rows[position // 3][position % 3] = cell
    for X in (rows, np.array(rows, dtype=object)):
        method = Votes(query=None)  # reading is over before the first question is chosen
        clf = Seeded(LogisticRegression(), epsilon=1.0, classes=[0, 1], n_teachers=3, method=method)
        assert outcome(lambda X=X, clf=clf: clf.fit(X, task.y[:12], X_public=task.pool)) == "[]"


@pytest.mark.parametrize("first", ["text", 3.0, None])
def test_the_first_record_does_not_decide_what_a_text_is(make, task, first):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts = ["good fine" if label else "bad awful" for label in task.y]
    pool = [f"{'good fine' if k % 2 else 'bad awful'} {k}" for k in range(60)]
    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    make(learner=learner).fit([first, *texts[1:]], task.y, X_public=pool)


@pytest.mark.parametrize("kind", [int, float, bool, str, object])
def test_the_type_of_a_private_container_is_never_refused(make, task, kind):
    made = make(classes=["0", "1"]).fit(task.X, task.y.astype(kind), X_public=task.pool)
    assert set(made.predict(task.X).tolist()) <= {"0", "1"}
