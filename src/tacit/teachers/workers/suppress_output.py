"""Silence and one thread while private data is being worked on."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from types import TracebackType
from typing import Any

import threadpoolctl


class _Sink(io.TextIOBase):
    """A stream that keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


class SuppressOutput:
    """A context in which learners print nothing and use one thread each.

    Warnings, prints and log records of a learner can hold data ("feature 3 is constant"), and
    whether they appear depends on it. They are dropped, also for code that runs in other threads
    of the process meanwhile. Contexts entered in several threads share one state, taken down by
    the last to leave: nested ``catch_warnings`` of different threads would restore each other's
    filters in the wrong order and let a warning through.
    """

    _lock = threading.Lock()
    _depth = 0
    _stack: contextlib.ExitStack

    def __enter__(self) -> None:
        with SuppressOutput._lock:
            if SuppressOutput._depth == 0:
                SuppressOutput._stack = _entered()
            SuppressOutput._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with SuppressOutput._lock:
            SuppressOutput._depth -= 1
            if SuppressOutput._depth == 0:
                SuppressOutput._stack.close()


def _entered() -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    stack.enter_context(contextlib.redirect_stdout(_Sink()))
    stack.enter_context(contextlib.redirect_stderr(_Sink()))
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(logging.CRITICAL)
    # Small shards: threads inside a fit cost far more than they bring.
    stack.enter_context(_thread_pools().limit(limits=1))
    return stack


_controller: tuple[int, Any] = (0, None)


def _thread_pools() -> Any:
    """Return the thread pools of this process, looked for again when modules were loaded."""
    global _controller
    loaded = len(sys.modules)
    if _controller[0] != loaded:
        _controller = (loaded, threadpoolctl.ThreadpoolController())
    return _controller[1]
