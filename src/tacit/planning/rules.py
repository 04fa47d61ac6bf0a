"""Closed rules for what the caller leaves to "auto". They see public sizes, never private labels.

The exponents come from accuracy measured on public benchmark data (`docs/guide/classifier.md` has
the figures); they are rules of thumb, and any number may be given instead.
"""

from __future__ import annotations

import math

from tacit import validation
from tacit.errors import InvalidArgument

_SHARD_AT_6500 = 50.0
_LARGEST_ASK = 10_000


def teachers_for(n_records: int, epsilon: float) -> int:
    """Return how many teachers to train.

    Shards of about 50 records at n = 6,500, growing slowly with n and shrinking slowly below
    epsilon 1: more teachers drown more noise, larger shards make better teachers. With few
    records, no shard goes below five records while ten teachers can be had.

    Parameters
    ----------
    n_records : int
        Number of records, or of people when they are grouped. Public.
    epsilon : float

    Examples
    --------
    >>> teachers_for(6_500, 1.0)
    130
    >>> teachers_for(40, 1.0)
    8
    """
    validation.integer(2, n_records=n_records)
    validation.positive(epsilon=epsilon)
    shard: float = _SHARD_AT_6500 * (n_records / 6500) ** 0.25 * min(max(epsilon, 0.1), 1.0) ** 0.2
    most = max(round(n_records / shard), min(10, n_records // 5))
    return max(1, min(n_records // 2, most))


def questions_for(n_points: int, *, shares: bool, chosen: bool = False, n_classes: int = 2) -> int:
    """Return how many points of the pool to ask about.

    Shares of random points: all of them (to ten thousand): noise grows with the square root of the
    number of questions, so a student that averages loses nothing by asking more. Labels, and
    questions that a student chooses: 30%, at least 25 for every class. A label keeps only the sign
    of what was paid for [LZCW21, Remarks 6 and 12], and the points a student does not choose would
    tell it little.

    Examples
    --------
    >>> questions_for(1_000, shares=True), questions_for(1_000, shares=False)
    (1000, 300)
    """
    validation.positive_integer(n_points=n_points)
    if shares and not chosen:
        return min(n_points, _LARGEST_ASK)
    return min(n_points, _LARGEST_ASK, max(25 * n_classes, math.ceil(0.3 * n_points)))


def corrections_for(n_records: int, *, built_in: bool) -> tuple[int, int]:
    """Return how many teachers correct a student, and in how many rounds.

    A correction needs less of a shard than a vote: the student stands for all the others. Built-in
    teachers have two records each and thirty rounds. Other learners are fitted one by one: shards
    of four records that grow with the square root of n from n = 7,500 on, and eight rounds.

    Examples
    --------
    >>> corrections_for(6_500, built_in=True), corrections_for(6_500, built_in=False)
    ((3250, 30), (1625, 8))
    """
    validation.integer(2, n_records=n_records)
    if built_in:
        return max(1, n_records // 2), 30
    shard = min(max(4.0, 4.0 * math.sqrt(n_records / 7500)), 50.0)
    return max(1, min(n_records // 2, round(n_records / shard))), 8


def coordinates_for(n_teachers: int, epsilon: float) -> int:
    """Return how many coordinates of the pool a corrected student has, at most.

    Noise falls on every coordinate: about 40 teachers at epsilon 1 carry one more.

    Examples
    --------
    >>> coordinates_for(500, 1.0), coordinates_for(3_250, 1.0), coordinates_for(25_000, 1.0)
    (20, 81, 400)
    """
    return int(min(max(20, n_teachers * epsilon / 40), 400))


def pool_part(n_records: int) -> int:
    """Return how many records give up their label to become the pool of label-private learning.

    Examples
    --------
    >>> pool_part(100), pool_part(10_000)
    (40, 1000)
    """
    if n_records < 4:
        raise InvalidArgument(f"`X` must hold at least 4 records, got {n_records}.")
    return max(2, min(math.ceil(0.4 * n_records), 1000))
