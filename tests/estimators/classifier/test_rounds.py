"""A fit in rounds: inputs, settings, what is told, and what is left when it stops."""

from __future__ import annotations

import json
import pickle
import warnings
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.classifier.label_classes import classes_in
from tests.support.method_settings import with_method
from tqdm import tqdm

import tacit.estimators.corrections
import tacit.teachers.corrections.logistic
from tacit import (
    Budget,
    Corrections,
    PATEClassifier,
    PublicPool,
    Votes,
    load_student,
    save_student,
)
from tacit.audit import SeededNoise
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerError
from tacit.estimators.releases import ReleasedCorrections
from tacit.labeling.external_votes import ExternalVotes
from tacit.ledger import MemoryLedger, SqliteLedger
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource
from tacit.report import RunReport

CHECKED: dict[str, Any] = {"epsilon": 1e5, "random_state": 0}


class Seeded(PATEClassifier):
    """With predictable noise, to compare fits."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


class Pooled(Seeded):
    """Supplies the pool that scikit-learn's checks do not know of: the same points again.

    The noise is the same in every fit: some checks fit twice and compare.
    """

    def _class_list(self, y: Any) -> Any:
        return classes_in(np.asarray(y))

    def fit(self, X: Any, y: Any, X_public: Any = None, groups: Any = None) -> Any:
        points = X if sparse.issparse(X) else np.asarray(X)
        if X_public is None and points.ndim == 2 and points.shape[0] > 0:
            X_public = PublicPool(X if hasattr(X, "iloc") else points)
        return super().fit(X, y, X_public, groups)


@parametrize_with_checks([Pooled(method=Corrections(2), **CHECKED)])
def test_estimator_checks(estimator, check):
    check(estimator)


def built_in(**settings: Any) -> PATEClassifier:
    defaults: dict[str, Any] = {"epsilon": 100.0, "delta": 1e-5, "classes": [0, 1]}
    defaults |= {"random_state": 3, "rounds": 6}
    return PATEClassifier(**with_method({**defaults, **settings}))


def of(learner: Any, kind: type[PATEClassifier] = PATEClassifier, **settings: Any) -> Any:
    defaults: dict[str, Any] = {"epsilon": 100.0, "delta": 1e-5, "classes": [0, 1]}
    defaults |= {"random_state": 3, "rounds": 3, "n_teachers": 40}
    return kind(learner, **with_method({**defaults, **settings}))


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger(Budget(100.0, 1e-5))


# ---- results ------------------------------------------------------------------------------------


def test_built_in_teachers_correct_a_student(task):
    clf = built_in().fit(task.X, task.y, X_public=task.pool)
    assert clf.score(task.X, task.y) > 0.85
    assert clf.predict_proba(task.X).shape == (400, 2)
    assert type(clf.student_.model[-1]).__name__ == "LinearStudent"


def test_built_in_teachers_correct_unless_another_method_is_given(task):
    clf = built_in().set_params(method="auto").fit(task.X, task.y, X_public=task.pool)
    same = built_in(rounds="auto").fit(task.X, task.y, X_public=task.pool)
    assert clf.resolved_params_ == same.resolved_params_
    assert clf.resolved_params_["rounds"] == clf.privacy_.planned == clf.privacy_.questions


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=3),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_learner_with_weights_and_scores_corrects_a_student(task, learner):
    clf = of(learner).fit(task.X, task.y, X_public=task.pool)
    assert clf.score(task.X, task.y) > 0.75


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=["built-in", "other"])
def test_many_classes_and_labels_that_are_none(task, learner):
    y = np.array(["low", "middle", "high"])[np.digitize(task.X[:, 0], [-0.5, 0.5])]
    y[:5] = "unheard of"
    clf = of(learner, classes=["low", "middle", "high"], rounds=6)
    clf.fit(task.X, y, X_public=task.pool)
    assert clf.score(task.X[5:], y[5:]) > 0.6
    assert clf.released_.corrections.shape[2] == 2
    assert set(clf.predict(task.X)) <= {"low", "middle", "high"}


def test_a_richer_representation_makes_a_richer_student(task):
    y = (task.X[:, 0] * task.X[:, 1] > 0).astype(int)
    linear = built_in(representation=None).fit(task.X, y, X_public=task.pool)
    assert linear.score(task.X, y) < 0.7
    for representation in ("auto", PolynomialFeatures(2)):
        rich = built_in(representation=representation).fit(task.X, y, X_public=task.pool)
        assert rich.score(task.X, y) > 0.8


# ---- inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=["built-in", "other"])
def test_sparse_tables(task, learner):
    clf = of(learner).fit(sparse.csr_matrix(task.X), task.y, X_public=sparse.csr_matrix(task.pool))
    assert clf.score(sparse.csr_matrix(task.X), task.y) > 0.75


def words_of(task: Any, rng: np.random.Generator) -> Any:
    def table(labels: Any) -> Any:
        counts = rng.poisson(0.01, size=(len(labels), 5000)).astype(float)
        counts[:, :3] += rng.poisson(3, size=(len(labels), 3)) * (np.asarray(labels)[:, None] == 1)
        return sparse.csr_matrix(counts)

    return table(task.y), table(rng.integers(0, 2, 60))


def test_wide_sparse_tables_are_word_counts(task, tmp_path):
    X, pool = words_of(task, np.random.default_rng(0))
    clf = built_in().fit(X, task.y, X_public=pool)
    assert clf.score(X, task.y) > 0.75
    save_student(clf, tmp_path / "student")
    loaded = load_student(tmp_path / "student")
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))


@pytest.mark.needs("pandas")
@pytest.mark.parametrize(
    "learner",
    [None, make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["built-in", "other"],
)
def test_frames(task, learner):
    import pandas as pd

    names = ["a", "b", "c"]
    X, pool = pd.DataFrame(task.X, columns=names), pd.DataFrame(task.pool, columns=names)
    if learner is None:
        for frame in (X, pool):
            frame["kind"] = pd.Categorical(np.where(frame["a"] > 0, "u", "v"))
    clf = of(learner).fit(X, task.y, X_public=pool)
    assert clf.score(X, task.y) > 0.75


def test_texts(task):
    def texts(labels: Any) -> list[str]:
        return [f"{'good fine' if label else 'bad awful'} word{k % 7}" for k, label in
                enumerate(labels)]  # fmt: skip

    pool = texts(np.arange(60) % 2)
    clf = built_in().fit(texts(task.y), task.y, X_public=pool)
    assert clf.score(texts(task.y), task.y) > 0.9
    from sklearn.feature_extraction.text import TfidfVectorizer

    learner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    clf = of(learner).fit(texts(task.y), task.y, X_public=pool)
    assert clf.score(texts(task.y), task.y) > 0.9


def test_people_with_several_records(task):
    clf = built_in().fit(task.X, task.y, X_public=task.pool, groups=np.arange(400) // 2)
    assert clf.privacy_.unit == "person"
    assert clf.score(task.X, task.y) > 0.8


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=["built-in", "other"])
def test_add_remove(task, learner):
    clf = of(learner, neighbouring="add-remove", n_teachers=100)
    clf.fit(task.X, task.y, X_public=task.pool, groups=np.arange(400))
    assert clf.privacy_.neighbouring.value == "add-remove"
    assert clf.score(task.X, task.y) > 0.75
    assert "400" not in str(clf.report()) + repr(clf.resolved_params_)
    with pytest.raises(InvalidArgument, match="n_teachers"):
        built_in(neighbouring="add-remove").fit(
            task.X, task.y, X_public=task.pool, groups=np.arange(400)
        )


def test_labels_alone(task):
    without = built_in(protect="labels").fit(task.X, task.y)
    assert without.score(task.X, task.y) > 0.8
    assert without.privacy_.neighbouring.value == "labels"
    given = built_in(protect="labels").fit(task.X, task.y, X_public=task.pool)
    assert given.score(task.X, task.y) > 0.8


def test_a_given_number_of_teachers_is_kept(task):
    clf = built_in(n_teachers=33).fit(task.X, task.y, X_public=task.pool)
    assert clf.resolved_params_["n_teachers"] == 33 and clf.resolved_params_["shard_size"] > 0
    with pytest.raises(InvalidArgument, match="n_teachers"):
        built_in(n_teachers=401).fit(task.X, task.y, X_public=task.pool)


def test_votes_from_elsewhere_do_not_correct(task):
    counts = VoteCounts(np.tile([3, 7], (60, 1)), 10)
    votes = ExternalVotes(counts, classes=[0, 1], rows=np.arange(60))
    with pytest.raises(InvalidArgument, match="Corrections needs records"):
        PATEClassifier(classes=[0, 1], method=Corrections(3)).fit(votes, X_public=task.pool)


# ---- what is told -------------------------------------------------------------------------------


def test_the_statement_and_the_report(task, tmp_path):
    clf = built_in(epsilon=1.0).fit(task.X, task.y, X_public=task.pool)
    said = clf.privacy_
    assert said.epsilon <= 1.0 and said.spent_epsilon == pytest.approx(said.epsilon)
    assert said.mechanism == "ClippedMean" and said.released == "corrections"
    assert said.questions == said.planned == 6
    assert "correction" in str(said)
    report = clf.report(task.pool, (task.pool[:, 0] > 0).astype(int))
    assert RunReport.from_json(report.to_json()).to_json() == report.to_json()
    assert "correction" in str(report)
    report.save_html(tmp_path / "page.html")
    assert "correction" in (tmp_path / "page.html").read_text()
    assert json.loads(report.to_json())["settings"]["release"] == "corrections"


def test_what_was_released_is_kept_as_numbers(task):
    clf = built_in(representation=None).fit(task.X, task.y, X_public=task.pool)
    released = clf.released_
    assert isinstance(released, ReleasedCorrections)
    assert released.corrections.shape == (6, 4, 1)
    assert len(released.radii) == 6 and min(released.radii) > 0
    assert released.deviation > 0 and released.privacy == clf.privacy_


def test_questions_are_no_part_of_it(task):
    clf = built_in().fit(task.X, task.y, X_public=task.pool)
    with pytest.raises(InvalidArgument, match="`keep_asking`.*Corrections"):
        clf.keep_asking()
    with pytest.raises(InvalidArgument, match="`learning_curve`.*Corrections"):
        clf.learning_curve()
    with pytest.raises(InvalidArgument, match="Corrections"):
        clf.report(curve=True)


def test_a_progress_bar_counts_rounds(task, capfd):
    built_in(verbose=True).fit(task.X, task.y, X_public=task.pool)
    said = capfd.readouterr()
    assert said.out == "" and "corrections" in said.err and "6/6" in said.err
    built_in(verbose=False).fit(task.X, task.y, X_public=task.pool)
    assert capfd.readouterr() == ("", "")


def test_test_noise_is_marked(task):
    assert not of(None, Seeded).fit(task.X, task.y, X_public=task.pool).privacy_.secure


# ---- copies and files ---------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=["built-in", "other"])
@pytest.mark.parametrize("representation", ["auto", None, StandardScaler()], ids=repr)
def test_a_student_is_the_same_after_pickling_and_loading(task, learner, representation, tmp_path):
    clf = of(learner, representation=representation).fit(task.X, task.y, X_public=task.pool)
    save_student(clf, tmp_path / "student")
    for again in (pickle.loads(pickle.dumps(clf)), load_student(tmp_path / "student")):
        np.testing.assert_array_equal(again.predict_proba(task.X), clf.predict_proba(task.X))
        assert again.privacy_ == clf.privacy_
        assert again.report().to_json() == clf.report().to_json()


def test_settings_survive_a_clone():
    clf = built_in(rounds=7)
    again = clone(clf)
    assert again.method is not clf.method and again.method.rounds == 7
    assert again.set_params(method__rounds="auto").method.rounds == "auto"
    assert clf.method.rounds == 7


def test_copies_hold_no_record(task):
    X = task.X.copy()
    X[17, 1] = 1234.5678901
    clf = built_in(rounds=2).fit(X, task.y, X_public=task.pool)
    assert np.float64(1234.5678901).tobytes() not in pickle.dumps(clf)
    assert np.float64(1234.5678901).tobytes() not in pickle.dumps(vars(clf)["student_"])


# ---- the same again -----------------------------------------------------------------------------


def test_the_same_seed_and_noise_make_the_same_student(task):
    one, two = (
        of(None, Seeded).fit(task.X, task.y, X_public=task.pool).predict_proba(task.pool)
        for _ in range(2)
    )
    assert one.tobytes() == two.tobytes()


def test_two_workers_make_the_same_student(task):
    one, two = (
        of(LogisticRegression(), Seeded, n_jobs=jobs)
        .fit(task.X, task.y, X_public=task.pool)
        .predict_proba(task.pool)
        for jobs in (1, 2)
    )
    assert one.tobytes() == two.tobytes()


# ---- spending -----------------------------------------------------------------------------------


def test_two_fits_add_up_on_one_ledger(task, tmp_path):
    path = tmp_path / "ledger.sqlite"
    with closing(SqliteLedger(path, budget=Budget(2.5, 1e-4))) as file:
        clf = built_in(epsilon=1.0, ledger=file)
        clf.fit(task.X, task.y, X_public=task.pool)
        once = file.reserved().epsilon
        clf.fit(task.X, task.y, X_public=task.pool)
        assert once <= 1.0 < file.reserved().epsilon <= 2.0
        with pytest.raises(BudgetExceeded):
            clf.fit(task.X, task.y, X_public=task.pool)
        assert clf.score(task.X, task.y) > 0.5  # the fit before is left alone


def test_a_ledger_file_takes_no_test_noise(task, tmp_path):
    with closing(SqliteLedger(tmp_path / "ledger.sqlite", budget=Budget(2.5, 1e-4))) as file:
        with pytest.raises(LedgerError, match="noise"):
            of(None, Seeded, ledger=file, epsilon=1.0).fit(task.X, task.y, X_public=task.pool)


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=["built-in", "other"])
def test_a_full_ledger_refuses_before_training(task, learner, monkeypatch):
    def untrained(*args: Any, **settings: Any) -> None:
        raise AssertionError("a teacher was trained")

    monkeypatch.setattr("tacit.estimators.correction_settings.LogisticCorrections", untrained)
    monkeypatch.setattr("tacit.estimators.correction_settings.LearnerCorrections", untrained)
    with pytest.raises(BudgetExceeded):
        of(learner, ledger=MemoryLedger(Budget(1.0, 1e-5))).fit(task.X, task.y, X_public=task.pool)


def test_an_interruption_before_the_first_release_costs_nothing(task, ledger, monkeypatch):
    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tacit.teachers.corrections.logistic, "_dual", interrupted)
    clf = built_in(ledger=ledger)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert ledger.reserved().epsilon == 0
    assert not hasattr(clf, "released_")


def test_an_interruption_on_the_way_keeps_what_was_released(task, ledger, monkeypatch):
    rounds = tacit.teachers.corrections.logistic.LogisticCorrections.contributions
    seen = []

    def third_is_interrupted(self: Any, metric: Any) -> Any:
        seen.append(metric)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return rounds(self, metric)

    monkeypatch.setattr(
        tacit.teachers.corrections.logistic.LogisticCorrections,
        "contributions",
        third_is_interrupted,
    )
    bars: list[Any] = []
    monkeypatch.setattr(
        tacit.estimators.corrections, "tqdm", lambda **how: bars.append(tqdm(**how)) or bars[0]
    )
    clf = built_in(ledger=ledger, verbose=True)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert [bar.n for bar in bars] == [2]
    assert not any(bar in tqdm._instances for bar in bars)  # closed: the terminal is free again
    assert clf.released_.corrections.shape[0] == 2
    said = clf.released_.privacy
    assert said.questions == 2 and said.planned == 6
    assert 0 < said.spent_epsilon < said.epsilon
    assert ledger.reserved().epsilon == pytest.approx(said.epsilon)
    assert not hasattr(clf, "student_")


# ---- settings that do not go together -----------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"student": LogisticRegression()}, "`student` must be left at 'auto'"),
        ({"method__rounds": 0}, "`rounds` must be"),
        ({"method__rounds": 2.5}, "`rounds` must be"),
        ({"method__rounds": True}, "`rounds` must be"),
        ({"method__rounds": "many"}, "`rounds` must be a number or 'auto', got 'many'"),
        ({"method": "rounds"}, "`method` must be 'auto', Votes.*got 'rounds'"),
        ({"method": Votes()}, "`learner` must be an object.*built-in teachers do not vote"),
        ({"learner": "logistic"}, "`learner` must be an object.*or None for.*got 'logistic'"),
        ({"learner": KNeighborsClassifier()}, "takes `sample_weight`; KNeighborsClassifier"),
        ({"representation": "rich"}, "`representation`"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else given[:20],
)
def test_settings_that_do_not_fit_are_refused_before_anything_is_reserved(
    task, ledger, settings, words
):
    with pytest.raises(InvalidArgument, match=words):
        built_in(ledger=ledger).set_params(**settings).fit(task.X, task.y, X_public=task.pool)
    assert ledger.reserved().epsilon == 0


# ---- nothing tells ------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("learner", [None, RandomForestClassifier(3)], ids=["own", "forest"])
def test_a_private_value_raises_and_warns_nothing(task, odd, learner, capfd):
    X = task.X.copy()
    X[3], X[250, 1] = odd, odd
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of(learner, verbose=False, rounds=2).fit(X, task.y, X_public=task.pool)
    assert capfd.readouterr() == ("", "")
