"""From files of records to a folder of shards: in bounded memory, and from where it was stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit import validation
from tacit.data import Column, Schema
from tacit.data.identifiers import checked_key, key_id
from tacit.data.shards.files import UNFINISHED, finished, locked, not_finished
from tacit.data.shards.folder import HEADER, KEY, PLAN, WORK, ShardFolder, open_shards, read_key
from tacit.data.shards.header import Sharding
from tacit.data.shards.merge import write_merged
from tacit.data.shards.parts import PartFolder, write_parts
from tacit.data.shards.progress import bar
from tacit.data.shards.sources import SourceFile, source_files
from tacit.data.shards.storage import storage_types
from tacit.data.tables import ReadOptions
from tacit.errors import InvalidArgument
from tacit.files.atomic import PathLike, sync_directory
from tacit.files.private import DIRECTORY_MODE, PrivateDirectory
from tacit.noise import SecureNoise

_ROW_NUMBER = re.compile(r"__index_level_\d+__$")
"""What pandas calls the row numbers that it writes beside a table. They are no features."""


@dataclass(frozen=True, repr=False)
class ShardingJob:
    """What is to be made into shards, checked against the names of columns. Public."""

    sources: list[SourceFile]
    n_shards: int
    identifier: str
    label: str
    schema: Schema

    def sharding(self, key: bytes) -> Sharding:
        """Return the public description of the shards under a key."""
        return Sharding(
            self.n_shards,
            self.identifier,
            self.label,
            self.schema,
            key_id(key),
            quoted_newlines=any(one.reading.assumptions(one.path) for one in self.sources),
        )


def check_sources(
    sources: Iterable[PathLike],
    *,
    n_shards: int,
    identifier: str,
    label: str,
    schema: Schema | None = None,
    leave_out: Sequence[str] = (),
    reading: ReadOptions | None = None,
) -> ShardingJob:
    """Check what is to be made into shards; no record is read. As for ``write_shards``."""
    n_shards = validation.positive_integer(n_shards=n_shards)
    for name, value in {"identifier": identifier, "label": label}.items():
        if not value:
            raise InvalidArgument(f"`{name}` must name a column, got {value!r}.")
    if identifier == label:
        raise InvalidArgument("`identifier` and `label` must be different columns.")
    files = source_files([Path(one) for one in sources], reading or ReadOptions())
    names = [one.names() for one in files]
    if schema is None:
        schema = _all_numbers(names[0], {identifier, label, *leave_out})
    names_needed = [*schema.names, label, identifier]
    if len(set(names_needed)) < len(names_needed):
        raise InvalidArgument(
            "The column of identifiers and that of labels must be no features: leave them out."
        )
    for file, present in zip(files, names, strict=True):
        _check_columns(file, present, names_needed)
    return ShardingJob(files, n_shards, identifier, label, schema)


def write_shards(
    sources: Iterable[PathLike],
    folder: PathLike,
    *,
    n_shards: int,
    identifier: str,
    label: str,
    schema: Schema | None = None,
    leave_out: Sequence[str] = (),
    reading: ReadOptions | None = None,
    key: bytes | None = None,
    fresh: bool = False,
    progress: bool | None = None,
) -> ShardFolder:
    """Send every record to one of many Parquet files, by a keyed hash of its identifier.

    Records never have to fit in memory. Stopped at any time, run the same command again to
    resume; called again when all is done, it does nothing.

    Parameters
    ----------
    sources : sequence of paths
        Parquet or CSV files, or folders of them. Private.
    folder : path
        Where the shards go: new, empty, or what an earlier call left. Only its owner can read it.
    n_shards : int
        Number of shards, one teacher each; chosen without looking at the records. Public.
    identifier : str
        Column that identifies each record: a record's own identifier or, to protect people with
        all their records, the person's. Records without one count as one person's.
    label : str
        Column of the labels.
    schema : Schema, optional
        What the features are, from the caller or public points. Without it all columns of the
        first file are read as numbers, and everything else in them is missing: types must not be
        taken from private files, where one record can change them.
    leave_out : sequence of str
        Without ``schema``: columns that are no features.
    reading : ReadOptions, optional
        How files are read.
    key : bytes, optional
        Secret, 16 to 64 random bytes; drawn if it is not given. The same key gives the same shards.
    fresh : bool, default False
        Remove what an earlier call left in the folder first.
    progress : bool, optional
        Whether to show a bar; by default on a terminal only. It shows no number of records.

    Returns
    -------
    ShardFolder

    Raises
    ------
    InvalidArgument
        When a file is missing, damaged, or lacks a column; never because of what a row holds.
    PersistenceError
        When the folder cannot be written.

    Privacy
    -------
    Neighbours: ``add-remove``. A record's shard depends on its own identifier and the key, and its
    cells are read one by one in a public layout, so all records of one identifier change one
    shard. ``replace`` moves two (``tacit.teachers.votes_moved``).

    Examples
    --------
    >>> import tempfile
    >>> rows = "person,age,ill\\n" + "".join(f"p{k},{k},{k % 2}\\n" for k in range(40))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     source = Path(place) / "patients.csv"
    ...     _ = source.write_text(rows)
    ...     shards = write_shards([source], Path(place) / "shards", n_shards=4,
    ...                           identifier="person", label="ill",
    ...                           schema=Schema([Column("age")]))
    ...     sum(len(shards.read(k)[1]) for k in range(4))
    40
    """
    job = check_sources(
        sources,
        n_shards=n_shards,
        identifier=identifier,
        label=label,
        schema=schema,
        leave_out=leave_out,
        reading=reading,
    )
    if key is not None:
        checked_key(key)
    place = Path(folder)
    try:
        _make(place)
        with locked(place):
            _shard(job, place, key, fresh=fresh, progress=progress)
    except OSError as error:
        if isinstance(error, InvalidArgument):
            raise
        raise not_finished(place, error) from None
    return open_shards(place)


def _shard(
    job: ShardingJob, place: Path, key: bytes | None, *, fresh: bool, progress: bool | None
) -> None:
    if fresh:
        _empty(place)
    key = _planned(job, place, key)
    sharding = job.sharding(key)
    work = place / WORK
    if not (place / HEADER).exists():
        work.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        columns = storage_types(sharding)
        with bar("reading", len(job.sources), progress) as update:
            parts = write_parts(PartFolder(work), job.sources, sharding, columns, key, update)
        with bar("shards", job.n_shards, progress) as update:
            write_merged(place, parts, job.n_shards, columns, update)
        sync_directory(place)
        # Last: a folder with a header is finished.
        finished(place / HEADER, sharding.to_json())
        sync_directory(place)
    shutil.rmtree(work, ignore_errors=True)


def _planned(job: ShardingJob, place: Path, key: bytes | None) -> bytes:
    """Return the key of the run in this folder: of a new one, or of the one that is resumed."""
    with PrivateDirectory(place) as opened:
        names = opened.names()
        if PLAN not in names:
            if names - {KEY, KEY + UNFINISHED, PLAN + UNFINISHED}:
                raise InvalidArgument(
                    f"The folder {str(place)!r} is not empty and holds no shards. Name a new one."
                )
            key = key or SecureNoise().bits(256).to_bytes(32)
            finished(place / KEY, key.hex().encode())
            finished(place / PLAN, _plan(job, key))
            return key
        stored_key = read_key(opened)
        if (key is not None and key != stored_key) or opened.read(PLAN) != _plan(job, stored_key):
            raise InvalidArgument(
                f"{str(place)!r} holds shards of other files, other settings or another key, or a "
                "file was changed since. Name a new folder, or start over with --fresh."
            )
        return stored_key


def _plan(job: ShardingJob, key: bytes) -> bytes:
    fields = {
        "sharding": json.loads(job.sharding(key).to_json()),
        "sources": [[os.path.abspath(one.path), *one.state()] for one in job.sources],
        "reading": asdict(job.sources[0].reading),
    }
    return json.dumps(fields, indent=1).encode() + b"\n"


def _make(place: Path) -> None:
    if not place.parent.is_dir():
        raise InvalidArgument(f"There is no folder {str(place.parent)!r} to put the shards in.")
    if not place.exists():
        place.mkdir(mode=DIRECTORY_MODE)
        place.chmod(DIRECTORY_MODE)
    elif not place.is_dir():
        raise InvalidArgument(f"{str(place)!r} is not a folder.")


def _empty(place: Path) -> None:
    """Remove what an earlier run left, and nothing else.

    The header goes first, so that no half looks whole, and the plan after the shards, so that
    stopped here it can begin again.
    """
    if not (place / PLAN).exists():
        return
    (place / HEADER).unlink(missing_ok=True)
    for name in os.listdir(place):
        if ".parquet" in Path(name).suffixes:
            (place / name).unlink()
    shutil.rmtree(place / WORK, ignore_errors=True)
    for name in (PLAN, KEY):
        (place / name).unlink(missing_ok=True)


def _all_numbers(names: Sequence[str], out: set[str]) -> Schema:
    """Return the schema of records without public points: only column names are public."""
    features = [name for name in names if name not in out and not _ROW_NUMBER.match(name)]
    if not features:
        raise InvalidArgument("There must be a feature besides the identifier and the label.")
    return Schema(tuple(Column(name) for name in features))


def _check_columns(file: SourceFile, names: Sequence[str], needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        # What it has instead is not shown: without a header, that is the first record.
        raise InvalidArgument(
            f"{str(file.path)!r} has no column {missing[0]!r}. Without a line of names, CSV needs "
            "--columns; see --delimiter too."
        )
