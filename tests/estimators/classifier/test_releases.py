"""Every mechanism, every kind of release, students of all sorts, and what is said about them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.support.method_settings import before_release

import tacit.estimators.voting
from tacit import (
    Budget,
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    Output,
    SparseVote,
    StableVote,
)
from tacit.data.assumptions import KEEPS_ROW, READING
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.estimators.inputs import identifiers, private_labels
from tacit.report import RunReport

NAMES = ["gaussian", "laplace", "confident", "exponential", "sparse"]


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_by_name(make, task, name):
    clf = make(mechanism=name).fit(task.X, task.y, X_public=task.pool)
    assert clf.privacy_.epsilon <= 100.0
    assert clf.privacy_.spent_epsilon <= clf.privacy_.epsilon * (1 + 1e-9)
    assert clf.predict(task.X).shape == (400,)
    assert clf.report().asked == clf.report().answered + clf.report().refused
    assert clf.privacy_.mechanism.lower().startswith(name)


BUDGET = Budget(20.0, 1e-5)
OBJECTS = [
    GaussianVote.for_budget(BUDGET, answers=30),
    GaussianVote.for_budget(BUDGET, answers=30, output=Output.SHARE),
    LaplaceVote.for_budget(BUDGET, answers=30),
    ConfidentVote.for_budget(BUDGET, threshold=7, questions=30),
    ExponentialVote.for_budget(BUDGET, answers=30),
    SparseVote.for_budget(BUDGET, cutoff=3),
]


@pytest.mark.parametrize("mechanism", OBJECTS, ids=lambda m: f"{m.name}-{m.output}")
def test_every_mechanism_as_an_object(make, task, mechanism):
    clf = make(mechanism=mechanism, n_teachers=20).fit(task.X, task.y, X_public=task.pool)
    assert clf.resolved_params_["release"] == mechanism.output.value
    planned = getattr(mechanism, "questions", getattr(mechanism, "answers", 60))
    assert clf.resolved_params_["n_questions"] <= planned
    assert clf.privacy_.epsilon == pytest.approx(mechanism.epsilon(1e-5))


@pytest.fixture
def untrained(monkeypatch):
    """Fail when a teacher is trained."""

    def refuse(*args: Any, **settings: Any) -> None:
        raise AssertionError("teachers were trained")

    monkeypatch.setattr(tacit.estimators.voting, "train_and_count", refuse)


def test_a_mechanism_over_budget_is_refused_before_training(make, task, untrained):
    with pytest.raises(BudgetExceeded, match="costs epsilon"):
        make(mechanism=GaussianVote(sigma=0.3, answers=30)).fit(task.X, task.y, X_public=task.pool)


def test_a_full_ledger_refuses_before_training(make, task, untrained):
    from tacit.ledger import MemoryLedger

    with pytest.raises(BudgetExceeded):
        make(ledger=MemoryLedger(Budget(1.0, 1e-5))).fit(task.X, task.y, X_public=task.pool)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mechanism": GaussianVote.for_budget(BUDGET, answers=5), "n_questions": 6}, "at most 5"),
        ({"mechanism": GaussianVote.for_budget(BUDGET, answers=5, n_classes=3)}, "2 classes"),
        ({"mechanism": "none"}, "gaussian"),
        ({"mechanism": "sparse", "release": "share"}, "share"),
        ({"mechanism": OBJECTS[0], "release": "share"}, "releases 'label'"),
        ({"release": "votes"}, "release"),
        ({"refusals": "drop"}, "refusals"),
        ({"protect": "nothing"}, "protect"),
        ({"n_questions": 0}, "n_questions"),
        ({"n_teachers": 401}, "at most 400"),
        ({"n_teachers": "many"}, "auto"),
        ({"delta": 0.0}, "delta"),
        ({"classes": "all"}, "must be a list of labels"),
        ({"classes": [1]}, "at least two"),
        ({"representation": "pca"}, "representation"),
        ({"neighbouring": "labels"}, "protect"),
        ({"neighbouring": "add-remove", "protect": "labels"}, "add-remove"),
    ],
)
def test_settings_that_do_not_fit_are_refused_before_training(
    make, task, untrained, settings, words
):
    with pytest.raises(InvalidArgument, match=words):
        make(**settings).fit(task.X, task.y, X_public=task.pool)


def test_shares_carry_more_than_labels(make, task):
    shares = make(release="share").fit(task.X, task.y, X_public=task.pool)
    labels = make(release="label", n_questions=60).fit(task.X, task.y, X_public=task.pool)
    assert shares.resolved_params_["release"] == "share"
    assert labels.resolved_params_["release"] == "label"
    # Both use up the budget; a bit alone needs less noise for it.
    assert shares.privacy_.epsilon == pytest.approx(labels.privacy_.epsilon, rel=1e-4)
    assert shares.score(task.X, task.y) > 0.8


def test_auto_release_follows_the_student(make, task):
    clf = make(student=LogisticRegression()).fit(task.X, task.y, X_public=task.pool)
    assert clf.resolved_params_["release"] == "label"


@pytest.mark.parametrize("asked", [7, 60, 1000])
def test_the_number_of_questions_is_kept(make, task, asked):
    clf = make(n_questions=asked).fit(task.X, task.y, X_public=task.pool)
    assert clf.report().asked == min(asked, 60) == clf.privacy_.questions


STUDENTS = [
    "auto",
    LogisticRegression(),
    SelfTrainingClassifier(LogisticRegression()),
    LabelSpreading(),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5),
    VotingClassifier([("one", LogisticRegression()), ("two", DecisionTreeClassifier())]),
]


@pytest.mark.parametrize("student", STUDENTS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("refusals", ["unlabelled", "random"])
def test_students_with_refusals(make, task, student, refusals):
    clf = make(student=student, mechanism="confident", refusals=refusals, n_questions=50)
    clf.fit(task.X, task.y, X_public=task.pool)
    assert set(clf.predict(task.X)) <= {0, 1}


class Recorder(LogisticRegression):
    """Remembers what it was fitted on."""

    seen: list[Any] = []

    def fit(self, X: Any, y: Any) -> Any:
        Recorder.seen.append((X, y))
        return super().fit(X, y)


class Semi(Recorder):
    """Taken for one of scikit-learn's semi-supervised students by its module."""


