"""Named points in the work of a ledger and of the service, for fault injection by tests.

Inert by default: a point costs one comparison with None, and only a call from Python can arm it.
``tests.support.failpoints`` does, for tests that stop a process there.
"""

from __future__ import annotations

from collections.abc import Callable

BEFORE_DRAW = "before-draw"
AFTER_DRAW = "after-draw"
BEFORE_WRITE = "before-write"
AFTER_WRITE = "after-write"
BEFORE_COMMIT = "before-commit"
AFTER_COMMIT = "after-commit"
BEFORE_REPLY = "before-reply"
AFTER_REPLY = "after-reply"

POINTS = (BEFORE_DRAW, AFTER_DRAW, BEFORE_WRITE, AFTER_WRITE, BEFORE_COMMIT, AFTER_COMMIT)
"""In ``Ledger.answer``, in this order."""

REPLY_POINTS = (BEFORE_REPLY, AFTER_REPLY)
"""In the service, around the bytes of a response."""

_hook: Callable[[str], None] | None = None


def failpoint(name: str) -> None:
    """Call the hook, if a test has set one."""
    if _hook is not None:
        _hook(name)


def set_hook(hook: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Call ``hook`` at every point from now on (None: no hook); return the previous one."""
    global _hook
    previous, _hook = _hook, hook
    return previous
