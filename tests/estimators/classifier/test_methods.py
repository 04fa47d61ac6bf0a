"""The method of a fit: parameter objects, what "auto" stands for, and what does not go together."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tacit import Corrections, PATEClassifier, PublicPool, Votes
from tacit.errors import InvalidArgument, LearnerBottleneckWarning
from tacit.estimators.combinations import check_combination, resolve_method
from tacit.labeling import ExternalVotes
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.counts import VoteCounts
from tacit.students.active import Margin


def classifier(learner: Any = None, **settings: Any) -> PATEClassifier:
    defaults = {"epsilon": 100.0, "delta": 1e-5, "classes": [0, 1], "random_state": 3}
    return PATEClassifier(learner, **{**defaults, **settings})


# ---- parameter objects ---------------------------------------------------------------------------


def test_the_classifier_has_fifteen_parameters():
    assert len(PATEClassifier().get_params(deep=False)) == 15


@pytest.mark.parametrize("method", [Votes(), Votes("laplace", n_questions=9), Corrections(4)])
def test_a_method_is_a_parameter_object(method):
    again = clone(method)
    assert again is not method and again.get_params() == method.get_params()
    assert repr(again) == repr(method)
    assert pickle.loads(pickle.dumps(method)).get_params() == method.get_params()


def test_a_method_shows_what_differs_from_the_defaults():
    assert repr(Votes()) == "Votes()"
    assert repr(Votes("sparse", query=None)) == "Votes(mechanism='sparse', query=None)"
    assert repr(Corrections(rounds=5)) == "Corrections(rounds=5)"


def test_settings_of_a_method_are_set_through_the_classifier():
    clf = classifier(LogisticRegression(), method=Votes(n_questions=20))
    assert clf.get_params()["method__n_questions"] == 20
    other = clone(clf).set_params(method__n_questions=30, method__mechanism="laplace")
    assert other.method.get_params()["n_questions"] == 30
    assert clf.method.n_questions == 20 and clf.method.mechanism == "gaussian"
    assert clf.set_params(method=Corrections(), method__rounds=3).method.rounds == 3


def test_settings_of_no_method_say_what_is_missing():
    with pytest.raises(InvalidArgument, match=r"`method__rounds` needs a method.*Corrections\(\)"):
        classifier().set_params(method__rounds=3)
    with pytest.raises(ValueError, match="Invalid parameter 'rounds'"):
        classifier(method=Votes()).set_params(method__rounds=3)


@pytest.mark.parametrize("method", [Votes(query=Margin(), n_questions=20), Corrections(2)], ids=str)
def test_a_fit_changes_nothing_about_its_method(task, method):
    before = repr(method.get_params())
    clf = classifier(LogisticRegression(), method=method, n_teachers=20)
    clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.method is method and repr(method.get_params()) == before


def test_a_search_goes_through_the_settings_of_a_method(task):
    with sklearn.config_context(enable_metadata_routing=True):
        base = classifier(LogisticRegression(), method=Votes()).set_fit_request(X_public=True)
        search = GridSearchCV(base, {"method__n_questions": [20, 30]}, cv=2)
        search.fit(task.X, task.y, X_public=PublicPool(task.pool))
    best = search.best_estimator_
    assert best.report().asked == search.best_params_["method__n_questions"]
    assert base.method.n_questions == "auto"


# ---- auto ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "source", "kind"),
    [
        (None, "records", Corrections),
        (None, "shards", Corrections),
        (None, "votes", Votes),
        (LogisticRegression(), "records", Corrections),
        (LogisticRegression(), "shards", Corrections),
        (LogisticRegression(), "votes", Votes),
        (LinearSVC(), "records", Corrections),
        (make_pipeline(StandardScaler(), LinearSVC()), "records", Votes),
        (LinearDiscriminantAnalysis(), "records", Votes),
        (KNeighborsClassifier(), "records", Votes),
        (DecisionTreeClassifier(), "shards", Votes),
    ],
)
def test_auto_is_corrections_for_built_in_teachers_and_linear_learners(learner, source, kind):
    assert type(resolve_method(classifier(learner), source)) is kind
    given = Votes(n_questions=3)
    assert resolve_method(classifier(learner, method=given), source) is given


def test_a_student_of_your_own_is_trained_on_votes():
    clf = classifier(LogisticRegression(), student=DecisionTreeClassifier())
    assert type(resolve_method(clf, "records")) is Votes


def test_the_method_in_force_is_told(task):
    learners = (
        (None, "Corrections"),
        (LogisticRegression(), "Corrections"),
        (LinearDiscriminantAnalysis(), "Votes"),
    )
    for learner, name in learners:
        clf = classifier(learner).fit(task.X, task.y, X_public=task.pool)
        assert clf.resolved_params_["method"] == name


@pytest.mark.filterwarnings("ignore:Of 20 points")
@pytest.mark.parametrize(
    ("learner", "width", "words"),
    [
        (HistGradientBoostingClassifier(max_iter=2), 2, "min_samples_leaf"),
        (DecisionTreeClassifier(), 4, "five classes"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), 4, "five classes"),
    ],
)
def test_a_learner_that_limits_the_run_is_named_before_anything_is_spent(learner, width, words):
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(300, width)), rng.normal(size=(20, width))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(LearnerBottleneckWarning, match=words):
        classifier(learner).fit(X, y, X_public=pool)
    # Whoever chose votes is not asked again.
    classifier(learner, method=Votes()).fit(X, y, X_public=pool)


def test_learners_that_nothing_speaks_against_are_not_warned_about():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(300, 2)), rng.normal(size=(20, 2))
    classifier(KNeighborsClassifier(3)).fit(X, (X[:, 0] > 0).astype(int), X_public=pool)


@pytest.mark.parametrize("method", ["votes", None, Votes, 3, LogisticRegression()], ids=repr)
def test_what_is_no_method_is_refused(task, method):
    with pytest.raises(InvalidArgument, match="`method` must be 'auto', Votes"):
        classifier(method=method).fit(task.X, task.y, X_public=task.pool)


# ---- what does not go together -------------------------------------------------------------------

OTHER = LogisticRegression()


def _rule(labels: Any, size: int, even: float) -> float:
    return even


@pytest.mark.parametrize(
    ("settings", "source", "given", "words"),
    [
        ({"method": Votes()}, "records", {}, "built-in teachers do not vote"),
        ({"method": Votes()}, "shards", {}, "built-in teachers do not vote"),
        ({"method": Corrections()}, "votes", {}, "Corrections needs records"),
        ({"student": OTHER}, "records", {}, "`student` must be left at 'auto'"),
        (
            {"learner": KNeighborsClassifier(), "method": Corrections()},
            "records",
            {},
            "`sample_weight`",
        ),
        ({"learner": OTHER, "method": Votes("sparse", release="share")}, "records", {}, "share"),
        (
            {"learner": OTHER, "method": Votes(GaussianVote(9.0), release="share")},
            "records",
            {},
            "releases 'label'",
        ),
        (
            {"learner": OTHER, "method": Votes("laplace", noise_rule=_rule, query="random")},
            "records",
            {},
            "needs mechanism",
        ),
        (
            {"learner": OTHER, "method": Votes(noise_rule=_rule, query=None)},
            "records",
            {},
            "must come with a `query`",
        ),
        (
            {"learner": OTHER, "method": Votes(noise_rule=_rule), "student": OTHER},
            "records",
            {},
            "must come with a `query`",
        ),
        ({"learner": OTHER}, "records", {"has_pool": False}, "`X_public` must be given"),
        (
            {"learner": OTHER, "protect": "labels", "neighbouring": "add-remove"},
            "records",
            {},
            "does not go with",
        ),
        ({"protect": "labels"}, "votes", {}, "`protect` must be"),
        ({"learner": OTHER}, "shards", {}, "'hash' goes with 'add-remove'"),
        (
            {"learner": OTHER, "neighbouring": "add-remove", "n_teachers": 9},
            "records",
            {},
            "`groups`",
        ),
        (
            {"learner": OTHER, "neighbouring": "add-remove"},
            "records",
            {"has_groups": True},
            "`n_teachers`",
        ),
    ],
)
def test_impossible_combinations(settings, source, given, words):
    if source == "shards" and "hash" not in words:
        settings = {"neighbouring": "add-remove", **settings}
    clf = classifier(**settings)
    with pytest.raises(InvalidArgument, match=words):
        check_combination(
            clf,
            resolve_method(clf, source),
            source,
            **{"has_pool": True, "has_groups": False, **given},
        )


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        ({"learner": LinearSVC(), "method": Corrections()}, "records"),
        ({"learner": OTHER, "method": Votes("sparse")}, "records"),
        ({"learner": OTHER, "method": Votes(noise_rule=_rule)}, "records"),
        ({"learner": OTHER, "neighbouring": "add-remove"}, "shards"),
        ({"learner": OTHER, "protect": "labels"}, "shards"),
        ({}, "votes"),
        ({"neighbouring": "add-remove", "method": Votes()}, "votes"),
    ],
)
def test_possible_combinations(settings, source):
    clf = classifier(**settings)
    method = resolve_method(clf, source)
    check_combination(clf, method, source, has_pool=True, has_groups=False)


def test_votes_counted_elsewhere_need_no_learner(task):
    counts = VoteCounts(np.tile([3, 7], (60, 1)), 10)
    votes = ExternalVotes(counts, classes=[0, 1], rows=np.arange(60))
    with pytest.warns(UserWarning, match="every answer is the class 1"):
        clf = classifier(method=Votes(query=None)).fit(votes, X_public=task.pool)
    assert clf.resolved_params_["method"] == "Votes"
