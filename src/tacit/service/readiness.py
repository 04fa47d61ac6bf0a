"""Whether questions could be recorded lately.

A full disk can still be read: only an attempt to write shows that nothing can be recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tacit.service.problems import RETRY_AFTER


class Lately:
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
    >>> lately = Lately(clock=lambda: now)
    >>> lately.failed()
    >>> lately.able
    False
    >>> now = 6.0
    >>> lately.able
    True
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: float | None = None

    def worked(self) -> None:
        """Hear that questions were recorded."""
        self._failed = None

    def failed(self) -> None:
        """Hear that questions could not be recorded."""
        self._failed = self._clock()

    @property
    def able(self) -> bool:
        """Whether there is no failure that nothing has followed."""
        return self._failed is None or self._clock() - self._failed > RETRY_AFTER
