"""``tacit ledger``: verify a ledger, keep its head elsewhere, back it up and restore it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.errors import InvalidArgument, LedgerCorrupt

if TYPE_CHECKING:
    from tacit.ledger import Head, Ledger

FINDING = 1
"""Exit status when a ledger, or a backup of one, does not hold."""


@click.group()
def ledger() -> None:
    """Verify, back up and restore ledgers.

    LEDGER is the path of an SQLite ledger or a URL such as postgresql://user@host/database.

    Example: tacit ledger verify patients.sqlite --head /elsewhere/patients.head

    \b
    Exit status:
      0  fine
      1  a finding: a row was changed or is missing, or the end was cut off
      2  the input cannot be used, or a restore was not accepted
      3  the ledger cannot be opened, read or written now
    """


def _as_json(command: Any) -> Any:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


_HEAD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@ledger.command()
@click.argument("where", metavar="LEDGER")
@click.option("--head", "head_file", type=_HEAD_FILE,
              help="A head kept elsewhere, as written by 'tacit ledger head'.")  # fmt: skip
@_as_json
def verify(where: str, head_file: Path | None, as_json: bool) -> None:
    """Walk the whole chain and recompute every count.

    An edited, removed, inserted or moved row is named by its number. Cut off at the end, or put
    back to an earlier state, a ledger is a valid shorter chain: only a head kept elsewhere shows
    that.

    Example: tacit ledger verify patients.sqlite --head /elsewhere/patients.head
    """
    with _findings(as_json):
        opened = _open(where)
        saved_head = None if head_file is None else _read_saved_head(head_file, opened.ledger_id)
        head = opened.verify(saved_head)
        opened.close()
    compared = "" if head_file is None else f", and contains the head in {str(head_file)!r}"
    _echo(
        f"The chain holds: {head.seq + 1} rows{compared}.",
        {"ok": True, "rows": head.seq + 1, "head": _head(opened.ledger_id, head)},
        as_json,
    )


@ledger.command()
@click.argument("where", metavar="LEDGER")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="Write it to FILE; the head there must still be in the ledger.")  # fmt: skip
@_as_json
def head(where: str, out: Path | None, as_json: bool) -> None:
    """Export the newest row's number and hash, to be kept somewhere else.

    Example: tacit ledger head patients.sqlite --out /elsewhere/patients.head
    """
    with _findings(as_json):
        opened = _open(where)
        if out is not None and out.exists():
            _check_contains(opened, _read_saved_head(out, opened.ledger_id))
        newest = _head(opened.ledger_id, opened.head())
        opened.close()
    if out is not None:
        _write(out, newest)
    place = "" if out is None else f" Written to {str(out)!r}."
    _echo(f"Row {newest['seq']}, hash {newest['hash']}.{place}", newest, as_json)


@ledger.command()
@click.argument("where", metavar="LEDGER")
@click.argument("file", type=click.Path(path_type=Path))
@_as_json
def backup(where: str, file: Path, as_json: bool) -> None:
    """Write the ledger, as it is at one moment, to a new FILE. It may be in use meanwhile.

    Example: tacit ledger backup patients.sqlite patients.backup
    """
    from tacit.ledger.backup import write_backup

    with _findings(as_json):
        opened = _open(where)
        written = write_backup(opened, file)
        opened.close()
    _echo(
        f"{written.seq + 1} rows written to {str(file)!r}.",
        {"ok": True, "rows": written.seq + 1, "head": _head(opened.ledger_id, written)},
        as_json,
    )


@ledger.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("where", metavar="LEDGER")
@click.option("--head", "head_file", type=_HEAD_FILE,
              help="The newest head kept: nothing is lost if the backup ends with it.")  # fmt: skip
@click.option("--accept-lost-spend", is_flag=True,
              help="Restore although spend is lost or may be; the ledger records it.")  # fmt: skip
@_as_json
def restore(
    file: Path, where: str, head_file: Path | None, accept_lost_spend: bool, as_json: bool
) -> None:
    """Make a ledger of the backup FILE, where there is none yet.

    What was released after the backup is not in it. Unless the newest head proves that there is
    nothing of the kind, --accept-lost-spend is needed: the lifetime guarantee then grows by the
    whole budget, and the restored ledger says so in a row and in its statement. Stop everything
    that uses the old ledger first.

    Example: tacit ledger restore patients.backup patients.sqlite --head patients.head
    """
    from tacit.ledger.backup import read_backup
    from tacit.ledger.backup import restore as restore_backup

    with _findings(as_json):
        saved_head = (
            None if head_file is None else _read_saved_head(head_file, read_backup(file).ledger_id)
        )
        head = restore_backup(file, where, known=saved_head, accept_lost_spend=accept_lost_spend)
        opened = _open(where)
        lifetime = opened.lifetime()
        opened.close()
    _echo(
        f"{head.seq + 1} rows restored, the last of which records this. Over its lifetime the data "
        f"set is covered by (epsilon={lifetime.epsilon:.6g}, delta={lifetime.delta:.6g}). Export "
        "the head again: heads kept before may not be in this ledger.",
        {
            "ok": True,
            "rows": head.seq + 1,
            "head": _head(opened.ledger_id, head),
            "lifetime": {"epsilon": lifetime.epsilon, "delta": lifetime.delta},
        },
        as_json,
    )


# -- shared steps ----------------------------------------------------------------------------------


def _open(where: str) -> Ledger:
    from tacit.ledger import open_ledger

    return open_ledger(where)


def _read_saved_head(file: Path, ledger_id: str) -> Head:
    from tacit.ledger.backup import head_from_json

    try:
        kept_id, head = head_from_json(file.read_text())
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise InvalidArgument(f"{str(file)!r} does not hold the head of a ledger.") from None
        raise InvalidArgument(f"{str(file)!r} cannot be read.") from error
    if kept_id != ledger_id:
        raise LedgerCorrupt(
            f"The head in {str(file)!r} is of another ledger: either the file or the ledger was "
            "replaced."
        )
    return head


def _check_contains(opened: Ledger, saved: Head) -> None:
    if not opened.contains(saved):
        raise LedgerCorrupt(
            f"The ledger does not contain row {saved.seq} of the head kept before: its end was cut "
            "off, or it was replaced. The file was left alone.",
            row=saved.seq,
        )


def _head(ledger_id: str, head: Head) -> dict[str, Any]:
    from tacit.ledger.backup import head_to_json

    return head_to_json(ledger_id, head)


def _write(out: Path, newest: dict[str, Any]) -> None:
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(newest) + "\n")
        unfinished.replace(out)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InvalidArgument(f"{str(out)!r} was not written: {error.strerror}.") from error


def _echo(words: str, facts: dict[str, Any], as_json: bool) -> None:
    click.echo(json.dumps(facts) if as_json else words)


@contextmanager
def _findings(as_json: bool) -> Iterator[None]:
    """End with status 1 when what is looked at does not hold."""
    try:
        yield
    except LedgerCorrupt as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "row": error.row, "problem": str(error)}))
        else:
            click.echo(f"Error: {error}", err=True)
        raise SystemExit(FINDING) from None
