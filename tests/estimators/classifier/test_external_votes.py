"""A student from votes that were counted elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.method_settings import with_method

from tacit import Budget, PATEClassifier
from tacit.accounting.budget import Neighbouring
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.labeling import ExternalVotes, question_keys
from tacit.ledger import MemoryLedger
from tacit.mechanisms.counts import VoteCounts

TEACHERS = 1000


@pytest.fixture(scope="module")
def pool() -> Any:
    return np.random.default_rng(0).normal(size=(200, 2))


def votes(pool: Any, **changed: Any) -> ExternalVotes:
    """Nearly all teachers know the sign of the first coordinate; ``yes`` is the first column."""
    rows = np.arange(0, 200, 2)
    yes = np.where(pool[rows, 0] > 0, 950, 50)
    counts = VoteCounts(np.column_stack([yes, TEACHERS - yes]), TEACHERS)
    settings: dict[str, Any] = {"classes": ["yes", "no"], "rows": rows} | changed
    return ExternalVotes(counts, **settings)


def made(**changed: Any) -> PATEClassifier:
    settings = {"epsilon": 2.0, "delta": 1e-6, "classes": ["no", "yes"], "random_state": 0}
    return PATEClassifier(**settings | with_method(changed))


@pytest.mark.parametrize("neighbouring", ["replace", "add-remove"])
def test_a_student_learns_from_them(pool: Any, neighbouring: str) -> None:
    clf = made(neighbouring=neighbouring).fit(votes(pool), X_public=pool)
    truth = np.where(pool[:, 0] > 0, "yes", "no")
    assert np.mean(clf.predict(pool) == truth) > 0.9
    assert set(clf.released_.positions.tolist()) <= set(range(0, 200, 2))
    assert clf.privacy_.neighbouring is Neighbouring(neighbouring)
    assert any("counted elsewhere" in one for one in clf.privacy_.assumptions)
    assert clf.resolved_params_["n_teachers"] == TEACHERS


def test_questions_may_be_named_instead_of_numbered(pool: Any) -> None:
    names = question_keys(pool[::2])
    clf = made(query=None, n_questions=100, epsilon=500.0, release="label")
    clf.fit(votes(pool, rows=None, questions=names), X_public=pool)
    truth = (pool[clf.released_.positions, 0] > 0).astype(int)
    np.testing.assert_array_equal(clf.released_.labels, truth)


def test_they_are_paid_for_like_others(pool: Any) -> None:
    ledger = MemoryLedger(Budget(3.0, 1e-5))
    made(ledger=ledger).fit(votes(pool), X_public=pool)
    with pytest.raises(BudgetExceeded):
        made(ledger=ledger).fit(votes(pool), X_public=pool)


@pytest.mark.parametrize(
    ("changed", "given", "told"),
    [
        ({"protect": "labels"}, {}, "`protect`"),
        ({"n_teachers": 999}, {}, '"auto" or 1000'),
        ({"classes": [0, 1]}, {}, "`classes` must be those of the votes"),
        ({"classes": None}, {}, "`classes` must list the possible labels"),
        ({}, {"y": ["no"]}, "`y` must be left out with votes"),
        ({}, {"X_public": None}, "`X_public` must be given"),
        ({}, {"X_public": np.zeros((9, 2))}, "which has 9"),
    ],
)
def test_what_does_not_go_with_them_is_refused(
    pool: Any, changed: dict[str, Any], given: dict[str, Any], told: str
) -> None:
    ledger = MemoryLedger(Budget(3.0, 1e-5))
    with pytest.raises(InvalidArgument, match=told):
        made(ledger=ledger, **changed).fit(votes(pool), **{"X_public": pool} | given)
    assert ledger.reserved().epsilon == 0
