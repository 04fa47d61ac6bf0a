"""A measured lower bound on epsilon, for any mechanism on any two inputs.

A price is an upper bound with a proof; an audit is a lower bound with a measurement. It runs the
mechanism many times on two neighbouring inputs, looks for a set of outputs that one of them gives
more often, and reports the epsilon that this difference forces. When the measured bound lies above
the claimed price, something is wrong: the proof, the code or the noise. When it lies below, nothing
is proved: another pair of inputs or more samples might show more.

Half of the samples choose the set of outputs, the other half measures it, so the choice costs no
confidence. Both probabilities are bounded by exact binomial (Clopper-Pearson) limits.

References
----------
[JUO20] Jagielski, Ullman, Oprea. Auditing Differentially Private Machine Learning.
arXiv:2006.07709, section 3. Departure: the set of outputs is learnt on the first half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit import validation

__all__ = ["AuditResult", "Direction", "Sampler", "audit", "in_parallel", "lower_bound"]

Sampler = Callable[[int, int], Sequence[Hashable]]
"""Maps (seed, size) to ``size`` independent outputs. Secure noise makes no use of the seed."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_FloatArray = NDArray[np.float64]

# Work is cut into this many parts whatever the number of cores, so that they do not change results.
_PARTS = 64
# Two directions, and in each one probability from below and one from above.
_BOUNDS = 4


