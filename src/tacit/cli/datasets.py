"""``tacit datasets``: named private data sets, their budgets and what is left."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tacit.cli.main import LazyGroup

_PROJECT = click.option(
    "--project", type=click.Path(path_type=Path), default=Path(), show_default="here",
    help="Folder made by tacit init.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=LazyGroup, invoke_without_command=True)
@_PROJECT
@_JSON
@click.pass_context
def datasets(ctx: click.Context, project: Path, as_json: bool) -> None:
    """List private data sets with budget, spend and what is left.

    A data set is a name, never the content of a file: use the name for everything that is
    released about the same people.

    Example: tacit datasets
    """
    if ctx.invoked_subcommand is not None:
        return
    from tacit.cli.formatting import round_down, round_up
    from tacit.project.folder import Project

    folder = Project(project)
    accounts = [folder.account(name) for name in folder.names()]
    if as_json:
        click.echo(json.dumps([account.to_dict() for account in accounts]))
        return
    if not accounts:
        click.echo("No data set yet: tacit datasets add NAME --epsilon E --delta D")
        return
    row = "{:<20}  {:<22}  {:<22}  {:<22}  {}"
    click.echo(row.format("data set", "budget", "reserved", "remaining", "unfinished runs"))
    for one in accounts:
        pairs = round_up(one.budget), round_up(one.reserved), round_down(one.remaining)
        amounts = [f"({epsilon}, {delta})" for epsilon, delta in pairs]
        click.echo(row.format(one.name, *amounts, one.unfinished))


@datasets.command()
@click.argument("name")
@click.option("--epsilon", type=float, required=True, help="Lifetime budget of the data set.")
@click.option("--delta", type=float, required=True, help="Lifetime budget of the data set.")
@click.option("--composition", type=click.Choice(["basic", "zcdp"]), default="basic",
              show_default=True, help="How runs add up; see the guide to the ledger.")  # fmt: skip
@_PROJECT
def add(name: str, epsilon: float, delta: float, composition: str, project: Path) -> None:
    """Add a private data set NAME with a budget for its lifetime.

    Example: tacit datasets add patients --epsilon 4 --delta 1e-5
    """
    from tacit.accounting.budget import Budget
    from tacit.project.folder import Project

    Project(project).add(name, Budget(epsilon, delta), composition)
    click.echo(f"Data set {name!r} may spend epsilon {epsilon:g}, delta {delta:g} in its lifetime.")


@datasets.command()
@click.argument("name")
@_PROJECT
def discard(name: str, project: Path) -> None:
    """Remove what unfinished runs of NAME kept; what they reserved stays reserved.

    Example: tacit datasets discard patients
    """
    from tacit.project.folder import Project

    removed = Project(project).discard(name)
    click.echo(f"Removed {removed} unfinished {'run' if removed == 1 else 'runs'}.")
