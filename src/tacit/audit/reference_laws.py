"""What a mechanism must do, worked out from its public settings alone.

Nothing here calls the code under test: laws of noise are summed from their definitions, laws of
answers from those, and decisions under known noise from the definition in each mechanism's
docstring. A change of meaning in a mechanism therefore shows as a disagreement with this module.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.answer import Output
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableVote,
    VoteMechanism,
)

__all__ = [
    "Fixed",
    "Noise",
    "Pmf",
    "Token",
    "Transcript",
    "decision",
    "distance",
    "exponential_law",
    "gaussian_law",
    "is_known",
    "laplace_law",
    "noise_of",
    "permute_and_flip_law",
    "question_law",
    "transcript_law",
]

FloatArray = NDArray[np.float64]
Counts = tuple[int, ...]
Token = tuple[int, ...] | None
"""The value of one answer: its integers, or None for a refusal."""
Transcript = tuple[Token, ...]
Noise = tuple[str, float]
"""A law of noise: "gaussian" or "laplace", and its scale."""

Fixed = int | tuple[int, ...]
"""A known value of noise, or one for every class."""

# Mass left out beyond these many scales is far below what rounding already loses.
_GAUSSIAN_REACH = 12
_LAPLACE_REACH = 60


@dataclass(frozen=True, eq=False)
class Pmf:
    """A law on the integers ``low, low + 1, ...``."""

    low: int
    chances: FloatArray

    def at(self, x: int) -> float:
        """P(X = x)."""
        place = x - self.low
        return float(self.chances[place]) if 0 <= place < len(self.chances) else 0.0

    def at_least(self, x: int) -> float:
        """P(X >= x)."""
        return float(self.chances[max(0, x - self.low) :].sum())

    def below(self, xs: NDArray[np.int64]) -> FloatArray:
        """P(X < x) for every x."""
        places = np.minimum(np.maximum(xs - self.low, 0), len(self.chances))
        probabilities: FloatArray = self._sums[places]
        return probabilities

    @cached_property
    def _sums(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self.chances)])

    @property
    def values(self) -> NDArray[np.int64]:
        """The support."""
        return np.arange(self.low, self.low + len(self.chances))

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        mean = float((self.values * self.chances).sum())
        return math.sqrt(float(((self.values - mean) ** 2 * self.chances).sum()))


@lru_cache(maxsize=64)
def gaussian_law(sigma: float) -> Pmf:
    """Return the discrete Gaussian law: chance proportional to exp(-x^2 / (2 sigma^2))."""
    reach = math.ceil(_GAUSSIAN_REACH * sigma) + 2
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return Pmf(-reach, weights / weights.sum())


@lru_cache(maxsize=64)
def laplace_law(scale: float) -> Pmf:
    """Return the discrete Laplace law: chance proportional to ``exp(-|x| / scale)``."""
    reach = math.ceil(_LAPLACE_REACH * scale) + 2
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return Pmf(-reach, weights / weights.sum())


def law_of(noise: Noise) -> Pmf:
    """Return the law that a request for noise names."""
    kind, scale = noise
    return gaussian_law(scale) if kind == "gaussian" else laplace_law(scale)


def is_known(mechanism: object) -> bool:
    """Whether the law of this mechanism's answers is written down here."""
    return type(mechanism) in _KNOWN


_KNOWN = (GaussianVote, LaplaceVote, ConfidentVote, ExponentialVote, StableVote, SparseVote)


# ---- the noise that each mechanism declares --------------------------------------------------


def noise_of(mechanism: VoteMechanism) -> dict[str, Noise]:
    """Return every law of noise the settings name, by its role; none for exact selection."""
    match mechanism:
        case GaussianVote():
            return {"count": ("gaussian", mechanism.sigma)}
        case LaplaceVote():
            return {"count": ("laplace", mechanism.scale)}
        case ConfidentVote():
            return {
                "test": ("gaussian", mechanism.sigma1),
                "count": ("gaussian", mechanism.sigma2),
            }
        case StableVote():
            return {"distance": ("laplace", mechanism.scale)}
        case SparseVote():
            return {
                "threshold": ("laplace", mechanism.scale),
                "distance": ("laplace", 2 * mechanism.scale),
            }
    return {}


