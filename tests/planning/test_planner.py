"""Plans: priced as they run, best of what was looked at, straight about what cannot work."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tacit.accounting.budget import Budget
from tacit.accounting.price import price
from tacit.errors import InvalidArgument
from tacit.estimators.classifier import PATEClassifier
from tacit.estimators.methods import Votes
from tacit.labeling import Labeler
from tacit.ledger import MemoryLedger
from tacit.mechanisms import VoteCounts
from tacit.noise import SecureNoise
from tacit.planning.candidates import source
from tacit.planning.planner import plan_run
from tacit.planning.vote_curve import VoteCurve, measure_votes

CURVE = VoteCurve.guessed({20: 0.72, 100: 0.85})


@given(
    n_records=st.integers(500, 20_000),
    n_points=st.integers(1, 2000),
    epsilon=st.floats(0.05, 8.0),
    delta=st.floats(1e-9, 1e-3),
    classes=st.integers(2, 3),
    release=st.sampled_from(["share", "label"]),
)
@settings(max_examples=8, deadline=None)
def test_the_guarantee_is_what_the_accountants_price(
    n_records, n_points, epsilon, delta, classes, release
):
    curve = VoteCurve.guessed({20: 0.75, 40: 0.8}, n_classes=classes)
    if classes > 2:
        n_records //= 10  # forecasts of more classes take longer
    budget = Budget(epsilon, delta)
    plan = plan_run(
        n_records=n_records, n_points=n_points, budget=budget, curve=curve, release=release
    )
    for candidate in (plan.best, *plan.others):
        planned = candidate.plan(delta)
        cost = price(dict(candidate.mechanism.planned_events()), delta=delta)
        assert planned.guarantee == Budget(cost.epsilon, delta)
        assert planned.guarantee.epsilon <= epsilon
        shown = candidate.to_dict(delta)
        assert (shown["epsilon"], shown["delta"]) == (cost.epsilon, delta)
        assert candidate.n_questions <= n_points
        assert candidate.n_teachers == n_records // candidate.shard_size


def test_a_ledger_of_the_budget_takes_every_candidate():
    budget = Budget(1.0, 1e-5)
    plan = plan_run(n_records=20_000, n_points=60, budget=budget, curve=CURVE, release="label")
    for candidate in (plan.best, *plan.others):
        ledger = MemoryLedger(budget)
        labeler = Labeler(
            candidate.mechanism,
            ledger,
            delta=budget.delta,
            noise=SecureNoise(),
            n_teachers=candidate.n_teachers,
            key=candidate.name,
        )
        asked = min(candidate.n_questions, 3)
        votes = VoteCounts(np.tile([candidate.n_teachers, 0], (asked, 1)), candidate.n_teachers)
        labeler.ask(votes, [bytes([i]) for i in range(asked)])
        assert ledger.reserved().epsilon <= budget.epsilon
        assert labeler.plan.guarantee == candidate.plan(budget.delta).guarantee


@pytest.mark.parametrize("release", ["share", "label"])
def test_the_call_it_prints_runs(release):
    plan = plan_run(
        n_records=600, n_points=50, budget=Budget(2.0, 1e-4), curve=CURVE, release=release
    )
    rng = np.random.default_rng(0)
    names = {
        "X_private": rng.normal(size=(600, 2)),
        "X_pool": rng.normal(size=(50, 2)),
    }
    names["y_private"] = (names["X_private"][:, 0] > 0).astype(int)
    exec(plan.call([0, 1]), names)
    clf = names["clf"]
    assert isinstance(clf, PATEClassifier)
    assert clf.resolved_params_["n_teachers"] == plan.best.n_teachers
    assert clf.privacy_.epsilon == plan.best.plan(1e-4).guarantee.epsilon
    method = Votes(**plan.votes())
    same = PATEClassifier(LogisticRegression(), classes=[0, 1], method=method, **plan.settings())
    models = ("learner", "student", "method")  # compared by identity, so left out here
    assert {k: v for k, v in clf.get_params().items() if k.split("__")[0] not in models} == {
        k: v for k, v in same.get_params().items() if k.split("__")[0] not in models
    }
    assert clf.method.get_params() == method.get_params()


@pytest.mark.parametrize("release", ["share", "label"])
def test_the_source_of_every_candidate_makes_it_again(release):
    import tacit

    plan = plan_run(
        n_records=5000, n_points=100, budget=Budget(1.0, 1e-5), curve=CURVE, release=release
    )
    for candidate in (plan.best, *plan.others):
        assert eval(source(candidate.mechanism), dict(vars(tacit)), tacit_names()) == (
            candidate.mechanism
        )
    values = [candidate.value for candidate in (plan.best, *plan.others)]
    assert values == sorted(values, reverse=True)


def tacit_names():
    import tacit

    return {name: getattr(tacit, name) for name in dir(tacit) if name.endswith("Vote")}


def test_more_of_everything_is_better():
    def value(**changed):
        settings = {"n_records": 5000, "n_points": 200, "budget": Budget(0.5, 1e-5)} | changed
        return plan_run(curve=CURVE, **settings).best.value

    assert value(n_records=20_000) > value()
    assert value(budget=Budget(2.0, 1e-5)) > value()
    assert value(n_questions=50) > value()


def test_nonsense_gets_a_straight_answer():
    plan = plan_run(n_records=50, n_points=400, budget=Budget(0.01, 1e-5), curve=CURVE)
    assert not plan.works
    records, budget, other = plan.missing
    assert "there are 50; about" in records and "epsilon 0.01" in records
    assert "epsilon" in budget
    assert "white-box" in other
    # What it says would do, does.
    needed = int(records.split("about ")[1].split(" would")[0].replace(",", ""))
    more = plan_run(n_records=needed, n_points=400, budget=Budget(0.01, 1e-5), curve=CURVE)
    assert more.works and more.missing == ()


def test_fewer_records_than_a_shard_leave_nothing_to_recommend():
    plan = plan_run(n_records=10, n_points=400, budget=Budget(1.0, 1e-5), curve=CURVE)
    assert plan.best is None and not plan.works and plan.call() == ""
    assert plan.settings() == plan.votes() == {}
    assert json.loads(json.dumps(plan.to_dict()))["recommended"] is None


def test_no_pool_names_the_alternative():
    plan = plan_run(n_records=50_000, n_points=0, budget=Budget(1.0, 1e-5), curve=CURVE)
    (said,) = plan.missing
    assert "Public points" in said and 'protect="labels"' in said


def test_hopeless_teachers_are_called_so():
    curve = VoteCurve.guessed({20: 0.5, 100: 0.5}, correlation=0.0)
    plan = plan_run(n_records=10**6, n_points=100, budget=Budget(1.0, 1e-5), curve=curve)
    assert not plan.works and "Better teachers" in plan.missing[0]
    # Always guessing the larger class is as good as these teachers, however many there are.
    known = plan_run(
        n_records=10**6, n_points=100, budget=Budget(1.0, 1e-5), curve=CURVE, baseline=0.97
    )
    assert not known.works


def test_the_sparse_vector_wins_for_very_many_very_easy_questions_and_only_there():
    easy = VoteCurve.guessed({20: 0.9999, 21: 0.9999}, correlation=0.01)
    sizes = {"n_records": 40_000, "budget": Budget(1.0, 1e-6), "release": "label"}
    many = plan_run(n_points=10_000, n_questions=10_000, curve=easy, **sizes)
    few = plan_run(n_points=100, n_questions=100, curve=easy, **sizes)
    hard = plan_run(n_points=10_000, n_questions=10_000, curve=CURVE, **sizes)
    assert many.best.name == "sparse"
    assert hard.best.name != "sparse"
    assert few.best.forecast.correct > 0.999  # with few questions every mechanism is good


def test_measured_curves_find_the_accuracy_of_teachers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "yes", "no")
    curve = measure_votes(
        LogisticRegression(),
        X[:300],
        y[:300],
        classes=["no", "yes"],
        rng=rng,
        shard_sizes=[10, 40],
        repeats=4,
    )
    for size in (10, 40):
        found = [
            LogisticRegression().fit(X[rows], y[rows]).score(X[1000:], y[1000:])
            for rows in np.array_split(np.arange(300, 300 + 15 * size), 15)
            if len(set(y[rows])) == 2
        ]
        assert curve.at(size).accuracy == pytest.approx(np.mean(found), abs=0.05)
    assert curve.at(20).accuracy == pytest.approx(curve.models[0].accuracy, abs=0.12)


def test_measured_rivals_are_those_of_the_votes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(240, 2))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0).astype(int)
    curve = measure_votes(
        LogisticRegression(),
        X,
        y,
        classes=[0, 1, 2, 3],
        rng=rng,
        shard_sizes=[20],
        repeats=2,
    )
    assert curve.n_classes == 4
    assert 1 / 3 < curve.models[0].rival <= 1  # neighbours in the plane take the wrong votes


@pytest.mark.parametrize(
    "call",
    [
        lambda: VoteCurve.guessed({}),
        lambda: VoteCurve.guessed({0: 0.8}),
        lambda: VoteCurve.guessed({10: 1.2}),
        lambda: CURVE.at(10),
        lambda: CURVE.at(101),
        lambda: plan_run(n_records=-1, n_points=1, budget=Budget(1.0, 1e-5), curve=CURVE),
        lambda: plan_run(n_records=99, n_points=1, budget=Budget(1.0, 0.0), curve=CURVE),
        lambda: plan_run(
            n_records=99, n_points=1, budget=Budget(1.0, 0.1), curve=CURVE, release="both"
        ),
        lambda: measure_votes(
            LogisticRegression(),
            np.zeros((5, 1)),
            [0, 1, 0, 1, 0],
            classes=[0, 1],
            rng=np.random.default_rng(0),
        ),
        lambda: measure_votes(
            LogisticRegression(),
            np.zeros((50, 1)),
            [0, 2] * 25,
            classes=[0, 1],
            rng=np.random.default_rng(0),
        ),
    ],
)
def test_bad_asks_are_refused(call):
    with pytest.raises(InvalidArgument):
        call()
