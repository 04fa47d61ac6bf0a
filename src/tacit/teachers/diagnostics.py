"""How often teachers failed: private, for the holder of the data only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from tacit.errors import PrivateValueError


class Diagnostics:
    """Counts of what went wrong with teachers. Private: they depend on the records.

    Keys: ``empty`` (no usable record), ``one-class``, ``fit-failed``, ``diverged`` (coefficients
    that are not finite), ``predict-failed`` (batches), ``unknown-label`` (votes) and
    ``dropped-records`` (labels outside the list of classes).

    Examples
    --------
    >>> Diagnostics()
    Diagnostics(<private>)
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, counts: Mapping[str, int]) -> None:
        """Add further counts."""
        self._counts.update(counts)

    def reveal_unsafe(self) -> dict[str, int]:
        """Return the counts: for the data holder's eyes; they have no price. Private."""
        return {key: count for key, count in self._counts.items() if count}

    def __repr__(self) -> str:
        return "Diagnostics(<private>)"

    def __reduce__(self) -> NoReturn:
        raise PrivateValueError("Diagnostics are private and cannot be pickled or copied.")
