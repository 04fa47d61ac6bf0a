"""How many records the papers' constants ask for, from public numbers alone.

[BNS15] Theorem B.6: with ``50 d ln(1/(alpha beta)) / alpha^2`` records, no hypothesis of a class of
dimension d has an error on them that is more than alpha off, but with probability beta.
Proposition A.1: the exponential mechanism strays by more than alpha with probability at most
``candidates * exp(-epsilon alpha m / 2)``. Each is used here at alpha/5 and beta/5, as in the
proof of Theorem 3.3.
"""

from __future__ import annotations

import math

from tacit.errors import InvalidArgument


def uniform_convergence(vc_dimension: int, alpha: float, beta: float) -> int:
    """Return the records of [BNS15] Theorem B.6 at alpha/5 and beta/5.

    Examples
    --------
    >>> uniform_convergence(1, 0.1, 0.05)
    1064650
    """
    return math.ceil(1250 * max(1, vc_dimension) * math.log(25 / (alpha * beta)) / alpha**2)


def selection_records(candidates: float, epsilon: float, alpha: float, beta: float) -> int:
    """Return the labelled records of [BNS15] Proposition A.1 at alpha/5 and beta/5.

    Examples
    --------
    >>> selection_records(1000, epsilon=1.0, alpha=0.1, beta=0.05)
    1152
    """
    return math.ceil(10 * (math.log(candidates) + math.log(5 / beta)) / (epsilon * alpha))


def public_points(vc_dimension: int, alpha: float, beta: float) -> int:
    """Return the public points of [NB20] Algorithm 4, step 1.

    Examples
    --------
    >>> public_points(1, 0.1, 0.05)
    1696
    """
    return math.ceil(32 * (vc_dimension * math.log(1 / alpha) + math.log(1 / beta)) / alpha)


def boosted_labels(vc_dimension: int, unlabelled: int, alpha: float, beta: float) -> int:
    """Return the labels with which ``unlabelled`` points may be relabelled ([BNS15] Claim C.5).

    The smallest s with ``s + unlabelled <= (beta / e) d exp(alpha s / (2 d))``.

    Examples
    --------
    >>> boosted_labels(1, 10_000, 0.1, 0.05)
    265
    """
    d = max(1, vc_dimension)
    labels, needed = 0, 1
    while needed > labels:
        labels = needed
        needed = math.ceil(2 * d / alpha * math.log(math.e * (labels + unlabelled) / (beta * d)))
    return labels


def refuse_small(name: str, found: int, needed: int) -> None:
    """Refuse when the papers' constants need more than there is."""
    if found < needed:
        raise InvalidArgument(
            f"`{name}` must number at least {needed} with the constants of the paper, got {found}. "
            "Use constants='practical', or ask for less accuracy."
        )
