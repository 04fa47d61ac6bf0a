"""Every shipped mechanism goes through the same battery, with several seeds.

False alarms: at most 1e-8 for each mechanism and seed (see ``tacit.audit.evidence``).
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass

import numpy as np
import pytest

import tacit.mechanisms
from tacit.accounting.budget import Budget
from tacit.accounting.events import ApproximateRelease
from tacit.audit.contracts import CheckFailed, check_mechanism, examples, problems
from tacit.audit.subjects import EXAMPLES, SelectionSubject
from tacit.errors import InvalidArgument
from tacit.mechanisms import GaussianVote, Mechanism, SparseVote, VoteMechanism
from tacit.mechanisms.base import PaidPerAnswer, label_answers

SEEDS = range(10)


@pytest.mark.statistical
@pytest.mark.parametrize("name", examples())
def test_the_mechanism_passes_every_check(name: str) -> None:
    check_mechanism(name, seed=100)
    for seed in SEEDS:
        check_mechanism(name, seed=seed, secure=False)


def test_no_shipped_mechanism_is_left_out() -> None:
    shipped = {
        kind
        for kind in vars(tacit.mechanisms).values()
        if inspect.isclass(kind) and issubclass(kind, Mechanism) and not inspect.isabstract(kind)
    }
    covered = {
        type(subject.mechanism)
        for subject in EXAMPLES.values()
        if not isinstance(subject, SelectionSubject)
    }
    assert covered == shipped
    functions = {s.function for s in EXAMPLES.values() if isinstance(s, SelectionSubject)}
    assert functions == {"exponential_mechanism", "permute_and_flip"}


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        GaussianVote(3.0),
        GaussianVote(20.0, answers=40),
        GaussianVote(30.0, 10, answers=8),
        SparseVote.for_budget(Budget(1.0, 1e-5), cutoff=3),
    ],
    ids=repr,
)
def test_settings_of_real_use_pass_too(mechanism: Mechanism) -> None:
    check_mechanism(mechanism, secure=False)


def test_a_failure_lists_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tacit.mechanisms.base.Allowance, "take", lambda self, wanted: None)
    with pytest.raises(CheckFailed, match="allowance") as caught:
        check_mechanism("gaussian-label", secure=False)
    assert {problem.check for problem in caught.value.problems} == {"allowance"}


def test_equal_seeds_give_equal_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tacit.mechanisms.noisy_argmax.gaussian_counts
    monkeypatch.setattr(
        tacit.mechanisms.noisy_argmax, "gaussian_counts", lambda v, s, n: plain(v, s * 0.7, n)
    )
    assert problems("gaussian-label", seed=4, secure=False) == problems(
        "gaussian-label", seed=4, secure=False
    )


def test_an_unknown_example_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="one of gaussian-label"):
        check_mechanism("no such mechanism")


@dataclass(frozen=True)
class Own(VoteMechanism):
    """A mechanism from outside: randomised response on the plurality, priced by its caller."""

    name = "Own"
    chance: float
    claim: float
    n_classes: int = 2
    answers: int = 4

    def planned_events(self):
        return ((ApproximateRelease(self.claim, 0.0), self.answers),)

    def start(self, *, noise):
        return _OwnRun(self, noise)


class _OwnRun(PaidPerAnswer):
    def __init__(self, mechanism: Own, noise) -> None:
        super().__init__(mechanism.answers, {mechanism.planned_events()[0][0]: 1})
        self._mechanism, self._noise = mechanism, noise

    def release(self, counts):
        self._mechanism._check(counts)
        self._take(len(counts))
        truth = counts.private_array().argmax(axis=1)
        lies = [self._noise.bits(16) >= self._mechanism.chance * 2**16 for _ in truth]
        cost = (self._mechanism.planned_events()[0][0],)
        return label_answers(truth ^ np.array(lies, dtype=int), cost, secure=self._noise.secure)


@pytest.mark.statistical
def test_a_mechanism_of_ones_own_is_audited_against_its_claim() -> None:
    check_mechanism(Own(0.75, math.log(3) * 1.001), n_teachers=21, delta=1e-3, secure=False)
    with pytest.raises(CheckFailed, match="measured epsilon is at least"):
        check_mechanism(Own(0.75, 0.3), n_teachers=21, delta=1e-3, secure=False)
