"""Whether the last question could be recorded.

A full disk can still be read: only an attempt to write shows that nothing can be recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tacit.service.problems import RETRY_AFTER


class Readiness:
    """Remembers whether the last question of one worker could be recorded.

    After a failure the worker counts as unable until a question is recorded, or until clients may
    try again: where no traffic is sent to it meanwhile, nothing else could show that it is able.

    Parameters
    ----------
    clock : function
        Seconds that never go back.

    Examples
    --------
    >>> now = 0.0
    >>> readiness = Readiness(clock=lambda: now)
    >>> readiness.failed()
    >>> readiness.ready
    False
    >>> now = 6.0
    >>> readiness.ready
    True
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: float | None = None

    def succeeded(self) -> None:
        """Note that questions were recorded."""
        self._failed = None

    def failed(self) -> None:
        """Note that questions could not be recorded."""
        self._failed = self._clock()

    @property
    def ready(self) -> bool:
        """True unless the last write failed and clients may not try again yet."""
        return self._failed is None or self._clock() - self._failed > RETRY_AFTER
