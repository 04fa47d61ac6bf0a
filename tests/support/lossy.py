"""A line to a PostgreSQL server, over TCP, that breaks when told to: also at a ledger's COMMIT."""

from __future__ import annotations

import re
import selectors
import socket
import threading
from enum import StrEnum
from pathlib import Path
from typing import Self

_SOCKET = ".s.PGSQL.5432"
# Messages of the protocol: a query, of which COMMIT may be the last word, a query to be prepared
# under a name, a prepared one to be run.
_COMMIT = re.compile(rb"(?:; |Q.{4})COMMIT\x00", re.DOTALL)
_PREPARED = re.compile(rb"P.{4}([^\x00]+)\x00COMMIT\x00", re.DOTALL)
_RUN = re.compile(rb"B.{4}\x00([^\x00]+)\x00", re.DOTALL)
_LEDGER = b"pg_advisory_xact_lock("  # as every transaction of a ledger begins, and no other


class Loss(StrEnum):
    """What gets lost with the line."""

    REQUEST = "request"  # the server never hears of the COMMIT
    REPLY = "reply"  # the server commits, and nobody hears of it


class LossyLine:
    """Passes bytes on between clients and a server until it breaks.

    ``lose`` breaks the connection of a ledger at its next COMMIT, ``cut`` all of them at once.

    Parameters
    ----------
    server : path
        Folder of the server's socket.
    """

    def __init__(self, server: Path) -> None:
        self._server = server / _SOCKET
        self.losses = 0
        self._loss: Loss | None = None
        self._takes_calls = True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[tuple[socket.socket, socket.socket]] = []
        self._ledgers: set[socket.socket] = set()
        self._prepared: set[tuple[socket.socket, bytes]] = set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        _shut_down(self._listener)
        self.cut()
        self._listener.close()

    def through(self, url: str) -> str:
        """Return the URL of the same database at the other end of this line."""
        import sqlalchemy as sa

        near = sa.make_url(url).difference_update_query(["host"])
        host, port = self._listener.getsockname()
        return near.set(host=host, port=port).render_as_string(hide_password=False)

    def lose(self, loss: Loss | str | None) -> None:
        """Break a connection at the next COMMIT of a ledger, once; None takes that back."""
        self._loss = None if loss is None else Loss(loss)

    def cut(self) -> int:
        """Break all connections; return how many there were."""
        held = list(self._held)
        for pair in held:
            for one in pair:
                _shut_down(one)
        return len(held)

    def take_no_calls(self) -> None:
        """From now on nobody can connect; connections that hold go on."""
        self._takes_calls = False

    def take_calls(self) -> None:
        """Let clients connect again."""
        self._takes_calls = True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._takes_calls:
                _hang_up(client)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        pair = (client, server)
        self._held.append(pair)
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
            self._held.remove(pair)
            self._ledgers.discard(client)
            self._prepared = {found for found in self._prepared if found[0] is not client}
            for one in pair:
                _hang_up(one)

    def _pass_on(
        self, key: selectors.SelectorKey, client: socket.socket, server: socket.socket
    ) -> bool:
        """Move some bytes; return whether the line still holds."""
        source, target = key.fileobj, key.data
        assert isinstance(source, socket.socket)
        data = source.recv(65536)
        if not data:
            return False
        if source is client and self._commits(client, data) and self._loss is not None:
            loss, self._loss = self._loss, None
            self.losses += 1
            if loss is Loss.REPLY:
                server.sendall(data)
                server.recv(65536)  # it has committed
            return False
        target.sendall(data)
        return True

    def _commits(self, client: socket.socket, data: bytes) -> bool:
        """Return whether the connection is a ledger's, and this its COMMIT."""
        if _LEDGER in data:
            self._ledgers.add(client)
        for name in _PREPARED.findall(data):
            self._prepared.add((client, name))
        run = any((client, name) in self._prepared for name in _RUN.findall(data))
        return client in self._ledgers and (run or _COMMIT.search(data) is not None)


def _hang_up(one: socket.socket) -> None:
    _shut_down(one)
    one.close()


def _shut_down(one: socket.socket) -> None:
    # For processes forked meanwhile, too, which have a copy of the descriptor.
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
