"""Planted bugs go through the same ``check_mechanism`` as the correct code, and are caught.

The correct code fails a check with probability at most 1e-8 (``FALSE_ALARM``); how often each bug
is missed is measured by ``python -m tests.support.power`` (``results/planted_bugs.json``).
"""

from __future__ import annotations

import pytest
from tests.support.planted_bugs import BUGS

from tacit.audit.contracts import problems
from tacit.audit.subjects import EXAMPLES

CASES = [(bug.name, example) for bug in BUGS.values() for example in bug.examples]

NAMED = {
    "margin_as_if_sensitivity_one",
    "threshold_without_noise",
    "cutoff_not_enforced",
    "query_noise_of_single_scale",
    "histogram_priced_as_one_count",
    "overlapping_shards",
    "noise_rounded_towards_the_mean",
    "repeated_question_redrawn",
    "one_draw_shared_by_questions",
    "sigma_off_by_root_two",
}


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "example"), CASES)
def test_the_bug_is_caught(name: str, example: str) -> None:
    for seed in (0, 1) if BUGS[name].named else (0,):
        with BUGS[name].plant():
            found = problems(example, seed=seed)
        assert found, f"{name} was not noticed in {example} with seed {seed}"


def test_the_bugs_that_were_asked_for_are_there() -> None:
    assert {bug.name for bug in BUGS.values() if bug.named} == NAMED
    assert len(BUGS) >= len(NAMED) + 10


def test_every_bug_says_what_it_is_and_whom_it_touches() -> None:
    for bug in BUGS.values():
        assert bug.says.endswith(".")
        assert bug.examples
        assert set(bug.examples) <= set(EXAMPLES)


def test_planting_leaves_nothing_behind() -> None:
    for bug in BUGS.values():
        with bug.plant():
            pass
    assert problems("sparse", seed=5, secure=False) == []
    assert problems("gaussian-3-share", seed=5, secure=False) == []
