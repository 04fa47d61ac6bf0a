"""Every shipped mechanism goes through the same battery, with several seeds.

False alarms: at most 1e-8 for each mechanism and seed (see ``tacit.testing.evidence``).
"""

from __future__ import annotations

import inspect

import pytest

import tacit.mechanisms
from tacit.errors import InvalidArgument
from tacit.mechanisms import GaussianVote, Mechanism, SparseVote
from tacit.testing.contracts import CheckFailed, check_mechanism, examples, problems
from tacit.testing.subjects import EXAMPLES, SelectionSubject

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
        GaussianVote(20.0, answers=40),
        GaussianVote(30.0, 10, answers=8),
        SparseVote.for_budget(tacit.privacy.budget.Budget(1.0, 1e-5), cutoff=3),
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
