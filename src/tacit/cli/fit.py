"""``tacit fit``: from two files to a released model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tacit.cli.config import NumberOrAuto
from tacit.cli.run_options import LEARNER_HELP, RunOptions, run_options
from tacit.students.active.named import STRATEGIES

_FILE = click.Path(path_type=Path)


@click.command()
@run_options
@click.option(
    "--learner",
    default="built-in",
    show_default=True,
    help=f"{LEARNER_HELP}; built-in: logistic teachers, fitted all at once.",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "votes", "corrections"]),
    default="auto",
    show_default=True,
    help="votes: any student learns from votes on public points; corrections: teachers correct a "
    "linear student in rounds; auto: corrections for built-in teachers and linear learners.",
)
@click.option(
    "--query",
    type=click.Choice(["auto", "none", *STRATEGIES]),
    default="auto",
    show_default=True,
    help="With votes: strategy that chooses the questions; none: random points, all at once.",
)
@click.option(
    "--n-batches",
    type=click.IntRange(1),
    default=15,
    show_default=True,
    help="With votes: batches of questions after the first, when --query chooses them.",
)
@click.option(
    "--rounds",
    type=NumberOrAuto(),
    default="auto",
    show_default=True,
    help="With corrections: number of rounds.",
)
@click.option(
    "--shard-size",
    type=NumberOrAuto(),
    default="auto",
    show_default=True,
    help="With corrections: approximate number of records per teacher; public, or a guess.",
)
@click.option(
    "--release",
    type=click.Choice(["auto", "label", "share"]),
    default="auto",
    show_default=True,
    help="With votes: what to release, labels or noisy shares of the vote.",
)
@click.option(
    "--out",
    type=_FILE,
    default=Path("model.tacit"),
    show_default=True,
    help="File of the public model.",
)
@click.option(
    "--report", type=_FILE, help="File of the report: HTML if it ends in .html, else JSON."
)
@click.option(
    "--check",
    type=_FILE,
    help="Labelled public points: the report compares predictions with labels.",
)
@click.option("--labels", type=_FILE, help="With votes: CSV file of the labels.")
def fit(out: Path, report: Path | None, labels: Path | None, **options: Any) -> None:
    """Learn from PRIVATE records and write a public model.

    PRIVATE is a CSV, Parquet or LIBSVM file; columns are matched by name to those of the pool
    (--public). Or it is a folder of shards (tacit shard), read one at a time by whoever trains
    their teachers; it needs --neighbouring add-remove. A teacher is trained on each of many
    disjoint shards. Teachers correct a linear student in rounds, or vote on public points, from
    which a student learns; only noisy corrections or votes are released.

    The cost is shown first and is taken from the budget of --dataset. If interrupted, run the same
    command again to resume at no further cost.

    \b
    Example:
      tacit fit patients.csv --public pool.csv --label ill --classes no,yes
            --dataset patients --epsilon 1 --delta 1e-6 --learner boosting

    \b
    Exit status:
      0    the model is written
      2    the input cannot be used; nothing was spent
      3    nothing may be released: the budget, the ledger or the noise
      70   a defect in tacit or in the learner
      130  interrupted; run the same command again to resume
    """
    from tacit.cli.formatting import as_text, round_down
    from tacit.cli.outputs import check_outputs, label_rows
    from tacit.cli.private_run import run
    from tacit.cli.redacted_command import redacted_command
    from tacit.files.atomic import replace_file
    from tacit.persistence import save_student

    settings = RunOptions(**options)
    check_outputs(
        {"--out": out, "--report": report, "--labels": labels},
        [settings.private, settings.public, settings.check, settings.counts],
        settings.project,
    )
    command = redacted_command(click.get_current_context())

    def write(clf: Any, run_report: Any, account: Any, resumed: bool) -> None:
        if labels is not None:
            replace_file(labels, label_rows(clf))
        if report is not None:
            page = replace(run_report, command=command)
            (page.save_html if report.suffix == ".html" else page.save_json)(report)
        save_student(clf, out)
        if settings.as_json:
            facts = {
                "model": str(out),
                "privacy": clf.privacy_.to_dict(),
                "account": account.to_dict(),
                "resumed": resumed,
                "signal": None if run_report.signal is None else run_report.signal.to_dict(),
            }
            click.echo(json.dumps(facts))
            return
        click.echo(f"{clf.privacy_}\n")
        if run_report.signal is not None:
            click.echo(f"{run_report.signal}\n")
        click.echo(f"Model written to {str(out)!r}.")
        click.echo(f"Left for {settings.dataset!r}: {as_text(round_down(account.remaining))}.")

    run("fit", settings, write, labels=labels is not None)
