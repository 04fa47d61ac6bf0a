"""What the learners promise around their mechanisms: settings, ledger, refusals, nothing leaks."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tacit.accounting import prediction as prices
from tacit.accounting.budget import Budget, Neighbouring
from tacit.accounting.events import RelabelledRun
from tacit.audit import SeededNoise
from tacit.data.assumptions import KEEPS_ROW, LAST_DIGIT, READING
from tacit.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerError,
    MechanismStopped,
    PrivateValueError,
)
from tacit.estimators.oracle import OracleTerms, PrivateOracle
from tacit.hypotheses import Thresholds
from tacit.hypothesis_learners import (
    AgnosticOracle,
    AgnosticPredictor,
    PrivatePredictor,
    RealizablePredictor,
    StablePredictor,
    UniversalOracle,
)
from tacit.hypothesis_learners.agnostic_predictor import paper_rule
from tacit.hypothesis_learners.answering import AnsweringLearner
from tacit.ledger import MemoryLedger, SqliteLedger, open_ledger
from tacit.noise import SecureNoise

LINE = Thresholds()
RNG = np.random.default_rng(0)
X = RNG.random(8_000)
Y = (X >= 0.5).astype(int)
LEARNERS = [
    PrivatePredictor(LINE, epsilon=2.0, n_questions=3),
    RealizablePredictor(LINE, epsilon=2.0, n_questions=3),
    AgnosticPredictor(LINE, epsilon=2.0, n_questions=1),
    AgnosticOracle(LINE, epsilon=2.0, delta=1e-5),
    UniversalOracle(LINE, epsilon=2.0, delta=1e-5, n_first=3),
]
IDS = [type(learner).__name__ for learner in LEARNERS]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=IDS)


@pytest.fixture
def seeded(monkeypatch):
    """Give every run noise of its own seed.

    An oracle refuses a clear question up to once in 2,000 times, and most stop at the first.
    """
    seeds = itertools.count()
    for kind in (AnsweringLearner, PrivateOracle):
        monkeypatch.setattr(kind, "_noise", lambda self: SeededNoise(next(seeds)))


def fitted(learner, n=8_000):
    """Return a fitted copy."""
    return clone(learner).fit(X[:n], Y[:n])


# ---- all of them ----------------------------------------


@every_learner
def test_the_guarantee_is_within_the_budget_and_known_before_any_answer(learner):
    found = fitted(learner)
    assert found.guarantee_.epsilon <= learner.epsilon
    assert found.guarantee_.delta <= learner.delta
    assert found.guarantee_.epsilon > 0.8 * learner.epsilon  # and uses most of it
    assert found.privacy_.spent_epsilon == 0.0
    assert {READING, KEEPS_ROW, LAST_DIGIT} <= set(found.privacy_.assumptions)
    found.ask([0.05])
    assert 0 < found.privacy_.spent_epsilon <= found.guarantee_.epsilon
    assert found.privacy_.secure and found.privacy_.questions == 1


@every_learner
@pytest.mark.usefixtures("seeded")
def test_a_question_asked_again_gets_its_answer_free(learner):
    found = fitted(learner)
    (first,) = found.ask([0.9])
    assert first.cost
    again = found.ask([0.9, 0.9])
    assert [answer.label for answer in again] == [first.label] * 2
    assert all(answer.cost == () for answer in again)


@every_learner
def test_nothing_private_is_shown_or_saved(learner):
    found = fitted(learner, n=5000)
    assert "0.5" not in repr(found) and repr(found) == repr(learner)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivateValueError):
            attempt(found)
    assert "private" in repr(found._records)
    with pytest.raises(PrivateValueError):
        pickle.dumps(found._records)


@every_learner
def test_before_fit_it_says_so(learner):
    with pytest.raises(NotFittedError):
        clone(learner).ask([0.1])
    pickle.dumps(clone(learner))  # settings alone are public


@every_learner
def test_spends_add_up_on_a_ledger_and_survive_it(learner, tmp_path):
    ledger = open_ledger(tmp_path / "account.sqlite", budget=Budget(3.0, 1e-4))
    found = clone(learner).set_params(ledger=ledger, key="first").fit(X, Y)
    (answer,) = found.ask([0.9])
    assert ledger.reserved().epsilon == pytest.approx(found.guarantee_.epsilon)
    with pytest.raises(BudgetExceeded):
        clone(learner).set_params(ledger=ledger, key="second").fit(X, Y)
    # Another process, the same key: the recorded answer comes back.
    again = clone(learner).set_params(ledger=ledger, key="first").fit(X, Y)
    (same,) = again.ask([0.9])
    assert (same.label, same.cost) == (answer.label, ())


@every_learner
def test_test_noise_is_refused_by_an_honest_ledger(learner):
    found = fitted(learner, n=5000)
    with pytest.raises(LedgerError):
        found.open(
            MemoryLedger(Budget(9.0, 1e-3), allow_insecure=False), noise=SeededNoise(0), key="test"
        )


class FailsToLabel(Thresholds):
    """Fails on what was drawn for the records."""

    def label(self, hypotheses, points):
        raise ValueError(f"cannot label by {hypotheses.tolist()}")


@pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[2], LEARNERS[3]], ids=type)
def test_an_error_of_the_class_shows_nothing_drawn(learner):
    failing = clone(learner).set_params(hypotheses=FailsToLabel()).fit(X, Y)
    with pytest.raises(PrivateValueError) as caught:
        failing.ask([0.3])
    assert caught.value.__context__ is None
    names = {n for frame in inspect.getinnerframes(caught.tb) for n in frame.frame.f_locals}
    assert not names & {"chosen", "counts", "drawn", "selected", "relabelled"}


@every_learner
def test_no_type_of_labels_or_points_is_refused(learner):
    """One private value decides the type of an array: a refusal would show it."""
    odd = np.where(np.arange(len(Y)) == 3, "unknown", Y.astype(str))
    for points, labels in ((X, odd), (X.astype(object), Y), (X, Y.astype(object))):
        clone(learner).fit(points, labels)


@every_learner
def test_odd_records_raise_nothing(learner):
    """Which error is raised must not depend on what a record holds."""
    odd, labels = X[:5000].copy(), Y[:5000].astype(float)
    odd[:4] = [np.nan, np.inf, -np.inf, 1e300]
    labels[:4] = [7, np.nan, -1, 0.5]
    clone(learner).fit(odd, labels).ask([0.3])
    clone(learner).fit(np.zeros(5000), np.zeros(5000)).ask([0.3])


@every_learner
@pytest.mark.usefixtures("seeded")
def test_it_is_a_source_of_answers_for_an_oracle(learner):
    """The same questions, ledger and report as teachers that vote."""
    source = fitted(learner)
    ledger = MemoryLedger(Budget(3.0, 1e-4))
    terms = OracleTerms(
        budget=source.guarantee_,
        mechanism=None,
        delta=source.guarantee_.delta,
        key="over-hypotheses",
        neighbouring=Neighbouring.REPLACE,
        unit="record",
        assumptions=source.privacy_.assumptions,
    )
    oracle = PrivateOracle.from_source(source, terms=terms, like=np.zeros((4, 1)), ledger=ledger)
    answers = oracle.ask([[0.02]])
    assert answers.tolist() == source.predict([[0.02]]).tolist()
    assert ledger.reserved().epsilon == pytest.approx(source.guarantee_.epsilon)
    assert oracle.privacy_.epsilon == pytest.approx(source.guarantee_.epsilon)
    with pytest.raises(LedgerError, match="open on a ledger already"):
        source.open(MemoryLedger(Budget(3.0, 1e-4)), noise=SecureNoise(), key="twice")


# ---- predictors pay for each answer ----------------------------------------


@pytest.mark.parametrize("make", [PrivatePredictor, AgnosticPredictor, RealizablePredictor])
def test_each_new_question_is_charged_and_the_last_one_refused(make):
    found = make(LINE, epsilon=2.0, n_questions=2).fit(X[:4000], Y[:4000])
    first, second = found.ask([0.1, 0.9])
    assert len(first.cost) == len(second.cost) == 1
    with pytest.raises(BudgetExceeded):
        found.ask([0.2])
    assert [answer.label for answer in found.ask([0.9, 0.1])] == [second.label, first.label]


def test_many_answers_compose_better_with_a_delta():
    pure = PrivatePredictor(LINE, epsilon=1.0, n_questions=100).fit(X, Y)
    mixed = PrivatePredictor(LINE, epsilon=1.0, delta=1e-6, n_questions=100).fit(X, Y)
    assert mixed.mechanism_.event.pure_epsilon > 1.5 * pure.mechanism_.event.pure_epsilon
    assert mixed.guarantee_.epsilon <= 1.0


@pytest.mark.parametrize("make", [PrivatePredictor, AgnosticPredictor])
def test_paper_constants_say_how_many_records_they_need(make):
    with pytest.raises(InvalidArgument, match=r"must hold .* records for the constants of the pap"):
        make(LINE, epsilon=0.9, constants="paper", alpha=0.2).fit(X[:100], Y[:100])
    with pytest.raises(InvalidArgument, match="`alpha` must be"):
        make(LINE, constants="paper").fit(X, Y)
    with pytest.raises(InvalidArgument, match="`constants` must be one of"):
        make(LINE, constants="tight").fit(X, Y)


def test_paper_constants_of_a_private_predictor():
    found = PrivatePredictor(LINE, epsilon=0.9, constants="paper", alpha=0.45)
    found.fit(np.repeat(X, 5), np.repeat(Y, 5))
    assert found.mechanism_.flip == 0.45
    assert found.mechanism_.selection_epsilon == pytest.approx(0.9 * 0.45 / 6, rel=1e-6)
    assert found.guarantee_.epsilon < 0.9


def test_paper_constants_of_an_agnostic_predictor_cost_what_they_cost():
    """The paper's O(epsilon) is no epsilon: at the size it asks for, an answer costs more."""
    with pytest.raises(InvalidArgument) as refused:
        paper_rule(LINE, 1000, epsilon=0.9, alpha=0.2, n_questions=1)
    needed = int(re.findall(r"about (\d+) records", str(refused.value))[0])
    rule = paper_rule(LINE, needed, epsilon=0.9, alpha=0.2, n_questions=1)
    assert rule.subset <= 0.9 * needed
    assert replace(rule, flip=0.0).event.pure_epsilon > 3 * 0.9
    x = np.linspace(0, 1, needed)
    found = AgnosticPredictor(LINE, epsilon=0.9, constants="paper", alpha=0.2).fit(x, x >= 0.5)
    assert found.guarantee_.epsilon == pytest.approx(rule.event.pure_epsilon, rel=1e-6)


