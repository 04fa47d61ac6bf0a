"""What ``tacit serve`` and ``tacit keys`` share."""

from __future__ import annotations

import importlib
from typing import Any

import click

from tacit.errors import InvalidArgument


def service_module(name: str) -> Any:
    """Import a module of ``tacit.service``; the error names the packages that are missing."""
    try:
        return importlib.import_module(f"tacit.service.{name}")
    except ImportError as error:
        raise InvalidArgument(
            f"The service needs packages that are not installed ({error.name}): "
            "pip install '.[service]' in the checkout."
        ) from error


directory = click.argument("directory", type=click.Path(file_okay=False))
ledger = click.option(
    "--ledger",
    metavar="URL",
    help="The oracle's account, when it is not in the directory: postgresql://..., or a path. "
    "Better in the variable TACIT_LEDGER_URL, where other users cannot see a password.",
)


def settings_of(directory: str, ledger: str | None, **more: Any) -> Any:
    """Return the service's settings; an environment variable may hold the ledger's address."""
    module = service_module("settings")
    return module.Settings(directory, ledger or module.ledger_from_environment(), **more)