class Direction(StrEnum):
    """Which of the two inputs gave the telling outputs more often."""

    FIRST = "first over second"
    SECOND = "second over first"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit measured: epsilon is at least ``epsilon_lower``, or bad luck struck.

    Parameters
    ----------
    epsilon_lower : float
        Zero when the two inputs could not be distinguished.
    delta : float
        The delta at which it holds.
    confidence : float
        The chance, before the samples were drawn, that the bound would be true.
    samples : int
        Runs on each of the two inputs.
    direction : Direction
    """

    epsilon_lower: float
    delta: float
    confidence: float
    samples: int
    direction: Direction


def audit(
    first: Sampler,
    second: Sampler,
    *,
    delta: float = 0.0,
    samples: int = 100_000,
    confidence: float = 0.9999,
    seed: int = 0,
    jobs: int = -1,
    progress: bool = True,
) -> AuditResult:
    """Measure a lower bound on epsilon from outputs on two neighbouring inputs.

    Parameters
    ----------
    first, second : callable (seed, size) -> sequence of hashable
        Give outputs of the mechanism on each input. Large or continuous outputs should be mapped to
        a few values that still distinguish the inputs: mapping can only lower the bound.
    delta : float, default 0
        In [0, 1).
    samples : int
        Runs on each input.
    confidence : float, default 0.9999
    seed : int
        Seeds the samplers' parts; equal seeds give equal results if the samplers use them.
    jobs : int
        Processes; -1 for one per core. With more than one the samplers must be picklable, or
        plain closures.
    progress : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    AuditResult

    Privacy
    -------
    The outputs are counted as they are. Audit made-up inputs, never private data.

    Examples
    --------
    >>> def coin(chance):
    ...     def sample(seed, size):
    ...         return (np.random.default_rng(seed).random(size) < chance).tolist()
    ...     return sample
    >>> found = audit(coin(0.75), coin(0.25), samples=20_000, jobs=1, progress=False)
    >>> bool(1.0 < found.epsilon_lower < np.log(3))
    True
    """
    validation.fraction(delta=delta)
    validation.integer(2, samples=samples)
    validation.probability(confidence=confidence)
    tasks = _parts(samples, validation.integer(0, seed=seed))
    both = in_parallel(
        lambda task: (Counter(first(task.seeds[0], task.size)), Counter(second(*task.other))),
        tasks,
        jobs=jobs,
        progress=progress,
        label="audit",
    )
    halves: list[list[Counter[Hashable]]] = [[Counter(), Counter()], [Counter(), Counter()]]
    for number, (one, two) in enumerate(both):
        halves[number % 2][0].update(one)
        halves[number % 2][1].update(two)
    choose, measure = halves
    epsilon, direction = lower_bound(
        (choose[0], choose[1]), (measure[0], measure[1]), delta=delta, confidence=confidence
    )
    return AuditResult(epsilon, delta, confidence, samples, direction)


Pair = tuple[Counter[Hashable], Counter[Hashable]]


def lower_bound(
    choose: Pair, measure: Pair, *, delta: float, confidence: float
) -> tuple[float, Direction]:
    """Return the bound from counts of outputs: ``choose`` picks the set, ``measure`` tests it."""
    risk = (1 - confidence) / _BOUNDS
    best, direction = 0.0, Direction.NEITHER
    for candidate, (p, q) in ((Direction.FIRST, (0, 1)), (Direction.SECOND, (1, 0))):
        telling = _likeliest_outputs(choose[p], choose[q], delta, risk)
        hits_p = sum(measure[p][output] for output in telling)
        hits_q = sum(measure[q][output] for output in telling)
        (epsilon,) = _epsilons(
            np.array([hits_p]), measure[p].total(), np.array([hits_q]), measure[q].total(),
            delta, risk,
        )  # fmt: skip
        if epsilon > best:
            best, direction = float(epsilon), candidate
    return best, direction


def _likeliest_outputs(
    often: Counter[Hashable], seldom: Counter[Hashable], delta: float, risk: float
) -> list[Hashable]:
    """Return the outputs of largest likelihood ratio, as many as give the largest bound."""
    n, m = often.total(), seldom.total()
    # Half a count more for each: an output seen once on one side alone must not look certain.
    ranked = sorted(
        often, key=lambda output: (often[output] + 0.5) / (seldom[output] + 0.5), reverse=True
    )
    if not ranked:
        return []
    hits = np.cumsum([often[output] for output in ranked])
    other = np.cumsum([seldom[output] for output in ranked])
    bounds = _epsilons(hits, n, other, m, delta, risk)
    return ranked[: int(np.argmax(bounds)) + 1]


def _epsilons(
    hits: NDArray[np.int64], n: int, other: NDArray[np.int64], m: int, delta: float, risk: float
) -> _FloatArray:
    """Return ``log((p - delta) / q)`` with p from below and q from above, or zero."""
    from scipy import special

    hits, other = np.asarray(hits, dtype=np.float64), np.asarray(other, dtype=np.float64)
    low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, risk), 0.0)
    below = np.minimum(other, m - 1)
    high = np.where(other < m, special.betainccinv(below + 1, m - below, risk), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(np.maximum(low - delta, 0.0) / high)
    bound: _FloatArray = np.maximum(ratio, 0.0)
    return bound


@dataclass(frozen=True, slots=True)
class _Part:
    size: int
    seeds: tuple[int, int]

    @property
    def other(self) -> tuple[int, int]:
        return self.seeds[1], self.size


def _parts(samples: int, seed: int) -> list[_Part]:
    """Cut the samples into parts of about equal size, an even number of them."""
    parts = max(2, min(_PARTS, samples // 2 * 2))
    seeds = np.random.SeedSequence(seed).generate_state(2 * parts, dtype=np.uint32).tolist()
    sizes = [samples // parts + (number < samples % parts) for number in range(parts)]
    return [_Part(size, (seeds[2 * i], seeds[2 * i + 1])) for i, size in enumerate(sizes)]


def in_parallel(
    work: Callable[[_Item], _Result],
    items: Iterable[_Item],
    *,
    jobs: int = -1,
    progress: bool = True,
    label: str = "",
) -> list[_Result]:
    """Return the results of ``work`` on every item in order, on several cores, with a bar."""
    from tqdm import tqdm

    items = list(items)
    results: Iterator[_Result]
    if jobs == 1:
        results = map(work, items)
    else:
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(x) for x in items)
    # None leaves the bar out where stderr is no terminal.
    hidden = None if progress else True
    return list(tqdm(results, total=len(items), desc=label, disable=hidden, leave=False))
