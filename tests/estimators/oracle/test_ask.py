"""Questions and answers: labels or refusals, memory, batches, and the end of the budget."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tacit import Budget, PrivateOracle, VoteCounts, open_ledger
from tacit.accounting.budget import Neighbouring
from tacit.errors import AllowanceExceeded, BudgetExceeded, InvalidArgument, LedgerError
from tacit.estimators.oracle import OracleTerms
from tacit.labeling.source import VotingSource
from tacit.ledger import Analyst, MemoryLedger
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
)

CLEAR = np.array([[3.0, 2.0], [-2.0, -3.0], [1.5, 4.0]])
KINDS = {
    "sparse": SparseVote,
    "gaussian": GaussianVote,
    "laplace": LaplaceVote,
    "confident": ConfidentVote,
    "exponential": ExponentialVote,
}


@pytest.mark.parametrize("mechanism", KINDS)
def test_clear_questions_get_the_right_label(fitted: Any, mechanism: str) -> None:
    oracle = fitted(mechanism=mechanism, n_questions=20)
    assert isinstance(oracle.terms_.mechanism, KINDS[mechanism])
    assert oracle.ask(CLEAR).tolist() == ["yes", "no", "yes"]


def test_a_mechanism_object_answers_too(fitted: Any) -> None:
    oracle = fitted(mechanism=GaussianVote(8.0, answers=4))
    assert oracle.ask(CLEAR).tolist() == ["yes", "no", "yes"]
    assert oracle.budget_left().left == 1


def test_single_questions_and_batches_give_the_same_answers(fitted: Any) -> None:
    oracle = fitted()
    one_by_one = [oracle.ask(point[np.newaxis]).tolist()[0] for point in CLEAR]
    assert one_by_one == oracle.ask(CLEAR).tolist() == ["yes", "no", "yes"]


def test_an_unclear_question_is_refused_and_a_refusal_is_masked(fitted: Any) -> None:
    oracle = fitted(cutoff=3)
    answers = oracle.ask([[0.0, 0.0], [3.0, 3.0]])
    assert answers.mask.tolist() == [True, False]
    assert answers.tolist() == [None, "yes"]


def test_a_question_asked_again_gets_the_same_answer_free_of_charge(fitted: Any) -> None:
    oracle = fitted(mechanism="gaussian", n_questions=3)
    first = oracle.ask(CLEAR)
    for _ in range(3):
        assert oracle.ask(CLEAR[::-1]).tolist() == first.tolist()[::-1]
    assert oracle.budget_left().left == 0
    with pytest.raises(BudgetExceeded, match="Nothing was drawn"):
        oracle.ask([[9.0, 9.0]])
    assert oracle.ask(CLEAR).tolist() == first.tolist()


def test_sparse_pays_for_refusals_only(fitted: Any) -> None:
    oracle = fitted(cutoff=2, epsilon=10.0)
    clear = np.random.default_rng(0).uniform(2, 5, size=(200, 2))
    assert oracle.ask(clear).mask.sum() == 0
    assert oracle.budget_left().left == 1  # the open instance is paid for, however long it lasts


def test_a_batch_is_cut_where_the_budget_ends(fitted: Any) -> None:
    oracle = fitted(cutoff=2, epsilon=10.0)
    ties = np.column_stack([np.linspace(1, 2, 6), -np.linspace(1, 2, 6)])
    assert oracle.ask(ties).tolist() == [None, None]
    with pytest.raises(BudgetExceeded):
        oracle.ask(ties[3:])
    assert oracle.ask(ties[:2]).tolist() == [None, None]
    assert oracle.budget_left().spent


def test_a_batch_beyond_what_is_left_is_refused_whole(fitted: Any) -> None:
    oracle = fitted(mechanism="gaussian", n_questions=2)
    with pytest.raises(BudgetExceeded):
        oracle.ask(CLEAR)
    assert oracle.budget_left().left == 2


def test_nothing_asked_is_nothing_answered(fitted: Any) -> None:
    oracle = fitted()
    assert oracle.ask(np.empty((0, 2))).tolist() == []
    assert oracle.budget_left().used == dict.fromkeys(oracle.budget_left().most, 0)


BAD: list[tuple[Any, str]] = [
    ([[1.0, 2.0, 3.0]], "2 columns"),
    ([1.0, 2.0], "one row per point"),
    ([[np.nan, 1.0]], "missing"),
    ([[np.inf, 1.0]], "finite"),
    ([["a", "b"]], "numbers"),
    ([[1.0, 2.0], [3.0]], "2 columns"),
    ([[1j, 2.0]], "missing"),
    ("text", "table"),
    (None, "table of points"),
    ([[10**400, 1]], "missing"),
]


def test_a_bad_question_is_refused_and_costs_nothing(fitted: Any) -> None:
    oracle = fitted()
    for points, words in BAD:
        with pytest.raises(InvalidArgument, match=words):
            oracle.ask(points)
    assert not any(oracle.budget_left().used.values())


def test_the_same_ledger_and_key_go_on_where_they_stopped(
    make: Any, task: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.sqlite"
    open_ledger(path, budget=Budget(20.0, 1e-9))
    settings = {"ledger": path, "key": "flu", "mechanism": "gaussian", "n_questions": 3}
    first = make(**settings).fit(task.X, task.y)
    before = first.ask(CLEAR).tolist()
    first.close()
    again = make(**settings).fit(task.X, task.y)
    assert again.budget_left().left == 0
    assert again.ask(CLEAR).tolist() == before
    with pytest.raises(BudgetExceeded):
        make(**{**settings, "key": "another"}).fit(task.X, task.y)


def test_threads_never_overspend_and_agree(fitted: Any) -> None:
    oracle = fitted(mechanism="gaussian", n_questions=30, epsilon=200.0)
    points = np.random.default_rng(5).normal(size=(60, 2))
    seen: list[dict[int, Any]] = []

    def work(order: Any) -> None:
        mine: dict[int, Any] = {}
        for row in order:
            try:
                mine[int(row)] = oracle.ask(points[row : row + 1]).tolist()[0]
            except BudgetExceeded:
                pass
        seen.append(mine)

    orders = [np.random.default_rng(seed).permutation(60) for seed in range(4)]
    threads = [threading.Thread(target=work, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answered = {row for mine in seen for row in mine}
    assert len(answered) == 30 and oracle.budget_left().left == 0
    for row in answered:
        assert len({mine[row] for mine in seen if row in mine}) == 1


def test_an_answer_shown_to_a_second_analyst_counts_for_that_one_too(fitted: Any) -> None:
    oracle = fitted(mechanism="gaussian", n_questions=10)
    for name in ("ann", "bob", "ann"):
        oracle.ask(CLEAR, on_behalf=Analyst(name, allowance=4))
    opened = oracle.opened()
    accounts = opened.ledger.accounts(opened.plan_id)
    assert [(a.name, a.total.answered) for a in accounts] == [("ann", 3), ("bob", 3)]
    with pytest.raises(AllowanceExceeded):
        oracle.ask(-CLEAR[:2], on_behalf=Analyst("bob", allowance=4))
    assert oracle.budget_left().left == 7
    assert oracle.tally().answered == 3


def test_an_oracle_that_is_not_fitted_says_so(make: Any) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        make().ask(CLEAR)


class Elsewhere:
    """Votes that come from somewhere else."""

    n_teachers = 200

    def count(self, X: Any) -> VoteCounts:
        rows = [[2, 198] if x > 0 else [199, 1] for x in np.asarray(X)[:, 0]]
        return VoteCounts(rows, 200)


def test_votes_counted_elsewhere_go_through_the_same_oracle() -> None:
    vote, ledger = GaussianVote(15.0, answers=5), MemoryLedger(Budget(5.0, 1e-5))
    source = VotingSource(Elsewhere(), vote, np.array(["a", "b"]), delta=1e-5)
    terms = OracleTerms(Budget(5.0, 1e-5), vote, 1e-5, "k", Neighbouring.REPLACE, "record", ())
    oracle = PrivateOracle.from_source(source, terms=terms, like=np.zeros((4, 1)), ledger=ledger)
    assert oracle.ask([[1.0], [-1.0]]).tolist() == ["b", "a"]
    assert oracle.budget_left().left == 3
    assert oracle.privacy_.questions == 2


def test_a_handed_over_oracle_answers_no_more(fitted: Any) -> None:
    oracle = fitted()
    with oracle.handing_over():
        pass
    with pytest.raises(LedgerError, match="load_oracle"):
        oracle.ask(CLEAR)
