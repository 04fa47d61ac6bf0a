"""``tacit shard``: records that do not fit in memory, to one file per shard."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.cli.config import Names
from tacit.errors import DamagedFile, InvalidArgument

if TYPE_CHECKING:
    from tacit.data import Schema
    from tacit.data.shards.write import ShardingJob
    from tacit.data.tables import ReadOptions

FINDING = 1
"""Exit status when a folder of shards does not hold."""

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("sources", type=_PATH, nargs=-1)
@click.option("--out", type=_PATH, help="Folder of the shards: new, or that of an interrupted run.")
@click.option(
    "--shards",
    "n_shards",
    type=click.IntRange(1),
    help="Number of shards, one teacher each. Choose it without looking at the records.",
)
@click.option(
    "--id",
    "identifier",
    help="Column with the identifier of the record, or of its person.",
)
@click.option("--label", help="Column of the labels.")
@click.option(
    "--public",
    type=_PATH,
    help="Public points of the same kind: they define the columns. Without "
    "them, and without --schema, all columns are read as numbers.",
)
@click.option("--schema", type=_PATH, help="JSON file with the schema: what every column holds.")
@click.option("--drop", type=Names(), default=(), help="Columns to leave out.")
@click.option(
    "--category",
    type=Names(),
    default=(),
    help="Categorical columns whose values look like numbers; needs --public.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["auto", "csv", "parquet"]),
    default="auto",
    show_default=True,
    help="Format of all files; auto: by their names.",
)
@click.option("--encoding", default="utf-8", show_default=True)
@click.option("--delimiter", default=",", show_default=True, help="Delimiter of CSV.")
@click.option("--columns", type=Names(), help="Names of the columns of CSV without a header.")
@click.option(
    "--quoted-newlines",
    is_flag=True,
    help="Allow line breaks in quoted cells of CSV. Statements on these shards then add "
    "that the files are assumed well formed.",
)
@click.option(
    "--key-file",
    type=_PATH,
    help="Secret key in hexadecimal, such as the file 'key' of another folder "
    "[default: drawn anew].",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done; no record is read.")
@click.option("--fresh", is_flag=True, help="Remove the files of an earlier run first.")
@click.option("--verify", type=_PATH, metavar="FOLDER", help="Check finished shards instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
def shard(
    sources: tuple[Path, ...], verify: Path | None, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Send every record of SOURCES to one of many Parquet files, in bounded memory.

    SOURCES are Parquet or CSV files, or folders of them. A keyed hash of the identifier chooses
    the file, so all records of a person are in one, and a person who comes or goes changes one
    teacher: the guarantee is for --neighbouring add-remove. The folder is private, and its key is
    in it. It needs room for the records twice over while it is made.

    If interrupted, run the same command again to resume at no further cost.

    \b
    Examples:
      tacit shard visits/ --out shards --shards 2000 --id person --label ill
      tacit shard visits.csv --public pool.csv --out shards --shards 2000
            --id person --label ill
      tacit shard --verify shards

    \b
    Exit status:
      0    done
      1    --verify found a file that does not hold
      2    the input cannot be used, or the folder cannot be written
      70   a defect in tacit
      130  interrupted; run the same command again to resume
    """
    from tacit.cli.exit_codes import one_line_errors

    with one_line_errors("What is finished in the folder is kept."):
        if verify is not None:
            _verify(verify, as_json=as_json, quiet=quiet)
        else:
            _write(sources, as_json=as_json, quiet=quiet, **options)


