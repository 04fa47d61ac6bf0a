"""Start the service: check the files, bind, and let worker processes answer."""

from __future__ import annotations

import gc
import logging
import socket
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tacit.errors import ExposedFiles, InvalidArgument, TacitError
from tacit.files.private import PrivateDirectory
from tacit.persistence.oracle import account_elsewhere, load_oracle
from tacit.service import logs
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.keys import NewKey
from tacit.service.logs import log
from tacit.service.settings import LEDGER_VARIABLE, Settings, hand_down, handed_down
from tacit.service.state import Service

_RESTART_DELAY = 1.0
"""Seconds before a worker that could not start is replaced."""

_SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread gives way. After every statement the thread that records
answers waits for the one that reads requests, which Python's own 5 ms would make slow."""


def prepare(settings: Settings) -> NewKey | None:
    """Check that everything is there and private, and return the first administrator's key.

    Raises
    ------
    ExposedFiles
        When the directory or a file in it is open to other users.
    LedgerError, PersistenceError
        As ``load_oracle``.
    """
    check_private(Path(settings.directory))
    oracle = load_oracle(settings.directory, ledger=settings.ledger, trusted=settings.trusted)
    oracle.close()
    access = Access(settings.access)
    try:
        return access.first_admin()
    finally:
        access.close()


def check_private(directory: Path) -> None:
    """Refuse a directory in which anything is open to other users."""
    with PrivateDirectory(directory) as opened:
        for name in sorted(opened.names()):
            path = directory / name
            if path.is_symlink():
                raise ExposedFiles(f"{str(path)!r} is a link: it could lead anywhere. Remove it.")
            if path.is_file():
                opened.check(name)


def check_address(settings: Settings) -> None:
    """Refuse an address where nobody can listen, while that can still be said in words."""
    if settings.port == 0 and settings.workers > 1:
        raise InvalidArgument("`port` must be given for several workers: they share one.")
    where = f"{settings.host}:{settings.port}"
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise InvalidArgument(
            f"`host` and `port` must be an address to listen on, got {where}: {reason}. "
            "Stop what listens there, or choose another --port."
        ) from error


def check_keys_here(settings: Settings) -> None:
    """Refuse to keep keys beside an oracle whose account, and so whose keys, are elsewhere."""
    if settings.ledger is None and account_elsewhere(settings.directory):
        raise InvalidArgument(
            f"`--ledger` must say where the account of {settings.directory!r} is, as for `tacit "
            f"serve`: it is not in the directory, and keys are kept with it. {LEDGER_VARIABLE} "
            "says it too."
        )


def open_service(settings: Settings) -> Service:
    """Load the oracle and everything around it, for this process."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    oracle = load_oracle(settings.directory, ledger=settings.ledger, trusted=settings.trusted)
    service = Service(oracle, Access(settings.access), settings)
    # What is loaded by now stays: nobody needs to go through all of it again for garbage.
    gc.collect()
    gc.freeze()
    return service


def worker_app() -> ASGIApp:
    """Return the application of one worker process, from the settings its parent left."""
    settings = handed_down()
    logs.set_up(settings.log_level)
    try:
        return create_app(open_service(settings))
    except TacitError as error:
        # The parent starts another in our place, again and again until the ledger is back.
        log("not started", logging.ERROR, error=type(error).__name__)
        time.sleep(_RESTART_DELAY)
        sys.exit(1)


def server_of(app: ASGIApp, settings: Settings) -> uvicorn.Server:
    """Return the server of one process, which is not running yet."""
    return uvicorn.Server(uvicorn.Config(app, **_server_options(settings)))


def _server_options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": True,
        "proxy_headers": False,
        "timeout_graceful_shutdown": max(1, int(settings.grace)),
        "h11_max_incomplete_event_size": 64 * 1024,
    }


def run(settings: Settings) -> None:
    """Serve until stopped; requests that have begun get time to finish."""
    logs.set_up(settings.log_level)
    if settings.host not in ("127.0.0.1", "::1", "localhost"):
        log("open to the network", logging.WARNING, host=settings.host)
    if settings.workers == 1:
        server_of(create_app(open_service(settings)), settings).run()
        return
    hand_down(settings)
    uvicorn.run(
        "tacit.service.serve:worker_app",
        factory=True,
        workers=settings.workers,
        **_server_options(settings),
    )
