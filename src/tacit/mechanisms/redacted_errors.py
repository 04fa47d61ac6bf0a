"""Run what must not show its local variables, not even through an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.errors import PrivateValueError

T = TypeVar("T")


def run_redacted(run: Callable[[], T], *, doing: str) -> T:
    """Return what ``run`` returns; replace any error by one that holds nothing of it.

    The frames of an error hold the local variables of what raised it, such as a relabelling
    hypothesis. So the new error is raised after those frames are gone, without a context.

    Examples
    --------
    >>> run_redacted(lambda: 1 / 0, doing="Dividing")
    Traceback (most recent call last):
        ...
    tacit.errors.PrivateValueError: Dividing failed. Why is private: run it on records that ...
    """
    try:
        return run()
    except Exception:
        pass  # a new error is raised below, where nothing of this one is left
    raise PrivateValueError(
        f"{doing} failed. Why is private: run it on records that are not, to find out."
    )