Semi.__module__ = "sklearn.semi_supervised.test"


def refusing(make, student, **settings):
    # Half of the votes are needed to pass, and noise refuses some: scripted by the seed.
    mechanism = ConfidentVote(threshold=8.5, sigma1=1.0, sigma2=1.0, questions=40)
    return make(student=student, mechanism=mechanism, epsilon=1e4, n_teachers=10, **settings)


def test_refused_points_are_left_out(make_seeded, task):
    Recorder.seen.clear()
    clf = refusing(make_seeded, Recorder()).fit(task.X, task.y, X_public=task.pool)
    report = clf.report()
    assert 0 < report.refused < 40
    X, y = Recorder.seen[-1]  # the first ones are checks on made-up labels
    assert len(X) == len(y) == report.answered
    assert set(y) <= {0, 1}


def test_refused_points_are_labelled_at_random(make_seeded, task):
    Recorder.seen.clear()
    refusing(make_seeded, Recorder(), refusals="random").fit(task.X, task.y, X_public=task.pool)
    X, y = Recorder.seen[-1]  # the first ones are checks on made-up labels
    assert len(X) == len(y) == 40


def test_a_semi_supervised_student_sees_the_whole_pool_in_index_space(make_seeded, task):
    Recorder.seen.clear()
    labels = np.where(task.y == 1, 5, -1)  # a class called -1 must not read as "unlabelled"
    clf = refusing(make_seeded, Semi(), classes=[-1, 5])
    clf.fit(task.X, labels, X_public=task.pool)
    X, y = Recorder.seen[-1]  # the first ones are checks on made-up labels
    assert np.allclose(X, task.pool)
    assert (y == -1).sum() == 60 - clf.report().answered
    assert set(clf.predict(task.X)) <= {-1, 5}


def test_one_released_class_gives_a_constant_student(make, task):
    clf = make(student=LogisticRegression())
    with pytest.warns(UserWarning, match="every answer is the class 1"):
        clf.fit(task.X, np.ones(400, int), X_public=task.pool)
    assert set(clf.predict(task.X)) == {1}
    assert clf.predict_proba(task.X)[:, 1].min() == 1


def test_nothing_released_gives_the_first_class(make, task):
    mechanism = ConfidentVote(threshold=1e6, sigma1=5.0, sigma2=5.0, questions=10)
    clf = make(student=LogisticRegression(), mechanism=mechanism, epsilon=100.0)
    with pytest.warns(UserWarning, match="Of 10 points asked, no point was answered"):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.report().answered == 0
    assert set(clf.predict(task.X)) == {0}


def test_equal_points_are_asked_once(make, task):
    doubled = np.vstack([task.pool[:20], task.pool[:20]])
    clf = make().fit(task.X, task.y, X_public=doubled)
    assert clf.report().asked == 20
    once = make().fit(task.X, task.y, X_public=task.pool[:20])
    assert clf.resolved_params_["n_questions"] == once.resolved_params_["n_questions"] == 20
    assert clf.resolved_params_["mechanism"] == once.resolved_params_["mechanism"]
    many = make(n_questions=30).fit(task.X, task.y, X_public=doubled)
    assert before_release(many) == before_release(clf)


