"""A folder of shards: one Parquet file each, read one at a time. Private.

``shards.json`` describes them and is written last: without it the folder is unfinished.
``key`` holds the secret key of the hash, ``plan.json`` what was asked for. How large a file is
reveals how many records it holds, so only its owner can read the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tacit.data.identifiers import checked_key
from tacit.data.shards.header import Sharding
from tacit.data.shards.storage import features, labels, parquet_table
from tacit.errors import DamagedFile, InvalidArgument, PersistenceError
from tacit.files.atomic import PathLike
from tacit.files.private import PrivateDirectory

HEADER = "shards.json"
PLAN = "plan.json"
KEY = "key"
WORK = "work"


def open_shards(path: PathLike) -> ShardFolder:
    """Open a finished folder of shards.

    Parameters
    ----------
    path : path
        Where ``write_shards`` put them.

    Raises
    ------
    PersistenceError
        When it is not there, is unfinished, damaged, of another version, or open to other users.
    """
    folder = Path(path)
    with PrivateDirectory(folder) as opened:
        if HEADER not in opened.names():
            raise PersistenceError(
                f"{str(folder)!r} holds no finished shards. If they were begun, run the "
                "same command again to resume."
            )
        return ShardFolder(folder, Sharding.from_json(opened.read(HEADER)))


class ShardFolder:
    """Shards in files. What it shows of itself is public; what it reads is private.

    Small and free of secrets, so it can be sent to workers that see the same folder.
    """

    def __init__(self, path: Path, sharding: Sharding) -> None:
        self.path = Path(os.path.abspath(path))
        self.sharding = sharding

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return self.sharding.n_shards

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return self.sharding.feature_names

    @property
    def label(self) -> str:
        """Name of the column of labels."""
        return self.sharding.label

    @property
    def fingerprint(self) -> str:
        """Public identity of the sharding: key, number of shards, columns, version of the format.

        Not of the records: a fingerprint of private data can be searched.
        """
        return self.sharding.fingerprint

    def read(self, number: int) -> tuple[Any, NDArray[Any]]:
        """Return the records and labels of one shard, in the order of the files they came from.

        Parameters
        ----------
        number : int
            From 0 to ``n_shards`` - 1.

        Returns
        -------
        X : array of float, or data frame
            An array when all features are numbers; missing ones are NaN. Private.
        y : array
            Canonical texts. Private.

        Raises
        ------
        DamagedFile
            When the file is missing or damaged.
        """
        table = self._table(number, [*self.feature_names, self.label])
        return features(table, self.sharding.schema), labels(table.column(self.label))

    def check(self) -> None:
        """Raise ``PersistenceError`` when this process finds other shards there, or none."""
        if open_shards(self.path).fingerprint != self.fingerprint:
            raise PersistenceError(f"{str(self.path)!r} holds other shards than were opened.")

    def state(self, number: int) -> tuple[int, ...]:
        """Return values that change when a shard is rewritten. Private: its size is among them."""
        try:
            status = (self.path / shard_name(number)).stat()
        except OSError:
            return ()
        return status.st_size, status.st_mtime_ns, status.st_ino

    def read_identifiers(self, number: int) -> list[str]:
        """Return whose record each one of a shard is. Private."""
        name = self.sharding.identifier
        return [one or "" for one in self._table(number, [name]).column(name).to_pylist()]

    def _table(self, number: int, columns: list[str]) -> Any:
        if not 0 <= number < self.n_shards:
            raise InvalidArgument(
                f"`number` must be in 0 to {self.n_shards - 1}, the shards of this folder, got "
                f"{number!r}."
            )
        name = shard_name(number)
        with PrivateDirectory(self.path) as opened:
            content = opened.read(name)
        try:
            return parquet_table(content, columns)
        except ValueError:
            raise DamagedFile(f"{str(self.path / name)!r} is damaged.") from None

    def __repr__(self) -> str:
        return f"ShardFolder({str(self.path)!r}, n_shards={self.n_shards}, records=<private>)"


def shard_name(number: int) -> str:
    """Return the name of a shard's file."""
    return f"{number:06d}.parquet"


def read_key(opened: PrivateDirectory) -> bytes:
    """Return the secret key of a folder's hash."""
    try:
        return checked_key(bytes.fromhex(opened.read(KEY).decode("ascii")))
    except ValueError:
        raise DamagedFile("The key of these shards is damaged.") from None
