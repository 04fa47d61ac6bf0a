"""``tacit predict``: labels and probabilities from a saved student."""

from __future__ import annotations

from pathlib import Path

import click

from tacit.cli.config import Names

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("model", type=_FILE)
@click.argument("points", type=_FILE)
@click.option("--out", type=_FILE, help="CSV file of the predictions [default: standard output].")
@click.option("--proba", is_flag=True, help="Add the probabilities of all classes.")
@click.option(
    "--trust",
    multiple=True,
    help="Further type that may be loaded from the model file; can be repeated.",
)
@click.option(
    "--format",
    "file_format",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "csv", "parquet", "libsvm"]),
)
@click.option("--encoding", default="utf-8", show_default=True)
@click.option("--delimiter", default=",", show_default=True)
@click.option("--columns", type=Names(),
              help="Names of the columns of CSV without a header.")  # fmt: skip
@click.option("--quoted-newlines", is_flag=True,
              help="Allow line breaks in quoted cells of CSV.")  # fmt: skip
def predict(
    model: Path,
    points: Path,
    out: Path | None,
    proba: bool,
    trust: tuple[str, ...],
    file_format: str,
    encoding: str,
    delimiter: str,
    columns: tuple[str, ...] | None,
    quoted_newlines: bool,
) -> None:
    """Predict the labels of POINTS with a MODEL that `tacit fit` wrote.

    Nothing private is needed, and nothing is spent.

    Example: tacit predict model.tacit new.csv --out predicted.csv --proba
    """
    from tacit.cli.outputs import check_outputs, csv_bytes
    from tacit.data.tables import ReadOptions, read_points
    from tacit.errors import InvalidArgument
    from tacit.files.atomic import replace_file
    from tacit.persistence import load_student

    check_outputs({"--out": out}, [model, points])
    loaded = load_student(model, trusted=trust)
    reading = ReadOptions(file_format, encoding, delimiter, columns, quoted_newlines)
    table = read_points(points, loaded.schema_, reading)
    header, rows = ["label"], [[label] for label in loaded.predict(table).tolist()]
    if proba:
        if not hasattr(loaded, "predict_proba"):
            raise InvalidArgument("This model's student has no probabilities.")
        header += [f"p_{name}" for name in loaded.classes_.tolist()]
        probabilities = loaded.predict_proba(table).tolist()
        rows = [
            [*row, *map(repr, row_of_probabilities)]
            for row, row_of_probabilities in zip(rows, probabilities, strict=True)
        ]
    content = csv_bytes(header, rows)
    if out is None:
        click.echo(content.decode(), nl=False)
    else:
        replace_file(out, content)
