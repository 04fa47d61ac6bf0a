"""Start the service: check the files, bind, and let worker processes answer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tacit.errors import ExposedFiles, InvalidArgument
from tacit.persistence.files import PrivateDirectory
from tacit.persistence.oracle import load_oracle
from tacit.service import logs
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.keys import NewKey
from tacit.service.logs import log
from tacit.service.settings import Settings, hand_down, handed_down
from tacit.service.state import Service


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


def open_service(settings: Settings) -> Service:
    """Load the oracle and everything around it, for this process."""
    oracle = load_oracle(settings.directory, ledger=settings.ledger, trusted=settings.trusted)
    return Service(oracle, Access(settings.access), settings)


def worker_app() -> ASGIApp:
    """Return the application of one worker process, from the settings its parent left."""
    logs.set_up()
    return create_app(open_service(handed_down()))


def run(settings: Settings, *, log_level: str = "info") -> None:
    """Serve until told to stop; requests that have begun get time to finish."""
    logs.set_up(log_level)
    common: dict[str, Any] = {
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
    if settings.host not in ("127.0.0.1", "::1", "localhost"):
        log("open to the network", logging.WARNING, host=settings.host)
    if settings.workers == 1:
        uvicorn.Server(uvicorn.Config(create_app(open_service(settings)), **common)).run()
        return
    if settings.port == 0:
        raise InvalidArgument("`port` must be given for several workers: they share one.")
    hand_down(settings)
    uvicorn.run("tacit.service.serve:worker_app", factory=True, workers=settings.workers, **common)
