"""Mechanisms that release a hypothesis: exact laws on all tiny data sets, and planted bugs."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from tests.support.enumeration import enumerated, worst_excess

from tacit.accounting.budget import Budget
from tacit.audit.noise import ScriptedNoise
from tacit.errors import InvalidArgument, PrivateValueError
from tacit.hypotheses import FiniteClass, Intervals, PublicCover, Thresholds
from tacit.mechanisms import learning
from tacit.mechanisms.active_learning import ActiveLearning
from tacit.mechanisms.learning import (
    PartlyLabelled,
    RelabelledLearning,
    SelectionLearning,
    SubsampledLearning,
)
from tacit.mechanisms.sanitize import HierarchicalCounts, SmallDomain
from tacit.mechanisms.sanitized_learning import SanitizedLearning
from tacit.noise import SecureNoise

_ROUNDING = 1e-11


class CutLaplace:
    """Laplace noise as choices within reach; what lies beyond is given to the ends."""

    secure = False

    def __init__(self, every, reach):
        self._every, self._reach = every, reach

    def laplace(self, scale, size):
        values = np.arange(-self._reach, self._reach + 1)
        weights = np.exp(-np.abs(values) / scale)
        weights[[0, -1]] /= -np.expm1(-1 / scale)
        chances = (weights / weights.sum()).tolist()
        return np.array([values[self._every.choose(chances)] for _ in range(size)])


def exact_law(run, reach=40):
    """The law of what ``run(noise)`` returns, by running it on every outcome of chance."""
    with enumerated() as every:
        return every.law(lambda: run(CutLaplace(every, reach)))


def check_private(laws, guarantee):
    found = worst_excess(laws, guarantee.epsilon)
    assert found <= guarantee.delta + _ROUNDING, f"neighbours need delta {found:g}"


LINE = Thresholds(both_directions=True)
SPLITTING = FiniteClass.from_table([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]])
"""A class in which one point splits one dichotomy and another point another: the worst case."""


def base_for(labelled, unlabelled=0, epsilon=0.7):
    return SelectionLearning(PublicCover(LINE, [0, 1]), epsilon, labelled, unlabelled)


def all_data(labelled, unlabelled, points=(0, 1, 2)):
    """All data sets: labelled records are (point, label), unlabelled ones are points."""
    pairs = list(product(points, (0, 1)))
    return product(*[pairs] * labelled, *[points] * unlabelled)


def laws_of(mechanism, data_sets, reach=40):
    """The exact law of the released hypothesis on each data set."""

    def law(data):
        pairs, pool = data[: mechanism.labelled], data[mechanism.labelled :]
        records = PartlyLabelled.read(
            1, [x for x, _ in pairs] or np.empty(0), [y for _, y in pairs], list(pool) or None
        )
        return exact_law(
            lambda noise: tuple(mechanism.release(records, noise=noise).values), reach=reach
        )

    return {data: law(data) for data in data_sets}


MECHANISMS = {
    "selection": base_for(2),
    "relabelled": RelabelledLearning(base_for(3), Thresholds(), 1.0, 2, 1),
    "relabelled, worst class": RelabelledLearning(base_for(2), SPLITTING, 1.5, 1, 1),
    "relabelled, nothing taken": RelabelledLearning(base_for(2), SPLITTING, 0.5, 2, 0),
    "relabelled, with a rest": RelabelledLearning(base_for(2, 1), Thresholds(), 1.0, 1, 1),
    "relabelled, part": RelabelledLearning(base_for(2), Thresholds(), 1.0, 2, 2, 1, 1),
    "subsampled": SubsampledLearning(base_for(1), 3),
    "resampled": SubsampledLearning(base_for(2), 2, with_replacement=True),
    "sanitized": SanitizedLearning(
        Thresholds(), SmallDomain(Thresholds(), [0, 1, 2], 0.8, size=2), 0.6, 1, 2
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_exact_law_keeps_the_guarantee_on_all_neighbouring_data_sets(name):
    mechanism = MECHANISMS[name]
    points = (0, 1) if mechanism.labelled + mechanism.unlabelled > 3 else (0, 1, 2)
    laws = laws_of(mechanism, all_data(mechanism.labelled, mechanism.unlabelled, points))
    assert all(abs(sum(law.values()) - 1) < 1e-9 for law in laws.values())
    check_private(laws, mechanism.guarantee)


def test_two_rounds_and_a_final_part_keep_the_guarantee():
    """[BNS15] Algorithm 4 in small: relabel, relabel again with more, take a part, resample it."""
    last = SubsampledLearning(base_for(1), 2, with_replacement=True)
    second = RelabelledLearning(last, Thresholds(), 1.0, 2, 1, 1, 1)
    mechanism = RelabelledLearning(second, Thresholds(), 1.0, 1, 1)
    assert (mechanism.labelled, mechanism.unlabelled) == (1, 2)
    laws = laws_of(mechanism, all_data(1, 2, points=(0, 1)))
    check_private(laws, mechanism.guarantee)


def test_active_learning_keeps_the_guarantee_for_records_with_their_labels():
    base = RelabelledLearning(base_for(2), Thresholds(), 1.0, 1, 1)
    mechanism = ActiveLearning(base, records=3)
    laws = {}
    for data in product(list(product((0, 1), (0, 1))), repeat=3):
        labels = np.array([y for _, y in data])
        records = PartlyLabelled.read(1, np.empty(0), [], [x for x, _ in data])
        asked = mechanism.asking(lambda at, labels=labels: labels[at])
        laws[data] = exact_law(
            lambda noise, a=asked, r=records: tuple(a.release(r, noise=noise).values)
        )
    check_private(laws, mechanism.guarantee)
    assert mechanism.guarantee.epsilon < base.guarantee.epsilon


def test_hierarchical_counts_keep_their_guarantee():
    """Noise is cut off where a chance of exp(-15 / 0.5) is left: below the tolerance."""
    counts = HierarchicalCounts(depth=1, release_epsilon=4.0, size=2)
    laws = {
        data: exact_law(
            lambda noise, data=data: tuple(counts.release(list(data), noise=noise).ravel()),
            reach=15,
        )
        for data in product((0, 1), repeat=2)
    }
    check_private(laws, Budget(counts.event.pure_epsilon))


def test_hierarchical_counts_draw_once_for_each_depth_and_fit_counts_without_noise():
    places = np.random.default_rng(0).integers(0, 32, 500)
    counts = HierarchicalCounts(depth=5, release_epsilon=1.0, size=500)
    noise = ScriptedNoise(laplace=[0] * 62)
    assert counts.release(places, noise=noise).ravel().tolist() == sorted(places.tolist())
    assert [request.size for request in noise.requests] == [2, 4, 8, 16, 32]


def test_small_domain_keeps_its_guarantee():
    for hypotheses in (Thresholds(), Intervals()):
        small = SmallDomain(hypotheses, [0, 1, 2], release_epsilon=0.9, size=2)
        laws = {
            data: exact_law(
                lambda noise, s=small, d=data: tuple(s.release(list(d), noise=noise).ravel())
            )
            for data in product((0, 1, 2), repeat=3)
        }
        check_private(laws, Budget(small.event.pure_epsilon))


# ---- planted bugs ---------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyCount(SelectionLearning):
    """Releases how many labels are 1, with noise: a base that uses up its whole epsilon."""

    def draw(self, records, *, noise):
        noisy = records.y.sum() + noise.laplace(1 / self.selection_epsilon, 1)[0]
        return np.array([np.clip(noisy, 0, len(records.y)), 1.0])


def test_price_of_the_selection_alone_would_be_too_low():
    """Relabelling billed at e0, as if the candidates were public, is caught."""
    base = NoisyCount(PublicCover(LINE, [0, 1]), 0.25, 12)
    mechanism = RelabelledLearning(base, SPLITTING, 0.1, 1, 11)
    laws = laws_of(mechanism, [((0, 0), *[0] * 10, point) for point in (0, 1, 2)])
    check_private(laws, mechanism.guarantee)
    with pytest.raises(AssertionError, match="need delta"):
        check_private(laws, Budget(0.25 + 0.1))


@dataclass(frozen=True)
class Outspoken(RelabelledLearning):
    """Releases the relabelling hypothesis itself."""

    def _draw(self, records, noise):
        points = np.concatenate([records.X, records.pool])
        counts = self.relabel_by.mistake_counts(points, records.X, records.y)
        return learning.select_hypothesis(
            counts, epsilon=self.selection_epsilon, noise=noise
        ).hypothesis


def test_releasing_the_relabelling_hypothesis_is_caught():
    mechanism = Outspoken(base_for(2), Thresholds(), 1.0, 1, 1)
    laws = laws_of(mechanism, all_data(1, 1))
    assert worst_excess(laws, 30.0) > 0.01, "no epsilon holds"
    with pytest.raises(AssertionError):
        check_private(laws, mechanism.guarantee)


@dataclass(frozen=True)
class FirstOnes(SubsampledLearning):
    """Takes the first records instead of random ones."""

    def draw(self, records, *, noise):
        kept = self.base.labelled
        return self.base.draw(
            PartlyLabelled(records.X[:kept], records.y[:kept], records.pool), noise=noise
        )


def test_a_part_that_is_not_random_is_caught():
    mechanism = FirstOnes(base_for(1), 3)
    laws = laws_of(mechanism, all_data(3, 0, points=(0, 1)))
    with pytest.raises(AssertionError):
        check_private(laws, mechanism.guarantee)


class OwnPoints(SmallDomain):
    """Lets private points be the domain."""

    def release(self, points, *, noise):
        own = SmallDomain(self.hypotheses, points, self.release_epsilon, self.size)
        return own.release(points, noise=noise)


def test_a_domain_made_of_private_points_is_caught():
    small = OwnPoints(Thresholds(), [0, 1, 2], 0.9, 2)
    laws = {
        data: exact_law(lambda noise, d=data: tuple(small.release(list(d), noise=noise).ravel()))
        for data in product((0, 1, 2), repeat=2)
    }
    with pytest.raises(AssertionError):
        check_private(laws, Budget(0.9))


# ---- nothing gets out -----------------------------------------------------------------------


@dataclass(frozen=True)
class Failing(SelectionLearning):
    def draw(self, records, *, noise):
        raise RuntimeError(f"labels were {records.y.tolist()}")


def test_a_failing_base_tells_nothing_about_relabelled_records():
    base = Failing(PublicCover(LINE, [0, 1]), 0.7, 4)
    mechanism = RelabelledLearning(base, Thresholds(), 1.0, 2, 2)
    records = PartlyLabelled.read(1, [0.125, 3.25], [0, 1], [0.25, 7.75])
    with pytest.raises(PrivateValueError) as caught:
        mechanism.release(records, noise=SecureNoise())
    error = caught.value
    assert error.__cause__ is None and error.__context__ is None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [frame for frame in frames if frame.f_code.co_filename == learning.__file__]
    assert own, "the error comes from the mechanism"
    for frame in own:
        held = frame.f_locals
        assert set(held) <= {"self", "records", "noise", "found"}, "relabelled values travel along"
        assert held.get("found") is None


def test_records_show_and_save_nothing():
    records = PartlyLabelled.read(1, [0.125, 3.25], [0, 1], [7.75])
    assert repr(records) == "PartlyLabelled(<2 + 1 records, private>)"
    with pytest.raises(PrivateValueError):
        pickle.dumps(records)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: base_for(0), "`labelled`"),
        (lambda: base_for(1, epsilon=0), "`selection_epsilon`"),
        (lambda: RelabelledLearning(base_for(2), LINE, 1.0, 2, 1), "`base` must be made for the 3"),
        (lambda: RelabelledLearning(base_for(3), LINE, 1.0, 2, 1, 3), "`kept_labelled` must be"),
        (lambda: SubsampledLearning(base_for(4), 3), "`base.labelled` must be between 1 and 3"),
        (lambda: SubsampledLearning(base_for(2, 1), 3), "`base` must be made for labelled"),
        (lambda: ActiveLearning(base_for(2, 2), 3), "`base` must be made for at most the 3"),
        (lambda: SmallDomain(LINE, range(100), 1.0, 50), "`size` must be smaller"),
        (lambda: HierarchicalCounts(60, 1.0, 5), "depth"),
        (
            lambda: base_for(2).release(PartlyLabelled.read(1, [1], [1]), noise=SecureNoise()),
            "`records` must be 2 with and 0 without labels",
        ),
    ],
)
def test_bad_settings_are_named(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call()
