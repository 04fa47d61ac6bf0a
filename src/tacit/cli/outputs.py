"""Files that commands write: refused early when they cannot be written, and never half there."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import InvalidArgument
from tacit.project.folder import PRIVATE, SETTINGS


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Sequence[Path | None] = (),
    project: Path | None = None,
) -> None:
    """Refuse, before anything is spent, files that could not be written afterwards.

    Parameters
    ----------
    outputs : mapping of option to path
    inputs : sequence of paths
        Files that are read: none of them may be replaced by a result.
    project : Path, optional
        A project whose settings, ledgers and runs may not be replaced either.
    """
    in_use = [path for path in inputs if path is not None]
    if project is not None:
        in_use.append(project / SETTINGS)
    for option, path in outputs.items():
        if path is None:
            continue
        try:
            _check(option, path, in_use, project)
        except (OSError, ValueError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f"{option}: {str(path)!r} cannot be written.") from None
        in_use.append(path)


def _check(option: str, path: Path, in_use: Sequence[Path], project: Path | None) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise InvalidArgument(f"{option}: there is no folder {str(folder)!r}.")
    if path.exists() and not path.is_file():
        raise InvalidArgument(f"{option}: {str(path)!r} is not a plain file.")
    place = os.path.realpath(path)
    if any(place == os.path.realpath(other) for other in in_use) or (
        project is not None and Path(place).is_relative_to(os.path.realpath(project / PRIVATE))
    ):
        raise InvalidArgument(f"{option}: {str(path)!r} is needed for something else already.")
    try:
        # Tried, not asked: what may be written is decided by more than permissions.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        raise InvalidArgument(f"{option}: the folder {str(folder)!r} is not writable.") from None


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as the bytes of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def label_rows(clf: Any) -> bytes:
    """Return what a run released as CSV: row of the pool, label, and shares where there are any."""
    votes = clf.released_
    names = [str(name) for name in votes.classes.tolist()]
    header = ["row", "label"]
    if votes.shares is not None:
        header += [f"share_{name}" for name in names]
    rows: list[list[Any]] = []
    for at, position in enumerate(votes.positions.tolist()):
        label = int(votes.labels[at])
        row: list[Any] = [position + 1, "" if label < 0 else names[label]]
        if votes.shares is not None:
            row += [repr(float(share)) for share in votes.shares[at]]
        rows.append(row)
    rows.sort(key=lambda row: int(row[0]))
    return csv_bytes(header, rows)
