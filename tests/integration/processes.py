"""Processes of the harnesses: forked, so that what was loaded once serves them all."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable


def start(work: Callable[[], None]) -> int:
    """Fork a process that does some work and ends; return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"a process failed: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return child


def finished(child: int = -1, *, wait: bool = True) -> tuple[int, bool]:
    """Return which process has ended, 0 if none has yet, and whether it was killed."""
    child, status = os.waitpid(child, 0 if wait else os.WNOHANG)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return child, True
    # A server passes the signal that stopped it on to itself, once it has ended cleanly.
    if status not in (0, signal.SIGTERM):
        raise RuntimeError("a process failed by itself")
    return child, False
