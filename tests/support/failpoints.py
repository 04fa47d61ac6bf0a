"""Step in at a named moment of a ledger's or service's work: to stop the process, or to raise.

The points are those of ``tacit.ledger.failpoints``. Nothing but a call from Python arms one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tacit import validation
from tacit.ledger.failpoints import POINTS, REPLY_POINTS, set_hook

__all__ = ["POINTS", "REPLY_POINTS", "at", "die"]


@contextmanager
def at(point: str, action: Callable[[], None], *, skip: int = 0) -> Iterator[None]:
    """Run ``action`` when the point is reached for the ``skip + 1``-th time.

    Examples
    --------
    >>> from tacit.ledger.failpoints import failpoint
    >>> with at("after-write", lambda: print("reached"), skip=1):
    ...     failpoint("after-write")
    ...     failpoint("after-commit")
    ...     failpoint("after-write")
    reached
    """
    validation.one_of((*POINTS, *REPLY_POINTS), point=point)
    passed = 0

    def hook(name: str) -> None:
        nonlocal passed
        if name == point:
            passed += 1
            if passed == skip + 1:
                action()

    before = set_hook(hook)
    try:
        yield
    finally:
        set_hook(before)


def die() -> NoReturn:
    """Stop this process as a power cut would: no clean-up, no last words."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process does not go on")
