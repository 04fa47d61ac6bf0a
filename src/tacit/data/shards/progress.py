"""Bars that show how far a sharding is, and no number that depends on records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def bar(what: str, total: int, progress: bool | None) -> Iterator[Callable[[float], None]]:
    """Show a bar; what it gives is told how much of ``total`` is done. None: on a terminal only."""
    disable = None if progress is None else not progress
    shape = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(total=total, desc=what, disable=disable, leave=False, bar_format=shape) as shown:

        def tell(done: float) -> None:
            shown.update(done - shown.n)

        yield tell