# ---- stable is not private ----------------------------------------


def test_stable_predictor_has_no_price_and_no_ledger():
    stable = StablePredictor(LINE, stability=0.2).fit(X, Y)
    assert not hasattr(stable, "privacy_") and not hasattr(stable, "guarantee_")
    assert stable.predict([0.02, 0.98]).tolist() == [0, 1]
    with pytest.raises(PrivateValueError):
        pickle.dumps(stable)


def test_probability_moves_by_no_more_than_its_stability():
    """Same dealing of the records, every single replacement of one record by extreme ones."""
    x, y = X[:60], Y[:60]

    class Dealt(StablePredictor):
        def _noise(self):
            return SeededNoise(5)

    points = np.linspace(0, 1, 9)
    base = Dealt(LINE, stability=0.3).fit(x, y)
    before = base.probability(points)
    assert 0 <= before.min() <= before.max() <= 1
    worst = 0.0
    for i in range(0, 60, 3):
        for value, label in ((0.0, 1), (1.0, 0), (0.5, 1)):
            x2, y2 = x.copy(), y.copy()
            x2[i], y2[i] = value, label
            after = Dealt(LINE, stability=0.3).fit(x2, y2).probability(points)
            worst = max(worst, float(np.abs(after - before).max()))
    assert 0 < worst <= base.probability_stability_


