"""``tacit keys``: who may ask, how much, and until when."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tacit.cli import service_options
from tacit.cli.main import LazyGroup
from tacit.cli.service_options import service_module, settings_of

_EVERY = click.Choice(["never", "hour", "day", "week", "month"])


@click.group(cls=LazyGroup)
def keys() -> None:
    """Make, list, revoke and replace the API keys of a served oracle.

    Example: tacit keys create flu ann --allowance 100 --every day
    """


@contextmanager
def _access(directory: str, ledger: str | None) -> Iterator[Any]:
    settings = settings_of(directory, ledger)
    service_module("serve").check_private(Path(settings.directory))
    service_module("serve").check_keys_here(settings)
    access = service_module("access").Access(settings.access)
    try:
        yield access
    finally:
        access.close()


@keys.command()
@service_options.directory
@click.argument("name")
@service_options.ledger
@click.option("--admin", is_flag=True, help="May see what other analysts were shown.")
@click.option(
    "--allowance",
    type=click.IntRange(0),
    help="Most charges of each kind in one period [default: limited by the budget only].",
)
@click.option(
    "--every",
    default="never",
    show_default=True,
    type=_EVERY,
    help="How often the allowance renews. The data set's budget never does.",
)
@click.option("--days", type=float, help="Days until the key expires.")
def create(
    directory: str,
    name: str,
    ledger: str | None,
    admin: bool,
    allowance: int | None,
    every: str,
    days: float | None,
) -> None:
    """Make an analyst NAME and print a key, once.

    Example: tacit keys create flu ann --allowance 100 --every day --days 90
    """
    with _access(directory, ledger) as access:
        issued = access.create(
            name,
            role="admin" if admin else "analyst",
            allowance=allowance,
            period=every,
            days=days,
        )
    click.echo(issued.text)


@keys.command("list")
@service_options.directory
@service_options.ledger
def list_keys(directory: str, ledger: str | None) -> None:
    """List all keys; only their holders have the secrets.

    Example: tacit keys list flu
    """
    with _access(directory, ledger) as access:
        lines = access.list_keys()
    periods = {seconds: name for name, seconds in service_module("access").PERIODS.items()}
    row = "{:<16}  {:<20}  {:<7}  {:<19}  {:<12}  {}"
    click.echo(row.format("key", "analyst", "role", "allowance", "made", "state"))
    for line in lines:
        allowance = "no limit" if line.allowance is None else str(line.allowance)
        if line.allowance is not None and line.period is not None:
            allowance += f" a {periods.get(line.period, 'period')}"
        click.echo(
            row.format(
                line.id, line.analyst, line.role, allowance, _day(line.created), _state(line)
            )
        )


@keys.command()
@service_options.directory
@click.argument("key_id")
@service_options.ledger
def revoke(directory: str, key_id: str, ledger: str | None) -> None:
    """Revoke a key permanently; KEY_ID as `tacit keys list` shows it.

    Example: tacit keys revoke flu 3f9c2a71
    """
    with _access(directory, ledger) as access:
        access.revoke(key_id)
    click.echo(f"Key {key_id} is revoked.")


@keys.command()
@service_options.directory
@click.argument("key_id")
@service_options.ledger
@click.option("--days", type=float, help="Days until the new key expires.")
def rotate(directory: str, key_id: str, ledger: str | None, days: float | None) -> None:
    """Revoke a key and print another for the same analyst, once.

    Example: tacit keys rotate flu 3f9c2a71 --days 90
    """
    with _access(directory, ledger) as access:
        issued = access.rotate(key_id, days=days)
    click.echo(issued.text)


def _state(line: Any) -> str:
    if line.revoked is not None:
        return f"revoked {_day(line.revoked)}"
    if line.expires is None:
        return "valid"
    return f"{'expired' if line.expires <= time.time() else 'valid until'} {_day(line.expires)}"


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
