"""Settings of stable and private predictions: the best by a rule of thumb, and the paper's.

Proof: ``docs/proofs/private_prediction.md``, claims 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit import validation
from tacit.accounting import prediction as prices
from tacit.errors import InvalidArgument
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.growth import growth_bound

_SHARES = tuple(step / 20 for step in range(1, 20))
_FLIPS = tuple(0.4 * 0.85**step for step in range(80))


@dataclass(frozen=True, slots=True)
class StableSettings:
    """Size of the subset, parameter of the exponential mechanism, and what they promise. Public."""

    subset: int
    selection_epsilon: float
    stability: float
    expected_excess: float
    """A rule of thumb for the excess error, by which settings were compared; no guarantee."""


def stable_settings(
    hypotheses: HypothesisClass, n_records: int, stability: float
) -> StableSettings:
    """Return the split of a stability between subset and selection that promises least error.

    Chosen from public numbers: the class, the number of records and the stability.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> settings = stable_settings(Thresholds(), 10_000, 0.1)
    >>> settings.subset, round(settings.stability, 6)
    (349, 0.1)
    """
    growth = growth_bound(hypotheses)
    best: StableSettings | None = None
    for share in _SHARES:
        subset = math.floor(share * stability * n_records)
        if subset < 1:
            continue
        rate = prices.selection_epsilon_for(stability, subset=subset, records=n_records)
        # A candidate near the best one is missed by about d/n', and the draw strays by
        # 2 ln(candidates)/(rate n) [DF20, Lemma 4].
        excess = hypotheses.vc_dimension / subset + 2 * math.log(growth(subset)) / (
            rate * n_records
        )
        if best is None or excess < best.expected_excess:
            best = StableSettings(subset, rate, stability, excess)
    if best is None:
        raise InvalidArgument(
            f"`X` must hold at least {math.ceil(1 / (_SHARES[-1] * stability))} records for a "
            f"stability of {stability:.3g}, got {n_records}."
        )
    return best


def paper_settings(
    hypotheses: HypothesisClass, n_records: int, *, alpha: float, gamma: float
) -> StableSettings:
    """Return the settings of [DF20] Lemma 7, or refuse with the number of records it needs.

    ``alpha`` is the excess error on the records up to a factor 3; ``gamma`` is the parameter of
    the exponential mechanism and the largest share of records in the subset.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> paper_settings(Thresholds(), 1000, alpha=0.1, gamma=0.05)
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `X` must hold at least 9220 records for the constants ...
    """
    alpha, gamma = validation.probability(alpha=alpha), validation.probability(gamma=gamma)
    growth = growth_bound(hypotheses)
    subset = prices.net_size(alpha, alpha, growth=growth)
    needed = math.ceil(max(subset, 2 * math.log(growth(subset)) / alpha) / gamma)
    if n_records < needed:
        raise InvalidArgument(
            f"`X` must hold at least {needed} records for the constants of the paper at "
            f"alpha={alpha:g}, gamma={gamma:.3g}, got {n_records}. Use constants='practical', or "
            "ask for less."
        )
    stability = prices.prediction_stability(gamma, subset=subset, records=n_records)
    return StableSettings(subset, gamma, stability, 3 * alpha)


def private_settings(
    hypotheses: HypothesisClass, n_records: int, epsilon: float
) -> tuple[StableSettings, float]:
    """Return settings and a flip with which one answer is ``epsilon``-private.

    Of all flips the one with the least expected error, by the same rule of thumb.

    Examples
    --------
    >>> from tacit.hypotheses import Thresholds
    >>> settings, flip = private_settings(Thresholds(), 10_000, 1.0)
    >>> round(prices.flipped_epsilon(flip, delta=settings.stability), 6)
    1.0
    """
    best: tuple[StableSettings, float] | None = None
    for flip in _FLIPS:
        stability = min(0.9, flip * math.expm1(epsilon) / (1 - 2 * flip))
        try:
            settings = stable_settings(hypotheses, n_records, stability * (1 - 1e-9))
        except InvalidArgument:
            break  # smaller flips allow less stability still
        if best is None or settings.expected_excess + flip < best[0].expected_excess + best[1]:
            best = settings, flip
    if best is None:
        raise InvalidArgument(
            f"`X` must hold more records for an epsilon of {epsilon:.3g} per answer, "
            f"got {n_records}."
        )
    return best