def test_probability_agrees_with_draws():
    """Three means of 300 draws: one is off by 0.2 with probability below 1e-9 (Hoeffding)."""
    noisy = (X[:300] + RNG.normal(0, 0.2, 300) >= 0.5).astype(int)

    class Dealt(StablePredictor):
        def _noise(self):
            return SeededNoise(6)

    stable = Dealt(LINE, stability=0.3).fit(X[:300], noisy)
    points = np.repeat([0.3, 0.5, 0.7], 300)
    drawn = stable.predict(points).reshape(3, -1).mean(axis=1)
    averaged = np.mean([stable.probability([0.3, 0.5, 0.7])], axis=0)
    assert (
        np.abs(drawn - averaged).max() < 0.15 + 0.05
    )  # and the average is over some ways of dealing only


def test_paper_stability_is_below_three_gamma():
    stable = StablePredictor(LINE, stability=0.3, constants="paper", alpha=0.3).fit(X, Y)
    assert stable.stability_ <= 0.3
    with pytest.raises(InvalidArgument, match="must hold at least"):
        StablePredictor(LINE, stability=0.3, constants="paper", alpha=0.01).fit(X, Y)


def test_too_few_records_for_a_stability():
    with pytest.raises(InvalidArgument, match="must hold at least 11 records"):
        StablePredictor(LINE, stability=0.1).fit(X[:5], Y[:5])


