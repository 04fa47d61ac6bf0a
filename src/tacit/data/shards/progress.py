"""Bars that show how far a sharding is, and no number that depends on records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def bar(description: str, total: int, progress: bool | None) -> Iterator[Callable[[float], None]]:
    """Show a bar; yield a function that sets how much of ``total`` is done.

    ``progress=None`` shows it on a terminal only.
    """
    disable = None if progress is None else not progress
    shape = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    with tqdm(
        total=total, desc=description, disable=disable, leave=False, bar_format=shape
    ) as progress_bar:

        def update(done: float) -> None:
            progress_bar.update(done - progress_bar.n)

        yield update
