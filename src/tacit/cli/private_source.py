"""What a command is given as private: a file of records, a folder of shards, or a file of counts.

Opened only where it says so: the price of a run is found without looking at anything private.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from tacit.cli.run_options import Asked
from tacit.data import Schema
from tacit.data.cells import text
from tacit.data.shards import ShardFolder, open_shards
from tacit.data.tables import Pool, Reading, read_points, read_pool, read_private
from tacit.data.tables.files import opened
from tacit.errors import InvalidArgument
from tacit.estimators.protection import ExistingTeachers
from tacit.labeling import read_counts


class PrivateSource(Protocol):
    """Where private records, or votes on them, come from."""

    def check(self) -> None:
        """Refuse what is not there."""

    def label(self, asked: Asked) -> str | None:
        """Return the name of the column of labels."""

    def pool(self, asked: Asked, reading: Reading) -> Pool:
        """Read the public points, in the form of the records."""

    def read(self, asked: Asked, pool: Pool, reading: Reading) -> dict[str, Any]:
        """Return what a fit is given. Private."""

    def voters(self, asked: Asked) -> ExistingTeachers | None:
        """Return teachers that are there already."""

    def identity(self) -> dict[str, Any]:
        """Return what makes this another run. Public."""

    def assumptions(self, reading: Reading) -> tuple[str, ...]:
        """Return what the guarantee rests on for reading it so, in sentences. Public."""


def private_source(asked: Asked) -> PrivateSource:
    """Return what a command was given."""
    if asked.counts is not None:
        if asked.private is not None:
            raise InvalidArgument("PRIVATE must be left out with --counts: votes were counted.")
        return _Counts(asked.counts)
    if asked.private is not None and asked.private.is_dir():
        return _Shards(open_shards(asked.private))
    return _Records(asked.private)


class _Records:
    """A file of records."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def check(self) -> None:
        with opened(self._there()):
            pass

    def _there(self) -> Path:
        if self._path is None:
            raise InvalidArgument("PRIVATE is missing: the file with the private records.")
        return self._path

    def label(self, asked: Asked) -> str | None:
        return asked.label

    def pool(self, asked: Asked, reading: Reading) -> Pool:
        pool = read_own_pool(asked, reading)
        if pool.schema.columns and asked.label is None:
            raise InvalidArgument("--label must name the column of the labels.")
        return pool

    def read(self, asked: Asked, pool: Pool, reading: Reading) -> dict[str, Any]:
        table = read_private(
            self._there(), pool.schema, reading, label=asked.label, group=asked.group
        )
        return {"X": table.X, "y": table.y, "groups": table.groups}

    def voters(self, asked: Asked) -> ExistingTeachers | None:
        return None

    def identity(self) -> dict[str, Any]:
        return {}

    def assumptions(self, reading: Reading) -> tuple[str, ...]:
        return reading.assumptions(self._there())


class _Shards:
    """A folder of shards, whose schema is the pool's too."""

    def __init__(self, shards: ShardFolder) -> None:
        self._shards = shards

    def check(self) -> None:
        self._shards.check()

    def label(self, asked: Asked) -> str | None:
        return self._shards.label

    def pool(self, asked: Asked, reading: Reading) -> Pool:
        if asked.neighbouring != "add-remove":
            raise InvalidArgument(
                "Shards protect people who come or go: add --neighbouring add-remove."
            )
        own = {"--label": self._shards.label, "--group": self._shards.sharding.identifier}
        for option, given in (("--label", asked.label), ("--group", asked.group)):
            if given not in (None, own[option]):
                raise InvalidArgument(
                    f"{option} must be left out, or {own[option]!r} as in the shards, got "
                    f"{given!r}."
                )
        schema = self._shards.sharding.schema
        return Pool(read_points(asked.public, schema, reading), schema, None)

    def read(self, asked: Asked, pool: Pool, reading: Reading) -> dict[str, Any]:
        return {"X": self._shards}

    def voters(self, asked: Asked) -> ExistingTeachers | None:
        return ExistingTeachers.of_shards(self._shards.n_shards)

    def identity(self) -> dict[str, Any]:
        return {"shards": self._shards.fingerprint}

    def assumptions(self, reading: Reading) -> tuple[str, ...]:
        return self._shards.sharding.assumptions


class _Counts:
    """A file of votes that were counted elsewhere."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self) -> None:
        with opened(self._path):
            pass

    def label(self, asked: Asked) -> str | None:
        return asked.label

    def pool(self, asked: Asked, reading: Reading) -> Pool:
        self._teachers(asked)
        return read_own_pool(asked, reading)

    def _teachers(self, asked: Asked) -> int:
        if isinstance(asked.n_teachers, str):
            raise InvalidArgument("--n-teachers must say how many voted, with --counts.")
        return asked.n_teachers

    def read(self, asked: Asked, pool: Pool, reading: Reading) -> dict[str, Any]:
        votes = read_counts(
            self._path,
            classes=list(asked.classes),
            n_teachers=self._teachers(asked),
            absent=asked.absent,
        )
        return {"X": votes}

    def voters(self, asked: Asked) -> ExistingTeachers | None:
        return ExistingTeachers.elsewhere(self._teachers(asked))

    def identity(self) -> dict[str, Any]:
        return {"counts": True}

    def assumptions(self, reading: Reading) -> tuple[str, ...]:
        return ()


def read_schema(path: Path) -> Schema:
    """Read a schema from a JSON file."""
    with opened(path) as file:
        content = file.read()
    try:
        return Schema.from_json(content)
    except InvalidArgument as error:
        raise InvalidArgument(f"--schema {str(path)!r}: {error}") from None


def read_own_pool(asked: Asked, reading: Reading) -> Pool:
    """Read public points whose columns decide what a row is."""
    out = [name for name in (*asked.drop, asked.group) if name is not None]
    pool = read_pool(
        asked.public,
        reading,
        label=asked.label,
        leave_out=out,
        categories=asked.category,
        schema=None if asked.schema is None else read_schema(asked.schema),
    )
    known = {text(name) for name in asked.classes}
    unknown = sorted({one for one in pool.labels or () if one is not None} - known)
    if unknown:
        raise InvalidArgument(
            f"The pool {str(asked.public)!r} has the label {unknown[0]!r}, which is not in "
            f"--classes {','.join(asked.classes)}."
        )
    return pool
