"""Counted events with known chances, and one decision about all of them.

A statistical check collects *trials*: an event was seen ``hits`` times in ``n`` independent runs
and should happen with probability ``chance``. Each trial has an exact binomial p-value; a correct
mechanism fails any of ``m`` trials with probability at most ``false_alarm`` when each is tested at
``false_alarm / m``. No normal approximation is involved, so the figure holds in the far tails,
and the trials may depend on each other in any way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FALSE_ALARM",
    "FailedCheck",
    "Trial",
    "integer_trials",
    "law_trials",
    "p_values",
    "pair_trials",
    "unlikely",
]

FALSE_ALARM = 1e-8
"""The chance that one seeded check of one correct mechanism fails, at most."""

# Events expected more seldom than this are pooled: alone they could show nothing.
_LEAST_EXPECTED = 2.0
# What the oracles' own arithmetic may be off by.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """One thing that is wrong, and which check found it."""

    check: str
    message: str

    def __str__(self) -> str:
        return f"[{self.check}] {self.message}"


@dataclass(frozen=True, slots=True)
class Trial:
    """An event of known chance, and how often it was seen."""

    name: str
    hits: int
    n: int
    chance: float


def law_trials(name: str, sample: Sequence[Hashable], law: Mapping[Hashable, float]) -> list[Trial]:
    """Compare a sample with a law outcome by outcome; what the law does not list is one event."""
    n, seen = len(sample), Counter(sample)
    common = [outcome for outcome, chance in law.items() if n * chance >= _LEAST_EXPECTED]
    trials = [Trial(f"{name}: {outcome}", seen[outcome], n, law[outcome]) for outcome in common]
    rest = n - sum(trial.hits for trial in trials)
    chance = max(0.0, 1 - sum(trial.chance for trial in trials))
    trials.append(Trial(f"{name}: anything else", rest, n, min(1.0, chance + _ROUNDING)))
    return trials


def integer_trials(
    name: str, sample: NDArray[np.int64], values: NDArray[np.int64], chances: NDArray[np.float64]
) -> list[Trial]:
    """Compare integers with a law point by point and tail by tail."""
    n = len(sample)
    trials = law_trials(
        name, sample.tolist(), dict(zip(values.tolist(), chances.tolist(), strict=True))
    )
    sums = np.cumsum(chances)
    for value, chance in zip(values.tolist(), sums.tolist(), strict=True):
        if min(chance, 1 - chance) * n >= _LEAST_EXPECTED:
            hits = int((sample <= value).sum())
            trials.append(Trial(f"{name} <= {value}", hits, n, chance))
    return trials


def pair_trials(
    name: str,
    pairs: Sequence[tuple[Hashable, Hashable]],
    first: Mapping[Hashable, float],
    second: Mapping[Hashable, float],
) -> list[Trial]:
    """Compare pairs with the product law: independent draws for different questions."""
    joint: dict[Hashable, float] = {
        (a, b): p * q for a, p in first.items() for b, q in second.items()
    }
    return law_trials(name, pairs, joint)


def p_values(trials: Sequence[Trial]) -> NDArray[np.float64]:
    """Return the exact two-sided binomial p-value of every trial."""
    from scipy import special

    hits = np.array([trial.hits for trial in trials], dtype=np.float64)
    n = np.array([trial.n for trial in trials], dtype=np.float64)
    chance = np.array([trial.chance for trial in trials], dtype=np.float64).clip(0.0, 1.0)
    at_least = np.where(hits > 0, special.betainc(np.maximum(hits, 1), n - hits + 1, chance), 1.0)
    more = np.minimum(hits, n - 1)
    at_most = np.where(hits < n, special.betaincc(more + 1, n - more, chance), 1.0)
    two_sided: NDArray[np.float64] = np.minimum(1.0, 2 * np.minimum(at_least, at_most))
    return two_sided


def unlikely(
    trials: Iterable[Trial], false_alarm: float = FALSE_ALARM
) -> list[tuple[Trial, float]]:
    """Return the trials that a correct mechanism would not show, with their p-values."""
    trials = list(trials)
    if not trials:
        return []
    level = false_alarm / len(trials)
    p = p_values(trials)
    return [(trial, float(q)) for trial, q in zip(trials, p, strict=True) if q < level]
