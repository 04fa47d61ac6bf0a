"""Every class keeps the contract, a user's own too; classes with a planted mistake do not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.hypothesis_contract import HYPOTHESIS_CHECKS, subject_of

from tacit.errors import InvalidArgument
from tacit.hypotheses import (
    FiniteClass,
    Halfspaces,
    HypothesisClass,
    Intervals,
    ListedMistakes,
    Rectangles,
    Stumps,
    Thresholds,
    Union,
)


class Discs(HypothesisClass):
    """Discs around a fixed centre, a user's own in ten lines: 1 up to a radius."""

    n_features = 2
    vc_dimension = 1

    def candidates(self, points):
        yield np.append(-1.0, self._radius(points))[:, None]

    def label(self, hypotheses, points):
        return self._radius(points) <= hypotheses

    def _radius(self, points):
        return np.hypot(points[:, 0] - 2, points[:, 1] - 2)


SUBJECTS = {
    "thresholds": Thresholds(),
    "two-way thresholds": Thresholds(both_directions=True),
    "intervals": Intervals(),
    "stumps": Stumps(n_features=3),
    "rectangles": Rectangles(n_features=2),
    "rectangles in space": Rectangles(n_features=3),
    "halfspaces": Halfspaces(n_features=2),
    "halfspaces in space": Halfspaces(n_features=3),
    "finite": FiniteClass.from_table(np.random.default_rng(5).integers(2, size=(6, 5))),
    "union": Union(Intervals(), FiniteClass([lambda X: X[:, 0] % 2], n_features=1)),
    "discs": Discs(),
}


@pytest.mark.parametrize("check", HYPOTHESIS_CHECKS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_class_keeps_the_contract(name, check):
    HYPOTHESIS_CHECKS[check](subject_of(SUBJECTS[name]))


class LabelsFromOthers(Thresholds):
    def label(self, hypotheses, points):
        return super().label(hypotheses - (len(points) > 1), points)


class Twice(Thresholds):
    def dichotomies(self, X):
        yield from super().dichotomies(X)
        yield from super().dichotomies(X)


class OneMissing(Thresholds):
    def candidates(self, points):
        for table in super().candidates(points):
            yield table[:-1]


class DimensionTooSmall(Intervals):
    vc_dimension = 1


class Changing(Thresholds):
    calls = []

    def candidates(self, points):
        self.calls.append(1)
        for table in super().candidates(points):
            yield table - [0.25 * (len(self.calls) % 3), 0.0]


class RepresentativesByScore(Thresholds):
    """Of behaviours that agree on the cover, the one with fewer mistakes elsewhere."""

    def mistake_counts(self, cover, X, y):
        counts = super().mistake_counts(cover, X, y)
        shift = 0.5 * (np.sum(y) % 2)
        return ListedMistakes(counts.counts, lambda index: counts.hypothesis(index) - [shift, 0])


class Miscounted(Thresholds):
    def mistake_counts(self, cover, X, y):
        counts = super().mistake_counts(cover, X, y)
        return ListedMistakes(counts.counts // 2, counts.hypothesis)


class FirstIsBest(Thresholds):
    def minimise(self, X, y):
        best = super().minimise(X, y)
        return type(best)(np.array([-1.0, 1.0]), int((np.asarray(y) != 1).sum()))


class Talkative(Thresholds):
    def mistake_counts(self, cover, X, y):
        counts = super().mistake_counts(cover, X, y)
        counts.__class__ = type("Shown", (ListedMistakes,), {"__repr__": _show})
        return counts


def _show(counts):
    return f"{counts.counts}"


PLANTED = {
    "points by themselves": LabelsFromOthers(),
    "each behaviour once": Twice(),
    "no behaviour missing": OneMissing(),
    "Sauer-Shelah": DimensionTooSmall(),
    "repeatable": Changing(),
    "candidates ignore labels": RepresentativesByScore(),
    "mistakes": Miscounted(),
    "minimise": FirstIsBest(),
    "nothing shown": Talkative(),
}


@pytest.mark.parametrize("check", PLANTED)
def test_planted_mistake_is_caught(check):
    with pytest.raises(AssertionError):
        HYPOTHESIS_CHECKS[check](subject_of(PLANTED[check]))


def test_mistakes_are_not_saved():
    counts = Thresholds().mistake_counts([1, 2], [1, 2], [0, 1])
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(counts)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Thresholds(both_directions=1), "`both_directions`"),
        (lambda: Stumps(n_features=0), "`n_features`"),
        (lambda: Rectangles(n_features=2.5), "`n_features`"),
        (lambda: Halfspaces(n_features=4), "`n_features` must be 1, 2 or 3, got 4"),
        (lambda: FiniteClass([], n_features=1), "`functions`"),
        (lambda: FiniteClass.from_table([[0.5]]), "`table`"),
        (lambda: Union(Stumps(n_features=2), SUBJECTS["finite"]), "`second`"),
        (lambda: Union(Stumps(n_features=2), Thresholds()), "`second` must be a FiniteClass"),
        (lambda: Stumps(n_features=2).count_dichotomies(np.ones(3)), "one row per point"),
        (lambda: Stumps(n_features=2).count_dichotomies(np.ones((2, 1))), "`X` must have 2 column"),
        (lambda: Thresholds().minimise([1, 2], [0]), "`y` must hold one label for each of 2"),
        (lambda: Thresholds().predict([[1, 1], [2, 1]], [3]), "`hypothesis`"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call()
