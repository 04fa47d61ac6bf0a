"""A line to a PostgreSQL server that can break around a COMMIT: the worst moment to lose it."""

from __future__ import annotations

import selectors
import socket
import tempfile
import threading
from enum import StrEnum
from pathlib import Path
from typing import Self

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT\x00"


class Loss(StrEnum):
    """What gets lost with the line."""

    REQUEST = "request"  # the server never hears of the COMMIT
    REPLY = "reply"  # the server commits, and nobody hears of it


class LossyLine:
    """Passes bytes on between clients and a server; ``lose`` breaks the line at the next COMMIT.

    Parameters
    ----------
    server : path
        Folder of the server's socket. ``folder`` has a socket of the same name.
    """

    def __init__(self, server: Path) -> None:
        self._server = server / _SOCKET
        self._own = tempfile.TemporaryDirectory(prefix="tacit-line-", dir="/tmp")
        self.folder = Path(self._own.name)
        self.losses = 0
        self._loss: Loss | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._listener.bind(str(self.folder / _SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._open):
            _hang_up(one)
        self._own.cleanup()

    def lose(self, loss: Loss | str) -> None:
        """Break the line at the next COMMIT, once."""
        self._loss = Loss(loss)

    def take_no_calls(self) -> None:
        """From now on nobody can connect; lines that hold go on."""
        (self.folder / _SOCKET).unlink()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self._open += [client, server]
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        try:
            server.connect(str(self._server))
            with selectors.DefaultSelector() as ready:
                ready.register(client, selectors.EVENT_READ, server)
                ready.register(server, selectors.EVENT_READ, client)
                while all(self._pass_on(key, client, server) for key, _ in ready.select()):
                    pass
        except OSError:
            pass
        finally:
            _hang_up(client)
            _hang_up(server)

    def _pass_on(
        self, key: selectors.SelectorKey, client: socket.socket, server: socket.socket
    ) -> bool:
        """Move some bytes; return whether the line still holds."""
        source, target = key.fileobj, key.data
        assert isinstance(source, socket.socket)
        data = source.recv(65536)
        if not data:
            return False
        if source is client and _COMMIT in data and self._loss is not None:
            loss, self._loss = self._loss, None
            self.losses += 1
            if loss is Loss.REPLY:
                server.sendall(data)
                server.recv(65536)  # it has committed
            return False
        target.sendall(data)
        return True


def _hang_up(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
