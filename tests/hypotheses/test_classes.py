"""Every class against brute force: dichotomies, mistakes, empirical risk minimisation."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from tacit.errors import InvalidArgument
from tacit.hypotheses import (
    FiniteClass,
    Halfspaces,
    HypothesisClass,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    Union,
    stumps,
)
from tacit.hypotheses.orientation import side
from tacit.mechanisms.sanitize import SmallDomain

LINE = FiniteClass([lambda X, t=t: X[:, 0] >= t for t in range(6)], n_features=1, vc_dimension=1)

PARITY = FiniteClass([lambda X: X[:, 0] % 2, lambda X: X[:, 0] > 2], n_features=1)

CLASSES = {
    "halfspaces on a line": Halfspaces(n_features=1),
    "halfspaces in the plane": Halfspaces(n_features=2),
    "halfspaces in space": Halfspaces(n_features=3),
    "thresholds and a finite class": Union(Thresholds(), PARITY),
    "intervals and a finite class": Union(Intervals(), PARITY),
    "rectangles on a line": Rectangles(n_features=1),
    "rectangles in the plane": Rectangles(n_features=2),
    "rectangles in space": Rectangles(n_features=3),
    "intervals": Intervals(),
    "stumps": Stumps(n_features=2),
    "stumps going up": Stumps(n_features=3, both_directions=False),
    "stumps on one feature": Stumps(n_features=1),
    "thresholds": Thresholds(),
    "two-way thresholds": Thresholds(both_directions=True),
    "finite": LINE,
    "table": FiniteClass.from_table(np.random.default_rng(3).integers(2, size=(7, 6))),
}


def every_behaviour(hypotheses: HypothesisClass, points: np.ndarray) -> set[tuple[bool, ...]]:
    """All labelings the class gives the points, by trying far more hypotheses than needed."""
    return BRUTE[type(hypotheses)](hypotheses, points)


def _by_thresholds(hypotheses: Thresholds, points: np.ndarray) -> set[tuple[bool, ...]]:
    x = points[:, 0]
    levels = np.concatenate([np.unique(x) + shift for shift in (-0.25, 0.25)])
    up = {tuple((x >= t).tolist()) for t in levels}
    return up | ({tuple((x < t).tolist()) for t in levels} if hypotheses.both_directions else set())


def _by_listing(hypotheses: FiniteClass, points: np.ndarray) -> set[tuple[bool, ...]]:
    return {
        tuple(hypotheses.predict([i], points).astype(bool).tolist()) for i in range(len(hypotheses))
    }


def _by_stumps(hypotheses: Stumps, points: np.ndarray) -> set[tuple[bool, ...]]:
    cuts = Thresholds(both_directions=hypotheses.both_directions)
    return set().union(*(_by_thresholds(cuts, column[:, None]) for column in points.T))


def _by_intervals(hypotheses: Intervals, points: np.ndarray) -> set[tuple[bool, ...]]:
    x, levels = points[:, 0], np.arange(-0.25, 7)
    return {tuple(((x >= a) & (x <= b)).tolist()) for a in levels for b in levels}


def _by_rectangles(hypotheses: Rectangles, points: np.ndarray) -> set[tuple[bool, ...]]:
    """A set is cut out by a rectangle if and only if its bounding box adds no point."""
    found = {(False,) * len(points)}
    for chosen in product([False, True], repeat=len(points)):
        if any(chosen):
            inside = points[np.array(chosen)]
            box = (points >= inside.min(axis=0)) & (points <= inside.max(axis=0))
            found.add(tuple(box.all(axis=1).tolist()))
    return found


def _by_union(hypotheses: Union, points: np.ndarray) -> set[tuple[bool, ...]]:
    first = every_behaviour(hypotheses.first, points)
    return first | every_behaviour(hypotheses.second, points)


def _by_halfspaces(hypotheses: Halfspaces, points: np.ndarray) -> set[tuple[bool, ...]]:
    """A labeling is a halfspace's if and only if a linear program finds one with a margin."""
    distinct, where = np.unique(points, axis=0, return_inverse=True)
    rows = np.column_stack([distinct, np.ones(len(distinct))])
    found = set()
    for others in product([False, True], repeat=len(distinct) - 1):
        labels = np.array([True, *others])
        program = linprog(
            np.zeros(rows.shape[1]),
            A_ub=np.where(labels, -1.0, 1.0)[:, None] * rows,
            b_ub=-np.ones(len(distinct)),
            bounds=(None, None),
        )
        if program.status == 0:  # and then the complement is one too
            found |= {tuple(labels[where.ravel()].tolist()), tuple(~labels[where.ravel()])}
    return {tuple(map(bool, row)) for row in found}