# ---- what is decided when the noise is known -------------------------------------------------


def distance(counts: Counts) -> int:
    """Return how many votes may move before the plurality could change."""
    second, first = sorted(counts)[-2:]
    return max(0, math.ceil((first - second) / 2) - 1)


def plurality(counts: Counts) -> int:
    """Return the class with most votes, the lowest of several."""
    return min(range(len(counts)), key=lambda c: (-counts[c], c))


def winner(noisy: Sequence[int]) -> int:
    """Return the class of the largest noisy count: of equal ones class 1 in two, else the first."""
    if len(noisy) == 2:
        return int(noisy[1] >= noisy[0])
    return min(range(len(noisy)), key=lambda c: (-noisy[c], c))


def decision(mechanism: VoteMechanism, counts: Counts, fixed: Mapping[str, Fixed]) -> Token:
    """Return the answer when the draws of a role have the given value; None for a refusal.

    For noise on counts the value may be a tuple: one value for every class.
    """
    match mechanism:
        case GaussianVote():
            return _token(mechanism.output, _shifted(counts, fixed["count"], one_sided=True))
        case LaplaceVote():
            return _token(mechanism.output, _shifted(counts, fixed["count"], one_sided=False))
        case ConfidentVote():
            if max(counts) + _one(fixed["test"]) < mechanism.threshold:
                return None
            return (winner(_shifted(counts, fixed["count"], one_sided=True)),)
        case StableVote():
            passed = distance(counts) + _one(fixed["distance"]) > mechanism.threshold
            return (plurality(counts),) if passed else None
        case SparseVote():
            bar = math.floor(mechanism.threshold) + _one(fixed["threshold"])
            passed = distance(counts) + _one(fixed["distance"]) > bar
            return (plurality(counts),) if passed else None
    raise NotImplementedError(type(mechanism).__name__)


def _one(fixed: Fixed) -> int:
    return fixed if isinstance(fixed, int) else fixed[0]


def _shifted(counts: Counts, drawn: Fixed, *, one_sided: bool) -> tuple[int, ...]:
    if one_sided and len(counts) == 2:  # noise on the class-1 count; the other is what is left
        return counts[0] - _one(drawn), counts[1] + _one(drawn)
    each = (drawn,) * len(counts) if isinstance(drawn, int) else drawn
    return tuple(count + noise for count, noise in zip(counts, each, strict=True))


def _token(output: Output, noisy: tuple[int, ...]) -> Token:
    return noisy if output is Output.SHARE else (winner(noisy),)


# ---- exact laws of answers -------------------------------------------------------------------


def question_law(mechanism: VoteMechanism, counts: Counts) -> dict[Token, float]:
    """Return the exact law of the answer to one question, for label outputs."""
    match mechanism:
        case GaussianVote():
            return _labels(_gaussian_winner(counts, mechanism.sigma))
        case LaplaceVote():
            return _labels(_largest(counts, laplace_law(mechanism.scale)))
        case ExponentialVote():
            return _labels(exponential_law(counts, mechanism.epsilon_per_answer))
        case ConfidentVote():
            return _confident(mechanism, counts)
        case StableVote():
            least = mechanism.threshold - distance(counts) + 1
            chance = laplace_law(mechanism.scale).at_least(least)
            return {(plurality(counts),): chance, None: 1 - chance}
    raise NotImplementedError(type(mechanism).__name__)


def _labels(chances: Sequence[float]) -> dict[Token, float]:
    return {(label,): chance for label, chance in enumerate(chances)}


def _gaussian_winner(counts: Counts, sigma: float) -> list[float]:
    law = gaussian_law(sigma)
    if len(counts) != 2:
        return _largest(counts, law)
    one = law.at_least(math.ceil(sum(counts) / 2) - counts[1])
    return [1 - one, one]


