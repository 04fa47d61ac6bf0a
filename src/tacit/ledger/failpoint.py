"""Named moments in the work of a ledger, and of the service on it, at which a test may step in.

Inert: a point costs one comparison with None, and nothing outside Python (no environment variable,
no file) can arm it. ``tacit.testing.failpoints`` does, for tests that stop a process there.
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
"""In a ledger's answer."""

REPLY_POINTS = (BEFORE_REPLY, AFTER_REPLY)
"""In the service, around the bytes of a response."""

_hook: Callable[[str], None] | None = None


def failpoint(name: str) -> None:
    """Let a test step in here."""
    if _hook is not None:
        _hook(name)


def set_hook(hook: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Call ``hook`` at every point from now on (none: let everything pass); return the last one."""
    global _hook
    before, _hook = _hook, hook
    return before
