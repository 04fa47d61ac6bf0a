"""Prices of single predictions, against enumeration of whole predictors on tiny data.

Predictors are written out here once more, from the papers and not from the library: the chance of
label 1 on every point, for every data set of three records and every class on three points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.prediction import (
    agnostic_prediction,
    flipped_epsilon,
    net_failure,
    prediction_stability,
    selection_epsilon_for,
    selection_stability,
    smallest_flip,
    smallest_net,
)
from tacit.errors import InvalidArgument

SLACK = 1e-12
POINTS, RECORDS = 3, 3
Record = tuple[int, int]
DATA = list(itertools.product(itertools.product(range(POINTS), (0, 1)), repeat=RECORDS))
HYPOTHESES = list(itertools.product((0, 1), repeat=POINTS))
# Classes of every size, not all 255: monotone ones, all, and a spread of the rest.
CLASSES = [
    [h for bit, h in enumerate(HYPOTHESES) if chosen >> bit & 1] for chosen in range(3, 256, 7)
] + [HYPOTHESES]


def cover(hypotheses: list[tuple[int, ...]], points: list[int]) -> list[tuple[int, ...]]:
    """Return the first hypothesis of every dichotomy of the points."""
    first: dict[tuple[int, ...], tuple[int, ...]] = {}
    for h in hypotheses:
        first.setdefault(tuple(h[p] for p in points), h)
    return list(first.values())


def exponential(candidates, data, rate) -> list[float]:
    """Return chances proportional to ``exp(-rate * mistakes)``."""
    weights = [math.exp(-rate * sum(h[x] != y for x, y in data)) for h in candidates]
    return [w / sum(weights) for w in weights]


def predict(hypotheses, data, subset, rate, voice: Callable) -> np.ndarray:
    """Return the chance of label 1 on every point; ``voice(h)`` is what hypothesis h answers."""
    chance = np.zeros(POINTS)
    subsets = list(itertools.combinations(range(len(data)), subset))
    for chosen in subsets:
        candidates = cover(hypotheses, sorted({data[i][0] for i in chosen}))
        for h, p in zip(candidates, exponential(candidates, data, rate), strict=True):
            chance += p * voice(h) / len(subsets)
    return chance


def neighbour_rows(rows: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return the chances of both labels on neighbouring data sets, all pairs, both orders."""
    pairs = [
        (a, a[:i] + (record,) + a[i + 1 :])
        for a in DATA
        for i in range(RECORDS)
        for record in itertools.product(range(POINTS), (0, 1))
        if record != a[i]
    ]
    one = np.array([rows[a] for a, _ in pairs]).ravel()
    other = np.array([rows[b] for _, b in pairs]).ravel()
    return np.concatenate([one, 1 - one]), np.concatenate([other, 1 - other])


@pytest.mark.parametrize("subset", [1, 2])
@pytest.mark.parametrize("gamma", [0.2, 1.5])
def test_stability_and_flipped_prediction_on_all_neighbours(subset, gamma):
    stability = prediction_stability(gamma, subset=subset, records=RECORDS)
    flip = 0.1
    epsilon = flipped_epsilon(flip, delta=stability)
    for hypotheses in CLASSES:
        rows = {
            data: predict(hypotheses, data, subset, gamma / 2, voice=lambda h: np.array(h))
            for data in DATA
        }
        p, q = neighbour_rows(rows)
        assert (p - q).max() <= stability + SLACK
        p, q = flip + (1 - 2 * flip) * p, flip + (1 - 2 * flip) * q
        assert (p <= math.exp(epsilon) * q * (1 + SLACK)).all()


def test_selection_stability_is_attained():
    """Two constant hypotheses and a tie that one record turns from one side to the other."""
    gamma = 0.8
    zero, one = [(0, 0)], [(0, 1)]
    candidates = [(0,), (1,)]
    p = exponential(candidates, one, gamma / 2)[1]
    q = exponential(candidates, zero, gamma / 2)[1]
    assert p - q == pytest.approx(selection_stability(gamma), rel=1e-12)


def votes_of(hypotheses, relabelled: list[Record]) -> np.ndarray:
    """Return one teacher's answers per record: the first hypothesis that agrees with it."""
    return np.array([next(h for h in hypotheses if h[x] == y) for x, y in relabelled])


def vote(hypotheses, data, h, b) -> np.ndarray:
    """Return the chance of label 1 in the exponential vote of one teacher per record."""
    ones = votes_of(hypotheses, [(x, h[x]) for x, _ in data]).sum(axis=0)
    return 1 / (1 + np.exp(-b / 2 * (ones - (len(data) - ones))))


def net_fails(hypotheses, data, chosen, eta) -> bool:
    """Return whether two hypotheses agree on the chosen points and differ on too many others."""
    return any(
        all(h[data[i][0]] == g[data[i][0]] for i in chosen)
        and sum(h[x] != g[x] for x, _ in data) > eta * len(data)
        for h, g in itertools.combinations(hypotheses, 2)
    )


def worst_net_failure(hypotheses, subset, eta) -> float:
    """Return the largest chance, over data, that a subset of the rest less one is no net."""
    rest = RECORDS - 1
    subsets = list(itertools.combinations(range(rest), subset - 1))
    return max(
        sum(net_fails(hypotheses, data[:rest], chosen, eta) for chosen in subsets) / len(subsets)
        for data in DATA
    )