def _write(
    sources: tuple[Path, ...],
    *,
    out: Path | None,
    n_shards: int | None,
    identifier: str | None,
    label: str | None,
    public: Path | None,
    schema: Path | None,
    drop: tuple[str, ...],
    category: tuple[str, ...],
    file_format: str,
    encoding: str,
    delimiter: str,
    columns: tuple[str, ...] | None,
    quoted_newlines: bool,
    key_file: Path | None,
    dry_run: bool,
    fresh: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from tacit.data.shards.write import check_sources, write_shards
    from tacit.data.tables import ReadOptions

    if not sources:
        raise InvalidArgument("SOURCES is missing: the files with the private records.")
    if out is None or n_shards is None or label is None:
        raise InvalidArgument("--out, --shards and --label must be given.")
    if identifier is None:
        raise InvalidArgument(
            "--id must name the column with the identifier of each record. Row numbers will not "
            "do: they change when another record comes or goes. Add a column of identifiers first."
        )
    reading = ReadOptions(file_format, encoding, delimiter, columns, quoted_newlines)
    columns_read = _schema(public, schema, reading, label, (*drop, identifier), category)
    key = None if key_file is None else _key(key_file)
    how: dict[str, Any] = {
        "n_shards": n_shards,
        "identifier": identifier,
        "label": label,
        "schema": columns_read,
        "leave_out": drop,
        "reading": reading,
    }
    if dry_run:
        _print_plan(check_sources(sources, **how), out, key_file, as_json=as_json)
        return
    folder = write_shards(
        sources, out, **how, key=key, fresh=fresh, progress=False if quiet else None
    )
    if as_json:
        fields = {"folder": str(out), "shards": folder.n_shards, "fingerprint": folder.fingerprint}
        click.echo(json.dumps({**fields, "assumptions": folder.sharding.assumptions}))
        return
    click.echo(f"{folder.n_shards} shards are in {str(out)!r}, which only you can read.")
    click.echo(f"Fingerprint of the sharding, which may be shown: {folder.fingerprint}")
    click.echo("Use them with add-remove neighbours: a replaced record would move two votes.")
    for sentence in folder.sharding.assumptions:
        click.echo(sentence)


def _schema(
    public: Path | None,
    schema: Path | None,
    reading: ReadOptions,
    label: str,
    leave_out: tuple[str, ...],
    category: tuple[str, ...],
) -> Schema | None:
    from tacit.cli.private_source import read_schema
    from tacit.data.tables import read_pool

    if schema is not None:
        return read_schema(schema)
    if public is None:
        if category:
            raise InvalidArgument("--category needs --public, whose points list the categories.")
        return None
    pool = read_pool(public, reading, label=label, leave_out=leave_out, categories=category)
    if not pool.schema.columns:
        raise InvalidArgument("--public must have named columns: give CSV or Parquet.")
    return pool.schema


def _key(file: Path) -> bytes:
    from tacit.data.identifiers import checked_key
    from tacit.files.atomic import read_file
    from tacit.files.private import FILE_MODE, check_private

    content = read_file(file)
    check_private(os.stat(file), file, FILE_MODE)
    try:
        return checked_key(bytes.fromhex(content.decode("ascii").strip()))
    except ValueError:
        raise InvalidArgument(
            f"{str(file)!r} must hold a key of 16 to 64 bytes in hexadecimal; it is not shown."
        ) from None


def _print_plan(job: ShardingJob, out: Path, key_file: Path | None, *, as_json: bool) -> None:
    from tacit.data import ColumnKind

    fields = {
        "folder": str(out),
        "shards": job.n_shards,
        "files": len(job.sources),
        "identifier": job.identifier,
        "label": job.label,
        "numbers": [one.name for one in job.schema.columns if one.kind.is_numeric],
        "categories": [one.name for one in job.schema.columns if one.kind is ColumnKind.CATEGORY],
        "key": "drawn anew, unless the folder has one" if key_file is None else str(key_file),
    }
    if as_json:
        click.echo(json.dumps(fields))
        return
    click.echo("It would go as follows; no record was read.")
    for name, value in fields.items():
        text = ", ".join(value) or "none" if isinstance(value, list) else value
        click.echo(f"  {name:<11} {text}")


def _verify(folder: Path, *, as_json: bool, quiet: bool) -> None:
    from tacit.data.shards import verify_shards

    try:
        shards = verify_shards(folder, progress=False if quiet else None)
    except DamagedFile as error:
        if as_json:
            click.echo(json.dumps({"ok": False, "problem": str(error)}))
        else:
            click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(FINDING) from None
    if as_json:
        click.echo(json.dumps({"ok": True, "shards": shards.n_shards,
                               "fingerprint": shards.fingerprint}))  # fmt: skip
        return
    click.echo(
        f"The shards hold: {shards.n_shards} files, every identifier in the one its hash selects, "
        "none in two."
    )
