"""The audit on mechanisms whose true epsilon is known."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tacit.audit.estimates import Direction, audit, lower_bound
from tacit.errors import InvalidArgument


def bits(chance: float):
    """Return a sampler of coins."""

    def sample(seed: int, size: int) -> list[bool]:
        return (np.random.default_rng(seed).random(size) < chance).tolist()

    return sample


def response(epsilon: float):
    """Return the two samplers of randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return bits(truth), bits(1 - truth)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_randomised_response_is_measured_closely_and_from_below(epsilon: float) -> None:
    found = audit(*response(epsilon), samples=100_000, jobs=1, progress=False, seed=3)
    assert 0.85 * epsilon < found.epsilon_lower < epsilon
    assert found.direction is not Direction.NEITHER


@pytest.mark.statistical
def test_the_bound_is_true_as_often_as_it_says() -> None:
    # At confidence 0.5 at most 250 of 500 may miss, by the bound's construction far fewer do
    # (four one-sided limits share the risk). P(Binomial(500, 0.5) > 310) < 1e-7.
    missed = sum(
        audit(
            *response(1.0), samples=400, confidence=0.5, jobs=1, progress=False, seed=seed
        ).epsilon_lower
        > 1.0
        for seed in range(500)
    )
    assert missed <= 310


def test_equal_inputs_are_not_told_apart() -> None:
    found = audit(bits(0.3), bits(0.3), samples=20_000, jobs=1, progress=False)
    assert found.epsilon_lower == 0.0
    assert found.direction is Direction.NEITHER


def test_delta_is_allowed_for() -> None:
    def leaky(seed: int, size: int) -> list[str]:
        rng = np.random.default_rng(seed)
        return ["secret" if x < 0.01 else "nothing" for x in rng.random(size)]

    def silent(seed: int, size: int) -> list[str]:
        return ["nothing"] * size

    settings = dict(samples=20_000, jobs=1, progress=False)
    assert audit(leaky, silent, delta=0.0, **settings).epsilon_lower > 1
    assert audit(leaky, silent, delta=0.02, **settings).epsilon_lower == 0


def test_the_direction_names_the_input_that_gave_the_outputs_more_often() -> None:
    # "yes" is rare on both sides: 0.1% against 5%, so only one direction tells much.
    found = audit(bits(0.05), bits(0.001), samples=40_000, jobs=1, progress=False)
    assert found.direction is Direction.FIRST
    found = audit(bits(0.001), bits(0.05), samples=40_000, jobs=1, progress=False)
    assert found.direction is Direction.SECOND


def test_the_number_of_processes_does_not_change_the_result() -> None:
    one = audit(*response(1.0), samples=3_000, jobs=1, progress=False, seed=5)
    two = audit(*response(1.0), samples=3_000, jobs=2, progress=False, seed=5)
    assert one == two


def test_all_samples_are_used() -> None:
    sizes: list[int] = []

    def sample(seed: int, size: int) -> list[int]:
        sizes.append(size)
        return [0] * size

    audit(sample, sample, samples=1_003, jobs=1, progress=False)
    assert sum(sizes) == 2 * 1_003


def test_outputs_never_seen_while_choosing_do_not_count() -> None:
    choose = (Counter({"a": 50, "b": 50}), Counter({"a": 50, "b": 50}))
    measure = (Counter({"new": 100}), Counter({"b": 100}))
    epsilon, direction = lower_bound(choose, measure, delta=0.0, confidence=0.99)
    assert (epsilon, direction) == (0.0, Direction.NEITHER)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 1.0), ("delta", -0.1), ("samples", 1), ("confidence", 1.0), ("seed", -1)],
)
def test_bad_arguments_are_named(name: str, value: float) -> None:
    settings = {"samples": 100, "jobs": 1, "progress": False, name: value}
    with pytest.raises(InvalidArgument, match=name):
        audit(*response(1.0), **settings)