def _largest(counts: Counts, law: Pmf) -> list[float]:
    """Return the chance of each class to have the largest count after its own noise."""
    last_wins = len(counts) == 2
    chances = []
    for mine, count in enumerate(counts):
        at = law.values + count
        total = law.chances.copy()
        for other, theirs in enumerate(counts):
            if other != mine:
                wins_ties = (mine < other) != last_wins
                total = total * law.below(at - theirs + wins_ties)
        chances.append(float(total.sum()))
    return chances


def exponential_law(scores: Sequence[int], epsilon: float) -> list[float]:
    """Return chances proportional to exp(epsilon * score / 2)."""
    top = max(scores)
    weights = [math.exp(epsilon * (score - top) / 2) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def permute_and_flip_law(scores: Sequence[int], epsilon: float) -> list[float]:
    """Return the chance of each candidate to be the first heads in a random order."""
    top = max(scores)
    heads = [math.exp(epsilon * (score - top) / 2) for score in scores]
    chances = [0.0] * len(scores)
    for heads_up in itertools.product((False, True), repeat=len(scores)):
        chance = math.prod(h if up else 1 - h for h, up in zip(heads, heads_up, strict=True))
        up = [candidate for candidate, is_up in enumerate(heads_up) if is_up]
        for candidate in up:
            chances[candidate] += chance / len(up)
    return chances


def _confident(mechanism: ConfidentVote, counts: Counts) -> dict[Token, float]:
    least = math.ceil(mechanism.threshold) - max(counts)
    passed = gaussian_law(mechanism.sigma1).at_least(least)
    labels = _gaussian_winner(counts, mechanism.sigma2)
    return {None: 1 - passed, **{(c,): passed * chance for c, chance in enumerate(labels)}}


def transcript_law(mechanism: VoteMechanism, rows: Sequence[Counts]) -> dict[Transcript, float]:
    """Return the exact law of all answers to several questions, up to where the run stops."""
    if isinstance(mechanism, SparseVote):
        return _sparse_transcripts(mechanism, tuple(rows))
    law: dict[Transcript, float] = {(): 1.0}
    for row in rows:
        answers = question_law(mechanism, row)
        following: dict[Transcript, float] = {}
        for transcript, chance in law.items():
            if len(transcript) < len(rows) and _goes_on(mechanism, transcript):
                for token, step in answers.items():
                    following[(*transcript, token)] = chance * step
            else:
                following[transcript] = chance
        law = following
    return law


def _goes_on(mechanism: VoteMechanism, transcript: Transcript) -> bool:
    """Whether a batch is answered further after this transcript."""
    if not isinstance(mechanism, ConfidentVote) or mechanism.answers is None:
        return True
    return sum(token is not None for token in transcript) < mechanism.answers


def _sparse_transcripts(mechanism: SparseVote, rows: tuple[Counts, ...]) -> dict[Transcript, float]:
    """Condition on the live threshold: given it, questions are independent."""
    query, bar = laplace_law(2 * mechanism.scale), laplace_law(mechanism.scale)
    bars = bar.values + math.floor(mechanism.threshold)
    refused = [query.below(bars - distance(row) + 1) for row in rows]  # P(distance + Z <= bar)

    def instances(start: int, left: int) -> dict[Transcript, float]:
        if start == len(rows) or left == 0:
            return {(): 1.0}
        law: dict[Transcript, float] = {}
        alive, transcript = bar.chances.copy(), ()
        for place in range(start, len(rows)):
            ended = float((alive * refused[place]).sum())
            for rest, chance in instances(place + 1, left - 1).items():
                law[(*transcript, None, *rest)] = ended * chance
            alive = alive * (1 - refused[place])
            transcript = (*transcript, (plurality(rows[place]),))  # type: ignore[assignment]
        law[transcript] = float(alive.sum())
        return law

    return instances(0, mechanism.cutoff)
