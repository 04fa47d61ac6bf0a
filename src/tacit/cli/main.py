"""The ``tacit`` command: parse, call the library, print.

Commands are listed in ``COMMANDS`` and imported when they are used, so that ``tacit --help`` does
not wait for scientific libraries. To add one, write a click command in its own module of this
package and give it a line in the table.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from tacit import __version__
from tacit.errors import BudgetExceeded, LedgerError, NoiseError, TacitError

__all__ = ["COMMANDS", "BAD_INPUT", "NOT_RELEASED", "LazyGroup", "cli", "main"]

BAD_INPUT = 2
"""Exit status when what the caller gave cannot be used; click uses the same number."""

NOT_RELEASED = 3
"""Exit status when the input was fine but nothing may leave: budget, ledger or noise."""

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (where the click command is, its line in the help)
    "audit": ("tacit.cli.audit:audit", "Measure the privacy of the mechanisms on this machine."),
    "datasets": ("tacit.cli.datasets:datasets", "List private data sets and what is left of them."),
    "demo": ("tacit.cli.demo:demo", "Train a private classifier on generated records."),
    "fit": ("tacit.cli.fit:fit", "Learn from private records and write a public model."),
    "init": ("tacit.cli.init:init", "Make a project: private data sets and their budgets."),
    "keys": ("tacit.cli.keys:keys", "Make, list, revoke and replace API keys of a served oracle."),
    "label": ("tacit.cli.label:label", "Release labels for a pool of public points."),
    "ledger": ("tacit.cli.ledger:ledger", "Verify, back up and restore ledgers."),
    "plan": ("tacit.cli.plan:plan", "Recommend a run and forecast it, before spending."),
    "predict": ("tacit.cli.predict:predict", "Predict with a model that tacit fit wrote."),
    "report": ("tacit.cli.report:report", "Show the report of a run, or write it as a page."),
    "serve": ("tacit.cli.serve:serve", "Answer questions over HTTP from a saved oracle."),
    "shard": ("tacit.cli.shard:shard", "Split records into one Parquet file per shard."),
}


class LazyGroup(click.Group):
    """A group of commands that are imported on use and whose tacit errors end in one line.

    Parameters
    ----------
    lazy : dict
        For each command its place, ``"module:attribute"``, and its line in the help.
    """

    def __init__(
        self, *args: Any, lazy: dict[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in alphabetical order, without importing any."""
        return sorted({*self.commands, *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, imported now if it is in the table."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        rows = [(name, self._summary(name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _summary(self, name: str) -> str:
        if name in self.lazy:
            return self.lazy[name][1]
        return self.commands[name].get_short_help_str(limit=60)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours becomes one line on stderr and an exit status."""
        try:
            return super().invoke(ctx)
        except TacitError as error:
            raise _one_line(error) from error


class _BadInput(click.ClickException):
    exit_code = BAD_INPUT


class _NotReleased(click.ClickException):
    exit_code = NOT_RELEASED


def _one_line(error: TacitError) -> click.ClickException:
    message = " ".join(str(error).split()) or type(error).__name__
    refused = isinstance(error, BudgetExceeded | LedgerError | NoiseError)
    return _NotReleased(message) if refused else _BadInput(message)


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="tacit")
def cli() -> None:
    """Learn from private votes and release only what the budget allows."""


def main() -> None:
    """Run the command line of this process."""
    cli.main(prog_name="tacit")
