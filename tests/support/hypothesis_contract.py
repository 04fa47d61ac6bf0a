"""What every class of hypotheses must do, a user's own included.

``check_hypothesis_class(hypotheses)`` runs all checks; ``HYPOTHESIS_CHECKS`` lists them, so that a
test can run and name each. Points are drawn from a small grid, where ties and duplicates are the
rule; a class for other points gives its own ``draw(rng, n)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from tacit.hypotheses import HypothesisClass, MistakeCounts
from tacit.hypotheses.points import FloatArray, IntArray

Draw = Callable[[np.random.Generator, int], Any]
Behaviour = tuple[bool, ...]

SIZES = (1, 2, 4, 6)
SEEDS = range(3)


@dataclass(frozen=True)
class Subject:
    """A class to be checked, and where its points come from."""

    hypotheses: HypothesisClass
    draw: Draw

    def points(self, n: int, seed: int) -> FloatArray:
        """Return points; the same ones for the same arguments."""
        drawn = self.draw(np.random.default_rng([n, seed]), n)
        return np.asarray(drawn, dtype=np.float64).reshape(n, self.hypotheses.n_features)

    def situations(self) -> Iterator[FloatArray]:
        """Point sets of every size."""
        for n in SIZES:
            for seed in SEEDS:
                yield self.points(n, seed)

    def behaviours(self, points: Any) -> list[Behaviour]:
        """Return what ``dichotomies`` lists, in order."""
        blocks = self.hypotheses.dichotomies(points)
        return [tuple(row) for block in blocks for row in block.labels.tolist()]

    def cover(self, points: Any) -> FloatArray:
        """Return the representatives, in order."""
        return np.concatenate([block.hypotheses for block in self.hypotheses.dichotomies(points)])

    def mistakes(self, cover: Any, X: Any, y: Any) -> IntArray:
        """Return the mistakes of every representative, by predicting."""
        return np.array(
            [int((self.hypotheses.predict(h, X) != y).sum()) for h in self.cover(cover)]
        )


def check_hypothesis_class(hypotheses: HypothesisClass, draw: Draw | None = None) -> None:
    """Put a class of hypotheses through every check.

    Parameters
    ----------
    hypotheses : HypothesisClass
    draw : callable, optional
        ``draw(rng, n)`` returns n points; by default whole numbers from 0 to 4.

    Raises
    ------
    AssertionError
        For the first check that fails.

    Examples
    --------
    >>> from tacit.hypotheses import Intervals
    >>> check_hypothesis_class(Intervals())
    """
    for check in HYPOTHESIS_CHECKS.values():
        check(subject_of(hypotheses, draw))


def subject_of(hypotheses: HypothesisClass, draw: Draw | None = None) -> Subject:
    """Return what the checks take."""

    def from_a_grid(rng: np.random.Generator, n: int) -> Any:
        return rng.integers(5, size=(n, hypotheses.n_features))

    return Subject(hypotheses, draw or from_a_grid)


# ---- the checks -----------------------------------------------------------------------------


def check_sizes(subject: Subject) -> None:
    """The number of features is positive, the VC dimension is not negative."""
    hypotheses = subject.hypotheses
    assert int(hypotheses.n_features) >= 1, "n_features must be 1 or more"
    assert int(hypotheses.vc_dimension) >= 0, "vc_dimension must be 0 or more"


def check_points_by_themselves(subject: Subject) -> None:
    """The label of a point depends on no other point, and equal points get equal labels."""
    points = subject.points(6, 0)
    for hypothesis in subject.cover(points):
        together = subject.hypotheses.predict(hypothesis, points)
        assert set(together.tolist()) <= {0, 1}, "labels must be 0 and 1"
        alone = [int(subject.hypotheses.predict(hypothesis, row[None, :])[0]) for row in points]
        assert together.tolist() == alone, "the label of a point depends on other points"


def check_each_behaviour_once(subject: Subject) -> None:
    """No behaviour is listed twice, and representatives behave as they are listed."""
    for points in subject.situations():
        found = subject.behaviours(points)
        assert len(set(found)) == len(found), "a behaviour is listed twice"
        for hypothesis, labels in zip(subject.cover(points), found, strict=True):
            given = subject.hypotheses.predict(hypothesis, points).astype(bool)
            assert tuple(given.tolist()) == labels, "a representative behaves differently"


def check_no_behaviour_missing(subject: Subject) -> None:
    """What hypotheses that stand for more points do on some of them is listed for these."""
    for n in SIZES:
        for seed in SEEDS:
            more = subject.points(n + 2, seed)
            restricted = {row[:n] for row in subject.behaviours(more)}
            found = set(subject.behaviours(more[:n]))
            assert restricted <= found, "a behaviour is missing"
            assert found <= restricted, "a behaviour is lost when points are added"


def check_sauer_shelah(subject: Subject) -> None:
    """There are not more behaviours than the VC dimension allows."""
    for points in subject.situations():
        n = len(np.unique(points, axis=0))
        most = sum(comb(n, k) for k in range(min(n, subject.hypotheses.vc_dimension) + 1))
        found = len(subject.behaviours(points))
        assert found <= most, f"{found} behaviours on {n} points: vc_dimension is too small"


def check_repeatable(subject: Subject) -> None:
    """The representatives are the same every time, whatever was done in between."""
    points = subject.points(6, 1)
    first = subject.cover(points)
    labels = np.arange(4) % 2
    subject.hypotheses.mistake_counts(points, subject.points(4, 2), labels)
    subject.hypotheses.minimise(subject.points(4, 2), labels)
    again = subject.cover(points.copy())
    assert np.array_equal(first, again, equal_nan=True), "the representatives change"


def check_candidates_ignore_labels(subject: Subject) -> None:
    """Which hypotheses are scored depends on the cover alone, not on what they are scored on."""
    cover = subject.points(5, 0)
    expected = _rows(subject.cover(cover))
    for seed in SEEDS:
        X = subject.points(6, seed)
        y = np.random.default_rng(seed).integers(2, size=6)
        counts = subject.hypotheses.mistake_counts(cover, X, y)
        assert _rows(_members(counts)) == expected, "the candidates depend on private records"


def check_mistakes(subject: Subject) -> None:
    """Mistakes are those of the representatives, and every member of a level makes them."""
    for seed in SEEDS:
        cover, X = subject.points(5, seed), subject.points(6, seed + 9)
        y = np.random.default_rng(seed).integers(2, size=6)
        counts = subject.hypotheses.mistake_counts(cover, X, y)
        levels, sizes = counts.levels()
        expected = np.sort(subject.mistakes(cover, X, y)).tolist()
        assert np.repeat(levels, sizes).tolist() == expected, "mistakes are miscounted"
        made = [int((subject.hypotheses.predict(h, X) != y).sum()) for h in _members(counts)]
        assert made == expected, "a hypothesis is not of the level it is drawn from"


def check_one_record_moves_one(subject: Subject) -> None:
    """One replaced record moves the mistakes of every hypothesis by at most one."""
    cover, X = subject.points(5, 0), subject.points(6, 1)
    y = np.arange(6) % 2
    before = subject.mistakes(cover, X, y)
    for position in range(6):
        changed, labels = X.copy(), y.copy()
        changed[position] = subject.points(6, 2)[position]
        labels[position] = 1 - labels[position]
        moved = subject.mistakes(cover, changed, labels) - before
        assert np.abs(moved).max() <= 1, "one record moves a score by more than 1"


def check_minimise(subject: Subject) -> None:
    """The minimiser makes the mistakes it says, and no representative makes fewer."""
    for seed in SEEDS:
        points = subject.points(6, seed)
        labels = np.random.default_rng(seed).integers(2, size=6)
        none = np.zeros(6, dtype=labels.dtype)
        # Once as they are, once where every 1 shares its point with more zeros.
        for copies, y in ((1, labels), (3, np.concatenate([labels, none, none]))):
            X = np.tile(points, (copies, 1))
            best = subject.hypotheses.minimise(X, y)
            made = int((subject.hypotheses.predict(best.hypothesis, X) != y).sum())
            assert made == best.mistakes, "the minimiser makes other mistakes than it says"
            assert best.mistakes == subject.mistakes(X, X, y).min(), "it is no minimiser"


def check_any_values(subject: Subject) -> None:
    """No value of a private record stops anything: missing, infinite, or another label."""
    X = subject.points(4, 0)
    X[0], X[1] = np.nan, np.inf
    counts = subject.hypotheses.mistake_counts(X, X, np.array([0, 1, 7, -1]))
    assert counts.size >= 1
    subject.hypotheses.minimise(X, np.array([0.0, np.nan, 1.0, 1.0]))


def check_nothing_shown(subject: Subject) -> None:
    """Mistakes show and save nothing but the number of hypotheses."""
    X = subject.points(6, 0)
    zeros, ones = (subject.hypotheses.mistake_counts(X, X, np.full(6, label)) for label in (0, 1))
    assert repr(zeros) == repr(ones), "the mistakes can be read off their representation"


def _members(counts: MistakeCounts) -> FloatArray:
    levels, sizes = counts.levels()
    return np.array(
        [
            counts.member(int(level), rank)
            for level, size in zip(levels, sizes, strict=True)
            for rank in range(size)
        ]
    )


def _rows(hypotheses: FloatArray) -> list[bytes]:
    return sorted(np.ascontiguousarray(row, dtype=np.float64).tobytes() for row in hypotheses)


HYPOTHESIS_CHECKS: dict[str, Callable[[Subject], None]] = {
    "sizes": check_sizes,
    "points by themselves": check_points_by_themselves,
    "each behaviour once": check_each_behaviour_once,
    "no behaviour missing": check_no_behaviour_missing,
    "Sauer-Shelah": check_sauer_shelah,
    "repeatable": check_repeatable,
    "candidates ignore labels": check_candidates_ignore_labels,
    "mistakes": check_mistakes,
    "one record moves one": check_one_record_moves_one,
    "minimise": check_minimise,
    "any values": check_any_values,
    "nothing shown": check_nothing_shown,
}
"""The checks, by name."""