@pytest.mark.parametrize(
    "mechanism",
    ["sparse", SparseVote(5.0, 200.0, 2), StableVote(5.0, 200, answers=2)],
    ids=["name", "sparse", "stable"],
)
def test_a_threshold_that_no_vote_reaches_is_refused(make, task, untrained, mechanism):
    with pytest.raises(InvalidArgument, match="vote of 40 teachers has a distance of 19.*more tea"):
        epsilon = 1.0 if mechanism == "sparse" else 100.0
        clf = make(mechanism=mechanism, n_teachers=40, epsilon=epsilon, delta=1e-3)
        clf.fit(task.X, task.y, X_public=task.pool)


# ---- what is said -------------------------------------------------------------------------------


def test_resolved_settings_name_every_choice(make, task):
    clf = make().fit(task.X, task.y, X_public=task.pool)
    chosen = clf.resolved_params_
    assert {"n_teachers", "n_questions", "mechanism", "release", "representation"} <= set(chosen)
    assert "auto" not in {str(value) for value in chosen.values()}
    assert chosen["n_questions"] == 50 and chosen["release"] == "share"
    assert chosen["query"].startswith("DiverseMargin")
    assert chosen["representation"].startswith("PoolRepresentation")


def test_the_report_goes_through_json(make, task):
    report = make().fit(task.X, task.y, X_public=task.pool).report()
    again = RunReport.from_json(report.to_json())
    assert again == report
    assert json.loads(report.to_json())["format_version"] == 1


def test_label_private_learning_needs_no_pool_and_says_what_it_protects(make, task):
    clf = make(protect="labels").fit(task.X, task.y)
    text = " ".join(str(clf.privacy_).split())
    assert "The label of one record, and nothing else" in text
    assert "guess about the label of one record" in text
    assert "Features are public" in text
    assert "features of the records themselves" in text
    given = make(protect="labels").fit(task.X, task.y, X_public=task.pool)
    assert "features of the records themselves" not in " ".join(given.privacy_.assumptions)
    assert clf.score(task.X, task.y) > 0.7


def test_groups_make_the_statement_about_people(make, task):
    clf = make().fit(task.X, task.y, X_public=task.pool, groups=np.arange(400) // 2)
    assert clf.privacy_.unit == "person"
    assert "all records of one person" in str(clf.privacy_).replace("\n    ", " ")


def test_add_remove_with_identifiers(make, task):
    clf = make(neighbouring="add-remove", n_teachers=10)
    clf.fit(task.X, task.y, X_public=task.pool, groups=[f"id{k}" for k in range(400)])
    assert "number of people is public" not in str(clf.privacy_)
    assert "count as two steps" in " ".join(clf.privacy_.assumptions)
    assert clf.score(task.X, task.y) > 0.7


@pytest.mark.parametrize(("first", "second"), [(np.asarray, csr_matrix), (csr_matrix, np.asarray)])
@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier()], ids=repr)
def test_records_take_the_container_of_the_pool(make, task, first, second, learner):
    clf = make(learner=learner).fit(first(task.X), task.y, X_public=second(task.pool))
    assert clf.score(first(task.X), task.y) > 0.75
    assert np.array_equal(clf.predict(first(task.X)), clf.predict(second(task.X)))


def test_with_progress_the_memory_needed_is_told_first(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    clf = tacit.PATEClassifier(
        LogisticRegression(), classes=[0, 1], delta=1e-4, method=tacit.Votes(), verbose=True
    )
    clf.fit(X, (X[:, 0] > 0).astype(int), X_public=rng.normal(size=(30, 2)))
    assert "MiB beyond the records" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "array"])
def test_labels_in_a_table_of_one_column_are_labels(task, kind):
    labels = np.asarray(task.y).tolist()
    tables = {
        "arrow": lambda: pytest.importorskip("pyarrow").table({"y": labels}),
        "polars": lambda: pytest.importorskip("polars").DataFrame({"y": labels}),
        "pandas": lambda: pytest.importorskip("pandas").DataFrame({"y": labels}),
        "array": lambda: np.array(labels)[:, None],
    }
    with pytest.warns(DataConversionWarning, match="column-vector"):
        found = private_labels(tables[kind](), len(labels))
    assert found.tolist() == private_labels(labels, len(labels)).tolist()


def test_labels_and_groups_in_other_tables_are_refused():
    with pytest.raises(InvalidArgument, match="sparse"):
        private_labels(csr_matrix(np.eye(3)[:, :1]), 3)
    pl = pytest.importorskip("polars")
    with pytest.raises(InvalidArgument, match="`groups`"):
        identifiers(pl.DataFrame({"g": [1, 2, 3]}), 3)


def test_every_statement_lists_what_reading_leaves_to_the_caller(make, task):
    clf = make().fit(task.X, task.y, X_public=task.pool)
    assert {READING, KEEPS_ROW} <= set(clf.privacy_.assumptions)
