"""What relabelling, sub-sampling and resampling do to a guarantee.

Each function takes the guarantee of a *base* mechanism and returns that of the mechanism around
it; all of them are for ``replace`` with a public number of records. Proofs:
``docs/proofs/relabelling.md``.
"""

from __future__ import annotations

import math

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.accounting.search import boundary
from tacit.errors import InvalidArgument

# Results are rounded up by more than the arithmetic can have lost.
_ROUNDING = 1e-12


def relabelling_epsilon(selection_epsilon: float) -> float:
    """Return what relabelling adds to epsilon: ``2 ln(1 + e^(selection_epsilon / 2))``.

    The relabelling hypothesis is drawn by the exponential mechanism from one hypothesis per
    dichotomy of the records' own points. One record changes that set, so the plain price of the
    mechanism does not apply; this one does, as long as the hypothesis itself is never released.

    References
    ----------
    [BNS15] Lemma 4.1, which prints 3 at ``selection_epsilon = 1``.

    Examples
    --------
    >>> round(relabelling_epsilon(1.0), 4)
    1.9482
    """
    selection_epsilon = validation.positive(selection_epsilon=selection_epsilon)
    # ln(1 + e^x) for large x without overflow.
    half = selection_epsilon / 2
    return _up(2 * (half + math.log1p(math.exp(-half))))


def relabelled(base: Budget, *, selection_epsilon: float) -> Budget:
    """Return the guarantee of running ``base`` on records relabelled by a selected hypothesis.

    Parameters
    ----------
    base : Budget
        Guarantee of what runs on the relabelled records.
    selection_epsilon : float
        Parameter of the exponential mechanism that selects the hypothesis.

    References
    ----------
    [BNS15] Lemma 4.1. Departure: delta stays what it is (the paper multiplies it by 4e): the
    dichotomy on the shared points is a pure release, and composes with ``base`` as such.

    Examples
    --------
    >>> relabelled(Budget(1.0, 1e-6), selection_epsilon=1.0)
    Budget(epsilon=2.948..., delta=1e-06)
    """
    return Budget(_up(base.epsilon + relabelling_epsilon(selection_epsilon)), base.delta)


def subsampled(base: Budget, *, subset: int, records: int) -> Budget:
    """Return the guarantee of running ``base`` on a random subset without replacement.

    ``ln(1 + (subset/records)(e^epsilon - 1))`` and ``(subset/records) delta``. The subset must be
    secret, and ``base`` must not depend on the order of its records (or gets them shuffled).

    References
    ----------
    [BNS15] Claim C.1 and Remark C.2; [BBG18] Theorem 9.

    Examples
    --------
    >>> subsampled(Budget(1.0, 1e-6), subset=10, records=100)
    Budget(epsilon=0.158..., delta=1.0...e-07)
    """
    share = subset_share(subset, records)
    return Budget(_up(mixed_epsilon(base.epsilon, share)), min(base.delta, _up(share * base.delta)))


def largest_base_epsilon(epsilon: float, *, subset: int, records: int) -> float:
    """Return the largest epsilon a mechanism may have on a subset, for ``epsilon`` in all.

    Examples
    --------
    >>> round(largest_base_epsilon(1.0, subset=95, records=1000), 3)
    2.949
    """
    share = subset_share(subset, records)
    log_ratio = log_expm1(validation.positive(epsilon=epsilon)) - math.log(share)
    return _down(log_ratio + math.log1p(math.exp(-log_ratio)))


def resampled(base: Budget, *, records: int) -> Budget:
    """Return the guarantee of running ``base`` on ``records`` of as many drawn *with* replacement.

    A record may come more than once, so this costs: epsilon grows to at most
    ``2 sinh(epsilon)``.

    Parameters
    ----------
    base : Budget
        Guarantee on data sets of ``records`` records.
    records : int
        How many records there are, and how many are drawn.

    References
    ----------
    [BNS15] Claim C.3, with the moments of the binomial law instead of bounds on them: at
    epsilon 1 the paper prints ln 244 = 5.5 and 2467 delta (its own last line says 2476).

    Examples
    --------
    >>> resampled(Budget(1.0, 1e-9), records=1000)
    Budget(epsilon=2.349..., delta=5.51...e-09)
    """
    records = validation.positive_integer(records=records)
    # L, how often the changed record is drawn, is binomial(records, 1 / records).
    log_more = records * math.log1p(math.expm1(base.epsilon) / records)  # ln E e^{L epsilon}
    log_less = records * math.log1p(math.expm1(-base.epsilon) / records)  # ln E e^{-L epsilon}
    epsilon = log_more - log_less
    return Budget(_up(epsilon), _up(_group_delta(base, log_more, log_less)))


def largest_resampled_base(epsilon: float, *, records: int) -> float:
    """Return the largest epsilon of a mechanism that has ``epsilon`` after resampling.

    Examples
    --------
    >>> base = largest_resampled_base(2.0, records=1000)
    >>> round(base, 3), resampled(Budget(base), records=1000).epsilon <= 2.0
    (0.882, True)
    """
    epsilon = validation.positive(epsilon=epsilon)

    def fits(base_epsilon: float) -> bool:
        return resampled(Budget(base_epsilon), records=records).epsilon <= epsilon

    return boundary(fits, 0.0, epsilon, relative=1e-12)[0]  # resampling never helps


def _group_delta(base: Budget, log_more: float, log_less: float) -> float:
    """Delta of the whole group of copies (docs/proofs/relabelling.md, claim 3)."""
    if base.delta == 0:
        return 0.0
    try:
        copies = math.expm1(log_more) - math.exp(log_more - log_less) * math.expm1(log_less)
    except OverflowError:
        copies = math.inf
    return base.delta * copies / math.expm1(base.epsilon)


def mixed_epsilon(epsilon: float, share: float) -> float:
    """Return ``ln(1 + share * (e^epsilon - 1))``, also where ``e^epsilon`` would overflow.

    Examples
    --------
    >>> round(mixed_epsilon(1.0, 0.1), 6), round(mixed_epsilon(1000.0, 0.5), 3)
    (0.158..., 999.307)
    """
    if epsilon < 500:
        return math.log1p(share * math.expm1(epsilon))
    return epsilon + math.log(share + (1 - share) * math.exp(-epsilon))


def log_expm1(epsilon: float) -> float:
    """Return ``ln(e^epsilon - 1)`` without overflow."""
    return epsilon + math.log(-math.expm1(-epsilon))


def subset_share(subset: int, records: int) -> float:
    subset = validation.positive_integer(subset=subset)
    records = validation.positive_integer(records=records)
    if subset > records:
        raise InvalidArgument(
            f"`subset` must be at most the number of records, {records}, got {subset}."
        )
    return subset / records


def _up(value: float) -> float:
    return value * (1 + _ROUNDING)


def _down(value: float) -> float:
    return value * (1 - _ROUNDING)
