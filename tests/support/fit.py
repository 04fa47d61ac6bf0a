"""Does a sample follow a law? One test with one meaning, for every distribution check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from tacit.errors import InvalidArgument

__all__ = ["FALSE_ALARM", "chi_square_p", "two_sample_p"]

FALSE_ALARM = 1e-9
"""Tests reject below this p-value. A correct sampler fails one with a chance of that order, and
below 1e-7 at worst: so far out, Pearson's approximation is loose where a cell expects only 25."""

_SMALLEST_CELL = 25.0


def chi_square_p(sample: Iterable[Hashable], law: Mapping[Hashable, float]) -> float:
    """Return Pearson's p-value of a sample under a law.

    Outcomes expected fewer than 25 times are pooled, with all that the law does not list, into one
    cell. A sample outcome the law gives no chance, when the listed chances sum to 1, gives 0.

    Examples
    --------
    >>> chi_square_p([0, 1] * 500, {0: 0.5, 1: 0.5})
    1.0
    >>> chi_square_p([0] * 1000, {0: 0.5, 1: 0.5}) < FALSE_ALARM
    True
    """
    values = list(sample)
    seen = Counter(values)
    large = {x: len(values) * p for x, p in law.items() if len(values) * p >= _SMALLEST_CELL}
    if not large:
        raise InvalidArgument("`sample` must be larger: no outcome is expected 25 times.")
    observed = [seen[x] for x in large]
    expected = list(large.values())
    rest = max(len(values) - sum(expected), 0.0)
    rest_seen = len(values) - sum(observed)
    if rest < 1e-9 * len(values):
        return 0.0 if rest_seen else _p(observed, expected)
    if rest < _SMALLEST_CELL:  # too few for a cell of its own: joins the smallest
        smallest = min(range(len(expected)), key=expected.__getitem__)
        expected[smallest] += rest
        observed[smallest] += rest_seen
    else:
        expected.append(rest)
        observed.append(rest_seen)
    return _p(observed, expected)


def two_sample_p(first: Iterable[int], second: Iterable[int], n_cells: int = 20) -> float:
    """Return the p-value that two integer samples share a law, over cells of about equal size."""
    from scipy.stats import chi2_contingency

    one, two = np.asarray(list(first)), np.asarray(list(second))
    inner = np.linspace(0, 1, n_cells + 1)[1:-1]
    borders = np.unique(np.quantile(np.concatenate([one, two]), inner))
    table = np.array(
        [np.bincount(np.searchsorted(borders, x), minlength=len(borders) + 1) for x in (one, two)]
    )
    return float(chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


def _p(observed: list[int], expected: list[float]) -> float:
    from scipy.stats import chi2

    if len(expected) == 1:
        return 1.0
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(chi2.sf(statistic, len(expected) - 1))
