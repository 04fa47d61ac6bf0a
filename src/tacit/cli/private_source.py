"""What a command is given as private: a file of records, a folder of shards, or a file of counts.

Nothing private is opened to price a run: only ``check`` and ``read`` open the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from tacit.cli.run_options import RunOptions
from tacit.data import Schema
from tacit.data.cells import text
from tacit.data.shards import ShardFolder, open_shards
from tacit.data.tables import Pool, ReadOptions, read_points, read_pool, read_private
from tacit.data.tables.files import opened
from tacit.errors import InvalidArgument
from tacit.estimators.protection import ExistingTeachers
from tacit.labeling import read_counts


class PrivateSource(Protocol):
    """Where private records, or votes on them, come from."""

    def check(self) -> None:
        """Refuse what is not there."""

    def label(self, options: RunOptions) -> str | None:
        """Return the name of the column of labels."""

    def pool(self, options: RunOptions, reading: ReadOptions) -> Pool:
        """Read the public points, in the form of the records."""

    def read(self, options: RunOptions, pool: Pool, reading: ReadOptions) -> dict[str, Any]:
        """Return what a fit is given. Private."""

    def voters(self, options: RunOptions) -> ExistingTeachers | None:
        """Return teachers that are there already."""

    def identity(self) -> dict[str, Any]:
        """Return what makes this another run. Public."""

    def assumptions(self, reading: ReadOptions) -> tuple[str, ...]:
        """Return what the guarantee rests on for reading it so, in sentences. Public."""


def private_source(options: RunOptions) -> PrivateSource:
    """Return what a command was given."""
    if options.counts is not None:
        if options.private is not None:
            raise InvalidArgument("PRIVATE must be left out with --counts: votes were counted.")
        return _Counts(options.counts)
    if options.private is not None and options.private.is_dir():
        return _Shards(open_shards(options.private))
    return _Records(options.private)


class _Records:
    """A file of records."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def check(self) -> None:
        with opened(self._required_path()):
            pass

    def _required_path(self) -> Path:
        if self._path is None:
            raise InvalidArgument("PRIVATE is missing: the file with the private records.")
        return self._path

    def label(self, options: RunOptions) -> str | None:
        return options.label

    def pool(self, options: RunOptions, reading: ReadOptions) -> Pool:
        pool = read_own_pool(options, reading)
        if pool.schema.columns and options.label is None:
            raise InvalidArgument("--label must name the column of the labels.")
        return pool

    def read(self, options: RunOptions, pool: Pool, reading: ReadOptions) -> dict[str, Any]:
        table = read_private(
            self._required_path(), pool.schema, reading, label=options.label, group=options.group
        )
        return {"X": table.X, "y": table.y, "groups": table.groups}

    def voters(self, options: RunOptions) -> ExistingTeachers | None:
        return None

    def identity(self) -> dict[str, Any]:
        return {}

    def assumptions(self, reading: ReadOptions) -> tuple[str, ...]:
        return reading.assumptions(self._required_path())


class _Shards:
    """A folder of shards, whose schema is the pool's too."""

    def __init__(self, shards: ShardFolder) -> None:
        self._shards = shards

    def check(self) -> None:
        self._shards.check()

    def label(self, options: RunOptions) -> str | None:
        return self._shards.label

    def pool(self, options: RunOptions, reading: ReadOptions) -> Pool:
        if options.neighbouring != "add-remove":
            raise InvalidArgument(
                "Shards protect people who come or go: add --neighbouring add-remove."
            )
        own = {"--label": self._shards.label, "--group": self._shards.sharding.identifier}
        for option, given in (("--label", options.label), ("--group", options.group)):
            if given not in (None, own[option]):
                raise InvalidArgument(
                    f"{option} must be left out, or {own[option]!r} as in the shards, got "
                    f"{given!r}."
                )
        schema = self._shards.sharding.schema
        return Pool(read_points(options.public, schema, reading), schema, None)

    def read(self, options: RunOptions, pool: Pool, reading: ReadOptions) -> dict[str, Any]:
        return {"X": self._shards}

    def voters(self, options: RunOptions) -> ExistingTeachers | None:
        return ExistingTeachers.of_shards(self._shards.n_shards)

    def identity(self) -> dict[str, Any]:
        return {"shards": self._shards.fingerprint}

    def assumptions(self, reading: ReadOptions) -> tuple[str, ...]:
        return self._shards.sharding.assumptions


class _Counts:
    """A file of votes that were counted elsewhere."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self) -> None:
        with opened(self._path):
            pass

    def label(self, options: RunOptions) -> str | None:
        return options.label

    def pool(self, options: RunOptions, reading: ReadOptions) -> Pool:
        self._teachers(options)
        return read_own_pool(options, reading)

    def _teachers(self, options: RunOptions) -> int:
        if isinstance(options.n_teachers, str):
            raise InvalidArgument(
                "--n-teachers must be the number of teachers that voted, with --counts."
            )
        return options.n_teachers

    def read(self, options: RunOptions, pool: Pool, reading: ReadOptions) -> dict[str, Any]:
        votes = read_counts(
            self._path,
            classes=list(options.classes),
            n_teachers=self._teachers(options),
            absent=options.absent,
        )
        return {"X": votes}

    def voters(self, options: RunOptions) -> ExistingTeachers | None:
        return ExistingTeachers.elsewhere(self._teachers(options))

    def identity(self) -> dict[str, Any]:
        return {"counts": True}

    def assumptions(self, reading: ReadOptions) -> tuple[str, ...]:
        return ()


def read_schema(path: Path) -> Schema:
    """Read a schema from a JSON file."""
    with opened(path) as file:
        content = file.read()
    try:
        return Schema.from_json(content)
    except InvalidArgument as error:
        raise InvalidArgument(f"--schema {str(path)!r}: {error}") from None


def read_own_pool(options: RunOptions, reading: ReadOptions) -> Pool:
    """Read public points whose columns decide what a row is."""
    out = [name for name in (*options.drop, options.group) if name is not None]
    pool = read_pool(
        options.public,
        reading,
        label=options.label,
        leave_out=out,
        categories=options.category,
        schema=None if options.schema is None else read_schema(options.schema),
    )
    listed = {text(name) for name in options.classes}
    unknown = sorted({one for one in pool.labels or () if one is not None} - listed)
    if unknown:
        raise InvalidArgument(
            f"The pool {str(options.public)!r} has the label {unknown[0]!r}, which is not in "
            f"--classes {','.join(options.classes)}."
        )
    return pool
