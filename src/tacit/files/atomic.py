"""One public file, there whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from tacit.errors import PersistenceError

PathLike = str | os.PathLike[str]


def replace_file(path: Path, data: bytes) -> None:
    """Put data in a file, all of it or none: what was there stays until the new file is complete.

    The file gets the permissions that the process gives new files.
    """
    target = Path(os.path.realpath(path))  # a link to the file stays a link
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        try:
            write_new(temporary, data, mode=0o666)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(path, error) from error
    confirm(target)


def read_file(path: Path) -> bytes:
    """Return a file's bytes."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise PersistenceError(f"There is no file {str(path)!r}.") from error
    except OSError as error:
        raise PersistenceError(f"{str(path)!r} cannot be read: {error.strerror}.") from error


def write_new(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file that does not exist yet, and wait until it is on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def confirm(target: Path, left: str = "") -> None:
    """Wait until a new name is on the disk; it is in place already."""
    try:
        sync_directory(target.parent)
    except OSError as error:
        raise PersistenceError(
            f"{str(target)!r} is complete and in place, but the disk did not confirm it "
            f"({error.strerror}): a power cut could undo it.{left}"
        ) from error


def not_written(path: Path, error: OSError) -> PersistenceError:
    """Return the error for something that could not be written."""
    return PersistenceError(
        f"{str(path)!r} could not be written: {error.strerror}. Whatever was there before is "
        "unchanged."
    )