@pytest.mark.parametrize("eta", [0.4, 0.6])
def test_agnostic_prediction_on_all_neighbours(eta):
    """The net fails in some of these, and not in others; both parts of the price are seen."""
    a, b, subset, flip = 0.3, 0.4, 2, 0.05
    meaningful = 0
    for hypotheses in CLASSES[::3]:
        failure = worst_net_failure(hypotheses, subset, eta)
        if failure >= 1:
            continue
        meaningful += 1
        claim = agnostic_prediction(
            loss_rate=a,
            vote_epsilon=b,
            teachers=RECORDS,
            subset=subset,
            records=RECORDS,
            eta=eta,
            failure=failure,
        )
        rows = {}
        for data in DATA:
            rows[data] = predict(
                hypotheses,
                data,
                subset,
                a,
                voice=lambda h, data=data, c=hypotheses: vote(c, data, h, b),
            )
        p, q = neighbour_rows(rows)
        assert (p - math.exp(claim.epsilon) * q).max() <= claim.delta + SLACK
        p, q = flip + (1 - 2 * flip) * p, flip + (1 - 2 * flip) * q
        pure = flipped_epsilon(flip, epsilon=claim.epsilon, delta=claim.delta)
        assert (p <= math.exp(pure) * q * (1 + SLACK)).all()
    assert meaningful >= 3


@given(
    flip=st.floats(1e-4, 0.49),
    epsilon=st.floats(0.0, 4.0),
    delta=st.floats(0.0, 0.99),
)
def test_flipped_epsilon_is_the_worst_over_all_private_labels(flip, epsilon, delta):
    q = np.linspace(0, 1, 4001)
    p = np.minimum(math.exp(epsilon) * q + delta, 1 - (1 - q - delta) * math.exp(-epsilon))
    p = np.clip(p, 0, 1)
    worst = np.log((flip + (1 - 2 * flip) * p) / (flip + (1 - 2 * flip) * q)).max()
    found = flipped_epsilon(flip, epsilon=epsilon, delta=delta)
    assert worst <= found + 1e-9
    assert found <= worst + 0.02 * (1 + found)  # the grid misses the worst point by a little


@given(
    target=st.floats(0.01, 4.0),
    epsilon=st.floats(0.0, 4.0),
    delta=st.floats(0.0, 0.5),
)
def test_smallest_flip_inverts(target, epsilon, delta):
    flip = smallest_flip(target, epsilon=epsilon, delta=delta)
    if flip < 1e-200:
        return  # private enough without a flip
    assert flipped_epsilon(flip, epsilon=epsilon, delta=delta) <= target
    assert flipped_epsilon(flip, epsilon=epsilon, delta=delta) == pytest.approx(target, rel=1e-9)


def test_flip_of_a_stable_label_is_the_printed_formula():
    assert flipped_epsilon(0.05, delta=0.3) == pytest.approx(math.log(1 + 0.9 * 0.3 / 0.05))


@given(stability=st.floats(0.01, 0.99), records=st.integers(200, 10**6))
def test_selection_epsilon_inverts_stability(stability, records):
    subset = max(1, int(stability * records / 2))
    gamma = selection_epsilon_for(stability, subset=subset, records=records)
    assert prediction_stability(gamma, subset=subset, records=records) <= stability * (1 + 1e-9)
    assert prediction_stability(gamma, subset=subset, records=records) == pytest.approx(
        stability, rel=1e-6
    )


def thresholds(population: int) -> list[tuple[int, ...]]:
    """Return all thresholds on points 0 .. population - 1."""
    return [tuple(int(x >= t) for x in range(population)) for t in range(population + 1)]


@pytest.mark.parametrize(("population", "draws", "eta"), [(10, 7, 0.35), (11, 8, 0.4), (9, 6, 0.5)])
def test_net_failure_bounds_the_exact_chance_for_thresholds(population, draws, eta):
    hypotheses = thresholds(population)
    subsets = list(itertools.combinations(range(population), draws))
    data = [(x, 0) for x in range(population)]
    exact = sum(net_fails(hypotheses, data, chosen, eta) for chosen in subsets) / len(subsets)
    bound = net_failure(eta, draws=draws, population=population, growth=lambda m: m + 1)
    assert exact <= bound


def test_net_failure_of_two_hypotheses_is_one_miss():
    """One pair, three points of ten apart: the bound is near the chance of missing them."""
    exact = math.comb(7, 5) / math.comb(10, 5)
    bound = net_failure(0.25, draws=5, population=10, growth=lambda m: 2)
    assert exact <= bound <= 2 * exact
    assert net_failure(0.6, draws=5, population=10, growth=lambda m: 2) == 0.0


def test_double_sample_bound_is_used_where_it_is_smaller():
    huge = 10**300
    growth = {20_000: 1e4, huge: 1e300}
    found = net_failure(0.02, draws=10_000, population=huge, growth=lambda m: growth[m])
    assert found == pytest.approx(1e4 * (1e4 - 1) * 2.0**-100, rel=1e-6)


def test_smallest_net_is_smallest():
    settings = {"draws": 500, "population": 5000, "growth": lambda m: m + 1}
    eta = smallest_net(1e-6, **settings)
    assert net_failure(eta, **settings) <= 1e-6 < net_failure(eta * 0.99, **settings)
    assert smallest_net(1e-6, draws=1, population=50, growth=lambda m: m + 1) < 1


def test_arguments_are_named_in_errors():
    with pytest.raises(InvalidArgument, match="`flip` must be below one half"):
        flipped_epsilon(0.5, delta=0.1)
    with pytest.raises(InvalidArgument, match="`subset` must be below"):
        selection_epsilon_for(0.1, subset=20, records=100)
