"""``tacit label``: release labels for a pool, as a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tacit.cli.run_options import LEARNER_HELP, RunOptions, run_options


@click.command()
@run_options
@click.option(
    "--release",
    type=click.Choice(["label", "share"]),
    default="label",
    show_default=True,
    help="What to release: labels, or noisy shares of the vote.",
)
@click.option("--learner", default="logistic", show_default=True, help=f"{LEARNER_HELP}.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("labels.csv"),
              show_default=True, help="CSV file with one line per question.")  # fmt: skip
def label(out: Path, **options: Any) -> None:
    """Release labels for the points of a pool, learnt from PRIVATE records.

    As `tacit fit`, without a student: the file has the row of the pool (from 1), the released
    label (empty where it was refused) and, with --release share, the noisy share of every class.
    The report with the privacy statement is written beside it, as OUT.report.json. By default
    every point of the pool is asked about; fewer questions have less noise each.

    With --counts there are no records: teachers elsewhere voted already, a federation of hospitals
    for example, and the file has one row per question with the number of votes for every class.

    \b
    Example:
      tacit label patients.csv --public pool.csv --label ill --classes no,yes
            --dataset patients --epsilon 1 --delta 1e-6 --n-questions 200

    Exit status: as of tacit fit.
    """
    from tacit.cli.formatting import as_text, round_down
    from tacit.cli.outputs import check_outputs, label_rows
    from tacit.cli.private_run import run
    from tacit.files.atomic import replace_file

    settings = RunOptions(**options)
    if settings.n_questions == "auto":
        settings = replace(settings, n_questions="all")
    beside = out.with_name(out.name + ".report.json")
    check_outputs(
        {"--out": out, "the report beside --out": beside},
        [settings.private, settings.public, settings.counts],
        settings.project,
    )

    def write(clf: Any, report: Any, account: Any, resumed: bool) -> None:
        report.save_json(beside)
        replace_file(out, label_rows(clf))
        if settings.as_json:
            fields = {
                "labels": str(out),
                "report": str(beside),
                "privacy": clf.privacy_.to_dict(),
                "account": account.to_dict(),
                "resumed": resumed,
            }
            click.echo(json.dumps(fields))
            return
        click.echo(f"{clf.privacy_}\n")
        click.echo(f"Labels written to {str(out)!r}, their statement to {str(beside)!r}.")
        click.echo(f"Left for {settings.dataset!r}: {as_text(round_down(account.remaining))}.")

    run("label", settings, write)
