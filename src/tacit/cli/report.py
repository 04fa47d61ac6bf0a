"""``tacit report``: the report of a run, as text, as JSON or as a page to hand on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tacit.report import RunReport

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("source", metavar="REPORT", type=click.Path(path_type=Path))
@click.option("--html", "page", type=_FILE, help="Write the report as one HTML file.")
@click.option("--frontier", "plan", type=_FILE,
              help="Draw a plan's frontier with this run marked: what "
                   "'tacit plan --frontier --json' printed. Goes with --html.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def report(source: Path, page: Path | None, plan: Path | None, as_json: bool) -> None:
    """Show the report of a run, or write it as a page that needs nothing else.

    REPORT is a report in JSON (RunReport.to_json) or a saved student, which holds its own. The
    model in it is not loaded, so the file need not be trusted. Everything in a report was released
    or is public.

    \b
    Examples:
      tacit report model.tacit
      tacit report report.json --html report.html
      tacit report model.tacit --html report.html --frontier plan.json

    \b
    Exit status:
      0  fine
      2  the file cannot be used, or the page cannot be written; a page that was there is unchanged
    """
    if plan is not None and page is None:
        raise click.UsageError("--frontier is drawn on the page: it goes with --html.")
    from tacit.cli.outputs import check_outputs

    check_outputs({"--html": page}, [source, plan])
    loaded = _read(source)
    if page is not None:
        loaded.save_html(page, frontier=None if plan is None else _plan(plan))
        click.echo(f"Written to {str(page)!r}.", err=as_json)
    if as_json:
        click.echo(loaded.to_json())
    elif page is None:
        click.echo(_plain(str(loaded)))


def _read(source: Path) -> RunReport:
    from tacit.errors import InvalidArgument
    from tacit.files.atomic import read_file
    from tacit.persistence.student import saved_report
    from tacit.report import RunReport

    data = read_file(source)
    if data.startswith(b"tacit-"):
        return saved_report(source)
    try:
        return RunReport.from_json(data.decode())
    except (InvalidArgument, UnicodeDecodeError) as error:
        why = f" {error}" if isinstance(error, InvalidArgument) else ""
        raise InvalidArgument(
            f"{str(source)!r} is neither a report in JSON nor a saved student.{why}"
        ) from error


def _plan(path: Path) -> Any:
    from tacit.errors import InvalidArgument
    from tacit.files.atomic import read_file

    try:
        return json.loads(read_file(path).decode())
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{str(path)!r} is no JSON. Make it with: tacit plan ... --frontier --json"
        ) from error


def _plain(text: str) -> str:
    """Return text that cannot steer a terminal: names in a file may come from anybody."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
