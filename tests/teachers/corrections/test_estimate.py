"""Where a student should stand, from proposals of known noise."""

from __future__ import annotations

import numpy as np

from tacit.teachers.corrections.estimate import Proposal, estimate
from tacit.teachers.corrections.metric import Metric

D, C = 40, 3
POOL = np.column_stack([np.random.default_rng(0).normal(size=(200, D)), np.ones(200)])
METRIC = Metric.of(POOL, np.zeros((D + 1, C - 1)), C)


def proposals(truth, deviation, n=30, seed=1):
    rng = np.random.default_rng(seed)
    return [
        Proposal(truth + METRIC.whiten @ rng.normal(0, deviation, truth.shape), deviation)
        for _ in range(n)
    ]


def distance(weights, truth):
    return np.linalg.norm(np.linalg.solve(METRIC.whiten, weights - truth))


def test_without_noise_it_is_the_truth():
    truth = METRIC.whiten @ np.random.default_rng(2).normal(size=(D + 1, C - 1))
    assert np.allclose(estimate(proposals(truth, 1e-9), METRIC), truth, atol=1e-6)


def test_only_recent_proposals_count():
    truth = METRIC.whiten @ np.ones((D + 1, C - 1))
    far = proposals(truth + 100, 1e-9, n=20)
    assert np.allclose(estimate(far + proposals(truth, 1e-9, n=10), METRIC), truth, atol=1e-6)


def test_proposals_count_by_their_precision():
    truth = METRIC.whiten @ np.ones((D + 1, C - 1))
    wrong = [Proposal(truth + 1, 1e3)] * 5
    assert np.allclose(
        estimate(wrong * 4 + wrong + proposals(truth, 1e-3, n=5), METRIC), truth, atol=0.01
    )


def test_noise_alone_leaves_the_constant_alone():
    weights = estimate(proposals(np.zeros((D + 1, C - 1)), 1.0), METRIC)
    mean_length = np.mean(
        [np.linalg.norm(np.linalg.solve(METRIC.whiten, one.weights)) for one in
         proposals(np.zeros((D + 1, C - 1)), 1.0)]
    )  # fmt: skip
    assert distance(weights, np.zeros_like(weights)) < 0.2 * mean_length


def test_it_is_nearer_to_the_truth_than_the_average():
    truth = np.zeros((D + 1, C - 1))
    truth[:4] = 3.0  # a few coordinates hold everything
    truth = METRIC.whiten @ truth
    nearer = 0
    for seed in range(50):
        made = proposals(truth, 1.0, seed=seed)
        mean = np.mean([one.weights for one in made[20:]], axis=0)
        nearer += distance(estimate(made, METRIC), truth) < distance(mean, truth)
    assert nearer >= 45
