"""Prices of relabelling, sub-sampling and resampling, against enumeration of whole mechanisms.

Every mechanism here is a matrix: a row per data set, a column per output, entries exact to
rounding. A claim is checked on every pair of neighbouring data sets and every event at once: the
largest ``P(E) - e^epsilon P'(E)`` over events E is the sum of the positive parts.
"""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.amplification import (
    largest_base_epsilon,
    mixed_epsilon,
    relabelled,
    relabelling_epsilon,
    resampled,
    subsampled,
)
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument

SLACK = 1e-12


def data_sets(values: int, n: int) -> list[tuple[int, ...]]:
    """Return all data sets of ``n`` records with that many values."""
    return list(itertools.product(range(values), repeat=n))


def neighbours(sets: list[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return ordered pairs of rows that differ in one record."""
    return [
        (i, j)
        for (i, a), (j, b) in itertools.permutations(enumerate(sets), 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]


def worst_delta(mechanism: np.ndarray, pairs: list[tuple[int, int]], epsilon: float) -> float:
    """Return the smallest delta with which the mechanism is (epsilon, delta)-private."""
    first, second = np.array(pairs).T
    excess = mechanism[first] - math.exp(epsilon) * mechanism[second]
    return float(np.maximum(excess, 0).sum(axis=1).max())


def base_mechanism(values: int, n: int, epsilon: float, delta: float) -> np.ndarray:
    """Return a mechanism that is exactly (epsilon, delta): it leaks all, or answers at random.

    With probability delta the whole data set is an output; otherwise every record goes through
    randomised response.
    """
    sets = data_sets(values, n)
    keep = math.exp(epsilon) / (math.exp(epsilon) + values - 1)
    response = np.full((values, values), (1 - keep) / (values - 1))
    np.fill_diagonal(response, keep)
    private = np.array([[np.prod(response[list(a), list(b)]) for b in sets] for a in sets])
    return np.hstack([(1 - delta) * private, delta * np.eye(len(sets))])


def record(point: int, label: int) -> int:
    """Return a labelled point as one number."""
    return 2 * point + label


def relabelling(hypotheses: np.ndarray, n: int, scored: int, epsilon: float) -> np.ndarray:
    """Return the law of the relabelled data set, a row per data set ([BNS15] Algorithm 2).

    The first ``scored`` records are S, whose labels count; the rest are T.
    """
    points = hypotheses.shape[1]
    sets = data_sets(2 * points, n)
    index = {s: i for i, s in enumerate(sets)}
    law = np.zeros((len(sets), len(sets)))
    for row, data in enumerate(sets):
        places = [value // 2 for value in data]
        cover: dict[tuple[int, ...], np.ndarray] = {}
        for hypothesis in hypotheses:  # one representative per dichotomy: the first
            cover.setdefault(tuple(hypothesis[sorted(set(places))]), hypothesis)
        weights = [
            math.exp(epsilon / 2 * sum(h[data[i] // 2] == data[i] % 2 for i in range(scored)))
            for h in cover.values()
        ]
        for h, weight in zip(cover.values(), weights, strict=True):
            moved = tuple(record(place, int(h[place])) for place in places)
            law[row, index[moved]] += weight / sum(weights)
    return law


def all_classes(points: int) -> list[np.ndarray]:
    """Return every class of hypotheses on so many points."""
    every = list(itertools.product((0, 1), repeat=points))
    return [
        np.array(chosen)
        for size in range(1, len(every) + 1)
        for chosen in itertools.combinations(every, size)
    ]


@pytest.mark.parametrize(("n", "scored"), [(2, 2), (2, 1)])
@pytest.mark.parametrize("selection_epsilon", [0.5, 2.0])
def test_relabelling_keeps_its_price_for_every_class(n, scored, selection_epsilon):
    base = Budget(0.7, 0.01)
    mechanism = base_mechanism(6, n, base.epsilon, base.delta)
    pairs = neighbours(data_sets(6, n))
    claim = relabelled(base, selection_epsilon=selection_epsilon)
    for hypotheses in all_classes(3):
        whole = relabelling(hypotheses, n, scored, selection_epsilon) @ mechanism
        assert worst_delta(whole, pairs, claim.epsilon) <= claim.delta + SLACK


def test_relabelling_of_three_records_of_which_the_last_is_unlabelled():
    base = Budget(0.5, 0.02)
    mechanism = base_mechanism(4, 3, base.epsilon, base.delta)
    pairs = neighbours(data_sets(4, 3))
    claim = relabelled(base, selection_epsilon=1.0)
    for hypotheses in all_classes(2):
        whole = relabelling(hypotheses, 3, 2, 1.0) @ mechanism
        assert worst_delta(whole, pairs, claim.epsilon) <= claim.delta + SLACK


def dichotomy_ratio(copies: int, epsilon: float) -> float:
    """Return the ratio of the rarer dichotomy's chance on two neighbours, in closed form.

    ``copies`` records (k, 1), and one more: (p1, 1) or (p2, 1). Hypotheses with h(k) = 0 have
    either value on p1 and 0 on p2; those with h(k) = 1 have 0 on p1 and either value on p2.
    """
    heavy = math.exp(epsilon * copies / 2)
    both = 1 + math.exp(epsilon / 2)
    return (both / (both + heavy)) / (1 / (1 + both * heavy))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_smaller_price_of_relabelling_would_do(epsilon):
    found = dichotomy_ratio(copies=math.ceil(60 / epsilon), epsilon=epsilon)
    assert relabelling_epsilon(epsilon) * (1 - 1e-9) <= math.log(found)
    assert math.log(found) <= relabelling_epsilon(epsilon)


def test_price_of_relabelling_at_one_is_below_the_papers():
    assert relabelling_epsilon(1.0) == pytest.approx(1.948154, abs=1e-6)
    assert relabelling_epsilon(1.0) < 3
    assert relabelling_epsilon(5000.0) == pytest.approx(5000.0)


def subsampling(values: int, subset: int, n: int) -> np.ndarray:
    """Return the law of a random subset in random order, a row per data set."""
    sets, small = data_sets(values, n), data_sets(values, subset)
    index = {s: i for i, s in enumerate(small)}
    law = np.zeros((len(sets), len(small)))
    orders = list(itertools.permutations(range(n), subset))
    for row, data in enumerate(sets):
        for order in orders:
            law[row, index[tuple(data[i] for i in order)]] += 1 / len(orders)
    return law


@pytest.mark.parametrize(("subset", "n"), [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_subsampling_keeps_its_price(subset, n, epsilon):
    base = Budget(epsilon, 0.03)
    whole = subsampling(2, subset, n) @ base_mechanism(2, subset, base.epsilon, base.delta)
    claim = subsampled(base, subset=subset, records=n)
    pairs = neighbours(data_sets(2, n))
    assert worst_delta(whole, pairs, claim.epsilon) <= claim.delta + SLACK


def test_subsampling_price_is_attained():
    base = Budget(1.3, 0.0)
    whole = subsampling(2, 1, 3) @ base_mechanism(2, 1, base.epsilon, 0.0)
    claim = subsampled(base, subset=1, records=3)
    pairs = neighbours(data_sets(2, 3))
    assert worst_delta(whole, pairs, claim.epsilon * (1 - 1e-6)) > 0
    assert worst_delta(whole, pairs, claim.epsilon) <= SLACK


def test_subsample_then_relabel_then_learn():
    """The order of [NB20] Algorithm 3 without resampling: every class on two points."""
    base, chosen = Budget(0.6, 0.02), 1.5
    inner = base_mechanism(4, 2, base.epsilon, base.delta)
    taken = subsampling(4, 2, 3)
    claim = subsampled(relabelled(base, selection_epsilon=chosen), subset=2, records=3)
    pairs = neighbours(data_sets(4, 3))
    for hypotheses in all_classes(2):
        whole = taken @ relabelling(hypotheses, 2, 2, chosen) @ inner
        assert worst_delta(whole, pairs, claim.epsilon) <= claim.delta + SLACK


def test_share_of_records_for_an_agnostic_oracle():
    base = relabelled(Budget(1.0), selection_epsilon=1.0)
    assert subsampled(base, subset=9508, records=100_000).epsilon <= 1.0
    assert subsampled(base, subset=9509, records=100_000).epsilon > 1.0
    assert math.log1p(0.09508 * (((1 + math.exp(0.5)) ** 2) * math.e - 1)) == pytest.approx(
        1.0, abs=1e-4
    )


def resampling(values: int, n: int) -> np.ndarray:
    """Return the law of ``n`` records drawn with replacement, a row per data set."""
    sets = data_sets(values, n)
    index = {s: i for i, s in enumerate(sets)}
    law = np.zeros((len(sets), len(sets)))
    for row, data in enumerate(sets):
        for order in itertools.product(range(n), repeat=n):
            law[row, index[tuple(data[i] for i in order)]] += n**-n
    return law


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_resampling_keeps_its_price(n, epsilon):
    base = Budget(epsilon, 0.002)
    whole = resampling(2, n) @ base_mechanism(2, n, base.epsilon, base.delta)
    claim = resampled(base, records=n)
    assert worst_delta(whole, neighbours(data_sets(2, n)), claim.epsilon) <= claim.delta + SLACK


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("records", [1, 2, 10, 1000])
def test_resampling_stays_below_twice_the_hyperbolic_sine(epsilon, records):
    assert resampled(Budget(epsilon), records=records).epsilon <= 2 * math.sinh(epsilon) + SLACK


def test_resampling_moments_equal_the_binomial_sum():
    epsilon, delta, n = 1.0, 1e-9, 50
    with mpmath.workdps(40):
        law = [
            mpmath.binomial(n, k) * mpmath.mpf(n - 1) ** (n - k) / mpmath.mpf(n) ** n
            for k in range(n + 1)
        ]
        e = mpmath.e**epsilon
        more = sum(p * e**k for k, p in enumerate(law))
        less = sum(p * e**-k for k, p in enumerate(law))
        group = sum(p * (e**k - 1) / (e - 1) for k, p in enumerate(law))
        missing = sum(p * (1 - e**-k) / (e - 1) for k, p in enumerate(law))
        expected = mpmath.log(more / less), delta * (group + more / less * missing)
    found = resampled(Budget(epsilon, delta), records=n)
    assert found.epsilon == pytest.approx(float(expected[0]), rel=1e-10)
    assert found.delta == pytest.approx(float(expected[1]), rel=1e-10)
    assert found.epsilon < math.log(244) and found.delta < 2467 * delta


@given(epsilon=st.floats(0.001, 20.0), records=st.integers(1, 10**6), data=st.data())
def test_largest_base_epsilon_inverts_subsampling(epsilon, records, data):
    subset = data.draw(st.integers(1, records))
    base = largest_base_epsilon(epsilon, subset=subset, records=records)
    assert subsampled(Budget(base), subset=subset, records=records).epsilon == pytest.approx(
        epsilon, rel=1e-6
    )
    assert mixed_epsilon(base, subset / records) <= epsilon * (1 + 1e-12)


def test_large_epsilons_do_not_overflow():
    assert subsampled(Budget(5000.0), subset=1, records=10).epsilon == pytest.approx(
        5000 - math.log(10)
    )
    assert mixed_epsilon(499.9999, 0.25) == pytest.approx(mixed_epsilon(500.0001, 0.25), rel=1e-6)


def test_a_delta_past_one_is_no_guarantee():
    with pytest.raises(InvalidArgument, match="delta"):
        resampled(Budget(500.0, 1e-6), records=3)


def test_a_subset_cannot_exceed_the_records():
    with pytest.raises(InvalidArgument, match="`subset` must be at most the number of records"):
        subsampled(Budget(1.0), subset=3, records=2)
