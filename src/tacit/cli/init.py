"""``tacit init``: make a project folder."""

from __future__ import annotations

from pathlib import Path

import click

from tacit.errors import InvalidArgument


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--dataset", help="Name of a first private data set.")
@click.option("--epsilon", type=float, help="Lifetime budget of the data set.")
@click.option("--delta", type=float, help="Lifetime budget of the data set.")
def init(folder: Path, dataset: str | None, epsilon: float | None, delta: float | None) -> None:
    """Make a project: a folder with settings, private data sets and what was spent on them.

    Everything private is in DIR/.tacit, which only its owner can read. `tacit datasets add` adds
    further data sets.

    Example: tacit init study --dataset patients --epsilon 4 --delta 1e-5
    """
    from tacit.accounting.budget import Budget
    from tacit.project.folder import Project, checked_name

    if dataset is None and (epsilon is not None or delta is not None):
        raise InvalidArgument("--epsilon and --delta belong to a data set: name it with --dataset.")
    budget = None
    if dataset is not None:
        checked_name(dataset)
        if epsilon is None or delta is None:
            raise InvalidArgument("--dataset needs --epsilon and --delta, its lifetime budget.")
        budget = Budget(epsilon, delta)
    project = Project.create(folder)
    click.echo(f"Made a project in {str(folder)!r}.")
    if dataset is not None and budget is not None:
        project.add(dataset, budget)
        click.echo(
            f"Data set {dataset!r} may spend epsilon {budget.epsilon:g}, delta {budget.delta:g} in "
            "its lifetime."
        )
