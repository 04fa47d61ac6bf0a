"""Students that choose their questions: what they may see, ask and spend."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit.accounting.budget import Budget
from tacit.errors import BudgetExceeded, InvalidArgument, LedgerUnavailable
from tacit.labeling.pool import filter_for
from tacit.ledger import MemoryLedger
from tacit.ledger.composition import Composition
from tacit.mechanisms import ConfidentVote
from tacit.students.active import ExactCAL, Margin
from tacit.students.active.named import STRATEGIES

NAMED = [*STRATEGIES, None, "auto"]


class Few:
    """Asks about the first points in order, and wants no more after ``most``."""

    def __init__(self, most: int) -> None:
        self.most = most

    def select(self, X_pool, queried, labels, k, rng):
        return np.arange(len(queried), min(self.most, len(queried) + k))


@pytest.mark.parametrize("query", NAMED)
def test_every_strategy_asks_no_more_than_planned_and_learns(make, task, query):
    clf = make(query=query, n_questions=40).fit(task.X, task.y, X_public=task.pool)
    report = clf.report()
    assert report.asked <= 40 and sum(report.batches) == report.asked
    assert len(set(clf.released_.positions)) == report.asked
    assert clf.privacy_.spent_epsilon <= clf.privacy_.epsilon <= 100
    assert clf.score(task.X, task.y) > 0.7


def test_strategies_see_points_and_released_labels_and_nothing_else(make, task):
    seen: list[tuple[Any, ...]] = []

    class Spy:
        def select(self, *given):
            seen.append(given)
            return Margin().select(*given)

    make(query=Spy(), n_questions=30).fit(task.X, task.y, X_public=task.pool)
    for X_pool, queried, labels, k, rng in seen:
        assert type(X_pool) is np.ndarray and len(X_pool) == 60
        assert queried.dtype == np.intp and labels.dtype == np.int64 and len(queried) == len(labels)
        assert set(labels.tolist()) <= {0, 1} and isinstance(k, int)
        assert isinstance(rng, np.random.Generator)


def test_what_a_strategy_does_to_its_arguments_changes_nothing_released(make, task):
    class Vandal:
        def __init__(self, coordinates):
            self.coordinates = coordinates

        def select(self, X_pool, queried, labels, k, rng):
            labels[:] = 0
            left = np.setdiff1d(np.arange(60), queried)[:k]
            queried[:], X_pool[:] = 0, 0
            return left

    pool = task.pool.copy()
    for coordinates in ("pool", "given"):
        clf = make(query=Vandal(coordinates), n_questions=30).fit(task.X, task.y, X_public=pool)
        assert len(set(clf.released_.positions)) == 30 and set(clf.released_.labels) == {0, 1}
        assert np.array_equal(pool, task.pool) and clf.score(task.X, task.y) > 0.7


def test_noise_is_fixed_before_the_first_question(make, task):
    one = make(query=Few(5), n_questions=40).fit(task.X, task.y, X_public=task.pool)
    all_of_them = make(query="random", n_questions=40).fit(task.X, task.y, X_public=task.pool)
    assert one.resolved_params_["mechanism"] == all_of_them.resolved_params_["mechanism"]
    assert one.privacy_.epsilon == all_of_them.privacy_.epsilon
    assert one.privacy_.spent_epsilon < one.privacy_.epsilon


def test_a_strategy_for_two_classes_is_refused_before_anything_is_reserved(make, task):
    ledger = MemoryLedger(Budget(100.0, 1e-5))
    clf = make(query="yan-dbal", classes=[0, 1, 2], ledger=ledger)
    with pytest.raises(InvalidArgument, match="classes"):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert ledger.reserved().epsilon == 0


@pytest.mark.parametrize("query", ["nonsense", Margin, object(), 3])
def test_what_is_no_strategy_is_refused(make, task, query):
    with pytest.raises(InvalidArgument, match="`query` must"):
        make(query=query).fit(task.X, task.y, X_public=task.pool)


def test_many_classes_can_be_asked_about(make, task):
    y = np.where(task.X[:, 2] > 0.5, 2, task.y)
    for query in ("diverse-margin", "margin", "flip-weight", "random"):
        clf = make(query=query, classes=[0, 1, 2], n_questions=50).fit(
            task.X, y, X_public=task.pool
        )
        assert clf.report().asked == 50 and clf.score(task.X, y) > 0.6


def test_auto_chooses_questions_only_where_that_is_known_to_help(make, task):
    def asked_by(**settings):
        clf = make(**settings).fit(task.X, task.y, X_public=task.pool)
        return clf.resolved_params_["query"]

    assert asked_by().startswith("DiverseMargin")
    assert asked_by(mechanism="laplace").startswith("DiverseMargin")
    assert asked_by(student=LogisticRegression()).startswith("none")
    assert asked_by(mechanism="confident").startswith("none")


# ---- stopping and going on -----------------------------------------------------------------------


def test_what_a_strategy_leaves_can_be_asked_later_at_no_cost(make, task):
    ledger = MemoryLedger(Budget(100.0, 1e-5))
    clf = make(query=Few(12), n_questions=40, ledger=ledger, epsilon=90.0)
    clf.fit(task.X, task.y, X_public=task.pool)
    first, reserved = clf.released_, ledger.reserved()
    assert clf.report().stopped == "strategy" and len(first.labels) == 12
    text = " ".join(str(clf.privacy_).split())
    assert "28 of 40 planned questions were not asked" in text
    clf.keep_asking(8)
    assert clf.report().stopped == "caller" and len(clf.released_.labels) == 20
    assert np.array_equal(clf.released_.positions[:12], first.positions)
    assert np.array_equal(clf.released_.labels[:12], first.labels)
    clf.keep_asking(query="random")
    assert clf.report().stopped == "budget" and len(clf.released_.labels) == 40
    assert ledger.reserved() == reserved and clf.privacy_.epsilon <= 90
    assert clf.privacy_.spent_epsilon == pytest.approx(clf.privacy_.epsilon)
    with pytest.raises(InvalidArgument, match="nothing left"):
        clf.keep_asking()


def test_votes_are_let_go_when_there_is_nothing_left_to_ask(make, task):
    clf = make(query="margin").fit(task.X, task.y, X_public=task.pool)
    assert "_open_questions" not in vars(clf)
    with pytest.raises(InvalidArgument, match="nothing left"):
        clf.keep_asking()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_leave_the_votes_behind(make, task, copied):
    clf = make(query=Few(12), n_questions=40).fit(task.X, task.y, X_public=task.pool)
    other = copied(clf)
    assert not {"_fit", "_open_questions"} & set(vars(other))
    assert np.array_equal(other.predict(task.X), clf.predict(task.X))
    with pytest.raises(InvalidArgument, match="stayed behind"):
        other.keep_asking()
    with pytest.raises(InvalidArgument, match="left behind"):
        other.learning_curve()
    assert "private" in repr(vars(clf)["_open_questions"])


def test_fitting_again_forgets_the_open_run(make, task):
    clf = make(query=Few(12), n_questions=40).fit(task.X, task.y, X_public=task.pool)
    clf.set_params(method__query=None).fit(task.X, task.y, X_public=task.pool)
    with pytest.raises(InvalidArgument, match="nothing left"):
        clf.keep_asking()


def test_a_failure_on_the_way_keeps_what_was_released(make, task):
    class Interrupted:
        def select(self, X_pool, queried, labels, k, rng):
            if len(queried) >= 20:
                raise KeyboardInterrupt
            return np.arange(len(queried), len(queried) + k)

    ledger = MemoryLedger(Budget(100.0, 1e-5))
    clf = make(query=Interrupted(), n_questions=40, ledger=ledger)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert len(clf.released_.labels) >= 20 and not hasattr(clf, "student_")
    assert clf.released_.privacy.epsilon <= 100 and ledger.spent().epsilon > 0


class Failing:
    """Asks about points in order, and fails once 20 were asked."""

    def select(self, X_pool, queried, labels, k, rng):
        if len(queried) >= 20:
            raise RuntimeError("no more ideas")
        return np.arange(len(queried), len(queried) + k)


def test_going_on_after_a_failure_starts_from_what_was_released(make, task):
    ledger = MemoryLedger(Budget(100.0, 1e-5))
    clf = make(query=Few(12), n_questions=40, ledger=ledger)
    clf.fit(task.X, task.y, X_public=task.pool)
    student = clf.student_
    with pytest.raises(RuntimeError, match="no more ideas"):
        clf.keep_asking(query=Failing())
    seen = clf.released_
    assert len(seen.labels) >= 20 and clf.student_ is student
    assert clf.report().asked == clf.privacy_.questions == len(seen.labels)
    assert clf.privacy_ == seen.privacy
    clf.keep_asking(query="random")
    assert clf.report().asked == 40 and clf.report().stopped == "budget"
    assert np.array_equal(clf.released_.positions[: len(seen.positions)], seen.positions)
    assert clf.privacy_.spent_epsilon == pytest.approx(clf.privacy_.epsilon)


def test_a_student_that_fails_after_going_on_costs_no_answers(make, task):
    class Refusing(LogisticRegression):
        def fit(self, X, y):
            raise RuntimeError("not today")

    clf = make(query=Few(12), n_questions=40, student=LogisticRegression())
    clf.fit(task.X, task.y, X_public=task.pool)
    clf.set_params(student=Refusing())
    with pytest.raises(RuntimeError, match="not today"):
        clf.keep_asking()
    assert len(clf.released_.labels) == clf.report().asked == 40
    clf.set_params(student=LogisticRegression()).keep_asking()
    assert len(clf.released_.labels) == clf.report().asked == 40


def test_spent_is_read_at_the_delta_of_the_guarantee(make, task):
    clf = make(query=Few(12), n_questions=40).fit(task.X, task.y, X_public=task.pool)
    before = clf.privacy_.spent_epsilon
    clf.set_params(delta=0.2).keep_asking(1)
    assert clf.privacy_.delta == 1e-5 and clf.privacy_.spent_epsilon > before


class OneByOne:
    """Asks about points in order, one in a round."""

    def select(self, X_pool, queried, labels, k, rng):
        return np.arange(len(queried), min(len(queried) + 1, len(X_pool)))


def test_a_mechanism_that_stops_at_the_end_of_a_round_ends_the_run(make, task):
    vote = ConfidentVote.for_budget(
        Budget(100.0, 1e-5), questions=40, answers=12, threshold=11.0, n_classes=2
    )
    clf = make(query=OneByOne(), mechanism=vote, n_questions=40, n_teachers=20)
    clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.report().stopped == "service" and clf.report().answered == 12
    assert all(clf.report().batches) and "_open_questions" not in vars(clf)


def test_a_mechanism_that_pays_for_refusals_only_has_room_for_every_question(make, task):
    settings = {"mechanism": "sparse", "n_questions": 40, "n_teachers": 20}
    clf = make(query=Few(12), **settings).fit(task.X, task.y, X_public=task.pool)
    clf.keep_asking(query="random")
    assert clf.report().stopped == ("budget" if clf.report().asked == 40 else "service")


def test_equal_points_are_one_question(make, task):
    pool = np.vstack([task.pool, task.pool[::-1]])
    clf = make(query="diverse-margin", n_questions=200).fit(task.X, task.y, X_public=pool)
    assert clf.report().asked == 60 and clf.released_.positions.max() < 60


def test_a_strategy_that_knows_the_pool_row_by_row_is_cut_to_its_distinct_points(make):
    rng = np.random.default_rng(0)
    X = rng.random((1000, 1))
    pool = np.repeat(rng.random((40, 1)), 2, axis=0)
    cuts = np.linspace(0, 1, 51)
    cal = ExactCAL(pool[:, 0][None, :] >= cuts[:, None], vc_dimension=1)
    clf = make(query=cal, n_questions=40, n_teachers=20)
    clf.fit(X, (X[:, 0] > 0.4).astype(int), X_public=pool)
    assert clf.report().stopped in ("strategy", "budget") and clf.report().asked <= 40
    assert set(clf.released_.positions % 2) == {0}


# ---- noise chosen on the way ---------------------------------------------------------------------


def test_a_noise_rule_stays_within_the_budget_whatever_it_wants(make, task):
    for greedy in (0.6, 0.9, 1.0, 5.0):
        clf = make(
            query="margin",
            n_questions=40,
            epsilon=1.0,
            noise_rule=lambda labels, size, even, greedy=greedy: greedy * even,
        ).fit(task.X, task.y, X_public=task.pool)
        limit = filter_for(Budget(1.0, 1e-5))
        rho = sum(event.rho * times for event, times in clf._fit.release.usage.items())
        assert rho <= limit.rho_limit
        assert clf.report().stopped == ("service" if greedy < 1 else "budget")
        assert clf.privacy_.epsilon == 1.0 and "filter" in clf.privacy_.accountant
        assert len(clf.released_.variance) == clf.report().asked if greedy < 5 else True


def test_a_rule_sees_released_labels_only(make, task):
    seen = []

    def rule(labels, size, even):
        seen.append((labels.copy(), size, even))
        return even

    clf = make(query="random", n_questions=40, noise_rule=rule).fit(
        task.X, task.y, X_public=task.pool
    )
    for labels, size, _ in seen:
        assert np.array_equal(labels, clf.released_.labels[: len(labels)]) and size >= 1
    assert "rule" in clf.resolved_params_["mechanism"]


@pytest.mark.parametrize(
    "wrong", [0.0, -1.0, 1e-9, 1e30, 3 + 0j, float("nan"), float("inf"), "much", None]
)
def test_a_rule_that_returns_nonsense_is_refused(make, task, wrong):
    clf = make(query="random", noise_rule=lambda labels, size, even: wrong)
    with pytest.raises(InvalidArgument, match="`noise_rule` must return"):
        clf.fit(task.X, task.y, X_public=task.pool)


def test_a_rule_that_spends_all_at_once_ends_the_run(make, task):
    def all_now(labels, size, even):
        return even * (size / 40) ** 0.5 if len(labels) == 0 else even

    clf = make(query="random", n_questions=40, noise_rule=all_now)
    clf.fit(task.X, task.y, X_public=task.pool)
    assert clf.report().stopped == "service" and clf.report().batches == (10,)
    assert "_open_questions" not in vars(clf)


def test_a_rule_needs_rounds_gaussian_noise_and_the_right_ledger(make, task):
    def rule(labels, size, even):
        return even

    basic = MemoryLedger(Budget(100.0, 1e-5))
    for settings, words in [
        ({"query": None}, "`noise_rule` must come with"),
        ({"mechanism": "laplace", "query": "random"}, "needs mechanism"),
        ({"query": "random", "ledger": basic}, "composition 'zcdp'"),
        ({"query": "random", "noise_rule": 3}, "must be a function"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            make(**{"noise_rule": rule, **settings}).fit(task.X, task.y, X_public=task.pool)
    assert basic.reserved().epsilon == 0


def test_rounds_with_a_rule_add_up_on_a_given_ledger(make, task):
    ledger = MemoryLedger(Budget(2.0, 1e-5), composition=Composition.ZCDP)

    def rule(labels, size, even):
        return even

    settings = {"query": "random", "noise_rule": rule, "ledger": ledger, "epsilon": 1.0}
    make(**settings).fit(task.X, task.y, X_public=task.pool)
    once = ledger.reserved()
    assert 0.5 < once.epsilon <= 1.0 + 1e-6
    make(**settings).fit(task.X, task.y, X_public=task.pool)
    assert ledger.reserved().rho == pytest.approx(2 * once.rho)
    with pytest.raises(BudgetExceeded):
        for _ in range(9):
            make(**settings).fit(task.X, task.y, X_public=task.pool)


# ---- the curve -----------------------------------------------------------------------------------


def test_the_curve_tells_agreement_and_accuracy_only_with_public_labels(make, task):
    clf = make(query="diverse-margin", n_questions=40, n_batches=5)
    clf.fit(task.X, task.y, X_public=task.pool)
    curve = clf.learning_curve()
    assert curve.asked[-1] == 40 and curve.accuracy is None and len(curve.asked) == 6
    assert np.isnan(curve.foreseen[-1]) and all(0 <= v <= 1 for v in curve.foreseen[:-1])
    told = clf.learning_curve(task.X, task.y)
    assert told.accuracy[-1] == pytest.approx(clf.score(task.X, task.y))
    assert "accuracy" in str(told) and "accuracy" not in str(curve)
    assert len(told.plot().lines) == 3
    for given in ({"X": task.X, "y": task.y[:-1]}, {"X": task.X}, {"y": task.y}):
        with pytest.raises(InvalidArgument, match="`y` must hold one label"):
            clf.learning_curve(**given)


def test_a_ledger_that_fails_on_the_way_loses_nothing_it_recorded(make, task, monkeypatch):
    ledger = MemoryLedger(Budget(100.0, 1e-5))
    calls = []
    real = ledger.answer

    def flaky(*given, **more):
        calls.append(1)
        if len(calls) == 4:
            raise LedgerUnavailable("The disk is gone.")
        return real(*given, **more)

    monkeypatch.setattr(ledger, "answer", flaky)
    clf = make(query="margin", n_questions=40, ledger=ledger)
    with pytest.raises(LedgerUnavailable):
        clf.fit(task.X, task.y, X_public=task.pool)
    assert 10 <= len(clf.released_.labels) < 40
