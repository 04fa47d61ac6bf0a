"""What every mechanism owes its callers."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.accounting.answer import total_cost
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.audit import SeededNoise
from tacit.errors import InvalidArgument, MechanismStopped, NoiseError
from tacit.mechanisms import (
    ClippedMean,
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableRelease,
    StableVote,
    VoteCounts,
    VoteMechanism,
)
from tacit.noise import SecureNoise

VOTES = [
    GaussianVote(4.0, 3, 12),
    GaussianVote(4.0, 3, 12, "share"),
    GaussianVote(4.0, 2, 12, calibration="label"),
    LaplaceVote(4.0, 3, 12),
    LaplaceVote(4.0, 2, 12, "share"),
    ConfidentVote(8, 4.0, 2.0, 3, 12, 5),
    ConfidentVote(8, 4.0, 4.0, 2, 12),
    ExponentialVote(0.4, 3, 12),
    StableVote(2.0, 6, 3, 12),
    SparseVote(2.0, 8, 5, 3),
    SparseVote(2.0, 8, 5, 2),
]
OTHERS = [StableRelease(2.0, 40, 3), ClippedMean(1.0, 5e5, 3, 4, releases=2)]


def ids(mechanism):
    return f"{mechanism.name}-{getattr(mechanism, 'n_classes', '')}"


def random_votes(n_classes, n_questions, seed):
    rng = np.random.default_rng(seed)
    return VoteCounts(rng.multinomial(20, np.ones(n_classes) / n_classes, n_questions), 20)


def test_every_vote_mechanism_is_in_the_list():
    found, queue = set(), [VoteMechanism]
    while queue:
        kind = queue.pop()
        queue += kind.__subclasses__()
        if kind.__module__.startswith("tacit.mechanisms") and "name" in vars(kind):
            found.add(kind)
    assert found == {type(mechanism) for mechanism in VOTES}


@pytest.mark.parametrize("mechanism", VOTES + OTHERS, ids=ids)
def test_settings_are_frozen_comparable_and_picklable(mechanism):
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert dataclasses.replace(mechanism) == mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.name_of_nothing = 1


@pytest.mark.parametrize("mechanism", VOTES + OTHERS, ids=ids)
def test_a_plan_holds_the_planned_events_and_their_price(mechanism):
    failure = sum(event.delta * most for event, most in mechanism.planned_events())
    delta = failure + 1e-3
    options = {"n_teachers": 20} if mechanism.output == "share" else {}
    plan = mechanism.plan(delta, **options)
    assert plan.events == mechanism.planned_events()
    assert plan.guarantee.epsilon == mechanism.epsilon(delta)
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.mechanism == mechanism.name


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
def test_answers_have_the_size_the_plan_says(mechanism):
    votes = random_votes(mechanism.n_classes, 5, 0)
    for answer in mechanism.release(votes, noise=SeededNoise(0)):
        assert answer.output is mechanism.output
        width = mechanism.n_classes if mechanism.output == "share" else 1
        assert answer.refused or len(answer.values) == width
        assert answer.refused or 0 <= answer.label < mechanism.n_classes
        assert answer.sigma == mechanism.deviation


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
@settings(max_examples=25)
@given(batches=st.lists(st.integers(0, 4), max_size=12), seed=st.integers(0, 1000))
def test_a_run_never_costs_more_than_it_said_nor_than_was_planned(mechanism, batches, seed):
    run, spent = mechanism.start(noise=SeededNoise(seed)), total_cost([])
    planned = dict(mechanism.planned_events())
    for k, size in enumerate(batches):
        most = run.most_it_can_cost(size)
        if (seed + k) % 5 == 0:
            run.abandon()
            most = run.most_it_can_cost(size)
        try:
            answers = run.release(random_votes(mechanism.n_classes, size, seed + k))
        except MechanismStopped:
            continue
        assert len(answers) <= size
        cost = total_cost(answers)
        assert all(times <= most.get(event, 0) for event, times in cost.items())
        spent += cost
    assert all(times <= planned[event] for event, times in spent.items())


DRAW_ONCE_PER_QUESTION = [m for m in VOTES if m.name not in {"ConfidentVote", "SparseVote"}]


@pytest.mark.parametrize("mechanism", DRAW_ONCE_PER_QUESTION, ids=ids)
def test_a_batch_gives_what_single_questions_give(mechanism):
    votes = random_votes(mechanism.n_classes, 12, 1)
    together = mechanism.release(votes, noise=SeededNoise(5))
    run = mechanism.start(noise=SeededNoise(5))
    assert together == [answer for question in votes for answer in run.release(question)]


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
def test_another_width_is_refused(mechanism):
    with pytest.raises(InvalidArgument, match=f"must have {mechanism.n_classes} columns"):
        mechanism.release(random_votes(7, 1, 0), noise=SeededNoise(0))


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
@pytest.mark.parametrize("counts", [[[7351, 1, 1]], None, "7351"])
def test_what_is_no_vote_count_is_refused_without_showing_it(mechanism, counts):
    with pytest.raises(InvalidArgument, match="VoteCounts") as refusal:
        mechanism.release(counts, noise=SeededNoise(0))
    assert "7351" not in str(refusal.value)


@pytest.mark.parametrize("mechanism", VOTES + OTHERS, ids=ids)
def test_runs_cannot_be_copied(mechanism):
    """A copied run would spend the same allowance twice, or reuse a live threshold."""
    run = mechanism.start(noise=SecureNoise())
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NoiseError):
            duplicate(run)


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
def test_nothing_drawn_shows_in_the_run(mechanism):
    run = mechanism.start(noise=SeededNoise(0))
    run.release(random_votes(mechanism.n_classes, 2, 0))
    assert "object at 0x" in repr(run)


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
@pytest.mark.parametrize("source", [SeededNoise(0), SecureNoise()], ids=["seeded", "secure"])
def test_answers_say_whether_their_noise_was_secure(mechanism, source):
    answers = mechanism.release(random_votes(mechanism.n_classes, 3, 0), noise=source)
    assert {answer.secure for answer in answers} == {source.secure}
    assert all(("INSECURE" in repr(answer)) != source.secure for answer in answers)


@pytest.mark.parametrize("mechanism", VOTES, ids=ids)
def test_no_questions_cost_nothing(mechanism):
    run = mechanism.start(noise=SeededNoise(0))
    assert run.release(random_votes(mechanism.n_classes, 1, 0)[:0]) == []
    assert all(times == 0 for times in run.most_it_can_cost(0).values())


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: Budget(-1.0, 1e-5), "`epsilon` must be a positive finite number, got -1.0."),
        (lambda: Budget(1.0, 1.5), "`delta` must be in [0, 1), got 1.5."),
        (lambda: Budget(float("nan")), "`epsilon` must be a positive finite number, got nan."),
        (lambda: SparseVote(1.0, 3, 0), "`cutoff` must be an integer, 1 or more, got 0."),
        (lambda: GaussianVote(1.0).epsilon(1.5), "`delta` must be in [0, 1), got 1.5."),
    ],
)
def test_one_clear_error_each(bad, words):
    with pytest.raises(InvalidArgument) as refusal:
        bad()
    assert str(refusal.value) == words


# ---- the package -------------------------------------------------------------------------------


def test_every_public_name_is_there():
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
        assert name in dir(tacit)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tacit.nonsense


def test_importing_tacit_loads_nothing_heavy():
    code = (
        "import sys, tacit, tacit.mechanisms;"
        "heavy = {'sklearn', 'dp_accounting', 'opendp', 'pandas'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
