"""What fit accepts, reserves, refuses and says."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from tacit import Budget, PrivateOracle
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerError, PrivateValueError
from tacit.ledger import MemoryLedger, SqliteLedger
from tacit.ledger.backup import restore, write_backup
from tacit.mechanisms import GaussianVote, SparseVote

CLEAR = [[3.0, 2.0], [-2.0, -3.0]]


def test_settings_follow_scikit_learn(make: Any) -> None:
    oracle = make(cutoff=5)
    assert clone(oracle).get_params()["cutoff"] == 5
    assert oracle.set_params(epsilon=3.0).epsilon == 3.0
    assert pickle.loads(pickle.dumps(oracle)).cutoff == 5


def test_a_fitted_oracle_cannot_be_copied_and_shows_nothing(fitted: Any) -> None:
    oracle = fitted()
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivateValueError, match="save_oracle"):
            copied(oracle)
    assert "PrivateOracle(" in repr(oracle) and "Teacher" not in repr(oracle)
    assert clone(oracle).get_params()["epsilon"] == 20.0


def test_fitting_reserves_the_budget_once(make: Any, task: Any) -> None:
    ledger = MemoryLedger(Budget(20.0, 1e-9))
    oracle = make(ledger=ledger).fit(task.X, task.y)
    assert 19 < ledger.reserved().epsilon <= 20.0
    assert oracle.privacy_.epsilon == pytest.approx(ledger.reserved().epsilon)
    with pytest.raises(BudgetExceeded):
        make(ledger=ledger).fit(task.X, task.y)


def test_the_statement_counts_what_was_asked(fitted: Any) -> None:
    oracle = fitted(mechanism="gaussian", n_questions=10)
    assert oracle.privacy_.questions == 0 and oracle.privacy_.spent_epsilon == 0.0
    oracle.ask(CLEAR)
    statement = oracle.privacy_
    assert statement.questions == 2
    assert 0 < statement.spent_epsilon < statement.epsilon <= 20.0
    assert statement.delta == 1e-9 and statement.secure
    assert "against all" in " ".join(statement.assumptions)


def test_a_restored_ledger_that_lost_spend_makes_the_statement_weaker(
    make: Any, task: Any, tmp_path: Path
) -> None:
    """Its plan is spent twice: in the part that was lost, and from the backup on."""
    settings = {"key": "flu", "mechanism": "gaussian", "n_questions": 2}
    ledger = SqliteLedger(tmp_path / "a.sqlite", budget=Budget(20.0, 1e-9))
    oracle = make(ledger=ledger, **settings).fit(task.X, task.y)
    promised = oracle.privacy_
    write_backup(ledger, tmp_path / "backup")
    oracle.ask(CLEAR)
    oracle.close()
    for number in (1, 2):
        restore(tmp_path / "backup", tmp_path / f"{number}.sqlite", accept_lost_spend=True)
        again = make(ledger=tmp_path / f"{number}.sqlite", **settings).fit(task.X, task.y)
        assert len(again.ask(CLEAR)) == 2
        assert again.privacy_.epsilon == (number + 1) * promised.epsilon
        assert again.privacy_.delta == (number + 1) * promised.delta
        assert f"restored {number} time" in str(again.privacy_)
        (tmp_path / "backup").unlink()
        write_backup(again.opened().ledger, tmp_path / "backup")
        again.close()


def test_test_noise_is_marked(make_seeded: Any, task: Any) -> None:
    oracle = make_seeded().fit(task.X, task.y)
    oracle.ask(CLEAR)
    assert not oracle.privacy_.secure


def test_test_noise_is_refused_by_a_real_ledger(make_seeded: Any, task: Any) -> None:
    ledger = MemoryLedger(Budget(20.0, 1e-9), allow_insecure=False)
    with pytest.raises(LedgerError, match="test noise"):
        make_seeded(ledger=ledger).fit(task.X, task.y)


def test_people_and_add_remove(make: Any, task: Any) -> None:
    people = np.arange(len(task.X)) // 2
    grouped = make().fit(task.X, task.y, groups=people)
    assert grouped.privacy_.unit == "person"
    present = make(neighbouring="add-remove").fit(task.X, task.y, groups=people)
    assert present.privacy_.neighbouring.value == "add-remove"
    assert present.ask(CLEAR).tolist() == ["yes", "no"]


def test_labels_alone(make: Any, task: Any) -> None:
    oracle = make(protect="labels").fit(task.X, task.y)
    assert oracle.privacy_.neighbouring.value == "labels"


def test_the_number_of_teachers_and_refusals_can_be_left_open(make: Any, task: Any) -> None:
    oracle = make(n_teachers="auto").fit(task.X, task.y)
    assert oracle.terms_.settings["n_teachers"] > 10
    assert oracle.terms_.settings["cutoff"] == oracle.terms_.mechanism.cutoff


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"learner": "none"}, "learner"),
        ({"classes": None}, "classes"),
        ({"delta": 0.0}, "delta"),
        ({"epsilon": -1}, "epsilon"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"mechanism": SparseVote}, "for_budget"),
        ({"mechanism": GaussianVote(8.0, 3)}, "2 classes"),
        ({"cutoff": 0}, "cutoff"),
        ({"cutoff": "guess"}, "cutoff"),
        ({"cutoff": "estimate", "mechanism": "gaussian"}, "cutoff"),
        ({"cutoff": 5, "mechanism": "gaussian"}, "`cutoff` 5 goes with"),
        ({"n_questions": 0}, "n_questions"),
        ({"n_teachers": "many"}, "n_teachers"),
        ({"n_teachers": 10**6}, "n_teachers"),
        ({"n_teachers": 20, "epsilon": 0.5}, "more teachers"),
        ({"cutoff": 500, "epsilon": 5.0}, "smaller cutoff"),
        ({"neighbouring": "add-remove"}, "groups"),
        ({"neighbouring": "labels"}, "protect"),
        ({"protect": "labels", "neighbouring": "add-remove"}, "add-remove"),
        ({"protect": "everything"}, "protect"),
        ({"key": ""}, "key"),
        ({"key": 7}, "key"),
    ],
)
def test_bad_settings_are_named_before_anything_is_reserved(
    make: Any, task: Any, settings: dict[str, Any], words: str
) -> None:
    ledger = MemoryLedger(Budget(20.0, 1e-9))
    with pytest.raises(InvalidArgument, match=words):
        make(ledger=ledger, **settings).fit(task.X, task.y)
    assert ledger.reserved().epsilon == 0


def test_a_mechanism_beyond_the_budget_is_refused(make: Any, task: Any) -> None:
    with pytest.raises(BudgetExceeded, match="above the budget"):
        make(mechanism=GaussianVote(1.0, answers=1000)).fit(task.X, task.y)


def test_sparse_records_and_missing_values(make: Any, task: Any) -> None:
    oracle = make(learner=LogisticRegression()).fit(sp.csr_matrix(task.X), task.y)
    assert oracle.ask(sp.csr_matrix(CLEAR)).tolist() == ["yes", "no"]
    assert oracle.ask(CLEAR).tolist() == ["yes", "no"]
    learner = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2)
    holes = make(learner=learner, n_teachers=40).fit(task.X, task.y)
    assert len(holes.ask([[np.nan, 3.0]])) == 1


def test_texts_need_public_texts(make: Any) -> None:
    words = {"no": "bad awful film", "yes": "good fine film"}
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(2, size=900)]
    X = [f"{words[label]} {k % 5}" for k, label in enumerate(y)]
    learner = make_pipeline(CountVectorizer(), MultinomialNB())
    public = [f"{text} {k}" for k in range(4) for text in words.values()]
    with pytest.raises(InvalidArgument, match="X_public"):
        make(learner=learner).fit(X, y)
    oracle = make(learner=learner).fit(X, y, X_public=public)
    assert oracle.ask(["a good fine one"]).tolist() == ["yes"]
    with pytest.raises(InvalidArgument, match="texts"):
        oracle.ask([3])


@pytest.mark.needs("pandas")
def test_data_frames(make: Any, task: Any) -> None:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    def frame(X: Any) -> Any:
        side = pd.Categorical(np.where(X[:, 0] + X[:, 1] > 0, "up", "down"), ["up", "down"])
        return pd.DataFrame({"height": X[:, 1], "side": side})

    learner = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["side"])),
        LogisticRegression(),
    )
    points = np.asarray(CLEAR * 4)
    oracle = make(learner=learner).fit(frame(task.X), task.y, X_public=frame(points))
    assert oracle.ask(frame(points[:2])).tolist() == ["yes", "no"]
    with pytest.raises(InvalidArgument, match="'side'"):
        oracle.ask(frame(points[:2]).assign(side="sideways"))
    with pytest.raises(InvalidArgument, match="columns"):
        oracle.ask(frame(points[:2])[["side", "height"]])
    with pytest.raises(InvalidArgument, match="data frame"):
        oracle.ask(points[:2])


def test_errors_do_not_depend_on_private_values(make: Any, task: Any) -> None:
    X, y = task.X.astype(object), task.y.astype(object)
    X[3, 0], y[5] = "not a number", "not a class"
    oracle = make().fit(X, y)
    assert oracle.ask(CLEAR).tolist() == ["yes", "no"]


def test_a_fit_that_fails_leaves_the_oracle_as_it_was(fitted: Any) -> None:
    oracle = fitted()
    with pytest.raises(InvalidArgument):
        oracle.set_params(classes=None).fit(np.zeros((10, 2)), np.zeros(10))
    assert oracle.ask(CLEAR).tolist() == ["yes", "no"]


def test_the_learner_is_tried_before_private_records_are_touched(task: Any) -> None:
    class Broken:
        def fit(self, X: Any, y: Any) -> None:
            raise RuntimeError("cannot work")

        def predict(self, X: Any) -> None: ...

    with pytest.raises(InvalidArgument, match="made-up labels"):
        PrivateOracle(Broken(), classes=["no", "yes"]).fit(task.X, task.y)
