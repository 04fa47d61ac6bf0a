"""Private directories that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.files.atomic import confirm, not_written, sync_directory
from tacit.files.private import DIRECTORY_MODE


@contextmanager
def new_directory(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary directory to fill; it takes its place when the block ends without error.

    Parameters
    ----------
    path : Path
        Where it goes.
    overwrite : bool
        Whether something there is swapped out and removed. The caller has made sure of what.
    """
    target = Path(os.path.realpath(path))
    try:
        temporary = Path(
            tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        )
    except OSError as error:
        raise not_written(path, error) from error
    try:
        temporary.chmod(DIRECTORY_MODE)
        yield temporary
        sync_directory(temporary)
        _move_in(temporary, target, overwrite=overwrite)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move_in(temporary: Path, target: Path, *, overwrite: bool) -> None:
    old = temporary.with_suffix(".old")
    swap = overwrite and os.path.lexists(target)
    if swap:
        os.rename(target, old)
    try:
        os.rename(temporary, target)
    except OSError:
        if swap:
            os.rename(old, target)
        raise
    confirm(target, f" The old one is kept as {str(old)!r}." if swap else "")
    if swap:
        shutil.rmtree(old, ignore_errors=True)
