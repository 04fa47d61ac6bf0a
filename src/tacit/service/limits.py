"""Rate limits: one token bucket per key."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

_MOST_BUCKETS = 10_000


class Buckets:
    """One bucket per key, in the memory of one worker.

    Parameters
    ----------
    rate : float
        Questions a second that flow into a bucket.
    size : int
        Questions it holds at most.
    clock : function
        Seconds, growing.

    Examples
    --------
    >>> now = [0.0]
    >>> buckets = Buckets(rate=2.0, size=4, clock=lambda: now[0])
    >>> buckets.take("ann", 4), buckets.take("ann", 1)
    (0, 1)
    >>> now[0] = 0.5
    >>> buckets.take("ann", 1)
    0
    """

    def __init__(self, *, rate: float, size: int, clock: Callable[[], float]) -> None:
        self._rate, self._size, self._clock = rate, size, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, questions: int) -> int:
        """Take questions out and return 0, or take none and return the seconds to wait."""
        now = self._clock()
        level, since = self._buckets.pop(key, (float(self._size), now))
        level = min(float(self._size), level + (now - since) * self._rate)
        wait = 0
        if level >= questions:
            level -= questions
        else:
            wait = max(1, math.ceil((questions - level) / self._rate))
        self._buckets[key] = (level, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return wait