# ---- the oracles ----------------------------------------


@pytest.mark.usefixtures("seeded")
def test_an_oracle_charges_its_first_answer_with_everything():
    oracle = AgnosticOracle(LINE, epsilon=2.0, delta=1e-5).fit(X, Y)
    answers = oracle.ask([0.05, 0.1, 0.9, 0.95])
    assert [len(answer.cost) for answer in answers] == [1, 0, 0, 0]
    assert isinstance(answers[0].cost[0], RelabelledRun)
    assert oracle.privacy_.spent_epsilon == pytest.approx(oracle.guarantee_.epsilon)


@pytest.mark.usefixtures("seeded")
def test_an_oracle_opened_again_gives_old_answers_and_refuses_new_questions(tmp_path):
    """The relabelling was private and is gone; a second one would cost again."""
    path = tmp_path / "account.sqlite"
    ledger = SqliteLedger(path, budget=Budget(5.0, 1e-4), allow_insecure=True)
    settings = {"epsilon": 2.0, "delta": 1e-5, "ledger": ledger, "key": "one"}
    first = AgnosticOracle(LINE, **settings).fit(X, Y)
    (label,) = first.predict([0.9])
    second = AgnosticOracle(LINE, **settings).fit(X, Y)
    assert second.predict([0.9]).tolist() == [label]
    with pytest.raises(BudgetExceeded):
        second.ask([0.1])
    assert first.ask([0.1])[0].cost == ()  # the one that paid goes on


def test_an_oracle_stops_after_its_refusals():
    """Five teachers are never clear: every question is refused until the last refusal."""
    oracle = AgnosticOracle(LINE, epsilon=2.0, delta=1e-9, subset=400, n_teachers=5, cutoff=2).fit(
        X, Y
    )
    answers = oracle.ask([0.1, 0.2, 0.3])
    assert [answer.refused for answer in answers] == [True, True]
    assert oracle.predict([0.2]).tolist() == [-1]
    with pytest.raises(MechanismStopped):
        oracle.ask([0.3])


@pytest.mark.usefixtures("seeded")
def test_an_oracle_that_could_not_record_is_not_free_afterwards(tmp_path):
    oracle = AgnosticOracle(LINE, epsilon=2.0, delta=1e-5).fit(X, Y)
    run = oracle._answering()._run
    counts = run.count(np.array([[0.1]]))
    (drawn,) = run.release(counts)
    assert drawn.cost
    run.abandon()
    assert run.most_it_can_cost(1)  # it is charged again with the next answer
    (later,) = run.release(counts) if not run.stopped else (drawn,)
    assert later.cost or run.stopped


