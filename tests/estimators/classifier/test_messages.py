"""Mistakes are named after the argument they are in, before anything is spent or trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import StandardScaler

import tacit.estimators.voting
from tacit import GaussianVote, PublicPool
from tacit.errors import InvalidArgument


@pytest.fixture(autouse=True)
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **settings: Any) -> None:
        raise AssertionError("teachers were trained")

    monkeypatch.setattr(tacit.estimators.voting, "train_and_count", refuse)


def infinite(pool: Any) -> Any:
    pool = pool.copy()
    pool[4, 1] = np.inf
    return pool


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pool: pool[:, :2], "`X_public` must have 3 columns, like `X`, got 2"),
        (lambda pool: pool[:0], "`X_public` must hold at least one point"),
        (lambda pool: [], "`X_public` must hold at least one point"),
        (lambda pool: pool[:, 0], "`X_public` must be a table with one row per point"),
        (lambda pool: [f"text {k}" for k in range(60)], "`X_public` .* holds texts, and `X` is a"),
        (lambda pool: "a plain text", "`X_public` must be a table or a list of texts, got a str"),
        (lambda pool: 3, "`X_public` must be a table or a list of texts, got a int"),
        (infinite, "`X_public` must hold finite.* row 4, column 1"),
        (lambda pool: csr_matrix(infinite(pool)), "`X_public` must hold finite.* row 4, column 1"),
    ],
)
def test_mistakes_in_the_pool_name_the_pool(make, task, change, words):
    with pytest.raises(InvalidArgument, match=words):
        make().fit(task.X, task.y, X_public=change(task.pool))


@pytest.mark.parametrize("points", [None, "text", 3])
def test_a_pool_is_made_of_points(points):
    with pytest.raises(InvalidArgument, match="`X_public` must be a table or a list of texts"):
        PublicPool(points)


@pytest.mark.needs("pandas")
def test_columns_of_the_pool_are_those_of_the_records(make, task):
    import pandas as pd

    X = pd.DataFrame(task.X, columns=list("abc"))
    for names, words in (("abd", "Missing: 'c'. Not in `X`: 'd'"), ("bac", "in the same order")):
        with pytest.raises(InvalidArgument, match=f"`X_public` must have the columns.*{words}"):
            make().fit(X, task.y, X_public=pd.DataFrame(task.pool, columns=list(names)))
    mixed = pd.DataFrame(task.pool, columns=list("abc")).assign(c="word")
    with pytest.raises(InvalidArgument, match="`X_public` .*and `X` is a ndarray"):
        make().fit(task.X, task.y, X_public=mixed)


@pytest.mark.parametrize("X", ["a secret text", 7.25])
def test_records_that_are_none_are_not_shown(make, task, X):
    with pytest.raises(InvalidArgument, match="`X` must be a table") as caught:
        make().fit(X, task.y, X_public=task.pool)
    assert "secret" not in str(caught.value) and "7.25" not in str(caught.value)


def test_texts_with_a_pool_of_numbers_name_the_pool(make, task):
    records = np.array(["a b"] * 400, dtype=object)
    with pytest.raises(InvalidArgument, match="`X_public` must"):
        make().fit(records, task.y, X_public=task.pool)


@pytest.mark.parametrize("n_teachers", ["auto", 5])
def test_one_group_for_all_names_the_groups(make, task, n_teachers):
    with pytest.raises(InvalidArgument, match="`groups` must name at least 2 people, got 1"):
        make(n_teachers=n_teachers).fit(
            task.X, task.y, X_public=task.pool, groups=np.zeros(400, int)
        )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_teachers": "10"}, "`n_teachers` must be a number or 'auto', got '10'"),
        ({"n_questions": "10"}, "`n_questions` must be a number or 'auto', got '10'"),
        ({"representation": "pca"}, "`representation` must be 'auto', None or a transformer"),
        ({"representation": StandardScaler}, r"the class StandardScaler; call it"),
        ({"mechanism": GaussianVote}, r"the class GaussianVote; make one.*for_budget"),
        ({"random_state": "a"}, "`random_state` must be None or an integer, 0 or more, got 'a'"),
        ({"random_state": -1}, "`random_state` must be None or an integer, 0 or more, got -1"),
    ],
)
def test_settings_say_what_they_take(make, task, settings, words):
    with pytest.raises(InvalidArgument, match=words):
        make(**settings).fit(task.X, task.y, X_public=task.pool)
