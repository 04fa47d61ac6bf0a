"""Choose from a finite set with exact probabilities: exponential mechanism, permute-and-flip.

The textbook way adds Gumbel or exponential noise to every score in floating point, and then the
probabilities are not those of the proof. Here they are: every random decision compares a uniform
number, refined bit by bit, with an interval that is certain to hold the chance in question, and
looks closer until the answer is beyond doubt.

Scores are integers, as sums of votes or errors are; ``epsilon`` counts as the exact value of the
double it is. The caller answers for the sensitivity: the guarantees below are for scores that move
by at most 1 between neighbours.

Timing is not constant: how long a selection takes depends on the scores. Do not let others time it.

References
----------
[CKS20] Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. arXiv:2004.00010.
[MS20] McKenna, Sheldon. Permute-and-Flip: A new mechanism for differentially private selection.
arXiv:2010.12603.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.noise import IntArray, NoiseSource

__all__ = ["permute_and_flip", "select", "select_level", "uniform_below"]

_FIRST_BITS = 64
_FIRST_DIGITS = 22
_CHUNK = 1 << 16
# How far a double-precision exp may be from the truth before a quick coin could be wrong: millions
# of times what any maths library is off by. Coins this close are decided exactly.
_SLACK = 1e-9


def select(scores: ArrayLike, epsilon: float, *, noise: NoiseSource) -> int:
    """Return index i with probability exactly proportional to exp(epsilon * scores[i] / 2).

    Parameters
    ----------
    scores : array of int, shape (n_candidates,)
        The score of each candidate; larger is better. Private.
    epsilon : float
        Public.
    noise : NoiseSource
        Where the random bits come from.

    Privacy
    -------
    The exponential mechanism: epsilon-differentially private, and epsilon²/8 zero-concentrated,
    when no score moves by more than 1 between neighbours.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> select([0, 0, 500], epsilon=1.0, noise=SecureNoise())
    2
    """
    rate = _rate(epsilon)
    distances = _distances(scores)
    width, far = _grid(rate, len(distances))
    width = min(width, 2**63)  # distances are below 2**64
    bucket = np.minimum(distances // np.uint64(width), np.uint64(far)).astype(np.int64)
    sizes = np.bincount(bucket)
    used = np.flatnonzero(sizes)

    def member(which: int, rank: int) -> tuple[int, int]:
        index = int(np.flatnonzero(bucket == used[which])[rank])
        return index, int(distances[index])

    starts = [width * int(number) for number in used]
    return _propose_and_thin(starts, sizes[used].tolist(), member, rate, noise)


def select_level(
    levels: Sequence[int], counts: Sequence[int], epsilon: float, *, noise: NoiseSource
) -> int:
    """Return a score level with probability exactly proportional to count * exp(epsilon * level/2).

    For candidate sets too large to list whose scores have structure: give how many candidates have
    each score, get the score of the chosen one, and then choose uniformly among its candidates.

    Parameters
    ----------
    levels : sequence of int
        Distinct scores. Private.
    counts : sequence of int
        How many candidates have each score; zero or more, of any size. Private.
    epsilon : float
        Public.
    noise : NoiseSource
        Where the random bits come from.

    Privacy
    -------
    As ``select`` over the listed candidates.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> select_level([0, 1000], [2**40, 1], epsilon=1.0, noise=SecureNoise())
    1000
    """
    rate = _rate(epsilon)
    present = _present_levels(levels, counts)
    top = present[0][0]
    width, far = _grid(rate, sum(count for _, count in present))
    buckets: dict[int, list[tuple[int, int]]] = {}
    for level, count in present:
        buckets.setdefault(min((top - level) // width, far), []).append((level, count))
    ends = [list(accumulate(count for _, count in bucket)) for bucket in buckets.values()]
    inside = list(buckets.values())

    def member(which: int, rank: int) -> tuple[int, int]:
        level, _ = inside[which][bisect_right(ends[which], rank)]
        return level, top - level

    starts = [width * number for number in buckets]
    return _propose_and_thin(starts, [end[-1] for end in ends], member, rate, noise)


def permute_and_flip(scores: ArrayLike, epsilon: float, *, noise: NoiseSource) -> int:
    """Return an index by permute-and-flip [MS20]: never worse than ``select`` in expected score.

    Candidates are visited in uniformly random order, and the first whose coin shows heads is
    returned; the coin of candidate i shows heads with probability exactly
    exp(-epsilon * (max(scores) - scores[i]) / 2).

    Parameters
    ----------
    scores : array of int, shape (n_candidates,)
        The score of each candidate; larger is better. Private.
    epsilon : float
        Public.
    noise : NoiseSource
        Where the random bits come from.

    Privacy
    -------
    epsilon-differentially private when no score moves by more than 1 between neighbours. The
    bounded-range property that makes ``select`` compose well is not claimed: use this one for
    single selections priced as pure differential privacy.

    Examples
    --------
    >>> from tacit.noise import SecureNoise
    >>> permute_and_flip([0, 500, 0], epsilon=1.0, noise=SecureNoise())
    1
    """
    rate = _rate(epsilon)
    distances = _distances(scores)
    # The first heads in a random order is a uniform one of all heads, so the order is not needed.
    heads = np.concatenate(
        [
            start + _heads(distances[start : start + _CHUNK], rate, noise)
            for start in range(0, len(distances), _CHUNK)
        ]
    )
    return int(heads[uniform_below(len(heads), noise=noise)])


def uniform_below(n: int, *, noise: NoiseSource) -> int:
    """Return an integer exactly uniform over 0 .. n - 1."""
    n = validation.positive_integer(n=n)
    width = (n - 1).bit_length()
    if width == 0:
        return 0
    while (drawn := noise.bits(width)) >= n:
        pass  # more than half of all draws fall below n, so this ends soon
    return drawn


class _Uniform:
    """A uniform number in [0, 1) known to lie in [value, value + 1) / 2**bits, and ever closer."""

    __slots__ = ("_noise", "bits", "value")

    def __init__(self, noise: NoiseSource, word: int | None = None) -> None:
        self._noise = noise
        self.bits = _FIRST_BITS
        self.value = noise.bits(_FIRST_BITS) if word is None else word

    def refine(self) -> None:
        """Double the number of known bits."""
        self.value = (self.value << self.bits) | self._noise.bits(self.bits)
        self.bits *= 2


def _exp_bounds(x: Fraction, digits: int) -> tuple[int, int]:
    """Return integers (low, high) with low <= 10**digits * exp(-x) <= high, at most 3 apart.

    ``Decimal.exp`` is correctly rounded. Cutting ``x`` to ``digits + 4`` places moves exp(-x) by
    less than 10**-(digits + 4), and rounding to ``digits + 4`` significant digits by less still.
    """
    unit = 10**digits
    if x == 0:
        return unit, unit
    if x > 3 * digits:  # exp(-3) < 1/10
        return 0, 1
    places = digits + 4
    cut = Decimal(math.floor(x * 10**places)).scaleb(-places, Context(prec=4 * places))
    # copy_negate, because a minus sign would round to the precision of the caller's thread.
    nearest = Context(prec=places).exp(cut.copy_negate())
    whole = int(nearest.scaleb(digits, Context(prec=places)))
    return max(whole - 1, 0), min(whole + 2, unit)


def _flip(x: Fraction, uniform: _Uniform) -> bool:
    """Return True with probability exactly exp(-x)."""
    digits = _FIRST_DIGITS
    while True:
        low, high = _exp_bounds(x, digits)
        if (uniform.value + 1) * 10**digits <= low << uniform.bits:
            return True
        if uniform.value * 10**digits >= high << uniform.bits:
            return False
        uniform.refine()
        digits *= 2


def _weighted(powers: Sequence[Fraction], sizes: Sequence[int], noise: NoiseSource) -> int:
    """Return i with probability exactly proportional to sizes[i] * exp(-powers[i])."""
    if len(sizes) == 1:
        return 0
    uniform = _Uniform(noise)
    digits = _FIRST_DIGITS + sum(sizes).bit_length() // 3
    while True:
        bounds = [_exp_bounds(power, digits) for power in powers]
        lows = [size * low for size, (low, _) in zip(sizes, bounds, strict=True)]
        highs = [size * high for size, (_, high) in zip(sizes, bounds, strict=True)]
        index = _interval_holding(uniform, lows, highs)
        if index is not None:
            return index
        uniform.refine()
        digits *= 2


def _interval_holding(uniform: _Uniform, lows: list[int], highs: list[int]) -> int | None:
    """Return the item whose share of [0, 1) surely holds the uniform number, if one does.

    The border after item i is C / (C + R), with C the weight up to and including i and R the
    weight after it. It grows with C and shrinks with R, which gives its bounds.
    """
    before_low = before_high = 0
    after_low, after_high = sum(lows), sum(highs)
    first, last = uniform.value, uniform.value + 1
    for item, (low, high) in enumerate(zip(lows, highs, strict=True)):
        # Not surely past the border before this item: it may belong to an earlier one.
        if first * (before_high + after_low) < before_high << uniform.bits:
            return None
        before_low, before_high = before_low + low, before_high + high
        after_low, after_high = after_low - low, after_high - high
        if last * (before_low + after_high) <= before_low << uniform.bits:
            return item
    return None


def _propose_and_thin(
    starts: Sequence[int],
    sizes: Sequence[int],
    member: Callable[[int, int], tuple[int, int]],
    rate: Fraction,
    noise: NoiseSource,
) -> int:
    """Return a candidate with probability exactly proportional to exp(-rate * its distance).

    A bucket is drawn as if all its members were at its start, then a uniform member, which is kept
    with the chance that makes up the difference; otherwise all starts over. ``member`` gives the
    candidate of a given rank in a bucket and its distance from the best score.
    """
    powers = [rate * start for start in starts]
    while True:
        which = _weighted(powers, sizes, noise)
        candidate, distance = member(which, uniform_below(sizes[which], noise=noise))
        missing = rate * (distance - starts[which])
        if missing == 0 or _flip(missing, _Uniform(noise)):
            return candidate


def _grid(rate: Fraction, n_candidates: int) -> tuple[int, int]:
    """Return the width of a bucket of distances and the number of the last one, open-ended.

    Any values give the right law; these make a proposal pass with probability about 1/2 or more.
    Across a bucket weights fall by at most one half, and all that lies in the last bucket weighs
    less than 2**-64 of the best candidate.
    """
    width = max(1, int(Fraction(math.log(2)) / rate))
    return width, 2 * (64 + n_candidates.bit_length())


def _heads(distances: NDArray[np.uint64], rate: Fraction, noise: NoiseSource) -> IntArray:
    """Return where independent coins, heads with probability exp(-rate * distance), show heads."""
    size = len(distances)
    words = np.frombuffer(noise.bits(64 * size).to_bytes(8 * size), dtype=">u8")
    uniform = words.astype(np.float64) * 2.0**-64
    with np.errstate(over="ignore"):
        chance = np.exp(-np.minimum(float(rate) * distances.astype(np.float64), 700.0))
    margin = _SLACK * chance + 2.0**-50 * uniform + 2.0**-63
    heads = uniform < chance - margin
    for index in np.flatnonzero(np.abs(uniform - chance) <= margin):
        exact = rate * int(distances[index])
        heads[index] = _flip(exact, _Uniform(noise, int(words[index])))
    return np.flatnonzero(heads | (distances == 0))


def _rate(epsilon: float) -> Fraction:
    """Return by how much the logarithm of a weight falls per unit of score."""
    return Fraction(validation.positive(epsilon=epsilon)) / 2


def _distances(scores: ArrayLike) -> NDArray[np.uint64]:
    """Return how far each score is below the best; messages hold no scores."""
    array = np.asarray(scores)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise InvalidArgument(
            "`scores` must be one row of at least one integer, "
            f"got shape {array.shape} of type {array.dtype}."
        )
    # Differences of int64 may not fit int64; in uint64 they wrap around to the right value.
    wrapped = array.astype(np.uint64) if array.dtype.kind == "u" else _as_words(array)
    top = wrapped[int(np.argmax(array))]
    distances: NDArray[np.uint64] = top - wrapped
    return distances


def _as_words(array: NDArray[np.signedinteger]) -> NDArray[np.uint64]:
    return array.astype(np.int64).view(np.uint64)


def _present_levels(levels: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the levels that have candidates, best first; messages hold neither."""
    if len(levels) != len(counts):
        raise InvalidArgument(
            f"`levels` and `counts` must have the same length, got {len(levels)} and {len(counts)}."
        )
    pairs = [
        (_whole(level, "levels"), _whole(count, "counts"))
        for level, count in zip(levels, counts, strict=True)
    ]
    if any(count < 0 for _, count in pairs):
        raise InvalidArgument("`counts` must be zero or more.")
    if len({level for level, _ in pairs}) != len(pairs):
        raise InvalidArgument("`levels` must be distinct.")
    present = sorted((pair for pair in pairs if pair[1]), reverse=True)
    if not present:
        raise InvalidArgument("`counts` must have a positive entry: there is nothing to select.")
    return present


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidArgument(f"`{name}` must be whole numbers.")
    return int(value)
