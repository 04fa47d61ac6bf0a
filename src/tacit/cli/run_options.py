"""Options that ``tacit fit`` and ``tacit label`` share, and what is asked of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tacit.cli.config import Assignment, Names, NumberOrAuto, configured
from tacit.mechanisms.registry import MECHANISMS

_FILE = click.Path(path_type=Path)


@dataclass(frozen=True)
class RunOptions:
    """What the command line asks for. Public."""

    private: Path | None
    project: Path
    public: Path
    dataset: str
    epsilon: float
    delta: float
    label: str | None
    classes: tuple[str, ...]
    group: str | None
    neighbouring: str
    learner: str
    param: tuple[tuple[str, Any], ...]
    mechanism: str
    n_teachers: int | str
    n_questions: int | str
    drop: tuple[str, ...]
    category: tuple[str, ...]
    schema: Path | None
    format: str
    encoding: str
    delimiter: str
    columns: tuple[str, ...] | None
    quoted_newlines: bool
    jobs: int | None
    dry_run: bool
    n: int | None
    fresh: bool
    yes: bool
    as_json: bool
    quiet: bool
    counts: Path | None = None
    absent: str = "refuse"
    query: str = "none"
    n_batches: int = 15
    method: str = "votes"
    rounds: int | str = "auto"
    shard_size: int | str = "auto"
    release: str = "label"
    check: Path | None = None


LEARNER_HELP = "boosting, forest, logistic, tree, or a dotted name of a class"
"""What ``--learner`` takes in every command."""


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every run on private records needs."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return configured(command)


# fmt: off
_OPTIONS = [
    click.argument("private", type=_FILE, required=False),
    click.option("--public", type=_FILE, required=True,
                 help="Public points of the same kind. They define the columns."),
    click.option("--dataset", required=True,
                 help="Name of the private data set: all releases about it add up."),
    click.option("--epsilon", type=float, required=True, help="Budget of this run."),
    click.option("--delta", type=float, required=True,
                 help="Budget of this run; far below one over the number of records."),
    click.option("--counts", type=_FILE, help="File of votes that were counted elsewhere, instead "
                 "of PRIVATE; needs --n-teachers."),
    click.option("--absent", type=click.Choice(["refuse", "first"]), default="refuse",
                 show_default=True, help="With --counts: a missing vote is refused, or counts for "
                 "the first class."),
    click.option("--label", help="Column of the labels (not for LIBSVM)."),
    click.option("--classes", type=Names(), required=True,
                 help="All possible labels. Must be public; other labels are ignored."),
    click.option("--group", help="Column that identifies the person of each record: "
                 "people are protected with all their records."),
    click.option("--neighbouring", type=click.Choice(["replace", "add-remove"]),
                 default="replace", show_default=True,
                 help="add-remove also hides who is in the data; needs --group and --n-teachers."),
    click.option("--param", type=Assignment(), multiple=True,
                 help="Parameter of the learner; can be repeated."),
    click.option("--mechanism", type=click.Choice(list(MECHANISMS)), default="gaussian",
                 show_default=True, help="Mechanism that releases the votes."),
    click.option("--n-teachers", type=NumberOrAuto(), default="auto", show_default=True),
    click.option("--n-questions", type=NumberOrAuto(), default="auto", show_default=True,
                 help="Most questions to ask, or auto."),
    click.option("--drop", type=Names(), default=(), help="Columns to leave out."),
    click.option("--category", type=Names(), default=(),
                 help="Categorical columns whose values look like numbers."),
    click.option("--schema", type=_FILE, help="JSON file with the schema: what every column holds "
                 "[default: inferred from the pool]."),
    click.option("--format", type=click.Choice(["auto", "csv", "parquet", "libsvm"]),
                 default="auto", show_default=True,
                 help="Format of both files; auto: by their names."),
    click.option("--encoding", default="utf-8", show_default=True),
    click.option("--delimiter", default=",", show_default=True, help="Delimiter of CSV."),
    click.option("--columns", type=Names(), help="Names of the columns of CSV without a header."),
    click.option("--quoted-newlines", is_flag=True,
                 help="Allow line breaks in quoted cells of CSV. "
                 "The statement then adds that the file is assumed to be well formed."),
    click.option("--jobs", type=int, help="Number of workers; -1: all cores."),
    click.option("--dry-run", is_flag=True,
                 help="Show the price of the run without opening private data."),
    click.option("--n", type=click.IntRange(1),
                 help="With --dry-run: how many records (with --group: people) there are."),
    click.option("--fresh", is_flag=True,
                 help="Start over instead of resuming an interrupted run."),
    click.option("--yes", is_flag=True, help="Spend without confirmation."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--quiet", is_flag=True, help="No progress bars."),
]
# fmt: on