BRUTE = {
    Halfspaces: _by_halfspaces,
    Union: _by_union,
    Rectangles: _by_rectangles,
    FiniteClass: _by_listing,
    Intervals: _by_intervals,
    Stumps: _by_stumps,
    Thresholds: _by_thresholds,
}


def draw_points(hypotheses: HypothesisClass, seed: int, n: int, levels: int) -> np.ndarray:
    """Points on a small grid: ties and duplicates are the rule."""
    rng = np.random.default_rng([seed, n, levels])
    return rng.integers(levels, size=(n, hypotheses.n_features)).astype(float)


def sauer_shelah(n: int, d: int) -> int:
    return sum(comb(n, k) for k in range(min(n, d) + 1))


@pytest.mark.parametrize("levels", [2, 3, 6])
@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize("name", CLASSES)
def test_dichotomies_equal_brute_force_each_once_within_sauer_shelah(name, n, levels):
    hypotheses = CLASSES[name]
    for seed in range(3):
        points = draw_points(hypotheses, seed, n, levels)
        blocks = list(hypotheses.dichotomies(points))
        found = [tuple(row) for block in blocks for row in block.labels.tolist()]
        assert len(set(found)) == len(found), "a behaviour was listed twice"
        assert set(found) == every_behaviour(hypotheses, points)
        distinct = len(np.unique(points, axis=0))
        assert len(found) <= sauer_shelah(distinct, hypotheses.vc_dimension)
        for block in blocks:
            for hypothesis, labels in zip(block.hypotheses, block.labels, strict=True):
                assert (hypotheses.predict(hypothesis, points) == labels).all()


@pytest.mark.parametrize("name", CLASSES)
def test_mistakes_equal_those_of_the_listed_representatives(name):
    hypotheses = CLASSES[name]
    for seed in range(8):
        cover = draw_points(hypotheses, seed, 6, 4)
        X = draw_points(hypotheses, seed + 100, 9, 6) - 0.5 * (seed % 2)
        y = np.random.default_rng(seed).integers(2, size=9)
        counts = hypotheses.mistake_counts(cover, X, y)
        expected = sorted(
            int((hypotheses.predict(h, X) != y).sum())
            for block in hypotheses.dichotomies(cover)
            for h in block.hypotheses
        )
        levels, sizes = counts.levels()
        assert np.repeat(levels, sizes).tolist() == expected
        assert counts.size == len(expected)
        drawn = set()
        for level, size in zip(levels, sizes, strict=True):
            for rank in range(size):
                h = counts.member(level, rank)
                assert (hypotheses.predict(h, X) != y).sum() == level
                drawn.add(tuple(hypotheses.predict(h, cover).tolist()))
        assert len(drawn) == counts.size, "members of the levels are not all different"


@pytest.mark.parametrize("name", CLASSES)
def test_minimise_has_the_fewest_mistakes_of_all_behaviours(name):
    hypotheses = CLASSES[name]
    for seed, levels in product(range(8), (2, 5)):
        X = draw_points(hypotheses, seed, 6, levels)
        y = np.random.default_rng(seed).integers(2, size=6)
        best = hypotheses.minimise(X, y)
        assert (hypotheses.predict(best.hypothesis, X) != y).sum() == best.mistakes
        fewest = min((np.array(row) != y).sum() for row in every_behaviour(hypotheses, X))
        assert best.mistakes == fewest


def test_no_interval_is_better_than_one_that_holds_more_zeros_than_ones():
    best = Intervals().minimise([1, 1, 1], [1, 0, 0])
    assert best.mistakes == 1
    assert Intervals().predict(best.hypothesis, [1]) == [0]


