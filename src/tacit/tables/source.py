"""From a path to lines of text: formats, compression, encodings and lines without end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from tacit import _validate
from tacit.errors import InvalidArgument

LONGEST_LINE = 1 << 22
"""Characters; a header this long is no header, and a row this long no row."""

_OPEN: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".svm": "libsvm", ".libsvm": "libsvm"}


class Format(StrEnum):
    """What is in a file."""

    CSV = "csv"
    PARQUET = "parquet"
    LIBSVM = "libsvm"


@dataclass(frozen=True)
class Reading:
    """How files are read. Public.

    Parameters
    ----------
    format : {"auto", "csv", "parquet", "libsvm"}
        "auto" goes by the ending of the name: ``.parquet`` and ``.pq``, ``.svm`` and ``.libsvm``;
        everything else is CSV. A further ``.bz2``, ``.gz`` or ``.xz`` is unpacked on the way.
    encoding, delimiter : str
        Of text files.
    columns : tuple of str, optional
        Names of the columns of CSV files that have no header.
    """

    format: str = "auto"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _validate.one_of(("auto", *(one.value for one in Format)), format=self.format)
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise InvalidArgument(f"`delimiter` must be one character, got {self.delimiter!r}.")
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError, TypeError):
            raise InvalidArgument(
                f"`encoding` must be one that Python knows, such as utf-8 or latin-1, got "
                f"{self.encoding!r}."
            ) from None

    def format_of(self, path: Path) -> Format:
        """Return what a file is taken to hold."""
        if self.format != "auto":
            return Format(self.format)
        plain = path.with_suffix("") if path.suffix.lower() in _OPEN else path
        return Format(_FORMATS.get(plain.suffix.lower(), "csv"))


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked. What goes wrong is said without a word of its content."""
    try:
        if not path.is_file():
            kind = "is not a plain file" if path.exists() else "does not exist"
            raise InvalidArgument(f"The file {str(path)!r} {kind}.")
        with _OPEN.get(path.suffix.lower(), open)(path, "rb") as file:
            yield file
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, InvalidArgument):
            raise
        number = getattr(error, "errno", None)
        why = f": {os.strerror(number)}" if number else ""
        raise InvalidArgument(f"The file {str(path)!r} cannot be read{why}.") from None
    except ValueError as error:  # a path with a null byte in it
        if isinstance(error, InvalidArgument | UnicodeError):
            raise
        raise InvalidArgument(f"The file {str(path)!r} cannot be read.") from None


def lines(path: Path, encoding: str, *, private: bool, header: bool = True) -> Iterator[str]:
    """Yield the lines of a text file.

    In a private file bytes that are no text become a mark (U+FFFD), and a line longer than
    ``LONGEST_LINE`` a row without cells: its record counts, and nothing is said. In a public file
    both are refused, and so is a first line of that length where it is a ``header``.
    """
    with opened(path) as raw:
        text = io.TextIOWrapper(
            raw, encoding=encoding, errors="replace" if private else "strict", newline=""
        )
        number = 0
        try:
            while line := text.readline(LONGEST_LINE):
                number += 1
                if len(line) < LONGEST_LINE:
                    yield line
                elif private and (number > 1 or not header):
                    _to_the_end(text)
                    yield "\0\n"
                else:
                    raise InvalidArgument(
                        f"Line {number} of {str(path)!r} has more than {LONGEST_LINE} characters. "
                        "Is it a table with one row per line?"
                    )
        except UnicodeError:
            raise InvalidArgument(
                f"The file {str(path)!r} is not text in the encoding {encoding!r}: see around line "
                f"{number + 1}. Say which it is with --encoding."
            ) from None


def _to_the_end(text: Any) -> None:
    while rest := text.readline(LONGEST_LINE):
        if len(rest) < LONGEST_LINE:
            return
