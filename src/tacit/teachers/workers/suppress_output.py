"""Silence and one thread while private data is being worked on."""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
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
    whether they appear depends on it. They are dropped, also what is written below Python, to the
    file descriptors of standard output and error, and what code in other threads of the process
    says meanwhile. What a learner leaves running in threads or processes of its own speaks when the
    context is over: such learners are not supported.

    Contexts entered in several threads share one state, taken down by the last to leave: nested
    ``catch_warnings`` of different threads would restore each other's filters in the wrong order
    and let a warning through.
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
    stack.enter_context(_discarded_descriptors())
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    stack.enter_context(contextlib.redirect_stdout(_Sink()))
    stack.enter_context(contextlib.redirect_stderr(_Sink()))
    stack.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)  # levels may be higher than CRITICAL
    # Small shards: threads inside a fit cost far more than they bring.
    stack.enter_context(_thread_pools().limit(limits=1))
    return stack


@contextlib.contextmanager
def _discarded_descriptors() -> Iterator[None]:
    """Point the file descriptors of standard output and error nowhere for a while.

    A message of C or Rust code does not pass through ``sys.stderr``. A descriptor that is closed
    stays so.
    """
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    _flush(streams)  # what was said before is not to be lost
    nowhere = os.open(os.devnull, os.O_WRONLY)
    saved = {}
    try:
        for descriptor in (1, 2):
            with contextlib.suppress(OSError):
                saved[descriptor] = os.dup(descriptor)
                os.dup2(nowhere, descriptor)
        yield
    finally:
        _flush(streams)
        for descriptor, before in saved.items():
            os.dup2(before, descriptor)
            os.close(before)
        os.close(nowhere)


def _flush(streams: tuple[Any, ...]) -> None:
    """Write out what Python and, where it can be reached, the C library hold back."""
    for stream in streams:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # none, broken, closed
            stream.flush()
    with contextlib.suppress(AttributeError, OSError, TypeError, ValueError):  # another C library
        library = ctypes.CDLL(None)
        library.fflush(ctypes.c_void_p.in_dll(library, "stdout"))


_controller: tuple[int, Any] = (0, None)


def _thread_pools() -> Any:
    """Return the thread pools of this process, looked for again when modules were loaded."""
    global _controller
    loaded = len(sys.modules)
    if _controller[0] != loaded:
        _controller = (loaded, threadpoolctl.ThreadpoolController())
    return _controller[1]
