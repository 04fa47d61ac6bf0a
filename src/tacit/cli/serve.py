"""``tacit serve``: an oracle on the network."""

from __future__ import annotations

import click

from tacit.cli import service_options
from tacit.cli.service_options import service_module, settings_of


@click.command()
@service_options.directory
@service_options.ledger
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any but the default opens the service to a network.",
)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Number of processes; each pays for sparse-vector instances of its own.",
)
@click.option(
    "--largest-batch",
    default=1000,
    show_default=True,
    type=click.IntRange(1),
    help="Most questions in one request.",
)
@click.option(
    "--largest-body",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(1),
    help="Most bytes of one request.",
)
@click.option(
    "--rate",
    default=1000.0,
    show_default=True,
    type=float,
    help="Average questions per second for one key, per worker.",
)
@click.option(
    "--grace",
    default=30.0,
    show_default=True,
    type=float,
    help="Seconds for open requests to finish when the service stops.",
)
@click.option("--secure-cookies", is_flag=True, help="For a service behind a proxy that ends TLS.")
@click.option(
    "--trust",
    "trusted",
    multiple=True,
    metavar="TYPE",
    help="A further type that the saved teachers may hold; can be repeated.",
)
@click.option(
    "--log-level",
    default="info",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
)
def serve(
    directory: str,
    ledger: str | None,
    host: str,
    port: int,
    workers: int,
    largest_batch: int,
    largest_body: int,
    rate: float,
    grace: float,
    secure_cookies: bool,
    trusted: tuple[str, ...],
    log_level: str,
) -> None:
    """Answer questions over HTTP from an oracle saved in DIRECTORY.

    The first start prints a key for the administrator, once. Without --ledger the account is
    ledger.sqlite in the directory.

    \b
    Example, in Python:
        oracle = tacit.PrivateOracle(LogisticRegression(), epsilon=1.0, delta=1e-6,
                                     classes=["ill", "well"]).fit(X, y)
        tacit.save_oracle(oracle, "flu")

    \b
    then:
        tacit serve flu
        tacit keys create flu ann --allowance 100 --every day
        curl -s http://127.0.0.1:8000/v1/answers -H "Authorization: Bearer $KEY" \\
             -H "Content-Type: application/json" -d '{"points": [[0.5, 1.2]]}'

    A page for people is at http://127.0.0.1:8000/, the API's description at /openapi.json.
    """
    settings = settings_of(
        directory,
        ledger,
        host=host,
        port=port,
        workers=workers,
        largest_batch=largest_batch,
        largest_body=largest_body,
        rate=rate,
        burst=max(2 * largest_batch, 2000),
        grace=grace,
        secure_cookies=secure_cookies,
        trusted=trusted,
        log_level=log_level,
    )
    issued = service_module("serve").prepare(settings)
    if issued is not None:
        click.echo(f"The administrator's key, shown this once: {issued.text}")
    service_module("serve").check_address(settings)
    click.echo(f"Listening on http://{host}:{port} with {workers} worker(s).", err=True)
    service_module("serve").run(settings)
