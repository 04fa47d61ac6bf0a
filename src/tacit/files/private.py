"""Private files: folders and files that only their owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacit.errors import DamagedFile, ExposedFiles, PersistenceError
from tacit.files.atomic import sync_directory

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateDirectory:
    """A directory of private files, open for reading.

    It is opened once, and files are opened in it by name and without following links, so that
    what was checked is what is read.

    Raises
    ------
    PersistenceError
        When it is not there.
    ExposedFiles
        When it, or a file in it, is not the user's own or is open to others.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:
            raise PersistenceError(f"There is no directory {str(path)!r}.") from error
        except OSError as error:
            raise PersistenceError(f"{str(path)!r} cannot be opened: {error.strerror}.") from error
        try:
            check_private(os.fstat(self._handle), path, DIRECTORY_MODE)
        except ExposedFiles:
            self.close()
            raise

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        os.close(self._handle)

    def names(self) -> set[str]:
        """Return the names of everything in it."""
        return set(os.listdir(self._handle))

    def check(self, name: str) -> None:
        """Refuse a file of it that is not the user's own, or is open to others."""
        where = self._path / name
        status = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFile(f"{str(where)!r} is not a plain file.")
        check_private(status, where, FILE_MODE)

    def read(self, name: str) -> bytes:
        """Return the bytes of one file of it."""
        where = self._path / name
        try:
            # Not blocking: a pipe in place of a file would be waited on for ever.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(name, flags, dir_fd=self._handle)
        except FileNotFoundError as error:
            raise DamagedFile(f"{str(where)!r} is missing.") from error
        except OSError as error:
            raise DamagedFile(
                f"{str(where)!r} cannot be read as a plain file: {error.strerror}."
            ) from error
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise DamagedFile(f"{str(where)!r} is not a plain file.")
            check_private(status, where, FILE_MODE)
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)


def create_private_file(path: Path) -> bool:
    """Create an empty file for its owner only, on the disk; return False if it exists."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        return False
    os.close(handle)
    sync_directory(path.parent)  # or the file's name could be lost with the power
    return True


def check_private(status: os.stat_result, path: Path, mode: int) -> None:
    """Refuse what is not the user's own, or is open to others; ``mode`` is what would be right."""
    if status.st_uid != os.geteuid():
        raise ExposedFiles(
            f"{str(path)!r} belongs to another user, who can read and change it. If you trust what "
            f"is in it: chown {os.geteuid()} {str(path)!r}"
        )
    if stat.S_IMODE(status.st_mode) & _OTHERS:
        raise ExposedFiles(
            f"{str(path)!r} is open to other users, and what is in it is private. Close it: "
            f"chmod {mode:o} {str(path)!r}"
        )
