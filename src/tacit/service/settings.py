"""Settings of the service, and the only place that reads the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit import validation
from tacit.errors import InvalidArgument

LEDGER_VARIABLE = "TACIT_LEDGER_URL"
"""Where the ledger is, when it is not in the directory: an address may hold a password, and
arguments of a command can be seen by other users."""

_SETTINGS_VARIABLE = "TACIT_SERVICE_SETTINGS"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the service does with requests. Public, but for a password in ``ledger``.

    Parameters
    ----------
    directory : str
        Where the oracle was saved.
    ledger : str, optional
        Path or URL of its account, when that is not in the directory.
    host, port
        Where to listen.
    workers : int
        Processes that answer. Each has sparse-vector instances of its own, and each is paid for.
    largest_body : int
        Bytes of a request.
    largest_batch : int
        Questions in a request.
    rate : float
        Questions a second that one key may put to one worker, in the long run.
    burst : int
        Questions that it may put at once after a pause.
    grace : float
        Seconds that requests get to finish when the service stops.
    secure_cookies : bool
        Whether the page's cookie is sent over HTTPS alone: for a service behind a proxy that ends
        TLS.
    trusted : tuple of str
        As for ``load_oracle``.
    log_level : {"debug", "info", "warning", "error"}
    """

    directory: str
    ledger: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    largest_body: int = 1_000_000
    largest_batch: int = 1000
    rate: float = 1000.0
    burst: int = 2000
    grace: float = 30.0
    secure_cookies: bool = False
    trusted: tuple[str, ...] = ()
    log_level: str = "info"

    def __post_init__(self) -> None:
        for name in ("workers", "largest_body", "largest_batch", "burst"):
            validation.positive_integer(**{name: getattr(self, name)})
        validation.positive(rate=self.rate)
        validation.non_negative(grace=self.grace)
        if not 0 <= self.port < 65536:
            raise InvalidArgument(f"`port` must be in 0 .. 65535, got {self.port}.")
        if self.burst < self.largest_batch:
            raise InvalidArgument(
                f"`burst` must be at least `largest_batch`, {self.largest_batch}, or no such batch "
                f"could ever be asked; got {self.burst}."
            )

    @property
    def access(self) -> str:
        """Where analysts and keys are kept: beside the ledger if that is PostgreSQL."""
        if self.ledger is not None and self.ledger.startswith(("postgresql", "postgres")):
            return self.ledger
        return str(Path(self.directory) / "access.sqlite")

    def __repr__(self) -> str:
        return f"Settings(directory={self.directory!r}, host={self.host!r}, port={self.port})"


def ledger_from_environment() -> str | None:
    """Return the address of the ledger that the environment gives, None if it gives none."""
    return os.environ.get(LEDGER_VARIABLE) or None


def hand_down(settings: Settings) -> None:
    """Leave the settings for the worker processes to come."""
    os.environ[_SETTINGS_VARIABLE] = json.dumps(asdict(settings))


def handed_down() -> Settings:
    """Return the settings that the parent process left."""
    values = json.loads(os.environ[_SETTINGS_VARIABLE])
    return Settings(**{**values, "trusted": tuple(values["trusted"])})
