"""From a path to lines of text: formats, compression, encodings and lines without end.

A text file is split at the byte LF before anything is decoded, and each line is decoded by itself.
So what a record of a private file is depends on its own line alone: bytes that are no text, an
unclosed quote or a character that looks like a line break cannot reach another record.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from tacit import validation
from tacit.errors import InvalidArgument

LONGEST_LINE = 1 << 22
"""Bytes; a header this long is no header, and a row this long no row."""

WELL_FORMED = (
    "Private CSV files were read with quoted line breaks and are assumed to be well formed: a "
    "quote that is not closed would join its record with the records after it."
)
"""What a guarantee also rests on when ``ReadOptions.quoted_newlines`` is set. Public."""

_ASCII = bytes(range(128)) + b"\\u000a\\x0a\\n +AAo- ~{<:~} =0A xn-- \x1b$B\x0e\x0f"

_OPEN: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".svm": "libsvm", ".libsvm": "libsvm"}


class Format(StrEnum):
    """What is in a file."""

    CSV = "csv"
    PARQUET = "parquet"
    LIBSVM = "libsvm"


@dataclass(frozen=True)
class ReadOptions:
    """How files are read. Public.

    Parameters
    ----------
    format : {"auto", "csv", "parquet", "libsvm"}
        "auto" goes by the ending of the name: ``.parquet`` and ``.pq``, ``.svm`` and ``.libsvm``;
        everything else is CSV. A further ``.bz2``, ``.gz`` or ``.xz`` is unpacked on the way.
    encoding, delimiter : str
        Of text files. Encodings in which the byte LF can be part of another character, or in which
        a character depends on what stands before it, are refused: lines are decoded one by one.
    columns : tuple of str, optional
        Names of the columns of CSV files that have no header.
    quoted_newlines : bool, default False
        Whether a quoted cell of a CSV file may continue on the next line. One line is one record
        otherwise. With it the guarantee rests on ``WELL_FORMED``.
    """

    format: str = "auto"
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] | None = None
    quoted_newlines: bool = False

    def __post_init__(self) -> None:
        validation.one_of(("auto", *(one.value for one in Format)), format=self.format)
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise InvalidArgument(f"`delimiter` must be one character, got {self.delimiter!r}.")
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError, TypeError):
            raise InvalidArgument(
                f"`encoding` must be a Python codec, such as utf-8 or latin-1, got "
                f"{self.encoding!r}."
            ) from None
        if not decodes_lines(self.encoding):
            raise InvalidArgument(
                "`encoding` must be one in which every line can be decoded by itself, such as "
                f"utf-8, latin-1 or shift_jis, got {self.encoding!r}. Convert the file first."
            )
        validation.instance(bool, quoted_newlines=self.quoted_newlines)

    def assumptions(self, path: Path) -> tuple[str, ...]:
        """Return what a guarantee rests on when a private file is read so, in sentences."""
        joins = self.quoted_newlines and self.format_of(path) is Format.CSV
        return (WELL_FORMED,) if joins else ()

    def format_of(self, path: Path) -> Format:
        """Return what a file is taken to hold."""
        if self.format != "auto":
            return Format(self.format)
        plain = path.with_suffix("") if path.suffix.lower() in _OPEN else path
        return Format(_FORMATS.get(plain.suffix.lower(), "csv"))


def decodes_lines(encoding: str) -> bool:
    """Return whether lines of text in an encoding can be split at the byte LF and decoded alone.

    They can where ASCII characters are encoded as themselves, one byte each, whatever stands
    before them. That leaves out UTF-16 and UTF-32, EBCDIC, and everything with escapes or shifts.

    Examples
    --------
    >>> [decodes_lines(name) for name in ("utf-8", "gbk", "utf-16", "utf-7", "iso2022_jp", "hz")]
    [True, True, False, False, False, False]
    """
    try:
        codec = _line_codec(encoding)
        single = all(
            chr(code).encode(codec) == bytes([code]) and bytes([code]).decode(codec) == chr(code)
            for code in range(128)
        )
        return single and _ASCII.decode(codec) == _ASCII.decode("ascii")
    except (LookupError, ValueError):
        return False


def _line_codec(encoding: str) -> str:
    """Return the codec for single lines; a byte-order mark is looked for in the first alone."""
    name = codecs.lookup(encoding).name
    return "utf-8" if name == "utf-8-sig" else name


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed. Errors hold nothing of its content."""
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
    """Yield the lines of a text file, without the LF, or CR and LF, at their ends.

    Only the byte LF ends a line; one at the end of the file begins no further line. So the last
    line of a private file should end in LF, too: a blank one would be none without it. A byte-order
    mark at the start is removed.

    In a private file bytes that are no text become a mark (U+FFFD), and a line longer than
    ``LONGEST_LINE`` an empty one: its record counts, without a message. In a public file both are
    refused, and so is a first line of that length where it is a ``header``.
    """
    codec = _line_codec(encoding)
    with opened(path) as raw:
        number = 0
        while line := raw.readline(LONGEST_LINE):
            number += 1
            if len(line) >= LONGEST_LINE:
                if not private or (number == 1 and header):
                    raise InvalidArgument(
                        f"Line {number} of {str(path)!r} has more than {LONGEST_LINE} bytes. "
                        "Is it a table with one row per line?"
                    )
                _skip_line(raw, line)
                line = b"\n"
            try:
                text = _without_end(line).decode(codec, "replace" if private else "strict")
            except UnicodeError:
                raise InvalidArgument(
                    f"The file {str(path)!r} is not text in the encoding {encoding!r}: see line "
                    f"{number}. Say which it is with --encoding."
                ) from None
            # From every line: which one is the first depends on the records before it.
            yield text.removeprefix("\ufeff")


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _skip_line(raw: BinaryIO, line: bytes) -> None:
    """Read on to the end of a line of which the first bytes were read."""
    while line and not line.endswith(b"\n"):
        line = raw.readline(LONGEST_LINE)
