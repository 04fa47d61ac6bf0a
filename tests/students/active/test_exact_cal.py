"""The exact version space: against [LZCW21] Algorithm 4 written as a loop, and its figures."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidArgument
from tacit.students.active import ExactCAL, ask_in_batches

CUTS = np.linspace(0, 1, 1001)


def drawn(seed, noise, n_points=2000):
    rng = np.random.default_rng([seed, round(100 * noise)])
    x = rng.random(n_points)
    truth = (x >= CUTS[rng.integers(100, 900)]) ^ (rng.random(n_points) < noise)
    return x[None, :] >= CUTS[:, None], truth.astype(int)


def asked_until_done(cal, truth):
    asked = np.array([], dtype=int)
    while True:
        new = cal.select(truth, asked, truth[asked], len(truth), None)
        if len(new) == 0:
            return asked
        asked = np.concatenate([asked, new])


def algorithm_4(predictions, truth, order):
    """Point by point, as the paper has it."""
    space, asked = np.ones(len(predictions), bool), []
    for t, point in enumerate(order, start=1):
        if len(np.unique(predictions[space, point])) > 1:
            asked.append(point)
        if t & (t - 1) == 0 or t == len(order):
            mistakes = (predictions[:, asked] != truth[asked]).sum(axis=1)
            fewest = mistakes[space].min()
            D = np.log(2) + np.log(np.log2(2 * t) ** 2 / 0.05)
            space = space & (mistakes - fewest <= 0.5 * (D + np.sqrt(fewest * D)))
    return asked, space


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_rounds_of_any_size_ask_what_the_point_by_point_algorithm_asks(noise):
    predictions, truth = drawn(3, noise, n_points=700)
    cal = ExactCAL(predictions, vc_dimension=1, seed=4)
    expected, space = algorithm_4(predictions, truth, np.random.default_rng(4).permutation(700))
    for n_batches in (1, 15):
        found = ask_in_batches(
            cal, truth[:, None], lambda at: truth[at], 700, None, n_batches=n_batches
        )
        assert found.positions.tolist() == expected
        assert found.stopped == "strategy"
    assert np.array_equal(cal.version_space(found.positions, found.labels), space)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 65, 78), (0.1, 119, 147)])
@pytest.mark.statistical
def test_thresholds_ask_few_labels_and_return_the_full_sample_minimiser(noise, low, high):
    # Means over 100 trials have standard errors 1.0 and 3.2; the bounds are more than four of them
    # from the true means (about 70 and 133), and the seeds are fixed.
    asked = []
    for seed in range(100):
        predictions, truth = drawn(seed, noise)
        cal = ExactCAL(predictions, vc_dimension=1, seed=seed)
        positions = asked_until_done(cal, truth)
        mistakes = (predictions != truth).sum(axis=1)
        assert mistakes[cal.best(positions, truth[positions])] == mistakes.min()
        asked.append(len(positions))
    assert low < np.mean(asked) < high


def test_a_run_cut_short_returns_the_best_on_what_was_released():
    predictions, truth = drawn(0, 0.1)
    cal = ExactCAL(predictions, vc_dimension=1)
    found = ask_in_batches(cal, truth[:, None], lambda at: truth[at], 60, None)
    assert len(found.positions) == 60
    mistakes = (predictions[:, found.positions] != found.labels).sum(axis=1)
    space = cal.version_space(found.positions, found.labels)
    assert mistakes[cal.best(found.positions, found.labels)] == mistakes[space].min()


def test_refusals_are_no_evidence():
    predictions, truth = drawn(0, 0.0, n_points=100)
    everything = np.arange(100)
    refused = np.full(100, -1)
    assert ExactCAL(predictions).version_space(everything, refused).all()


def test_a_pool_of_another_size_is_refused():
    with pytest.raises(InvalidArgument, match="one column for each of 3 points"):
        ExactCAL(np.zeros((2, 4), int)).select(np.zeros((3, 1)), [], [], 1, None)


@pytest.mark.parametrize("table", [[0, 1], [[0.5, 1.0]], np.zeros((0, 3), int)])
def test_what_is_no_table_of_classes_is_refused(table):
    with pytest.raises(InvalidArgument, match="table of class indices"):
        ExactCAL(table)
