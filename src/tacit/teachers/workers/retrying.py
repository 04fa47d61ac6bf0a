"""How hard to try before a shard is given up: public numbers, the same for every shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from tacit import validation


@dataclass(frozen=True)
class Retrying:
    """Retry settings. Public; see ``retrying``."""

    attempts: int = 3
    patience: float = 900.0


_DEFAULT = Retrying()
_in_force: ContextVar[Retrying] = ContextVar("retrying", default=_DEFAULT)


def in_force() -> Retrying:
    """Return the settings of this context."""
    return _in_force.get()


@contextmanager
def retrying(*, attempts: int = 3, patience: float = 900.0) -> Iterator[None]:
    """Set how often work that a worker did not finish is retried, and after how long.

    Parameters
    ----------
    attempts : int
        Attempts per shard before its teacher falls back to the first class.
    patience : float
        Seconds without any result after which a cluster's unfinished work is sent again. Make it
        longer than one task takes; it doubles whenever it was too short. Workers of this machine
        are waited for without end.

    Examples
    --------
    >>> with retrying(attempts=5, patience=3600.0):
    ...     pass  # fit here
    """
    settings = Retrying(
        validation.positive_integer(attempts=attempts), validation.positive(patience=patience)
    )
    token = _in_force.set(settings)
    try:
        yield
    finally:
        _in_force.reset(token)