def test_too_few_records_for_an_oracle():
    with pytest.raises(InvalidArgument, match="must hold up to"):
        AgnosticOracle(LINE, epsilon=0.5, delta=1e-6).fit(X[:500], Y[:500])
    with pytest.raises(InvalidArgument, match="`subset` and `n_teachers` do not fit"):
        AgnosticOracle(LINE, epsilon=0.5, delta=1e-6, subset=7_999).fit(X, Y)
    with pytest.raises(InvalidArgument, match="at least .* records for the constants"):
        AgnosticOracle(LINE, epsilon=0.9, delta=1e-6, constants="paper", alpha=0.2, beta=0.1).fit(
            X, Y
        )
    with pytest.raises(InvalidArgument, match="`delta` must be above 0"):
        AgnosticOracle(LINE, epsilon=0.5, delta=0.0).fit(X, Y)


def test_resampling_costs_teachers_but_stays_within_the_budget():
    plain = AgnosticOracle(LINE, epsilon=2.0, delta=1e-5).fit(X, Y)
    again = AgnosticOracle(LINE, epsilon=2.0, delta=1e-5, resample=True).fit(X, Y)
    assert again.guarantee_.epsilon <= 2.0 and again.guarantee_.delta <= 1e-5
    per_teacher = [o.mechanism_.subset / o.mechanism_.teachers for o in (plain, again)]
    assert per_teacher[1] < per_teacher[0]


def test_an_oracle_may_take_a_larger_part_than_the_paper():
    oracle = AgnosticOracle(LINE, epsilon=1.0, delta=1e-5).fit(np.repeat(X, 5), np.repeat(Y, 5))
    assert oracle.mechanism_.subset / 40_000 > 1 / 56


@pytest.mark.parametrize("split", ["records", "budget"])
@pytest.mark.usefixtures("seeded")
def test_a_universal_oracle_learns_after_its_first_questions(split):
    oracle = UniversalOracle(LINE, epsilon=2.0, delta=1e-5, n_first=4, split=split).fit(X, Y)
    with pytest.raises(PrivateValueError, match="No hypothesis has been released"):
        _ = oracle.hypothesis_
    first = oracle.ask([0.1, 0.3, 0.7, 0.9])
    assert [len(answer.cost) for answer in first] == [1, 0, 0, 0]
    later = oracle.ask([0.1, 0.05, 0.97])  # one asked before, two new
    assert [len(answer.cost) for answer in later] == [0, 1, 0]
    assert oracle.hypothesis_.shape == (2,)
    assert len(oracle.predict(np.linspace(0, 1, 500))) == 500
    assert oracle.guarantee_.epsilon <= 2.0
    assert oracle.privacy_.spent_epsilon <= 2.0


@pytest.mark.usefixtures("seeded")
def test_a_universal_oracle_gets_past_a_batch_that_spans_both_phases():
    oracle = UniversalOracle(LINE, epsilon=2.0, delta=1e-5, n_first=2).fit(X, Y)
    answers = oracle.ask([0.1, 0.1, 0.9, 0.2, 0.1, 0.8])
    assert len(answers) == 6
    assert answers[0].label == answers[1].label == answers[4].label


def test_paper_number_of_first_questions():
    with pytest.raises(InvalidArgument, match="constants of the paper"):
        UniversalOracle(LINE, epsilon=0.9, delta=1e-6, constants="paper", alpha=0.3, beta=0.1).fit(
            X, Y
        )


def test_the_flip_is_what_the_price_says():
    found = PrivatePredictor(LINE, epsilon=1.0).fit(X, Y)
    rule = found.mechanism_
    stability = prices.prediction_stability(
        rule.selection_epsilon, subset=rule.subset, records=rule.records
    )
    assert prices.flipped_epsilon(rule.flip, delta=stability) == pytest.approx(
        rule.event.pure_epsilon
    )
