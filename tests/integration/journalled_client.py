"""A client of the service that writes down every byte it receives before it looks at it.

It speaks HTTP over a plain socket, so that a reply cut short is kept as far as it came. When the
connection breaks, or the service says that it cannot answer now, it sends the same request again,
over another connection and so perhaps to another worker.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BATCH = 3
AGAIN = 5  # requests that a client repeats in the end
PATIENCE = 600  # seconds after which a client gives up on a request

_ANSWER = re.compile(rb'\{"label": (?P<label>null|"[^"]*"|-?\d+), "refused": (?:true|false)\}')
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


def point(number: int) -> list[float]:
    """Return the point of a question; every third one is undecided."""
    return [0.0 if number % 3 == 2 else 5.0, number / 1000]


@dataclass(frozen=True)
class Exchange:
    """One request, and all that came back: possibly nothing, or half a reply."""

    points: list[list[float]]
    received: bytes

    @property
    def status(self) -> int:
        """The status, 0 if not even that arrived."""
        found = re.match(rb"HTTP/1.1 (\d{3}) ", self.received)
        return int(found[1]) if found else 0

    @property
    def head(self) -> bytes:
        """Status and headers, in small letters."""
        return self.received.partition(b"\r\n\r\n")[0].lower()

    @property
    def body(self) -> bytes:
        """The body, as far as it arrived."""
        return self.received.partition(b"\r\n\r\n")[2]

    @property
    def whole(self) -> bool:
        """Whether the reply arrived to its last byte."""
        length = _LENGTH.search(self.received)
        return length is not None and len(self.body) == int(length[1])

    def answers(self) -> list[tuple[list[float], Any]]:
        """Return the points and labels in the reply, those of half a reply too."""
        labels = [json.loads(found["label"]) for found in _ANSWER.finditer(self.body)]
        return list(zip(self.points, labels, strict=False))


class ByteJournal:
    """A file of requests and of the bytes that came back; on disk when a call returns."""

    def __init__(self, path: Path, analyst: str) -> None:
        self.path, self.analyst = path, analyst
        path.touch()

    def asked(self, points: list[list[float]]) -> None:
        """Begin an exchange."""
        self._add({"asked": points})

    def received(self, data: bytes) -> None:
        """Add to what came back."""
        self._add({"received": data.hex()})

    def _add(self, entry: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="ascii") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def exchanges(self) -> Iterator[Exchange]:
        """Return everything written down."""
        points: list[list[float]] | None = None
        data = b""
        for line in self.path.read_text(encoding="ascii").splitlines():
            entry = json.loads(line)
            if "asked" in entry:
                if points is not None:
                    yield Exchange(points, data)
                points, data = entry["asked"], b""
            else:
                data += bytes.fromhex(entry["received"])
        if points is not None:
            yield Exchange(points, data)


class Client:
    """One connection at a time to the service at a port of this machine."""

    def __init__(self, port: int, key: str, journal: ByteJournal) -> None:
        self._port, self._key, self._journal = port, key, journal
        self._line: socket.socket | None = None
        self._requests = 0
        self._answered: list[tuple[int, Exchange]] = []

    def ask_until_spent(self, first: int) -> None:
        """Ask questions from the first one on in batches, the last of each again in the next."""
        start, size = first, BATCH
        while True:
            numbers = [max(0, start - 1), *range(start, start + size)]
            self._requests += 1
            reply = self._ask(self._requests, [point(number) for number in numbers])
            if reply.status == 403:
                if size == 1:
                    return
                size = 1  # the room that is left, to the last answer
                continue
            if not json.loads(reply.body)["complete"]:
                return
            self._answered.append((self._requests, reply))
            start += size

    def ask_again(self) -> None:
        """Send the last requests once more: each must have the reply that it had."""
        for number, before in self._answered[-AGAIN:]:
            if self._ask(number, before.points).body != before.body:
                raise RuntimeError("the same request had another reply")

    def _ask(self, number: int, points: list[list[float]]) -> Exchange:
        """Return the reply to a request, sent as often as it takes."""
        body = json.dumps({"points": points}).encode()
        head = (
            "POST /v1/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Length: {len(body)}\r\n"
            f"Idempotency-Key: {self._journal.path.name} {number}\r\n\r\n"
        )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self._journal.asked(points)
            reply = Exchange(points, self._sent(head.encode() + body))
            if reply.whole and reply.status in (200, 403):
                return reply
            if reply.whole and reply.status != 503:
                raise RuntimeError(f"the service answered {reply.status}: {reply.body!r}")
            self._hang_up()
            time.sleep(0.005)
        raise RuntimeError("the service did not come back")

    def _sent(self, request: bytes) -> bytes:
        """Send a request and return what comes back until it is whole or the line breaks."""
        data = b""
        try:
            if self._line is None:
                self._line = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
            self._line.sendall(request)
            while not Exchange([], data).whole:
                part = self._line.recv(65536)
                if not part:
                    raise ConnectionError
                self._journal.received(part)
                data += part
        except OSError:
            self._hang_up()
        return data

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()
