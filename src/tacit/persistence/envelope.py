"""One line before every saved file: what it is, in which format, by whom written, its checksum.

The line can be read whatever follows it, so a file from a later version, a damaged one and one
that was never ours are distinguished before their content is looked at::

    tacit-student format=1 tacit=0.1.0 sha256=5f0c...

The checksum covers the line up to it and everything after it. It finds damage; it does not tell
who wrote the file, which is why nothing is trusted on the strength of it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

from tacit import __version__
from tacit.errors import DamagedFile, SavedFormatError

_LONGEST_LINE = 200
_LINE = re.compile(
    rb"(?P<seen>tacit-(?P<kind>[a-z]+) format=(?P<format>\d{1,6}) "
    rb"tacit=(?P<tacit>[0-9A-Za-z.+!-]{1,40}) sha256=)(?P<digest>[0-9a-f]{64})\n"
)


@dataclass(frozen=True)
class Envelope:
    """The first line, read; and the rest, not yet checked."""

    kind: str
    format_version: int
    tacit_version: str
    checked: bytes
    digest: str
    content: bytes

    def opened(self, format_version: int, *, where: str) -> bytes:
        """Return the content, if it is in this format and its checksum holds.

        Raises
        ------
        SavedFormatError
            For another format; the message names the version to use.
        DamagedFile
        """
        if self.format_version != format_version:
            raise SavedFormatError(
                f"{where} is in format {self.format_version}, written by tacit "
                f"{self.tacit_version}; this is tacit {__version__}, which reads format "
                f"{format_version}. Install tacit {self.tacit_version} to read it."
            )
        if not hmac.compare_digest(_digest(self.checked, self.content), self.digest):
            raise DamagedFile(
                f"{where} is damaged: its checksum does not hold. Restore it from a copy or save "
                "it again."
            )
        return self.content


def seal(kind: str, format_version: int, content: bytes) -> bytes:
    """Return the content with its line in front.

    Examples
    --------
    >>> sealed = seal("note", 1, b"hello")
    >>> read(sealed, "note", where="it").opened(1, where="it")
    b'hello'
    """
    line = f"tacit-{kind} format={format_version} tacit={__version__} sha256=".encode()
    return line + _digest(line, content).encode() + b"\n" + content


def read(data: bytes, kind: str, *, where: str) -> Envelope:
    """Parse the first line.

    Raises
    ------
    SavedFormatError
        When this is no such file.
    """
    header = _LINE.match(data[:_LONGEST_LINE])
    if header is None or header["kind"].decode() != kind:
        raise SavedFormatError(f"{where} was not saved by tacit as {kind}.")
    return Envelope(
        kind=kind,
        format_version=int(header["format"]),
        tacit_version=header["tacit"].decode(),
        checked=header["seen"],
        digest=header["digest"].decode(),
        content=data[header.end() :],
    )


def _digest(line: bytes, content: bytes) -> str:
    digest = hashlib.sha256(line)
    digest.update(content)
    return digest.hexdigest()