@pytest.mark.parametrize(
    ("both_directions", "columns"),
    [
        (False, [[0]]),
        (False, [[0, 1], [1, 0]]),
        (False, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
        (True, [[0, 1]]),
        (True, [[0, 1, 2], [1, 0, 2]]),
        (True, [[0, 1, 2, 3], [2, 0, 3, 1], [0, 2, 3, 1]]),
    ],
)
def test_the_vc_dimension_of_stumps_is_reached(both_directions, columns):
    points = np.array(columns, dtype=float).T
    hypotheses = Stumps(n_features=len(columns), both_directions=both_directions)
    assert hypotheses.vc_dimension == len(points)
    assert hypotheses.count_dichotomies(points) == 2 ** len(points)


def test_stumps_on_features_that_sort_alike_are_listed_once_without_looking_at_labels(monkeypatch):
    """Each of 10 features sorts the points alike or the other way round."""
    monkeypatch.setattr(Stumps, "label", None)
    x = np.random.default_rng(0).normal(size=5000)
    cover = Stumps(n_features=10)._cover(np.outer(x, [1, -1, 2, -2, 3, -3, 4, -4, 5, -5]))
    assert len(cover) == 10_000
    assert not cover[:, 0].any(), "the earliest feature stands for the others"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FiniteClass.from_table([[0, 2], [1, 0]]), "`table` must hold zeros and ones only"),
        (lambda: FiniteClass([lambda X: 1], n_features=1).predict([0], [1, 2]), "one label per p"),
        (lambda: SmallDomain(Thresholds(), [], 1.0, 3), "`domain` must hold at least one point"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call()


@pytest.mark.parametrize("name", CLASSES)
def test_no_points_have_one_behaviour(name):
    hypotheses = CLASSES[name]
    assert hypotheses.count_dichotomies(np.empty((0, hypotheses.n_features))) == 1


@pytest.mark.parametrize(("d", "n"), [(1, 9), (2, 12), (3, 9)])
def test_halfspaces_in_general_position_are_as_many_as_cover_counted(d, n):
    points = np.random.default_rng(d).normal(size=(n, d))
    expected = 2 * sum(comb(n - 1, k) for k in range(d + 1))  # Cover (1965)
    assert Halfspaces(n_features=d).count_dichotomies(points) == expected


@pytest.mark.parametrize("power", [0, 490, -490])
def test_no_rounding_decides_what_a_halfspace_can_do(power):
    """Points one unit in the last place off a line, against the same ones stretched away from it.

    x - y is exact for neighbouring doubles, and a linear map keeps what halfspaces can do.
    """
    x = np.array([0.1, 0.3, 0.7, 1.1, 1.7])
    y = np.nextafter(x, [1, 9, -1, 1.1, -1])
    stretched = np.column_stack([x, (y - x) * 2.0**52])
    near = np.ldexp(np.column_stack([x, y]), power)  # small products underflow
    plane = Halfspaces(n_features=2)
    found = {row.tobytes() for block in plane.dichotomies(near) for row in block.labels}
    assert found == {r.tobytes() for b in plane.dichotomies(stretched) for r in b.labels}
    for block in plane.dichotomies(near):
        assert (plane.label(block.hypotheses, near) == block.labels).all()


def test_side_is_exact_where_products_overflow():
    far = np.ldexp(1.0, 480) * np.eye(3)
    points = np.vstack(
        [far.T @ [0.5, 0.25, 0.25], far.sum(axis=0), 0 * far[0], far[0] / 2 + far[1] / 2]
    )
    assert side(far[None], points).tolist() == [0, 1, -1, 0]


def test_stumps_whose_sums_collide_are_told_apart(monkeypatch):
    """Sums of words name sets of points quickly; all of them equal, nothing may be lost."""
    monkeypatch.setattr(stumps, "_words", lambda n: np.zeros((n, 2), dtype=np.uint64))
    hypotheses = Stumps(n_features=3)
    points = draw_points(hypotheses, 0, 7, 4)
    found = [tuple(row) for block in hypotheses.dichotomies(points) for row in block.labels]
    assert len(set(found)) == len(found)
    assert set(found) == every_behaviour(hypotheses, points)
