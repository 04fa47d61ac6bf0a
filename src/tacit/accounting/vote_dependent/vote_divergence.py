"""Bounds on the Renyi divergence of one release, given how likely its likely outcome is.

Plain functions over arrays of private numbers, used by `vote_bounds` and `smooth_sensitivity`; they
return bare arrays and are not part of the public interface.
Proofs: ``docs/proofs/vote_bounds.md``, sections 3 and 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.accounting.vote_dependent.vote_tails import PAD, Floats, Ints, log1mexp

__all__ = ["expected_rdp", "likely_outcome_rdp", "two_step_rdp"]


def likely_outcome_rdp(log_q: Floats, rate: float, orders: Floats) -> Floats:
    """Bound the divergence of a release whose likely outcome fails with probability ``q``.

    ``rate`` is the worst case: the release costs ``rate * mu`` at every order ``mu``. Rows are
    values of q, columns orders. Private when q is.

    References
    ----------
    [PSMRTE18] Theorem 6 and Proposition 10 (``mu2 = sqrt(log(1/q)/rate)``, ``mu1 = mu2 + 1``). The
    conditions are those of ``docs/proofs/vote_bounds.md``, section 3, which proves them.
    """
    lq, a = np.minimum(log_q, 0.0)[:, None], orders[None, :]
    worst = np.broadcast_to(rate * a, (lq.size, a.size))
    with np.errstate(all="ignore"):
        mu2 = np.sqrt(-lq / rate)
        mu1 = mu2 + 1.0
        log1q = log1mexp(lq)
        shrink = (lq + rate * mu2) * (1.0 - 1.0 / mu2)
        log_a = log1q - log1mexp(np.minimum(shrink, 0.0))
        log_b = rate * mu1 - lq / mu2
        log_sum = np.logaddexp(log1q + (a - 1.0) * log_a, lq + (a - 1.0) * log_b)
        bound = np.maximum(log_sum, 0.0) / (a - 1.0) + PAD * a
        usable = (mu2 > 1.0) & (mu1 >= a) & (shrink < 0.0) & (lq + rate * mu2 < 0.0)
        usable &= _increasing_in_q(lq, rate, mu2, a, log_a <= log_b)
    bound = np.where(np.isneginf(lq), PAD * a, bound)
    usable = usable | np.isneginf(lq)
    return np.where(usable & (bound < worst), bound, worst)


def _increasing_in_q(
    lq: Floats, rate: float, mu2: Floats, a: Floats, ordered: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Whether the bound grows in q up to here, so that a bound on q may stand for q."""
    head = (mu2 - 1.0) * rate * mu2 - mu2 * np.log(mu2 / (mu2 - 1.0))
    jointly = ordered & (lq <= head - mu2 * np.log1p(1.0 / mu2))
    alone = lq <= head - mu2 * np.log(a / (a - 1.0))
    return np.asarray(jointly | alone)


def two_step_rdp(
    top: Ints, tests: Floats, sigma_threshold: float, answer: Floats, orders: Floats
) -> Floats:
    """Bound the divergence of test and answer together; the test's part is exact.

    With p and p' the chances to pass at D and D': ``p^a p'^(1-a) exp((a-1) answer) +
    (1-p)^a (1-p')^(1-a)``, largest over the counts p' can come from.
    """
    a = orders[None, :]
    worst = a / (2.0 * sigma_threshold**2) + answer
    divergence = np.zeros_like(worst)
    last = tests.shape[1] - 1
    for step in (-1, 0, 1):
        other = tests[:, np.clip(top + step, 0, last), None]
        here = tests[:, top, None]
        passed = here[0] + (a - 1.0) * (here[0] - other[0] + answer)
        failed = here[1] + (a - 1.0) * (here[1] - other[1])
        divergence = np.maximum(divergence, np.logaddexp(passed, failed) / (a - 1.0))
    return np.minimum(worst, divergence + PAD * a)


def expected_rdp(
    top: Ints, tests: Floats, sigma_threshold: float, answer: Floats, orders: Floats
) -> Floats:
    """Return the published average: Theorem 6 for the test plus P[answered] times the answer."""
    log_pass, log_fail = tests[0][top], tests[1][top]
    test = likely_outcome_rdp(
        np.minimum(log_pass, log_fail), 1.0 / (2.0 * sigma_threshold**2), orders
    )
    return np.asarray(test + np.exp(log_pass)[:, None] * answer)
