"""A learner that cannot work is found out on public points, before private data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.errors import InvalidArgument
from tacit.teachers import check_learner
from tacit.teachers.learner import recipe, shard_seed

POINTS = np.random.default_rng(0).normal(size=(60, 3))


class Answers:
    """A plain class whose answers are given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any) -> Answers:
        return self

    def predict(self, X: Any) -> Any:
        return self.answer(len(X))


@pytest.mark.parametrize(
    "learner, words",
    [
        (LogisticRegression, r"must be an object.*LogisticRegression\(\)"),
        (StandardScaler(), "must have `fit` and `predict`; StandardScaler"),
        (object(), "must have `fit` and `predict`; object"),
        (LinearRegression(), "regressor LinearRegression"),
        (LogisticRegression(solver="none such"), "LogisticRegression failed.*solver"),
        (Answers(lambda n: np.linspace(0, 1, n)), "labels that are in `classes`"),
        (Answers(lambda n: np.zeros((n, 2))), "one label per point"),
        (Answers(lambda n: "no"), "one label per point"),
        (Answers(lambda n: 1 / 0), "Answers failed.*ZeroDivisionError"),
    ],
)
def test_a_learner_that_cannot_work_is_refused(learner: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        check_learner(learner, POINTS, [0, 1])


def test_points_that_the_learner_cannot_read_are_reported() -> None:
    spoilt = POINTS.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(InvalidArgument, match="NaN"):
        check_learner(LogisticRegression(), spoilt, [0, 1])
    with pytest.raises(InvalidArgument, match="at least 6 points"):
        check_learner(LogisticRegression(), POINTS[:5], [0, 1, 2])


@pytest.mark.parametrize("classes", [[0, 1], ["c", "a", "b"], [3, 7, 20, 1]])
def test_a_learner_that_works_passes_whatever_the_labels(classes: list[Any]) -> None:
    check_learner(LogisticRegression(), POINTS, classes)
    check_learner(Answers(lambda n: [classes[0]] * n), POINTS, classes)


@pytest.mark.needs("xgboost")
def test_gaps_between_labels_are_closed_for_learners_that_need_it() -> None:
    from xgboost import XGBClassifier

    learner = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=2))
    assert recipe(learner).contiguous and not recipe(LogisticRegression()).contiguous
    check_learner(learner, POINTS, ["a", "b", "c", "d"])


def test_every_random_state_is_set_and_every_job_is_one() -> None:
    learner = make_pipeline(
        StandardScaler(),
        BaggingClassifier(DecisionTreeClassifier(random_state=1), n_jobs=2, verbose=3),
    )
    fresh = recipe(learner).fresh(77)
    settings = fresh.get_params()
    assert settings["baggingclassifier__random_state"] == 77
    assert settings["baggingclassifier__estimator__random_state"] == 77
    assert settings["baggingclassifier__n_jobs"] == 1
    assert settings["baggingclassifier__verbose"] == 0
    assert recipe(RandomForestClassifier(random_state=3)).fresh(78).random_state == 78
    assert learner.get_params()["baggingclassifier__n_jobs"] == 2


def test_no_step_of_a_pipeline_is_kept_in_files_named_by_its_records(tmp_path: Path) -> None:
    learner = Pipeline(
        [("inner", Pipeline([("scale", StandardScaler()), ("none", "passthrough")],
                            memory=str(tmp_path))),
         ("tree", DecisionTreeClassifier())], memory=str(tmp_path),
    )  # fmt: skip
    X = np.arange(40.0).reshape(20, 2)
    recipe(learner).fresh(1).fit(X, np.arange(20) % 2)
    assert list(tmp_path.iterdir()) == []
    assert learner.memory == str(tmp_path)


def test_settings_that_already_mean_one_thread_are_left_alone() -> None:
    # LogisticRegression warns at every fit when n_jobs is given, which costs more than the rest.
    assert recipe(make_pipeline(StandardScaler(), LogisticRegression())).learner[-1].n_jobs is None


def test_a_plain_class_gets_its_seed_too() -> None:
    learner = Answers(None)
    learner.random_state = None  # type: ignore[attr-defined]
    assert recipe(learner).fresh(5).random_state == 5
    assert learner.random_state is None  # type: ignore[attr-defined]


def test_each_shard_has_a_seed_of_its_own() -> None:
    seeds = {shard_seed(seed, shard) for seed in range(3) for shard in range(200)}
    assert len(seeds) == 600
    assert all(0 <= seed < 2**31 for seed in seeds)
