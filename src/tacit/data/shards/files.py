"""Private files that appear under their name when they are complete, and not before."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import InvalidArgument, PersistenceError
from tacit.files.private import FILE_MODE

UNFINISHED = ".unfinished"


@contextmanager
def new_file(path: Path) -> Iterator[Any]:
    """Give a private file to write; it gets its name when the block ends without error."""
    unfinished = path.with_name(path.name + UNFINISHED)
    unfinished.unlink(missing_ok=True)
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def finished(path: Path, content: bytes) -> None:
    """Put a small private file in its place, all of it or none."""
    with new_file(path) as file:
        file.write(content)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, so that one process at a time works on it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidArgument(
                f"Another process is working on {str(folder)!r}. Wait for it, or stop it."
            ) from None
        yield
    finally:
        os.close(handle)


def not_finished(folder: Path, error: OSError) -> PersistenceError:
    """Return the error for shards that could not be written; it depends on no record."""
    return PersistenceError(
        f"The shards in {str(folder)!r} could not be written: {os.strerror(error.errno or 0)}. "
        "What is done is kept: run the same command again to resume."
    )
